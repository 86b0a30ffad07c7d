// Line charts with bands and levels, and stacked shares. All take one list of x for their series.

import { html, short, signed, svg, ticks, tip } from "./svg.js";

const HUES = 8; // colours of series in the style sheet

class Frame {
  constructor(width, { x, low, high, height = 170, left = 46, right = 10, name, xName }) {
    Object.assign(this, { width, height, left, right, top: 10, bottom: 24, x, low, high });
    this.first = Math.min(...x);
    this.last = Math.max(...x, this.first + 1e-9);
    this.root = svg("svg", { width, height, role: "img", "aria-label": name });
    this.axes(xName);
  }

  px(x) {
    return this.left + ((x - this.first) / (this.last - this.first || 1)) * (this.width - this.left - this.right);
  }

  py(y) {
    return this.top + (1 - (y - this.low) / (this.high - this.low || 1)) * (this.height - this.top - this.bottom);
  }

  axes(xName) {
    const end = this.width - this.right, foot = this.height - this.bottom;
    for (const y of ticks(this.low, this.high, Math.max(2, this.height / 50))) {
      this.root.append(svg("line", { class: "grid", x1: this.left, x2: end, y1: this.py(y), y2: this.py(y) }));
      this.root.append(svg(
        "text", { class: "axis", x: this.left - 6, y: this.py(y) + 4, "text-anchor": "end" }, short(y),
      ));
    }
    for (const x of ticks(this.first, this.last, Math.max(2, this.width / 130))) {
      this.root.append(svg("text", { class: "axis", x: this.px(x), y: foot + 16, "text-anchor": "middle" }, short(x)));
    }
    if (xName) this.root.append(svg("text", { class: "axis", x: end, y: foot - 5, "text-anchor": "end" }, xName));
  }

  // A path through the points that are numbers; it breaks where they are not.
  path(ys) {
    let drawing = false;
    return this.x.map((x, i) => {
      if (ys[i] === null) return (drawing = false), "";
      const step = `${drawing ? "L" : "M"}${this.px(x).toFixed(1)} ${this.py(ys[i]).toFixed(1)}`;
      drawing = true;
      return step;
    }).join("");
  }

  area(lows, highs) {
    const point = (x, y) => `${this.px(x).toFixed(1)} ${this.py(y).toFixed(1)}`;
    const back = [...this.x.keys()].reverse().map((i) => point(this.x[i], lows[i]));
    return `M${this.x.map((x, i) => point(x, highs[i])).join("L")}L${back.join("L")}Z`;
  }

  // A line at the nearest x beside the pointer, and what ``say`` tells about it.
  listen(say) {
    const line = svg("line", { class: "cursor", y1: this.top, y2: this.height - this.bottom, visibility: "hidden" });
    this.root.append(line);
    const move = (event) => {
      const at = event.clientX - this.root.getBoundingClientRect().left;
      const i = this.x.reduce(
        (best, x, k) => (Math.abs(this.px(x) - at) < Math.abs(this.px(this.x[best]) - at) ? k : best), 0,
      );
      for (const key of ["x1", "x2"]) line.setAttribute(key, this.px(this.x[i]));
      line.setAttribute("visibility", "visible");
      tip(event, say(i));
    };
    const leave = () => { line.setAttribute("visibility", "hidden"); tip(null, null); };
    this.root.addEventListener("pointermove", move);
    this.root.addEventListener("pointerdown", move);
    this.root.addEventListener("pointerleave", leave);
    return this.root;
  }
}

// Falling heights of labels, each near its place, none nearer to another than a gap; from low to high while they fit.
export function spread(places, gap, low, high) {
  const found = [];
  for (const place of places) found.push(Math.max(place, found.length ? found.at(-1) + gap : low));
  let limit = high;
  for (let n = found.length - 1; n >= 0; n--, limit -= gap) found[n] = Math.min(found[n], limit);
  return found;
}

// Generations with their band, and the scripted players and people as named levels.
export function ratingChart(curve) {
  const { points, levels, decimals } = curve, x = points.map((p) => p[0]);
  const unit = curve.in_steps ? "steps" : "generation";
  const ys = [...points.flatMap((p) => [p[1], p[2], p[3]]), ...levels.map((l) => l[1])].filter((y) => y !== null);
  const least = Math.min(...ys), most = Math.max(...ys);
  const margin = 0.06 * (most - least) || (curve.payoff ? 1 : 50);
  const written = (value) => (curve.payoff ? signed(value, decimals) : value.toFixed(0));
  return (width) => {
    const right = width > 560 ? 118 : 14;
    const frame = new Frame(width, {
      x: x.length ? x : [0], low: least - margin, high: most + margin, height: width > 560 ? 340 : 260, right,
      name: "Rating over training", xName: unit,
    });
    if (curve.payoff) frame.root.append(svg("text", { class: "axis", x: frame.left, y: 10 }, curve.unit));
    const named = levels.toSorted((a, b) => b[1] - a[1]), heights = named.map(([, rating]) => frame.py(rating));
    const texts = spread(heights, 12, frame.top + 8, frame.height - frame.bottom - 20), outside = right > 20;
    const labels = named.map(([name], n) => svg("text", {
      class: outside ? "axis" : "axis faint", "text-anchor": outside ? "start" : "end",
      x: width - right + (outside ? 6 : -2), y: texts[n] + (outside ? 4 : -4),
    }, name));
    for (const y of heights) {
      frame.root.append(svg("line", { class: "level", x1: frame.left, x2: width - right, y1: y, y2: y }));
    }
    if (curve.band && points.length) {
      frame.root.append(svg(
        "path",
        { class: "band", d: frame.area(points.map((p) => p[2] ?? frame.low), points.map((p) => p[3] ?? frame.high)) },
      ));
    }
    frame.root.append(svg("path", { class: "line hue-0", d: frame.path(points.map((p) => p[1])) }));
    const radius = points.length > 80 ? 1.6 : 2.8;
    for (const [at, rating] of points) {
      frame.root.append(svg("circle", { class: "dot hue-0", cx: frame.px(at), cy: frame.py(rating), r: radius }));
    }
    frame.root.append(...labels); // over the lines
    if (!points.length) return frame.root;
    return frame.listen((i) => {
      const [at, rating, low, high, name] = points[i];
      const ends = low === null
        ? (high === null ? "no bound" : `${written(high)} or less`)
        : high === null ? `${written(low)} or more` : `${written(low)} to ${written(high)}`;
      const text = `${written(rating)} ${curve.unit}${curve.band ? `, 95%: ${ends}` : ""}`;
      return [name, text, `${at.toLocaleString("en")} ${unit}`];
    });
  };
}

export function lineChart(x, { name, y }) {
  const known = y.filter((value) => value !== null);
  const least = Math.min(...known, ...(Math.min(...known) > 0 ? [0] : [])), most = Math.max(...known);
  const margin = 0.05 * (most - least) || 1;
  return (width) => {
    const frame = new Frame(width, { x, low: least < 0 ? least - margin : least, high: most + margin, name });
    frame.root.append(svg("path", { class: "line hue-0", d: frame.path(y) }));
    return frame.listen((i) => [
      `${name}: ${y[i] === null ? "not a number" : short(y[i])}`, `${x[i].toLocaleString("en")} steps`,
    ]);
  };
}

// Shares that add up to one, the first at the bottom. Points without shares are left out.
export function stackChart(all, shares, name) {
  const places = [...all.keys()].filter((i) => shares[0].y[i] !== null);
  const x = places.map((i) => all[i]);
  const series = shares.map((one) => ({ name: one.name, y: places.map((i) => one.y[i]) }));
  return (width) => {
    if (!x.length) return "";
    const frame = new Frame(width, { x, low: 0, high: 1, height: 200, name });
    let floor = x.map(() => 0);
    series.forEach(({ y }, k) => {
      const top = y.map((share, i) => floor[i] + share);
      frame.root.append(svg("path", { class: `stack hue-${k % HUES}`, d: frame.area(floor, top) }));
      floor = top;
    });
    return frame.listen((i) => [
      `${x[i].toLocaleString("en")} steps`,
      ...series.filter(({ y }) => y[i] > 0).map(({ name: one, y }) => `${one}: ${(100 * y[i]).toFixed(1)}%`),
    ]);
  };
}

export function legend(series) {
  return html(
    "div", { class: "legend" }, ...series.map(({ name }, k) => html("span", { class: `hue-${k % HUES}` }, name)),
  );
}
