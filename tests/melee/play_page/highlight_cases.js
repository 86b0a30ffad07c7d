// The best moments of films: node highlight_cases.js. Prints by name "" or what is wrong.
import assert from "node:assert/strict";

import { bestMoment } from "./highlight.js";
import { report } from "../../support/cases.js";

/** A film of 20 seconds. hits: [moment, seat that is hit]. combos: [moment, seat, damage]. */
function film(losses, hits = [], combos = [], length = 1200) {
  const percent = new Uint16Array(2 * length), dealt = new Uint8Array(2 * length);
  for (const [at, seat] of hits) for (let t = at; t < length; t++) percent[2 * t + seat] += 50;
  for (const [t, seat, damage] of combos) dealt[2 * t + seat] = damage;
  return { fps: 60, length, losses, percent, dealt };
}

const cases = {
  "the last stock that was taken": () => {
    const losses = [[400, 1], [800, 0], [1000, 1]];
    assert.equal(bestMoment(film(losses, [[300, 1], [700, 0]], [[600, 0, 90]])), 560);
  },
  "a stock that was thrown away is none": () => {
    assert.equal(bestMoment(film([[800, 0]], [[500, 0], [799, 1]], [[600, 0, 40], [700, 1, 41], [900, 0, 41]])), 460);
  },
  "it ends with the fight, and begins with it": () => {
    assert.equal(bestMoment(film([[1199, 1]], [[1100, 1]])), 840);
    assert.equal(bestMoment(film([[100, 1]], [[90, 1]])), 0);
    assert.equal(bestMoment(film([[100, 1]], [[90, 1]], [], 120)), 0);
  },
  "nothing happens": () => assert.equal(bestMoment(film([])), 0),
};

await report(cases);
