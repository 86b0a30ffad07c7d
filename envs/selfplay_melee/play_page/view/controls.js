// What a person presses, on the keyboard and on controllers, as an action of the game.

import { cleanKeys, KEY_DEFAULTS, keyAllowed, Keyboard, keyName } from "./keyboard.js";
import { cleanPads, Gamepads } from "./gamepad.js";

const STORED = "selfplay.controls.1"; // the number is that of the format
const LONGEST = 1 << 16; // characters of stored settings
const MENU_PUSH = 4; // steps of the stick that move in a menu
// What controllers mean; ``start`` pauses, and in the menu of the pause confirms that the game goes on.
const PAD_COMMANDS = {
  playing: { start: "pause" },
  test: { start: "back" },
  menu: { start: "confirm", A: "confirm", B: "back", left: "left", right: "right", down: "down", up: "up" },
};
const WRITTEN = /^(INPUT|TEXTAREA)$/, CHOSEN = /^(INPUT|TEXTAREA|SELECT|BUTTON|A|SUMMARY)$/;

/**
 * The controls of one person.
 *
 * ``read`` is called once a frame, in menus too: controllers are polled there. ``onCommand`` is called with "pause"
 * (Escape or Start while playing, or the loss of a controller), "back" (Escape, or B of a controller, in menus),
 * "confirm" (Enter, or Start or A of a controller in menus), and "left", "right", "down" or "up" (a controller, in
 * menus).
 */
export class Controls {
  // target: window, or what is like it. storage: localStorage, or null. controller: of `Keyboard`.
  constructor(target, storage, controller) {
    this.target = target;
    this.storage = storage;
    this.controller = controller;
    this.playing = false;
    this.onCommand = () => {};
    this.captured = null; // while the person chooses a key: the function that takes its code
    this.testing = false; // controllers are tried: only their Start is a command, and goes back
    this.noControllers = false; // the page may not read them
    this.kept = true; // whether the browser keeps settings
    this.layout = null; // what stands on the keys, where the browser tells
    this.pressed = new Set(); // of controllers, on the last frame
    const { keys, pads } = this.load();
    this.keys = keys;
    this.keyboard = new Keyboard(keys, controller);
    this.gamepads = new Gamepads(() => this.connected(), pads, controller);
    target.navigator?.keyboard?.getLayoutMap?.().then((layout) => { this.layout = layout; }, () => {});
    target.addEventListener("keydown", (event) => this.keyDown(event), true);
    target.addEventListener("keyup", (event) => this.keyUp(event), true);
    target.addEventListener("blur", () => this.keyboard.release());
    target.document?.addEventListener("visibilitychange", () => this.keyboard.release());
  }

  /** Keys are the game's from now on. */
  start() {
    this.playing = true;
    this.captured = null;
    this.keyboard.forget();
  }

  /** Keys are the menu's from now on; ``read`` gives a controller that nobody touches. */
  stop() {
    this.playing = false;
  }

  /** The action of this frame, in directions of the screen. A key that was only tapped since the last frame counts. */
  read() {
    const gone = this.gamepads.poll();
    const action = this.playing ? this.look() : this.rest();
    this.keyboard.forget();
    if (gone && this.playing) this.onCommand("pause");
    this.command();
    return action;
  }

  /** What is pressed, also while ``read`` gives nothing; controllers as of the last ``read``. */
  look() {
    const action = this.rest();
    this.keyboard.merge(action);
    this.gamepads.merge(action);
    return action;
  }

  // The action of a controller that nobody touches.
  rest() {
    return Int8Array.from(this.controller.neutral);
  }

  // Calls ``onCommand`` for what controllers press anew.
  command() {
    const { pressed } = this, meaning = PAD_COMMANDS[this.testing ? "test" : this.playing ? "playing" : "menu"];
    this.pressed = this.pushed();
    if (this.captured) return; // the person chooses what a control shall be
    for (const what of this.pressed) if (!pressed.has(what) && meaning[what]) this.onCommand(meaning[what]);
  }

  // What is pressed of Start, A, B and the directions of a menu.
  pushed() {
    const found = new Set();
    if (!this.gamepads.states.size) return found;
    for (const control of ["start", "A", "B"]) if (this.gamepads.pressed(control)) found.add(control);
    const action = this.rest(), { sticks: { main: field }, centre } = this.controller;
    this.gamepads.merge(action);
    const x = action[field] - centre, y = action[field + 1] - centre;
    if (Math.hypot(x, y) >= MENU_PUSH) {
      found.add(Math.abs(x) > Math.abs(y) ? (x < 0 ? "left" : "right") : (y < 0 ? "down" : "up"));
    }
    return found;
  }

  connected() {
    try {
      return Array.from(this.target.navigator?.getGamepads?.() ?? []).filter((pad) => pad?.connected);
    } catch {
      this.noControllers = true;
      return [];
    }
  }

  keyDown(event) {
    const { code, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (this.captured) {
      this.capture(event);
      return;
    }
    if (this.playing && this.keyboard.has(code)) event.preventDefault();
    if (event.repeat || (!this.playing && WRITTEN.test(target?.tagName))) return;
    this.keyboard.down(code);
    if (code === "Escape") this.onCommand(this.playing ? "pause" : "back");
    const own = !this.playing && CHOSEN.test(target?.tagName); // Enter is the element's own
    if ((code === "Enter" || code === "NumpadEnter") && !own && !(this.playing && this.keyboard.has(code))) {
      this.onCommand("confirm");
    }
  }

  keyUp(event) {
    this.keyboard.up(event.code);
    if (event.key === "Meta") this.keyboard.release(); // macOS tells of no key that goes up while this one is down
  }

  /** The next key is not pressed but chosen: ``taken`` is called with its code, or with null after Escape. */
  chooseKey(taken) {
    this.captured = taken;
  }

  capture(event) {
    const { code } = event, taken = this.captured;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat || (code !== "Escape" && !keyAllowed(code))) return;
    this.captured = null;
    taken(code === "Escape" ? null : code);
  }

  /** What stands on the key of a control. */
  keyLabel(control) {
    return keyName(this.keys[control], this.layout);
  }

  /** Gives a control a key. A control that had the key gets the one that is free now. */
  setKey(control, code) {
    for (const [other, its] of Object.entries(this.keys)) if (its === code) this.keys[other] = this.keys[control];
    this.keys[control] = code;
    this.keyboard.use(this.keys);
    this.save();
  }

  resetKeys() {
    this.keys = { ...KEY_DEFAULTS };
    this.keyboard.use(this.keys);
    this.save();
  }

  /** Changes settings of a controller: { profile, sources, sticks }; null for those that fit it. */
  setPad(id, settings) {
    const pads = { ...this.gamepads.settings };
    delete pads[id]; // what is set last stands last, and is kept longest
    this.gamepads.use(cleanPads(settings ? { ...pads, [id]: settings } : pads));
    this.gamepads.poll();
    this.save();
  }

  load() {
    let stored = null;
    try {
      const text = this.storage?.getItem(STORED);
      if (text && text.length < LONGEST) stored = JSON.parse(text);
    } catch {
      // a browser may keep nothing for a file, and what it keeps may be damaged
    }
    return { keys: cleanKeys(stored?.keys), pads: cleanPads(stored?.pads) };
  }

  save() {
    try {
      this.storage.setItem(STORED, JSON.stringify({ keys: this.keys, pads: this.gamepads.settings }));
    } catch {
      this.kept = false; // the settings last as long as the page
    }
  }
}
