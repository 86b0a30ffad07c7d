// What a keyboard does to a controller. Keys are known by their place (``event.code``), so that every layout works.

/** Directions of a stick: those that lower and raise its first field, then its second. */
export const DIRECTIONS = ["left", "right", "down", "up"];

export const KEY_DEFAULTS = {
  main_left: "KeyA", main_right: "KeyD", main_down: "KeyS", main_up: "KeyW", half: "ShiftLeft",
  A: "KeyJ", B: "KeyK", X: "Space", Y: "KeyI", Z: "KeyU", L: "KeyL", R: "KeyO", D_UP: "KeyT",
  c_left: "ArrowLeft", c_right: "ArrowRight", c_down: "ArrowDown", c_up: "ArrowUp",
};
/** Keys of a second person at the same keyboard. A key of both is this one's, while two play. */
export const SECOND_DEFAULTS = {
  main_left: "ArrowLeft", main_right: "ArrowRight", main_down: "ArrowDown", main_up: "ArrowUp", half: "Slash",
  A: "Numpad4", B: "Numpad5", X: "Numpad0", Y: "Numpad8", Z: "Numpad7", L: "Numpad6", R: "Numpad9", D_UP: "NumpadAdd",
  c_left: "", c_right: "", c_down: "", c_up: "",
};
// Keys of the browser and of the page, which no control can have.
const RESERVED = /^(Escape|Tab|F\d+|(Control|Alt|Meta|OS)(Left|Right)?|ContextMenu|PrintScreen|Power|Unidentified)$/;
const NAMES = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", ShiftLeft: "Shift", ShiftRight: "R Shift",
  Semicolon: ";", Quote: "'", Comma: ",", Period: ".", Slash: "/", Backslash: "\\", BracketLeft: "[", BracketRight: "]",
  Minus: "-", Equal: "=", Backquote: "`", CapsLock: "Caps",
};

export function keyAllowed(code) {
  return typeof code === "string" && /^[A-Za-z0-9]{1,24}$/.test(code) && !RESERVED.test(code);
}

// What stands on a key; ``layout`` is the map of ``navigator.keyboard``, where there is one.
export function keyName(code, layout) {
  if (!code) return "–";
  const letter = layout?.get(code);
  if (letter?.trim()) return letter.toLocaleUpperCase();
  const plain = code.replace(/^(Key|Digit)(?=.$)/, "").replace(/^Numpad/, "Num ");
  return NAMES[code] ?? plain.replace(/([a-z])([A-Z])/g, "$1 $2");
}

// Stored keys by control, or the defaults where they are damaged. "" is a control without a key.
export function cleanKeys(stored, defaults = KEY_DEFAULTS) {
  const keys = { ...defaults }, used = new Set();
  for (const control of Object.keys(keys)) {
    const code = stored?.[control];
    if (code !== "" && (!keyAllowed(code) || used.has(code))) return { ...defaults };
    if (code) used.add(code);
    keys[control] = code;
  }
  return keys;
}

export class Keyboard {
  // keys: see `use`. controller: the layout of an action, controller_facts in selfplay_melee/browser/scene.py.
  constructor(keys, controller) {
    this.controller = controller;
    this.count = 0;
    this.since = {}; // by control: the number of its last press
    this.use(keys);
  }

  // keys: by control the code of its key, "" for none.
  use(keys) {
    this.controls = new Map(Object.entries(keys).filter(([, code]) => code).map(([control, code]) => [code, control]));
    this.held = new Set();
    this.tapped = new Set(); // pressed since the last frame; a key that is already up again counts for one frame
  }

  has(code) {
    return this.controls.has(code);
  }

  down(code) {
    const control = this.controls.get(code);
    if (!control) return;
    this.held.add(control);
    this.tapped.add(control);
    this.since[control] = ++this.count;
  }

  up(code) {
    this.held.delete(this.controls.get(code));
  }

  release() {
    this.held.clear();
    this.tapped.clear();
  }

  // The end of a frame: keys that are up no longer count.
  forget() {
    this.tapped.clear();
  }

  pressed(control) {
    return this.held.has(control) || this.tapped.has(control);
  }

  // Adds what is pressed to an action.
  merge(action) {
    const { buttons, sticks, centre } = this.controller;
    for (let i = 0; i < buttons.length; i++) if (this.pressed(buttons[i])) action[i] = 1;
    for (const [name, field] of Object.entries(sticks)) {
      const [left, right, down, up] = DIRECTIONS.map((direction) => `${name}_${direction}`);
      const x = this.axis(left, right), y = this.axis(down, up);
      if (!x && !y) continue;
      const amount = name === "main" && this.pressed("half") ? centre / 2 : centre; // half way walks and tilts
      action[field] = centre + amount * x;
      action[field + 1] = centre + amount * y;
    }
  }

  // Of two opposite directions that are held, the one that was pressed last counts.
  axis(low, high) {
    const below = this.pressed(low), above = this.pressed(high);
    if (below && above) return this.since[low] > this.since[high] ? -1 : 1;
    return Number(above) - Number(below);
  }
}
