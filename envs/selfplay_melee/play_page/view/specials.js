// Special moves of characters: the list in the menu, and presses of B that start nothing. Runs in node too.

const STANDING = new Set(["wait", "walk", "run"]); // categories of actions in which B starts a special move
const SIDEWAYS = new Set(["dash", "turn"]); // in these only a sideways one is sure to start
const AIRBORNE = new Set(["jump", "double_jump", "fall"]);
const DIRECTIONS = ["neutral", "side", "up", "down"];
const B = "B";

/** Rows of the list: the direction, then on the ground and in the air what B does for each character. */
export function specialRows(characters, { words }) {
  return DIRECTIONS.map((direction, n) => [
    direction, ...characters.flatMap(({ specials }) => [words[specials[2 * n]], words[specials[2 * n + 1]]]),
  ]);
}

/**
 * What is said of a press that starts nothing, since the character has no such move; "" of others.
 *
 * before, now: what a person held on the frame before and holds now, sticks in directions of the screen. category: of
 * the action on the frame before. character: of the page. facts: `controller` of the page's facts, and its
 * `special_moves`.
 */
export function deadPress(before, now, category, { specials, label }, { controller, special_moves: moves }) {
  const button = controller.buttons.indexOf(B), air = AIRBORNE.has(category);
  if (!now[button] || before?.[button]) return "";
  const direction = directionOf(stick(now, controller), air, moves);
  if (!air && !STANDING.has(category) && !(SIDEWAYS.has(category) && direction === "side")) return "";
  const kind = specials[2 * DIRECTIONS.indexOf(direction) + Number(air)];
  const place = air ? "in the air" : "on the ground";
  return kind === moves.starts ? "" : `${label}, ${direction} special ${place}: ${moves.words[kind]}`;
}

/** `start_special` of selfplay_melee/physics/actions/special.py. */
function directionOf([x, y], air, { side, up }) {
  if (Math.abs(x) >= side && (!air || Math.abs(y) < up)) return "side";
  return Math.abs(y) < up ? "neutral" : y > 0 ? "up" : "down";
}

/** The main stick, on the circle that the game clamps it to. */
function stick(action, { sticks, centre }) {
  const [x, y] = [0, 1].map((n) => (action[sticks.main + n] - centre) / centre), length = Math.max(Math.hypot(x, y), 1);
  return [x / length, y / length];
}
