// Draws one moment of the film on a canvas, in the units of the game, as selfplay_melee/drawing/picture.py does.

import { mix, readColours } from "./data.js";

export class Stage {
  constructor(canvas, film) {
    this.canvas = canvas;
    this.ctx = canvas.getContext("2d");
    this.film = film;
    this.circles = true;
    this.follow = true;
    this.lens = (view) => view; // what the picture of a moment is changed to, see `draw`
    this.narrow = false; // the panels stand near the middle
    this.unit = film.units.place; // steps of a unit of the game
    this.rigs = film.looks.map(({ rig }) => prepared(rig, film.units.figure));
    this.stars = this.scatter(140);
    this.recolour();
  }

  recolour() {
    this.colour = readColours();
    this.seats = [this.colour("seat-0"), this.colour("seat-1")];
    this.paints = new Map();
  }

  scatter(count) {
    const [left, right, bottom, top] = this.film.scenery.blast;
    let seed = 7;
    const next = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    return Array.from(
      { length: count }, () => [left + next() * (right - left), bottom + next() * (top - bottom), 0.2 + 0.5 * next()],
    );
  }

  draw(t) {
    const { ctx, canvas, film } = this;
    const camera = this.follow ? film.camera : film.still, at = this.follow ? 3 * t : 0;
    const [left, up, size] = [0, 1, 2].map((n) => camera[at + n] / this.unit);
    const { x, y, width } = this.lens({ x: left, y: up, width: size }, t);
    Object.assign(this, { x, y, scale: canvas.width / width });
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    this.sky();
    ctx.setTransform(
      this.scale, 0, 0, -this.scale, canvas.width / 2 - this.x * this.scale, canvas.height / 2 + this.y * this.scale,
    );
    ctx.lineCap = ctx.lineJoin = "round";
    this.scenery(t);
    for (const seat of [0, 1]) this.player(2 * t + seat, seat);
    if (this.circles) for (const seat of [0, 1]) this.hits(2 * t + seat);
    this.items(t);
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    for (const seat of [0, 1]) this.away(2 * t + seat, seat);
    this.panel(t);
  }

  sky() {
    const { ctx, canvas } = this, sky = ctx.createLinearGradient(0, 0, 0, canvas.height);
    sky.addColorStop(0, this.colour("sky-top"));
    sky.addColorStop(1, this.colour("sky-low"));
    ctx.fillStyle = sky;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
  }

  scenery(t) {
    const { ctx, film } = this, { bodies, floors, blast } = film.scenery, [left, right, bottom, top] = blast;
    ctx.fillStyle = this.colour("star");
    ctx.beginPath(); // of all stars at once
    for (const [x, y, radius] of this.stars) {
      ctx.moveTo(x + radius, y);
      ctx.arc(x, y, radius, 0, 2 * Math.PI);
    }
    ctx.fill();
    ctx.strokeStyle = this.colour("danger");
    ctx.globalAlpha = 0.5;
    ctx.lineWidth = 0.8;
    ctx.setLineDash([4, 4]);
    ctx.strokeRect(left, bottom, right - left, top - bottom);
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = this.colour("floor");
    ctx.lineWidth = 1.3;
    ctx.translate(0, -0.65);
    for (let i = 3 * film.platforms * t, end = i + 3 * film.platforms; i < end; i += 3) {
      const [from, to, height] = film.moving.subarray(i, i + 3);
      this.path([[from / this.unit, height / this.unit], [to / this.unit, height / this.unit]]);
      ctx.stroke();
    }
    for (const body of bodies) {
      const stone = ctx.createLinearGradient(0, 0, 0, -70);
      stone.addColorStop(0, this.colour("stone"));
      stone.addColorStop(1, this.colour("stone-low"));
      ctx.fillStyle = stone;
      this.path(body);
      ctx.fill();
    }
    for (const floor of floors) {
      this.path(floor);
      ctx.stroke();
    }
    ctx.translate(0, 0.65);
  }

  path(points) {
    this.ctx.beginPath();
    for (const [x, y] of points) this.ctx.lineTo(x, y);
  }

  disc(x, y, radius) {
    this.ctx.beginPath();
    this.ctx.arc(x, y, radius, 0, 2 * Math.PI);
    this.ctx.fill();
  }

  player(i, seat) {
    const { ctx, film } = this, { bits } = film, flags = film.flags[i], x = film.x[i] / this.unit;
    const y = film.y[i] / this.unit;
    if (film.rays[i]) return this.burst(i, 1 - film.rays[i] / film.most_rays, this.seats[seat]);
    if (flags & bits.gone) return;
    if (flags & bits.sparks) this.trail(i, seat);
    if (flags & bits.halo) {
      ctx.strokeStyle = this.colour("gold");
      ctx.lineWidth = 1.6;
      this.path([[x - 7, y - 0.8], [x + 7, y - 0.8]]);
      ctx.stroke();
    }
    ctx.save();
    ctx.translate(x, y);
    this.figure(i, seat);
    const look = film.looks[film.look[i]], shield = film.shield[i] / film.units.shield;
    if (shield) this.ball(0, look.shield_y, shield, this.seats[seat], 0.4);
    if (flags & bits.sparks) this.sparks(look.height, film.figure[i]);
    ctx.restore();
  }

  // Around the feet at the origin, in the steps that figures are stored in.
  figure(i, seat) {
    const { ctx, film } = this, { bits, units } = film, flags = film.flags[i], look = film.looks[film.look[i]];
    const seatColour = this.seats[seat], pale = flags & bits.frozen ? 0.75 : flags & bits.safe ? 0.5 : 0;
    const edge = 0.05 * units.figure * look.height;
    // seen from far away too
    const rim = Math.max(0.07 * units.figure * look.height, (units.figure / 120) * (this.canvas.height / this.scale));
    const size = 2 * film.joints, joints = film.figures.subarray(film.figure[i] * size, (film.figure[i] + 1) * size);
    const dark = this.paint(this.colour("outline"), seatColour, pale);
    const rig = this.rigs[film.look[i]];
    for (const part of rig.parts) part.place(joints);
    ctx.save();
    ctx.scale((flags & bits.facing ? 1 : -1) / units.figure, 1 / units.figure);
    this.outlines(rig.outlines, seatColour, edge + rim);
    for (const { parts, outlines } of rig.layers) {
      this.outlines(outlines, dark, edge);
      for (const part of parts) {
        ctx.fillStyle = ctx.strokeStyle = this.paint(part.paint, seatColour, pale);
        ctx.beginPath();
        part.trace(ctx);
        if (part.kind === "line") {
          ctx.lineWidth = part.size;
          ctx.stroke();
        } else ctx.fill();
      }
    }
    ctx.restore();
  }

  // All lines of one width at once. What is inside of an outline is painted over.
  outlines(outlines, colour, grow) {
    const { ctx } = this;
    ctx.strokeStyle = colour;
    for (const [width, parts] of outlines) {
      ctx.lineWidth = width + grow;
      ctx.beginPath();
      for (const part of parts) part.trace(ctx);
      ctx.stroke();
    }
  }

  // The colour of a part, mixed once.
  paint(paint, seat, pale) {
    const key = `${paint} ${seat} ${pale}`;
    if (!this.paints.has(key)) {
      const plain = paint === "seat" ? seat : paint === "shade" ? mix(seat, "#000", 0.38) : paint;
      this.paints.set(key, pale ? mix(plain, this.colour("light"), pale) : plain);
    }
    return this.paints.get(key);
  }

  ball(x, y, radius, colour, alpha) {
    const { ctx } = this;
    ctx.globalAlpha = alpha;
    ctx.fillStyle = colour;
    this.disc(x, y, radius);
    ctx.globalAlpha = 0.85;
    ctx.strokeStyle = this.colour("light");
    ctx.lineWidth = 0.3;
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  hits(i) {
    const { film } = this, set = film.circles[i], side = film.flags[i] & film.bits.facing ? 1 : -1;
    for (let n = 3 * film.circles_at[set]; n < 3 * film.circles_at[set + 1]; n += 3) {
      const [forward, up, radius] = film.circle.subarray(n, n + 3);
      this.ball(
        film.x[i] / this.unit + (side * forward) / this.unit, (film.y[i] + up) / this.unit, radius / this.unit,
        this.colour("hit"), 0.5,
      );
    }
  }

  items(t) {
    const { ctx, film } = this;
    for (let n = film.items_at[t]; n < film.items_at[t + 1]; n++) {
      const x = film.item_x[n] / this.unit, y = film.item_y[n] / this.unit, kind = film.item_kind[n];
      if (kind === film.item_kinds.laser) {
        const way = (film.item_way[n] / film.units.axis) * Math.PI, dx = 4.5 * Math.cos(way), dy = 4.5 * Math.sin(way);
        for (const [width, colour] of [[1.8, "danger"], [0.6, "light"]]) {
          ctx.strokeStyle = this.colour(colour);
          ctx.lineWidth = width;
          this.path([[x - dx, y - dy], [x + dx, y + dy]]);
          ctx.stroke();
        }
      } else {
        const decoration = kind === film.item_kinds.decoration;
        ctx.fillStyle = this.colour(decoration ? "star" : "outline");
        this.disc(x, y, 2.4);
        ctx.fillStyle = this.colour(decoration ? "star" : "glow");
        this.disc(x, y, 1.9);
      }
    }
  }

  trail(i, seat) {
    const { ctx, film } = this, up = film.looks[film.look[i]].height / 2;
    ctx.fillStyle = this.seats[seat];
    for (let age = 1; age <= 12 && i - 2 * age >= 0 && film.flags[i - 2 * age] & film.bits.sparks; age++) {
      ctx.globalAlpha = 0.28 * (1 - age / 13);
      this.disc(film.x[i - 2 * age] / this.unit, film.y[i - 2 * age] / this.unit + up, 2.6 * (1 - age / 18));
    }
    ctx.globalAlpha = 1;
  }

  sparks(height, turn) {
    const { ctx } = this, radius = 0.75 * height;
    ctx.strokeStyle = this.colour("glow");
    ctx.lineWidth = 0.9;
    for (let ray = 0; ray < 6; ray++) {
      const angle = (ray * Math.PI) / 3 + turn * 0.7, x = Math.cos(angle) * radius, y = Math.sin(angle) * radius;
      this.path([[x, height / 2 + y], [1.35 * x, height / 2 + 1.35 * y]]);
      ctx.stroke();
    }
  }

  // From the blast line, or from the edge of the picture, where a stock is lost; see selfplay_melee/drawing/burst.py.
  burst(i, age, colour) {
    const { ctx, canvas, film } = this, { rays, ring, ring_width, flash, inwards } = film.burst;
    const halfX = canvas.width / this.scale / 2, unit = canvas.height / this.scale / 2, left = 1 - age;
    const x = Math.min(Math.max(film.x[i] / this.unit, this.x - halfX), this.x + halfX);
    const y = Math.min(Math.max(film.y[i] / this.unit, this.y - unit), this.y + unit);
    const [right, up] = inwards[Math.min(film.action[i], inwards.length - 1)], way = Math.atan2(up, right);
    const head = 1 - left ** 3, tail = age ** 1.5;
    ctx.strokeStyle = colour;
    ctx.globalAlpha = left;
    ctx.lineWidth = unit * ring_width * left;
    ctx.beginPath();
    ctx.arc(x, y, unit * ring * head, 0, 2 * Math.PI);
    ctx.stroke();
    ctx.globalAlpha = 1;
    for (const [angle, length, width, light] of rays) {
      const dx = Math.cos(way + angle) * unit, dy = Math.sin(way + angle) * unit;
      const from = length * tail, to = length * head, middle = from + (to - from) / 3, half = (width * left) / 2;
      ctx.fillStyle = light ? this.colour("light") : colour;
      this.path([
        [x + dx * from, y + dy * from], [x + dx * middle - dy * half, y + dy * middle + dx * half],
        [x + dx * to, y + dy * to], [x + dx * middle + dy * half, y + dy * middle - dx * half],
      ]);
      ctx.fill();
    }
    ctx.fillStyle = this.colour("light");
    this.disc(x, y, unit * flash * left ** 2);
  }

  // A bubble at the edge with who is outside the picture, in pixels.
  away(i, seat) {
    const { ctx, canvas, film } = this, up = film.looks[film.look[i]].height / 2;
    const x = canvas.width / 2 + (film.x[i] / this.unit - this.x) * this.scale;
    const y = canvas.height / 2 - (film.y[i] / this.unit + up - this.y) * this.scale;
    if (film.flags[i] & film.bits.gone || (x >= 0 && x <= canvas.width && y >= 0 && y <= canvas.height)) return;
    const radius = canvas.height / 18, inset = 1.5 * radius;
    const cx = Math.min(Math.max(x, inset), canvas.width - inset);
    const cy = Math.min(Math.max(y, inset), canvas.height - inset);
    const angle = Math.atan2(y - cy, x - cx);
    ctx.fillStyle = this.seats[seat];
    this.path([0, 0.4, -0.4].map(
      (turn) => [
        cx + Math.cos(angle + turn) * radius * (turn ? 1 : 1.4),
        cy + Math.sin(angle + turn) * radius * (turn ? 1 : 1.4),
      ],
    ));
    ctx.fill();
    this.disc(cx, cy, radius);
    ctx.fillStyle = this.colour("sky-low");
    this.disc(cx, cy, 0.9 * radius);
    ctx.save();
    ctx.clip();
    ctx.translate(cx, cy);
    ctx.scale((0.7 * radius) / up, (-0.7 * radius) / up);
    ctx.translate(0, -up);
    this.figure(i, seat);
    ctx.restore();
  }

  // Names, percents and stocks in the lower part, as the game shows them; over them moves and combos.
  panel(t) {
    const { ctx, canvas, film } = this;
    // readable in small pictures too
    const unit = Math.max(canvas.height / 360, Math.min(window.devicePixelRatio || 1, canvas.width / 330));
    ctx.textBaseline = "alphabetic";
    for (const seat of [0, 1]) {
      const beside = Math.min(canvas.width / 4, this.narrow ? 112 * unit : Infinity);
      const i = 2 * t + seat, x = canvas.width / 2 + (seat ? beside : -beside), y = canvas.height;
      ctx.globalAlpha = 0.86;
      ctx.fillStyle = this.colour("panel");
      ctx.beginPath();
      ctx.roundRect(x - 76 * unit, y - 58 * unit, 152 * unit, 50 * unit, 9 * unit);
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.strokeStyle = ctx.fillStyle = this.seats[seat];
      ctx.lineWidth = unit;
      ctx.stroke();
      ctx.font = `600 ${11 * unit}px system-ui, sans-serif`;
      ctx.textAlign = "center";
      ctx.fillText(film.names[seat], x, y - 44 * unit, 140 * unit);
      for (let stock = 0; stock < Math.min(film.stocks[i], 8); stock++) {
        this.disc(x + (64 - 11 * (stock % 4)) * unit, y - (17 + 11 * Math.floor(stock / 4)) * unit, 3.8 * unit);
      }
      ctx.font = `700 ${26 * unit}px system-ui, sans-serif`;
      ctx.textAlign = "left";
      const percent = film.percent[i] / film.units.percent;
      ctx.fillStyle = heat(percent, this.colour);
      ctx.fillText(`${Math.floor(percent)}%`, x - 66 * unit, y - 15 * unit);
      this.told(film.moves[film.move[i]], x, y - 64 * unit, 12 * unit, "light");
      if (film.hits[i]) this.told(`${film.hits[i]} hits · ${film.dealt[i]}%`, x, y - 79 * unit, 15 * unit, "glow");
    }
  }

  // A line over a panel.
  told(text, x, y, size, colour) {
    const { ctx } = this;
    if (!text) return;
    ctx.font = `700 ${size}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.lineWidth = size / 4;
    ctx.lineJoin = "round";
    ctx.strokeStyle = this.colour("outline");
    ctx.fillStyle = this.colour(colour);
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
  }
}

// A part of a figure, in the steps of its joints. With points, they are forward and up from its first joint, where up
// is the way there from the second: BodyPart.places of selfplay_melee/drawing/figure.py.
class Part {
  constructor({ kind, joints, points, size, paint, inner = false }, unit) {
    Object.assign(this, { kind, joints, paint, inner, size: unit * size });
    this.points = points?.flat().map((number) => unit * number);
    this.places = new Float64Array(this.points?.length ?? 2 * joints.length); // x and y of each point
  }

  place(figure) {
    const { joints, points, places } = this, x = figure[2 * joints[0]], y = figure[2 * joints[0] + 1];
    if (!points) {
      for (let n = 0; n < joints.length; n++) {
        places[2 * n] = figure[2 * joints[n]];
        places[2 * n + 1] = figure[2 * joints[n] + 1];
      }
      return;
    }
    const dx = x - figure[2 * joints[1]], dy = y - figure[2 * joints[1] + 1], length = Math.hypot(dx, dy);
    const upX = dx / length, upY = dy / length;
    for (let n = 0; n < points.length; n += 2) {
      places[n] = x + points[n] * upY + points[n + 1] * upX;
      places[n + 1] = y - points[n] * upX + points[n + 1] * upY;
    }
  }

  // Adds it to the path of a canvas.
  trace(ctx) {
    const { kind, places } = this;
    if (kind === "circle") {
      ctx.moveTo(places[0] + this.size, places[1]);
      ctx.arc(places[0], places[1], this.size, 0, 2 * Math.PI);
      return;
    }
    ctx.moveTo(places[0], places[1]);
    for (let n = 2; n < places.length; n += 2) ctx.lineTo(places[n], places[n + 1]);
    if (kind === "polygon") ctx.closePath();
  }
}

// A rig with its outlines: parts by the width of the line that they are.
function prepared(rig, unit) {
  const layers = rig.map((layer) => layer.map((facts) => new Part(facts, unit))), parts = layers.flat();
  return {
    parts, outlines: byWidth(parts), layers: layers.map((layer) => ({ parts: layer, outlines: byWidth(layer) })),
  };
}

function byWidth(parts) {
  const found = new Map();
  for (const part of parts) {
    const width = part.kind === "line" ? part.size : 0;
    if (!part.inner) found.set(width, [...(found.get(width) ?? []), part]);
  }
  return [...found];
}

export function heat(percent, colour) {
  return mix(colour("text"), colour("danger"), Math.min(percent / 150, 1));
}
