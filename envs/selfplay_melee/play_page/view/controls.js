// What one or two people press, on the keyboard, on controllers and on a touch screen, as actions of the game.

import { cleanKeys, KEY_DEFAULTS, keyAllowed, Keyboard, keyName, SECOND_DEFAULTS } from "./keyboard.js";
import { cleanPads, Gamepads } from "./gamepad.js";
import { Touch } from "./touch.js";

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

const KEYS_OF = [KEY_DEFAULTS, SECOND_DEFAULTS]; // by person

/**
 * The controls of one person, who has all devices, or of two.
 *
 * ``read`` is called once a frame, in menus too: controllers are polled there. ``onCommand`` is called with "pause"
 * (Escape or Start while playing, or a controller that comes or goes, with the reason), "back" (Escape, or B of a
 * controller, in menus), "confirm" (Enter, or Start or A of a controller in menus), and "left", "right", "down" or "up"
 * (a controller, in menus). ``onDevice`` is called when another device is used, or when it is known what keys show.
 */
export class Controls {
  // target: window, or what is like it. storage: localStorage, or null. controller: of `Keyboard`.
  constructor(target, storage, controller) {
    this.target = target;
    this.storage = storage;
    this.controller = controller;
    this.playing = false;
    this.onCommand = () => {};
    this.onDevice = () => {};
    this.people = 1;
    /** What was used last: "keys", "pad" or "touch". */
    this.device = target.matchMedia?.("(pointer: coarse)").matches ? "touch" : "keys";
    this.captured = null; // while the person chooses a key: the function that takes its code
    this.testing = false; // controllers are tried: only their Start is a command, and goes back
    this.noControllers = false; // the page may not read them
    this.kept = true; // whether the browser keeps settings
    this.layout = null; // what stands on the keys, where the browser tells
    this.pressed = new Set(); // of controllers, on the last frame
    this.touched = false; // whether a button of a controller was pressed on the last frame
    const { keys, pads } = this.load();
    this.keys = keys; // by person
    this.keyboards = keys.map((its) => new Keyboard(its, controller));
    this.gamepads = new Gamepads(() => this.connected(), pads, controller);
    this.touch = new Touch(controller);
    target.navigator?.keyboard?.getLayoutMap?.().then((layout) => {
      this.layout = layout;
      this.onDevice();
    }, () => {});
    target.addEventListener("keydown", (event) => this.keyDown(event), true);
    target.addEventListener("keyup", (event) => this.keyUp(event), true);
    target.addEventListener("pointerdown", (event) => { if (event.pointerType === "touch") this.use("touch"); }, true);
    target.addEventListener("blur", () => this.release());
    target.document?.addEventListener("visibilitychange", () => this.release());
  }

  /** Keys are the game's from now on. people: how many play, 0 to 2; both have a set of keys. */
  start(people = 1) {
    if (people !== this.people) this.release();
    this.people = people;
    this.playing = true;
    this.captured = null;
    this.forget();
  }

  use(device) {
    if (device === this.device) return;
    this.device = device;
    this.onDevice();
  }

  /** Whether the second person has keys: two play, and no controller is the second's. */
  get secondKeys() {
    return this.people === 2 && !this.gamepads.has(1);
  }

  /** The keyboard to which a key belongs. */
  boardOf(code) {
    return this.keyboards[Number(this.secondKeys && this.keyboards[1].has(code))];
  }

  release() {
    for (const device of [...this.keyboards, this.touch]) device.release();
  }

  forget() {
    for (const device of [...this.keyboards, this.touch]) device.forget();
  }

  /** Keys are the menu's from now on; ``read`` gives controllers that nobody touches. */
  stop() {
    this.playing = false;
    this.touch.release();
  }

  /**
   * The actions of this frame by person, in directions of the screen. A key that was only tapped since the last frame
   * counts.
   */
  read() {
    const { came, gone } = this.gamepads.poll();
    const actions = [0, 1].map((person) => (this.playing ? this.look(person) : this.rest()));
    this.forget();
    if ((came || gone) && this.playing) {
      if (this.people === 2) this.release(); // the keys of the second person may be others now
      this.onCommand("pause", gone ? "A controller is gone." : "A controller was connected.");
    }
    if (gone && !this.gamepads.states.size && this.device === "pad") this.use("keys");
    this.command();
    return actions;
  }

  /** What a person presses, also while ``read`` gives nothing; controllers as of the last ``read``. */
  look(person = 0) {
    const action = this.rest(), alone = this.people < 2;
    if (!person || this.secondKeys) this.keyboards[person].merge(action);
    if (!person) this.touch.merge(action);
    if (!person || !alone) this.gamepads.merge(action, alone ? null : person);
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
    const { touched } = this.gamepads;
    if ((touched && !this.touched) || [...this.pressed].some((what) => !pressed.has(what))) this.use("pad");
    this.touched = touched;
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
    const keyboard = this.boardOf(code), has = keyboard.has(code);
    if (this.playing && has) event.preventDefault();
    if (event.repeat || (!this.playing && WRITTEN.test(target?.tagName))) return;
    if (has) this.use("keys");
    keyboard.down(code);
    if (code === "Escape") this.onCommand(this.playing ? "pause" : "back");
    const own = !this.playing && CHOSEN.test(target?.tagName); // Enter is the element's own
    if ((code === "Enter" || code === "NumpadEnter") && !own && !(this.playing && has)) {
      this.onCommand("confirm");
    }
  }

  keyUp(event) {
    for (const keyboard of this.keyboards) keyboard.up(event.code);
    if (event.key === "Meta") this.release(); // macOS tells of no key that goes up while this one is down
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
  keyLabel(control, person = 0) {
    return keyName(this.keys[person][control], this.layout);
  }

  /** Gives a control a key. A control of the same person that had the key gets the one that is free now. */
  setKey(control, code, person = 0) {
    const keys = this.keys[person];
    for (const [other, its] of Object.entries(keys)) if (its === code) keys[other] = keys[control];
    keys[control] = code;
    this.keyboards[person].use(keys);
    this.save();
  }

  resetKeys(person = 0) {
    this.keys[person] = { ...KEYS_OF[person] };
    this.keyboards[person].use(this.keys[person]);
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
    const keys = [stored?.keys, stored?.second].map((its, person) => cleanKeys(its, KEYS_OF[person]));
    return { keys, pads: cleanPads(stored?.pads) };
  }

  save() {
    try {
      const [keys, second] = this.keys;
      this.storage.setItem(STORED, JSON.stringify({ keys, second, pads: this.gamepads.settings }));
    } catch {
      this.kept = false; // the settings last as long as the page
    }
  }
}
