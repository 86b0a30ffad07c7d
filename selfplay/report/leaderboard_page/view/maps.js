// Two square maps over the same players: what was scored, and how far that is from what the ratings expect.

import { follow, signed, svg } from "./svg.js";

export class PairMap {
  // ``shade`` gives a cell's place between -1 and 1 on the diverging scale, ``text`` what it shows where there is room.
  constructor(place, data, shade, text) {
    Object.assign(this, { data, shade, text, cells: new Map() });
    for (const [i, j, score, games, seeds, expected, z] of data.pairs) {
      this.cells.set(i * data.players.length + j, { i, j, score, games, seeds, expected, z });
      this.cells.set(j * data.players.length + i, {
        i: j, j: i, score: this.other(score), games, seeds, expected: this.other(expected), z: data.shared ? z : -z,
      });
    }
    follow(place, (width) => this.draw(width));
    for (const kind of ["pointermove", "pointerdown"]) place.addEventListener(kind, (event) => this.point(event));
    place.addEventListener("pointerleave", () => this.mark(null));
  }

  // The same result of the other player.
  other(result) {
    return this.data.shared ? result : this.data.payoff ? -result : 1 - result;
  }

  draw(width) {
    const { players } = this.data, count = players.length;
    const label = Math.min(6.3 * Math.max(...players.map((name) => name.length)) + 10, 120);
    const size = Math.max(14, Math.min(54, (width - label - 2) / count)), room = size >= 30;
    const total = label + size * count;
    const root = svg("svg", { width: total + 1, height: total + 1, class: "map" });
    players.forEach((name, k) => {
      const middle = label + size * (k + 0.5);
      const shown = name.length > 18 ? `${name.slice(0, 7)}…${name.slice(-10)}` : name; // versions differ at the end
      root.append(svg("text", { class: "axis", x: label - 5, y: middle + 4, "text-anchor": "end" }, shown));
      root.append(svg(
        "text", { class: "axis", transform: `translate(${middle + 4} ${label - 5}) rotate(-90)` }, shown,
      ));
    });
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < count; j++) {
        const cell = this.cells.get(i * count + j), x = label + size * j, y = label + size * i;
        const side = cell ? this.shade(cell) : 0, strength = Math.min(1, Math.abs(side));
        const box = svg("rect", {
          x: x + 0.5, y: y + 0.5, width: size - 1, height: size - 1, rx: 2,
          class: cell ? (side < 0 ? "less" : "more") : i === j ? "self" : "none",
        });
        if (cell) {
          box.dataset.cell = i * count + j;
          box.style.fillOpacity = (0.08 + 0.82 * strength).toFixed(3);
        }
        root.append(box);
        if (cell && room) {
          root.append(svg(
            "text",
            {
              class: strength > 0.62 ? "value strong" : "value", x: x + size / 2, y: y + size / 2 + 4,
              "text-anchor": "middle",
            },
            this.text(cell),
          ));
        }
      }
    }
    this.frame = svg("rect", { class: "marked", width: size, height: size, rx: 3, visibility: "hidden" });
    root.append(this.frame);
    return root;
  }

  point(event) {
    const key = event.target.dataset?.cell;
    this.mark(key === undefined ? null : event.target);
    if (key === undefined) return;
    const { i, j, score, games, seeds, expected, z } = this.cells.get(Number(key));
    const { players, payoff, shared, unit, decimals } = this.data;
    const written = (result) => (payoff ? signed(result, decimals) : `${(100 * result).toFixed(0)}%`);
    const off = payoff ? signed(score - expected, decimals) : `${signed(100 * (score - expected), 0)} points`;
    document.getElementById("detail").textContent =
      `${players[i]} ${shared ? "with" : "against"} ${players[j]}: ` +
      `${written(score)} ${payoff ? unit : "of the points"} in ${counted(games, "game")} ` +
      `on ${counted(seeds, "seed")}; the ratings expect ${written(expected)} ` +
      `(${off}, ${Math.abs(z).toFixed(1)} standard errors).`;
  }

  mark(box) {
    this.frame?.setAttribute("visibility", box ? "visible" : "hidden");
    if (box) for (const key of ["x", "y"]) this.frame.setAttribute(key, box.getAttribute(key) - 0.5);
  }
}

function counted(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
