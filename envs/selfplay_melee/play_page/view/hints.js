// What a person presses, in a line, for the device in use.

import { sourceName } from "./gamepad.js";

const ACTS = { attack: "A", special: "B", jump: "X", shield: "L", grab: "Z" };
const MOVES = ["main_up", "main_left", "main_down", "main_right"];
const TOUCH = [
  "Left thumb anywhere on the left: move", "flick and Attack: smash", "buttons on the right: hit",
  "Hop, or a very short tap of Jump: short hop", "pause at the top",
];
const ABOUT = {
  keys: "Left hand moves, right hand hits. A keyboard, a controller or a touch screen is all you need.",
  pad: "The left stick moves, the buttons hit. Your controller leads through the menus too.",
  touch: "Left thumb moves, right thumb hits. Two thumbs are all you need; held sideways, the picture is larger.",
};

/** A line about a game. controls: Controls. names: of the people who play it; none: it is watched. */
export function playHint(controls, names) {
  if (!names.length) return "You watch · pause Escape";
  if (names.length === 2) {
    const lines = names.map((name, person) => `${name}: ${hintOf(controls, person, deviceOf(controls, person))}`);
    return [...lines, "pause Escape"].join("\n");
  }
  const { device } = controls;
  if (device === "touch") return TOUCH.join(" · ");
  const pause = device === "pad" ? padSource(controls, null, "start") : "Escape";
  return `${hintOf(controls, null, device)} · pause ${pause}`;
}

export function aboutDevice({ device }) {
  return ABOUT[device];
}

/** The device of one of two people. */
function deviceOf(controls, person) {
  if (controls.gamepads.has(person)) return "pad";
  return person === 0 && controls.device === "touch" ? "touch" : "keys";
}

function hintOf(controls, person, device) {
  if (device === "touch") return "thumbs";
  const pad = device === "pad", name = (control) => (
    pad ? padSource(controls, person, control) : controls.keyLabel(control, person ?? 0)
  );
  const moves = pad ? padMoves(controls, person) : MOVES.map(name).join(" ");
  return [`Move ${moves}`, ...Object.entries(ACTS).map(([act, control]) => `${act} ${name(control)}`)].join(" · ");
}

function padState({ gamepads }, person) {
  for (const [index, state] of gamepads.states) if (person === null || gamepads.owner(index) === person) return state;
  return null;
}

function padSource(controls, person, control) {
  const state = padState(controls, person);
  if (!state) return "–";
  return sourceName(state.sources[control].split(" ")[0], state.profile.standard);
}

function padMoves(controls, person) {
  const state = padState(controls, person), left = state?.sources.main_left ?? "a0-";
  return left.startsWith("a") ? "left stick" : MOVES.map((control) => padSource(controls, person, control)).join(" ");
}
