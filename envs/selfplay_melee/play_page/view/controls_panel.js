// The screen of the controls: what keys and controllers do, and what the game reads of them.

import { Pad } from "../../fight/player/panels.js";
import { fit, readColours } from "../../fight/player/data.js";
import { make } from "./dom.js";
import { PAD_CONTROLS, PAD_PROFILES, padProfile, SourceChoice, sourceName } from "./gamepad.js";

const LABELS = {
  A: "Attack", B: "Special", X: "Jump", Y: "Jump too", Z: "Grab", L: "Shield", R: "Shield too", D_UP: "Taunt",
  half: "Walk, tilt", start: "Pause",
  light_l: "Light shield", light_r: "Light shield too",
  main_left: "Left", main_right: "Right", main_down: "Down", main_up: "Up",
  c_left: "Strike left", c_right: "Strike right", c_down: "Strike down", c_up: "Strike up",
};
const DIRECTIONS = { left: "Left", right: "Right", down: "Down", up: "Up" };
const GROUPS = [
  ["Left hand moves", ["main_up", "main_left", "main_down", "main_right", "half", "D_UP"]],
  ["Right hand hits", ["A", "B", "L", "X", "Z", "Y", "R"]],
  ["Strong attacks", ["c_up", "c_left", "c_down", "c_right"]],
];
const HINTS = [
  ["To hit:", "stand close, face them, press Attack. With a direction held it is another attack."],
  ["To smash:", "push a direction and press Attack at the same moment, or use a key for strong attacks."],
  [
    "To come back:",
    "hold towards the stage and jump, then Up and Special together. " +
      "Near a ledge, in the air and facing it, you grab it.",
  ],
  ["To walk:", "hold the key for walking with a direction. Without it you dash."],
];
const CONNECT =
  "Connect a controller and press one of its buttons. " +
  "Xbox, PlayStation and Switch controllers work, and GameCube adapters in PC mode.";
const UNKNOWN = "This controller is not known: try it, and change what does not fit.";
const SECOND =
  "For two people at one keyboard. A key of both sets is the second person's. " +
  "Who has a controller needs no keys: a single one is the second person's.";
const ANALOG = /^(main|c|light)_/;

function button(text, className, pressed) {
  const made = make("button", className, text);
  made.type = "button";
  made.onclick = pressed;
  return made;
}

export class ControlsPanel {
  // root: an empty element. controls: Controls, whose ``read`` is called each frame while the panel is open.
  // facts: of film_facts in selfplay_melee/drawing/columns.py.
  constructor(root, controls, facts) {
    this.root = root;
    this.facts = facts;
    this.controls = controls;
    this.news = "";
    this.shown = ""; // what the controller's part was built for
    this.index = -1; // of the controller that is shown
    this.queue = []; // controls of the controller that the person chooses sources for
    this.colour = readColours();
    root.classList.add("controls-panel");
    root.tabIndex = -1;
    this.caps = [{}, {}]; // the keys of both people, by control
    root.append(this.gamePart(), this.keyPart(0), this.keyPart(1), this.padPart());
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => { this.colour = readColours(); });
  }

  open() {
    this.running = true;
    this.controls.testing = true;
    this.showKeys();
    requestAnimationFrame(() => this.tick());
  }

  close() {
    this.running = false;
    this.controls.testing = false;
    this.controls.captured = null;
    this.controls.chooseKey(null);
    this.queue = [];
  }

  tick() {
    if (!this.running) return;
    this.showPads();
    this.showLive();
    requestAnimationFrame(() => this.tick());
  }

  // What the game reads.

  gamePart() {
    this.canvas = make("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "The controller as the game reads it");
    this.told = make("output", "controls-codes");
    const film = { ...this.facts, buttons: [0], shoulder: [0], main_x: [0], main_y: [0], c_x: [0], c_y: [0] };
    this.picture = new Pad(this.canvas, film, 0);
    const hints = make("dl", "controls-hints");
    for (const [name, text] of HINTS) hints.append(make("dt", "", name), make("dd", "", text));
    return make(
      "section", "controls-card controls-game", "", make("h3", "", "What the game reads"),
      make("div", "controls-read", "", this.canvas, this.told), hints,
    );
  }

  showLive() {
    const { film } = this.picture, { units } = film, action = this.controls.look();
    const { buttons, sticks, shoulder, highest } = this.controls.controller;
    film.buttons[0] = buttons.reduce((bits, _, i) => bits | (action[i] << i), 0);
    film.shoulder[0] = (units.shoulder * action[shoulder]) / highest[shoulder];
    for (const [name, field] of Object.entries(sticks)) {
      const [x, y] = this.stickAt(action, field), length = Math.max(Math.hypot(x, y), 1); // clamped as in the game
      film[`${name}_x`][0] = (units.axis * x) / length;
      film[`${name}_y`][0] = (units.axis * y) / length;
    }
    fit(this.canvas);
    this.picture.draw(0, this.colour);
    const codes = Object.entries(sticks).map(([name, field]) => `${name} ${action[field]}, ${action[field + 1]}`);
    const text = `${codes.join("  ")}  shoulder ${action[shoulder]}`;
    if (this.told.textContent !== text) this.told.textContent = text;
    for (const [control, cap, person] of this.allCaps()) {
      cap.classList.toggle("down", this.controls.keyboards[person].pressed(control));
    }
    this.showPad();
  }

  // A stick at -1..1 on both axes.
  stickAt(action, field) {
    const { centre } = this.controls.controller;
    return [field, field + 1].map((n) => (action[n] - centre) / centre);
  }

  // Keys.

  keyPart(person) {
    const groups = GROUPS.map(([title, controls]) => {
      const keys = make("div", `controls-keys${controls[0].endsWith("_up") ? " controls-cross" : ""}`);
      for (const control of controls) keys.append(this.keyTile(control, person));
      return make("div", "controls-group", "", make("h4", "", title), keys);
    });
    const note = make("p", "controls-note", person ? SECOND : "");
    if (!person) this.keyNote = note;
    note.setAttribute("aria-live", "polite");
    const reset = () => { this.controls.resetKeys(person); this.showKeys(); };
    return make(
      "section", "controls-card controls-keyboard", "",
      make("h3", "", person ? "Keyboard of a second person" : "Keyboard"),
      make("div", "controls-groups", "", ...groups), note,
      make("div", "controls-row", "", button(person ? "Reset second keys" : "Reset keys", "text", reset)),
    );
  }

  keyTile(control, person) {
    const cap = this.caps[person][control] = button("", "controls-cap", () => this.chooseKey(control, person));
    return make(
      "div", `controls-tile controls-${control}`, "", cap,
      make("span", "", DIRECTIONS[control.slice(2)] ?? LABELS[control]),
    );
  }

  showKeys(note = "Press a key to see what the game reads. Choose a key here to change it.") {
    for (const [control, cap, person] of this.allCaps()) {
      cap.textContent = this.controls.keyLabel(control, person);
      const whose = person ? " of the second person" : "";
      cap.setAttribute("aria-label", `${LABELS[control]}${whose}: ${cap.textContent}. Change the key`);
      cap.classList.remove("listening");
    }
    this.keyNote.textContent = this.controls.kept
      ? note
      : `${note} The browser keeps no settings for this page: they last until it closes.`;
    this.labelled = this.controls.layout;
  }

  // Of both people: control, element and person.
  allCaps() {
    return this.caps.flatMap((caps, person) => Object.entries(caps).map(([control, cap]) => [control, cap, person]));
  }

  chooseKey(control, person) {
    this.stopChoosing();
    this.showKeys(`Press the key for ${LABELS[control]}. Escape leaves it as it is.`);
    this.caps[person][control].textContent = "…";
    this.caps[person][control].classList.add("listening");
    this.controls.chooseKey((code) => {
      if (code) this.controls.setKey(control, code, person);
      this.showKeys();
      this.root.focus({ preventScroll: true }); // the space bar would choose the key again
    });
  }

  // Controllers.

  padPart() {
    this.padBox = make("div", "controls-pad");
    return make("section", "controls-card controls-controller", "", make("h3", "", "Controller"), this.padBox);
  }

  get state() {
    return this.controls.gamepads.states.get(this.index);
  }

  // Builds the controller's part anew where controllers or their settings changed.
  showPads() {
    if (this.labelled !== this.controls.layout && !this.controls.captured) this.showKeys();
    const { states, settings } = this.controls.gamepads;
    if (!states.has(this.index)) this.index = states.keys().next().value ?? -1;
    for (const [index, { touched }] of states) {
      if (touched && !this.state.touched && !this.queue.length) this.index = index;
    }
    const { people } = this.controls;
    const shown = JSON.stringify([this.index, people, [...states].map(([index, { id }]) => [index, id]), settings]);
    if (shown === this.shown) return;
    this.shown = shown;
    if (this.queue.length) this.stopChoosing();
    this.padBox.replaceChildren(...(this.state ? this.padElements(this.state) : [
      make(
        "p", "",
        this.controls.noControllers
          ? "The frame around this page forbids controllers: open the page by itself."
          : CONNECT,
      ),
    ]));
  }

  padElements(state) {
    const { states } = this.controls.gamepads;
    const pads = this.choice(
      "Shown", [...states].map(([index, { id }]) => [`${index}`, `${index + 1}: ${id}`]), `${this.index}`,
      (index) => { this.index = Number(index); },
    );
    const fits = padProfile(state.id, state.raw.mapping).name;
    const profiles = PAD_PROFILES.map(({ name }) => [name, name === fits ? `${name} (fits)` : name]);
    const profile = this.choice(
      "Layout", profiles, state.profile.name, (name) => this.set({ profile: name, sources: {}, sticks: {} }, ""),
    );
    const { gamepads, people } = this.controls;
    const owner = people < 2 ? [] : [this.choice(
      "Held by", [["0", "the first person"], ["1", "the second person"]], `${gamepads.owner(this.index)}`,
      (person) => { gamepads.owners.set(this.index, Number(person)); },
    )];
    this.views = state.sticks.map(() => make("canvas", "controls-stick"));
    this.meters = ["Left trigger", "Right trigger"].map((name) => {
      const meter = make("progress");
      meter.max = 1;
      meter.setAttribute("aria-label", name);
      return meter;
    });
    this.lamps = state.raw.buttons.map((_, i) => make("span", "controls-lamp", `${i}`));
    this.axes = make("output", "controls-codes");
    this.sources = {};
    const sources = make("div", "controls-sources");
    for (const control of PAD_CONTROLS) {
      const chosen = this.sources[control] = button(
        sourceName(state.sources[control], state.profile.standard), "controls-source", () => this.choose([control]),
      );
      sources.append(make(
        "label", "controls-pair", "",
        make("span", "", `${LABELS[control]}${control.length <= 2 ? ` (${control})` : ""}`), chosen,
      ));
    }
    const unknown = state.profile === PAD_PROFILES.at(-1);
    this.padNote = make(
      "p", "controls-note",
      this.news || (unknown ? UNKNOWN : "Choose a control to change it."),
    );
    this.news = "";
    this.padNote.setAttribute("aria-live", "polite");
    this.measureButton = button("Measure sticks", "text", () => this.measure());
    return [
      make("div", "controls-choices", "", pads, profile, ...owner),
      make(
        "div", "controls-live", "", ...this.views,
        make("div", "controls-meters", "", ...this.meters, make("div", "controls-lamps", "", ...this.lamps), this.axes),
      ),
      this.padNote,
      make(
        "div", "controls-row", "", this.measureButton,
        button("Set all in turn", "text", () => this.choose(PAD_CONTROLS)),
        button("Reset controller", "text", () => this.controls.setPad(state.id, null)),
      ),
      sources,
    ];
  }

  choice(title, options, chosen, changed) {
    const select = make("select");
    for (const [value, text] of options) select.add(new Option(text, value, false, value === chosen));
    select.onchange = () => changed(select.value);
    return make("label", "", `${title} `, select);
  }

  // news: what is said once the part is built anew.
  set(change, news) {
    this.news = news;
    const { state } = this, settings = this.controls.gamepads.settings[state.id];
    this.controls.setPad(state.id, { sources: {}, sticks: {}, ...settings, ...change });
  }

  showPad() {
    const { state } = this;
    if (!state) return;
    if (this.queue.length) this.takeSource(state);
    if (this.shown === "" || !this.views) return;
    state.sticks.forEach((stick, i) => this.drawStick(this.views[i], stick));
    state.lights.forEach((light, i) => { this.meters[i].value = light.amount; });
    this.lamps.forEach((lamp, i) => lamp.classList.toggle("down", Boolean(state.raw.buttons[i]?.pressed)));
    const text = `axes ${state.raw.axes.map((value) => value.toFixed(2)).join("  ")}`;
    if (this.axes.textContent !== text) this.axes.textContent = text;
    for (const [control, chosen] of Object.entries(this.sources)) {
      chosen.classList.toggle("down", state.pressed(control));
    }
  }

  drawStick(canvas, { x, y, awake, field }) {
    fit(canvas);
    const ctx = canvas.getContext("2d"), action = this.controls.look(), { colour } = this;
    ctx.setTransform(canvas.width / 2.6, 0, 0, -canvas.height / 2.6, canvas.width / 2, canvas.height / 2);
    ctx.clearRect(-2, -2, 4, 4);
    ctx.lineWidth = 0.03;
    ctx.strokeStyle = colour("line");
    ctx.beginPath();
    for (let corner = 0; corner < 8; corner++) {
      ctx.lineTo(Math.cos((corner * Math.PI) / 4), Math.sin((corner * Math.PI) / 4));
    }
    ctx.closePath();
    ctx.stroke();
    ctx.strokeRect(-1, -1, 2, 2);
    dot(...this.stickAt(action, field), 0.14, colour("line"));
    dot(x, y, 0.09, colour(awake ? "accent" : "muted"));

    function dot(atX, atY, radius, fill) {
      ctx.fillStyle = fill;
      ctx.beginPath();
      ctx.arc(Math.min(Math.max(atX, -1.2), 1.2), Math.min(Math.max(atY, -1.2), 1.2), radius, 0, 2 * Math.PI);
      ctx.fill();
    }
  }

  // Lets the person press what each of the controls shall be; a key skips one, Escape ends.
  choose(controls) {
    this.stopChoosing();
    this.queue = [...controls];
    this.chosen = {};
    this.choosing = new SourceChoice(this.state.raw);
    this.askNext();
  }

  askNext() {
    const [control] = this.queue;
    for (const chosen of Object.values(this.sources)) chosen.classList.remove("listening");
    if (!control) {
      this.controls.captured = null;
      this.controls.chooseKey(null);
      const settings = this.controls.gamepads.settings[this.state.id];
      if (Object.keys(this.chosen).length) this.set({ sources: { ...settings?.sources, ...this.chosen } }, "Changed.");
      else this.padNote.textContent = "Nothing was changed.";
      return;
    }
    this.sources[control].classList.add("listening");
    this.padNote.textContent = `Press and let go the control for ${LABELS[control]}. A key skips it, Escape ends.`;
    this.controls.chooseKey((code) => {
      this.queue = code ? this.queue.slice(1) : [];
      this.askNext();
    });
  }

  takeSource(state) {
    const [control] = this.queue, source = this.choosing.read(state.raw, ANALOG.test(control));
    if (!source) return;
    this.chosen[control] = source;
    this.sources[control].textContent = sourceName(source, state.profile.standard);
    this.queue.shift();
    this.askNext();
  }

  stopChoosing() {
    if (!this.queue.length && !this.controls.captured) return;
    this.queue = [];
    this.controls.chooseKey(null);
    for (const chosen of Object.values(this.sources ?? {})) chosen.classList.remove("listening");
    this.showKeys();
  }

  measure() {
    const { state } = this;
    if (state.sticks[0].measured) {
      const sticks = state.measurement(), names = Object.keys(sticks);
      this.measureButton.textContent = "Measure sticks";
      if (names.length) {
        this.set(
          { sticks: { ...this.controls.gamepads.settings[state.id]?.sticks, ...sticks } },
          `Measured: ${names.join(" and ")} stick.`,
        );
      }
      else this.padNote.textContent = "No stick went all around, so nothing was changed.";
      return;
    }
    state.measure();
    this.measureButton.textContent = "Done";
    this.padNote.textContent = "Turn each stick once around its rim, then choose Done.";
  }
}
