// Pictures that a lens changes: node lens_cases.js. Prints by name "" or what is wrong.
import assert from "node:assert/strict";

import { Motion, withHeads } from "./lens.js";
import { report } from "../../support/cases.js";

const VIEW = { x: 0, y: 20, width: 160 }; // with an aspect of 16/9: from -25 to 65
const ASPECT = 16 / 9;
const close = (found, expected) => {
  for (const name of Object.keys(expected)) assert.ok(Math.abs(found[name] - expected[name]) < 1e-9, name);
};

const cases = {
  "heads inside change nothing": () => close(withHeads(VIEW, [{ x: 0, y: 40, up: 25 }], ASPECT), VIEW),
  "a head above makes room upwards": () => {
    const found = withHeads(VIEW, [{ x: 10, y: 50, up: 24 }, { x: 0, y: 0, up: 20 }], ASPECT);
    close(found, { x: 0, y: 24.5, width: 176 });
    assert.equal(found.y + found.width / ASPECT / 2, 74);
    assert.equal(found.y - found.width / ASPECT / 2, -25);
  },
  "who is outside stays so": () => {
    for (const place of [{ x: 81, y: 50 }, { x: 0, y: 66 }, { x: 0, y: -26 }]) {
      close(withHeads(VIEW, [{ ...place, up: 99 }], ASPECT), VIEW);
    }
  },
  "a strong hit shakes for some frames, a weak one does not": () => {
    const motion = new Motion(() => false);
    motion.strike(3);
    close(motion.shaken(VIEW), VIEW);
    motion.strike(20);
    assert.notEqual(motion.shaken(VIEW).x, VIEW.x);
    for (let n = 0; n < 14; n++) motion.pass();
    close(motion.shaken(VIEW), VIEW);
  },
  "a lost stock is closer for some frames": () => {
    const motion = new Motion(() => false);
    motion.lost(80, 0);
    close(motion.closer(VIEW), VIEW); // it begins softly
    for (let n = 0; n < 20; n++) motion.pass();
    const { x, width } = motion.closer(VIEW);
    assert.ok(x > 5 && x < 7 && width > 146 && width < 148);
    for (let n = 0; n < 25; n++) motion.pass();
    close(motion.closer(VIEW), VIEW);
  },
  "nothing moves for who asks for less motion": () => {
    const motion = new Motion(() => true);
    motion.strike(30);
    motion.lost(80, 0);
    motion.pass();
    close(motion.shaken(motion.closer(VIEW)), VIEW);
  },
};

await report(cases);
