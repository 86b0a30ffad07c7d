// What controllers of the Gamepad API do to a controller of the game.
//
// A source is text: "b3" is button 3; "a1-" axis 1 below its middle, "a1+" above; "t4" axis 4 as a trigger, which rests
// near -1; "h9.2" the direction 2 (of 8, clockwise from up) of the hat on axis 9. Sources with spaces between them are
// alternatives.

import { DIRECTIONS } from "./keyboard.js";

const SOURCE = /^(?:b(\d{1,2})|a(\d{1,2})([+-])|t(\d{1,2})|h(\d{1,2})\.([0-7]))$/;
const PRESSED = 0.5; // of a button's way
const DEAD = 0.15; // of a stick's reach around its middle
const GATE = 0.92; // of a stick's reach; the sides of an eight-sided gate are this far from its middle
const REST = 0.35; // a stick or trigger counts once it was seen below this
const PUSHED = 0.5; // change of an axis that chooses it for a control
const TRIGGER = [-0.6, 0.6]; // where the trigger of a GameCube controller begins and ends on its axis
const FEW = 16; // controllers whose settings are kept

const stick = (x, y, name, directions = `a${x}- a${x}+ a${y}+ a${y}-`.split(" ")) =>
  Object.fromEntries(DIRECTIONS.map((direction, i) => [`${name}_${direction}`, directions[i]]));
const gameCube = (a, b, x, y, z, l, r, start, up, cx, cy, lightL = "", lightR = "") => ({
  ...stick(0, 1, "main"), ...stick(cx, cy, "c"),
  ...Object.fromEntries(Object.entries({ A: a, B: b, X: x, Y: y, Z: z, L: l, R: r, start, D_UP: up }).map(
    ([control, i]) => [control, `b${i}`],
  )),
  light_l: lightL, light_r: lightR,
});
const modern = (a, b, x, y) => ({
  ...stick(0, 1, "main"), ...stick(2, 3, "c"),
  A: a, B: b, X: x, Y: y, Z: "b4 b5", L: "b6", R: "b7", D_UP: "b12", light_l: "b6", light_r: "b7", start: "b9",
});
const GAME_CUBE_REACH = 0.75, REACH = 0.95;

// Known controllers; the first that fits the id is taken. The numbers are USB vendor and product.
export const PAD_PROFILES = [
  {
    name: "Switch Pro controller", ids: /057e\D{1,12}(2009|2069)/, standard: true, reach: REACH,
    sources: modern("b1", "b0", "b3", "b2"),
  },
  { name: "Standard controller", ids: /^/, standard: true, reach: REACH, sources: modern("b0", "b2", "b1", "b3") },
  {
    name: "GameCube adapter (Mayflash, PC mode)", ids: /\b0*79\D{1,12}184[3-6]|1a34.{1,12}f705|mayflash|nexilux/,
    reach: GAME_CUBE_REACH,
    sources: gameCube(1, 2, 0, 3, 7, 4, 5, 9, 12, 5, 2, "t3", "t4"),
  },
  { // the driver wii-u-gc-adapter of Linux, in the order of evdev
    name: "GameCube adapter (Wii U, Linux driver)", ids: /057e\D{1,12}0*337|wii u gamecube adapter port/,
    reach: GAME_CUBE_REACH,
    sources: gameCube(0, 3, 1, 2, 6, 4, 5, 7, 8, 3, 4, "t2", "t5"),
  },
  {
    name: "GameCube adapter (vJoy)", ids: /1234.{1,12}bead|vjoy/, reach: GAME_CUBE_REACH,
    sources: gameCube(0, 1, 2, 3, 4, 6, 5, 7, 8, 3, 4, "t2", "t5"),
  },
  {
    name: "GameCube adapter (Brook)", ids: /0e8f.{1,12}0003|wii u gamecube controller adapter/, reach: GAME_CUBE_REACH,
    sources: gameCube(0, 1, 2, 3, 4, 11, 10, 8, 12, 2, 5, "t3", "t4"),
  },
  {
    name: "GameCube adapter (raphnet 2)", ids: /289b.{1,12}000c|gc\/n64 to usb,? v2/, reach: REACH,
    sources: gameCube(4, 3, 2, 1, 7, 5, 6, 0, 8, 3, 4),
  },
  {
    name: "GameCube adapter (raphnet 3)", ids: /289b|gc\/n64 to usb/, reach: REACH,
    sources: gameCube(0, 1, 7, 8, 2, 4, 5, 3, 10, 3, 4),
  },
  { name: "Unknown controller", ids: /^/, reach: REACH, sources: modern("b0", "b2", "b1", "b3") },
];

/** What controllers control. */
export const PAD_CONTROLS = Object.keys(PAD_PROFILES[0].sources);
const PAD_STICKS = ["main", "c"];

export function padProfile(id, mapping) {
  return PAD_PROFILES.find(
    ({ ids, standard }) => ids.test(id.toLowerCase()) && Boolean(standard) === (mapping === "standard"),
  );
}

export function sourceAllowed(text) {
  return typeof text === "string" && text.length < 64 && text.split(" ").every((part) => SOURCE.test(part));
}

// Stored settings by id of the controller; what is damaged is left out.
export function cleanPads(stored) {
  const pads = {};
  const entries = stored && typeof stored === "object" ? Object.entries(stored).slice(-FEW) : [];
  for (const [id, settings] of entries) {
    if (id === "__proto__" || id.length > 200 || typeof settings !== "object" || !settings) continue;
    const clean = pads[id] = { sources: {}, sticks: {} };
    if (PAD_PROFILES.some(({ name }) => name === settings.profile)) clean.profile = settings.profile;
    for (const control of PAD_CONTROLS) {
      const source = settings.sources?.[control];
      if (source === "" || sourceAllowed(source)) clean.sources[control] = source;
    }
    for (const name of PAD_STICKS) {
      const { rest, reach } = settings.sticks?.[name] ?? {};
      if (within(rest, 2, -0.5, 0.5) && within(reach, 4, 0.2, 2)) {
        clean.sticks[name] = { rest: [...rest], reach: [...reach] };
      }
    }
  }
  return pads;
}

function within(list, length, low, high) {
  return Array.isArray(list) && list.length === length && list.every(
    (value) => typeof value === "number" && value >= low && value <= high,
  );
}

// Codes of a stick at x, y, in parts of its reach; centre: the code of its middle, half of the highest.
// A stick at its gate is all the way out. The game clamps codes to a circle, so that the square has the finest angles.
export function stickCodes(x, y, centre) {
  const length = Math.hypot(x, y);
  if (length < DEAD) return [centre, centre];
  const scale = length < GATE ? 1 : 1 / Math.max(Math.abs(x), Math.abs(y));
  return [x, y].map((value) => centre + Math.round(centre * Math.min(Math.max(value * scale, -1), 1)));
}

function parse(text) {
  return text.split(" ").filter(Boolean).map((part) => {
    const [, button, axis, sign, trigger, hat, direction] = SOURCE.exec(part);
    if (button) return { kind: "button", index: Number(button) };
    if (axis) return { kind: "axis", index: Number(axis), sign: sign === "+" ? 1 : -1 };
    return trigger
      ? { kind: "trigger", index: Number(trigger) }
      : { kind: "hat", index: Number(hat), direction: Number(direction) };
  });
}

// How far a source is pressed, 0 to 1; 0 for one that the controller does not have.
function amount(raw, { kind, index, sign, direction }) {
  const button = raw.buttons[index], value = raw.axes[index];
  if (kind === "button") {
    return button ? Math.max(Number(button.value) || 0, Number(button.pressed && !button.value)) : 0;
  }
  if (!Number.isFinite(value)) return 0;
  if (kind === "axis") return Math.max(sign * value, 0);
  if (kind === "trigger") return Math.min(Math.max((value - TRIGGER[0]) / (TRIGGER[1] - TRIGGER[0]), 0), 1);
  const turn = hatDirection(value);
  return turn >= 0 && [0, 1, 7].includes((turn - direction + 8) % 8) ? 1 : 0;
}

function hatDirection(value) {
  return Math.abs(value) > 1.01 ? -1 : Math.round((value + 1) * 3.5);
}

// One connected controller with its settings.
export class GamepadState {
  // controller: of `Keyboard`.
  constructor(raw, settings, controller) {
    this.id = raw.id;
    this.controller = controller;
    this.use(raw, settings);
  }

  // settings: { profile, sources, sticks } that stand in place of those of the profile that fits.
  use(raw, settings) {
    this.profile = PAD_PROFILES.find(({ name }) => name === settings?.profile) ?? padProfile(raw.id, raw.mapping);
    this.sources = { ...this.profile.sources, ...settings?.sources };
    this.parsed = Object.fromEntries(Object.entries(this.sources).map(([control, text]) => [control, parse(text)]));
    this.sticks = Object.entries(this.controller.sticks).map(([name, field]) => {
      const directions = DIRECTIONS.map((direction) => `${name}_${direction}`);
      const { rest = [0, 0], reach = Array(4).fill(this.profile.reach) } = settings?.sticks?.[name] ?? {};
      return { name, field, directions, rest, reach, x: 0, y: 0, awake: false };
    });
    this.lights = [{ control: "light_l", awake: false }, { control: "light_r", awake: false }];
    this.read(raw);
  }

  amount(control) {
    let most = 0;
    for (const source of this.parsed[control]) most = Math.max(most, amount(this.raw, source));
    return most;
  }

  pressed(control) {
    return this.amount(control) >= PRESSED;
  }

  // Takes in what the controller reports.
  // A stick or trigger counts once it was seen at rest: an empty port of an adapter reports -1, a trigger that was not
  // touched yet 0, half pressed.
  read(raw) {
    this.raw = raw;
    this.touched = raw.buttons.some(held);
    for (const one of this.sticks) {
      const [left, right, down, up] = one.directions.map((direction) => this.amount(direction));
      one.seen = [right - left, up - down];
      one.x = share(one.seen[0] - one.rest[0], one.reach[0], one.reach[1]);
      one.y = share(one.seen[1] - one.rest[1], one.reach[2], one.reach[3]);
      one.awake ||= Math.hypot(one.x, one.y) < REST;
      if (one.measured) {
        one.measured = [0, 1].flatMap((i) => [
          Math.min(one.measured[2 * i], one.seen[i]), Math.max(one.measured[2 * i + 1], one.seen[i]),
        ]);
      }
    }
    for (const light of this.lights) {
      light.amount = this.amount(light.control);
      light.awake ||= light.amount < REST;
    }
  }

  // Adds what is pressed to an action.
  merge(action) {
    const { buttons, shoulder, centre, highest } = this.controller;
    for (let i = 0; i < buttons.length; i++) if (this.pressed(buttons[i])) action[i] = 1;
    for (const { x, y, awake, field } of this.sticks) {
      if (!awake) continue;
      const codes = stickCodes(x, y, centre), far = (a, b) => Math.hypot(a - centre, b - centre);
      if (far(...codes) > far(action[field], action[field + 1])) action.set(codes, field);
    }
    for (const { awake, amount: pressed } of this.lights) {
      const code = Math.round(highest[shoulder] * Math.min(pressed, 1));
      if (awake) action[shoulder] = Math.max(action[shoulder], code);
    }
  }

  // Measures the sticks from now on: they are at rest now and then go once around.
  measure() {
    for (const one of this.sticks) Object.assign(one, { measuredRest: one.seen, measured: [0, 0, 0, 0] });
  }

  // What was measured, by stick; sticks that were not turned all around are left out.
  measurement() {
    const found = {};
    for (const one of this.sticks) {
      const [left, right, down, up] = one.measured, [x, y] = one.measuredRest;
      // so that the rim is reached surely
      const reach = [x - left, right - x, y - down, up - y].map((far) => 0.97 * far);
      if (Math.min(...reach) > 0.3 && Math.max(...reach) < 2 && Math.max(Math.abs(x), Math.abs(y)) < 0.5) {
        found[one.name] = { rest: [x, y], reach };
      }
      one.measured = null;
    }
    return found;
  }
}

// A deflection as a part of the reach on its side.
function share(value, low, high) {
  return value < 0 ? value / low : value / high;
}

// Finds what a person chooses for a control by pressing it and letting go.
export class SourceChoice {
  constructor(raw) {
    this.before = { buttons: raw.buttons.map(held), axes: [...raw.axes] };
    this.found = new Set();
  }

  // Takes in what the controller reports. Once all is let go: the source, and "" before that.
  // The trigger of a GameCube controller moves an axis and at its end a button; ``analog`` prefers the axis.
  read(raw, analog) {
    const moved = this.moved(raw);
    for (const source of moved) this.found.add(source);
    if (moved.length || !this.found.size) return "";
    const found = [...this.found];
    this.found.clear();
    return found.find((source) => source.startsWith("b") !== analog) ?? found[0];
  }

  moved(raw) {
    const moved = [];
    for (let i = 0; i < raw.buttons.length; i++) {
      if (held(raw.buttons[i]) && !this.before.buttons[i]) moved.push(`b${i}`);
    }
    for (let i = 0; i < raw.axes.length; i++) {
      const was = this.before.axes[i], value = raw.axes[i];
      if (!(Math.abs(value - was) > PUSHED)) continue;
      if (Math.abs(was) > 1.01) moved.push(`h${i}.${hatDirection(value)}`);
      else moved.push(was < -PUSHED ? `t${i}` : `a${i}${value > was ? "+" : "-"}`);
    }
    return moved;
  }
}

function held({ pressed, value }) {
  return pressed || value > PRESSED;
}

const STANDARD_BUTTONS = [
  "A / ✕", "B / ○", "X / □", "Y / △", "LB / L1", "RB / R1", "LT / L2", "RT / R2", "View / Share", "Menu / Options",
  "Left stick", "Right stick",
  "D-pad ↑", "D-pad ↓", "D-pad ←", "D-pad →",
];

// A source in words.
export function sourceName(text, standard) {
  return text.split(" ").filter(Boolean).map((one) => {
    const [, button, axis, sign, trigger, hat, direction] = SOURCE.exec(one);
    if (button) return standard ? STANDARD_BUTTONS[button] ?? `Button ${button}` : `Button ${button}`;
    if (axis) return `Axis ${axis} ${sign === "+" ? "+" : "−"}`;
    return trigger ? `Trigger ${trigger}` : `Hat ${hat} ${"↑↗→↘↓↙←↖"[direction]}`;
  }).join(", ") || "–";
}

// All controllers that are connected.
export class Gamepads {
  // list: function that gives what ``navigator.getGamepads`` does. settings: by id of a controller.
  // controller: of `Keyboard`.
  constructor(list, settings, controller) {
    this.list = list;
    this.controller = controller;
    this.settings = settings;
    this.states = new Map(); // by index
    this.owners = new Map(); // by index, where the people chose
  }

  use(settings) {
    this.settings = settings;
    this.states.clear();
  }

  // Reads all controllers; how many came and how many are gone since the last time.
  poll() {
    const present = this.list();
    let came = 0, gone = 0;
    for (const raw of present) {
      const state = this.states.get(raw.index);
      const settings = Object.hasOwn(this.settings, raw.id) ? this.settings[raw.id] : null;
      if (state?.id === raw.id) state.read(raw);
      else {
        came++;
        this.states.set(raw.index, new GamepadState(raw, settings, this.controller));
      }
    }
    for (const index of this.states.keys()) {
      if (!present.some((raw) => raw.index === index)) gone += Number(this.states.delete(index));
    }
    return { came, gone };
  }

  /** Which of two people has a controller, 0 or 1: the first has the first of two. A single one is the second's. */
  owner(index) {
    const all = [...this.states.keys()].sort((a, b) => a - b);
    return this.owners.get(index) ?? Number(all.length < 2 || index !== all[0]);
  }

  get touched() {
    return [...this.states.values()].some(({ touched }) => touched);
  }

  has(person) {
    return [...this.states.keys()].some((index) => this.owner(index) === person);
  }

  // person: whose controllers; null: all.
  merge(action, person = null) {
    for (const [index, state] of this.states) {
      if (person === null || this.owner(index) === person) state.merge(action);
    }
  }

  pressed(control) {
    for (const state of this.states.values()) if (state.pressed(control)) return true;
    return false;
  }
}
