// Special moves in the menu and presses that start none: node specials_cases.js FACTS.json. Prints by name "" or what
// is wrong.
import assert from "node:assert/strict";
import fs from "node:fs";

import { deadPress, specialRows } from "./specials.js";
import { report } from "../../support/cases.js";

const game = JSON.parse(fs.readFileSync(process.argv[2], "utf8")), { controller, special_moves: moves } = game;
const [DK, FOX] = game.characters;
const YET = "nothing yet", STARTS = "starts a move";

/** x and y from -8 to 8. */
function held(x, y, ...buttons) {
  const action = controller.neutral.slice();
  for (const name of buttons) action[controller.buttons.indexOf(name)] = 1;
  action[controller.sticks.main] += x;
  action[controller.sticks.main + 1] += y;
  return action;
}

const dead = (x, y, category, character = DK, before = held(x, y)) => (
  deadPress(before, held(x, y, "B"), category, character, game)
);

const cases = {
  "the list has all slots": () => {
    assert.deepEqual(specialRows([DK], moves), [
      ["neutral", STARTS, STARTS], ["side", YET, YET], ["up", YET, STARTS],
      ["down", STARTS, "nothing in the game either"],
    ]);
    assert.deepEqual(specialRows([DK, FOX], moves).map((row) => row.length), [5, 5, 5, 5]);
  },
  "a press without a move says so": () => {
    assert.equal(dead(8, 0, "wait"), "Donkey Kong, side special on the ground: nothing yet");
    assert.equal(dead(-8, 0, "fall"), "Donkey Kong, side special in the air: nothing yet");
    assert.equal(dead(0, 8, "walk"), "Donkey Kong, up special on the ground: nothing yet");
    assert.equal(dead(0, -8, "jump"), "Donkey Kong, down special in the air: nothing in the game either");
    assert.equal(dead(8, 0, "dash"), "Donkey Kong, side special on the ground: nothing yet");
  },
  "a press that starts a move says nothing": () => {
    for (const [x, y, category] of [[0, 0, "wait"], [0, 8, "fall"], [0, -8, "run"], [4, 4, "double_jump"]]) {
      assert.equal(dead(x, y, category), "");
    }
    for (const x of [-8, 0, 8]) for (const y of [-8, 0, 8]) assert.equal(dead(x, y, "fall", FOX), "");
  },
  "diagonals go by the rules": () => {
    assert.match(dead(8, 8, "wait"), /side/); // on the ground the side comes first
    assert.equal(dead(8, 8, "fall"), ""); // in the air up does
    assert.match(dead(8, -8, "fall"), /down/);
    assert.equal(dead(5, 8, "wait"), "Donkey Kong, up special on the ground: nothing yet"); // clamped to the circle
  },
  "B that is held on, no B, and actions without specials say nothing": () => {
    assert.equal(dead(8, 0, "wait", DK, held(8, 0, "B")), "");
    assert.equal(deadPress(null, held(8, 0), "wait", DK, game), "");
    for (const category of ["hitstun", "special", "shield", "tumble"]) assert.equal(dead(8, 0, category), "");
    assert.equal(dead(0, 8, "dash"), "");
  },
};

await report(cases);
