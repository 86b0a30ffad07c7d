// What thumbs on a touch screen do to a controller: a stick under the left one, buttons under the right one.

import { stickCodes } from "./gamepad.js";

/** What stands on the buttons, by control. `hop` presses the jump for one frame: a short hop with any thumb. */
export const TOUCH_BUTTONS = { L: "Shield", Z: "Grab", hop: "Hop", X: "Jump", B: "Special", A: "Attack" };
const NEAR = 1.3; // radii of a button from its middle in which a thumb presses it

export class Touch {
  #stick = null; // the thumb of the stick: `id`, where its middle is and where the thumb is
  #last = null; // the stick of a thumb that was lifted since the last frame
  #presses = new Map(); // control that a thumb presses, by id; null: none
  #tapped = new Set();
  #buttons = [];
  #left = 0;
  #reach = 1;

  // controller: of `Keyboard`.
  constructor(controller) {
    this.controller = controller;
  }

  /** buttons: each with `control`, `x`, `y` and `radius`. The stick begins left of `left`, and is out at `reach`. */
  place(buttons, left, reach) {
    this.#buttons = buttons;
    this.#left = left;
    this.#reach = reach;
  }

  down(id, x, y) {
    const control = this.#at(x, y);
    if (!control && x < this.#left && !this.#stick) this.#stick = { id, x0: x, y0: y, x, y };
    else this.#press(id, control);
  }

  // A thumb that slides from button to button presses each.
  move(id, x, y) {
    if (this.#presses.has(id)) return this.#press(id, this.#at(x, y));
    const stick = this.#stick;
    if (stick?.id !== id) return;
    Object.assign(stick, { x, y });
    // The middle follows a thumb that goes further than the stick, so that the way back is short.
    const far = Math.hypot(x - stick.x0, y - stick.y0) / this.#reach;
    if (far > 1) {
      stick.x0 = x - (x - stick.x0) / far;
      stick.y0 = y - (y - stick.y0) / far;
    }
  }

  up(id) {
    this.#presses.delete(id);
    if (this.#stick?.id !== id) return;
    this.#last = this.#stick;
    this.#stick = null;
  }

  release() {
    this.#presses.clear();
    this.#stick = null;
    this.forget();
  }

  /** The end of a frame: what was lifted no longer counts. */
  forget() {
    this.#tapped.clear();
    this.#last = null;
  }

  pressed(control) {
    if (this.#tapped.has(control) || (control === "X" && this.#tapped.has("hop"))) return true;
    for (const held of this.#presses.values()) if (held === control) return true;
    return false;
  }

  /** Middle of the stick and place of the thumb, in pixels; null while there is none. */
  get stick() {
    return this.#stick;
  }

  // Adds what is pressed to an action.
  merge(action) {
    const { buttons, sticks, centre } = this.controller, stick = this.#stick ?? this.#last, field = sticks.main;
    for (let i = 0; i < buttons.length; i++) if (this.pressed(buttons[i])) action[i] = 1;
    if (!stick) return;
    const codes = stickCodes((stick.x - stick.x0) / this.#reach, (stick.y0 - stick.y) / this.#reach, centre);
    if (codes.some((code) => code !== centre)) action.set(codes, field);
  }

  #press(id, control) {
    if (control && this.#presses.get(id) !== control) this.#tapped.add(control);
    this.#presses.set(id, control);
  }

  #at(x, y) {
    let found = null, least = NEAR;
    for (const button of this.#buttons) {
      const far = Math.hypot(x - button.x, y - button.y) / button.radius;
      if (far < least) [found, least] = [button.control, far];
    }
    return found;
  }
}
