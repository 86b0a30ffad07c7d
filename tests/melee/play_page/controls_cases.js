// Cases of the controls without a browser; prints by name "" or what is wrong.
import assert from "node:assert/strict";
import fs from "node:fs";

import { Controls } from "./controls.js";
import { cleanPads, GamepadState, PAD_CONTROLS, padProfile, SourceChoice, sourceName, stickCodes } from "./gamepad.js";
import { playHint } from "./hints.js";
import { cleanKeys, KEY_DEFAULTS, keyName, SECOND_DEFAULTS } from "./keyboard.js";
import { report } from "../../support/cases.js";

const STANDARD = "Xbox 360 Controller (XInput STANDARD GAMEPAD)";
const MAYFLASH = "MAYFLASH GameCube Controller Adapter (Vendor: 0079 Product: 1843)";
const WII_U = "Wii U GameCube Adapter Port 1 (Vendor: 057e Product: 0337)";
const CONTROLLER = JSON.parse(fs.readFileSync(process.argv[2]));
const FIELDS = ["A", "B", "X", "Y", "Z", "L", "R", "D_UP", "main_x", "main_y", "c_x", "c_y", "shoulder"];
const STORED = "selfplay.controls.1";

// A window with a keyboard and controllers.
class Desk extends EventTarget {
  constructor(stored = null) {
    super();
    this.pads = [null, null, null, null];
    this.navigator = { getGamepads: () => this.pads };
    this.document = new EventTarget();
    this.kept = new Map(stored ? [[STORED, stored]] : []);
    this.commands = [];
    this.controls = new Controls(this, {
      getItem: (name) => this.kept.get(name) ?? null, setItem: (name, text) => this.kept.set(name, text),
    }, CONTROLLER);
    this.controls.onCommand = (name, why) => this.commands.push(why ? `${name}: ${why}` : name);
    this.controls.start();
  }

  key(type, code, more = {}) {
    const event = Object.assign(new Event(type, { cancelable: true }), { code, ...more });
    this.dispatchEvent(event);
    return event.defaultPrevented;
  }

  down(...codes) {
    for (const code of codes) this.key("keydown", code);
    return this;
  }

  up(...codes) {
    for (const code of codes) this.key("keyup", code);
    return this;
  }

  connect(index, id, mapping, buttons, axes) {
    return (this.pads[index] = {
      id, index, mapping, connected: true, axes,
      buttons: Array.from({ length: buttons }, () => ({ pressed: false, value: 0 })),
    });
  }

  standard() {
    return this.connect(0, STANDARD, "standard", 17, [0, 0, 0, 0]);
  }

  mayflash(index = 0) {
    return this.connect(index, MAYFLASH, "", 16, [0, 0, 0, -0.73, -0.73, 0, 0, 0, 0, 1.3]);
  }

  // What differs from a controller that nobody touches.
  read(person = 0) {
    const action = this.controls.read()[person], rest = [0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 0, 0];
    assert.ok(action instanceof Int8Array && action.length === 14);
    return Object.fromEntries(FIELDS.map((name, i) => [name, action[i]]).filter((_, i) => action[i] !== rest[i]));
  }

  // Lets controllers come, which pauses, and goes on.
  settle() {
    this.controls.read();
    this.commands.length = 0;
    return this;
  }
}

function press(pad, button, value = 1) {
  pad.buttons[button] = { pressed: value > 0, value };
}

const cases = {
  "nothing pressed": () => assert.deepEqual(new Desk().read(), {}),
  "each key": () => {
    const own = {
      half: {},
      main_left: { main_x: 0 }, main_right: { main_x: 16 }, main_down: { main_y: 0 }, main_up: { main_y: 16 },
      c_left: { c_x: 0 }, c_right: { c_x: 16 }, c_down: { c_y: 0 }, c_up: { c_y: 16 },
    };
    for (const [control, code] of Object.entries(KEY_DEFAULTS)) {
      const desk = new Desk().down(code);
      assert.deepEqual(desk.read(), own[control] ?? { [control]: 1 }, control);
      assert.deepEqual(desk.up(code).read(), {}, control);
    }
  },
  "two keys are a diagonal": () => assert.deepEqual(new Desk().down("KeyW", "KeyA").read(), { main_x: 0, main_y: 16 }),
  "a modifier halves the main stick only": () =>
    assert.deepEqual(new Desk().down("ShiftLeft", "KeyD", "KeyS", "ArrowUp").read(), {
      main_x: 12, main_y: 4, c_y: 16,
    }),
  "of opposite directions the last counts": () => {
    const desk = new Desk().down("KeyA", "KeyD");
    assert.deepEqual(desk.read(), { main_x: 16 });
    assert.deepEqual(desk.up("KeyD").read(), { main_x: 0 });
    assert.deepEqual(desk.down("KeyD").read(), { main_x: 16 });
    assert.deepEqual(desk.up("KeyA").read(), { main_x: 16 });
  },
  "a tap between two frames counts for one": () => {
    const desk = new Desk().down("KeyJ").up("KeyJ");
    assert.deepEqual(desk.read(), { A: 1 });
    assert.deepEqual(desk.read(), {});
  },
  "the other direction, tapped while one is held": () => {
    const desk = new Desk().down("KeyD");
    desk.read();
    assert.deepEqual(desk.down("KeyA").up("KeyA").read(), { main_x: 0 });
    assert.deepEqual(desk.read(), { main_x: 16 });
  },
  "a held key repeats and stays one press": () => {
    const desk = new Desk().down("KeyD", "KeyA");
    desk.key("keydown", "KeyD", { repeat: true });
    assert.deepEqual(desk.read(), { main_x: 0 });
  },
  "keys go up when the window is left": () => {
    const desk = new Desk().down("KeyD", "KeyJ");
    desk.dispatchEvent(new Event("blur"));
    assert.deepEqual(desk.read(), {});
    desk.down("KeyD").document.dispatchEvent(new Event("visibilitychange"));
    assert.deepEqual(desk.read(), {});
  },
  "the command key of macOS lets all go": () => {
    const desk = new Desk().down("KeyD");
    desk.key("keyup", "MetaLeft", { key: "Meta" });
    assert.deepEqual(desk.read(), {});
  },
  "only keys of the game are kept from the browser, while it is played": () => {
    const desk = new Desk();
    assert.equal(desk.key("keydown", "Space"), true);
    assert.equal(desk.key("keydown", "Space", { repeat: true }), true);
    assert.equal(desk.key("keydown", "KeyQ"), false);
    for (const held of ["ctrlKey", "metaKey", "altKey"]) {
      assert.equal(desk.key("keydown", "KeyD", { [held]: true }), false);
    }
    desk.up("Space");
    assert.deepEqual([desk.read(), desk.read()], [{ X: 1 }, {}]);
    desk.controls.stop();
    assert.equal(desk.key("keydown", "Space"), false);
  },
  "nothing is read in menus; a direction held before the start counts": () => {
    const desk = new Desk();
    desk.controls.stop();
    assert.deepEqual(desk.down("KeyD", "KeyJ").up("KeyJ").read(), {});
    assert.deepEqual(FIELDS.map((_, i) => desk.controls.look()[i])[8], 16);
    desk.down("KeyK").up("KeyK");
    desk.controls.start();
    assert.deepEqual(desk.read(), { main_x: 16 });
  },
  "what is written in a field is not pressed": () => {
    const desk = new Desk(), field = { tagName: "INPUT" };
    desk.controls.stop();
    const event = Object.assign(new Event("keydown"), { code: "KeyD" });
    Object.defineProperty(event, "target", { value: field });
    desk.controls.keyDown(event);
    desk.controls.start();
    assert.deepEqual(desk.read(), {});
  },
  "commands of the keyboard": () => {
    const desk = new Desk().down("Escape", "Enter");
    desk.controls.stop();
    desk.down("Escape", "Enter", "NumpadEnter");
    desk.key("keydown", "Escape", { repeat: true });
    assert.deepEqual(desk.commands, ["pause", "confirm", "back", "confirm", "confirm"]);
  },
  "Enter is the button's own": () => {
    const desk = new Desk();
    desk.controls.stop();
    const event = Object.assign(new Event("keydown"), { code: "Enter" });
    Object.defineProperty(event, "target", { value: { tagName: "BUTTON" } });
    desk.controls.keyDown(event);
    assert.deepEqual(desk.commands, []);
  },

  "a standard controller": () => {
    const desk = new Desk(), pad = desk.standard();
    const expected = {
      0: { A: 1 }, 1: { X: 1 }, 2: { B: 1 }, 3: { Y: 1 }, 4: { Z: 1 }, 5: { Z: 1 }, 6: { L: 1, shoulder: 4 },
      7: { R: 1, shoulder: 4 }, 12: { D_UP: 1 }, 8: {}, 16: {},
    };
    assert.deepEqual(desk.read(), {});
    for (const [button, what] of Object.entries(expected)) {
      press(pad, button);
      assert.deepEqual(desk.read(), what, button);
      press(pad, button, 0);
    }
    press(pad, 6, 0.4);
    assert.deepEqual(desk.read(), { shoulder: 2 });
    press(pad, 6, 0);
    pad.axes = [1, 0, 0, -1];
    assert.deepEqual(desk.read(), { main_x: 16, c_y: 16 });
    pad.axes = [-0.72, 0.7, 0.1, 0];
    assert.deepEqual(desk.read(), { main_x: 0, main_y: 0 });
    pad.axes = [0.48, 0.08, 0, 0];
    assert.deepEqual(desk.read(), { main_x: 12, main_y: 7 });
  },
  "letters stand elsewhere on a Switch controller": () => {
    const desk = new Desk(), pad = desk.standard();
    desk.read();
    pad.id = "Pro Controller (STANDARD GAMEPAD Vendor: 057e Product: 2009)";
    press(pad, 1);
    assert.deepEqual(desk.read(), { A: 1 });
  },
  "a GameCube adapter of Mayflash": () => {
    const desk = new Desk(), pad = desk.mayflash();
    const expected = { 0: "X", 1: "A", 2: "B", 3: "Y", 4: "L", 5: "R", 7: "Z", 12: "D_UP" };
    assert.deepEqual(desk.read(), {});
    for (const [button, name] of Object.entries(expected)) {
      press(pad, button);
      assert.deepEqual(desk.read(), { [name]: 1 });
      press(pad, button, 0);
    }
    pad.axes = [0.75, 0, 0.76, 0.1, -0.73, 0, 0, 0, 0, 1.3];
    assert.deepEqual(desk.read(), { main_x: 16, c_y: 0, shoulder: 2 });
    pad.axes = [-0.53, -0.53, 0, -0.73, 0.6, -0.8, 0, 0, 0, 1.3];
    assert.deepEqual(desk.read(), { main_x: 0, main_y: 16, c_x: 0, shoulder: 4 });
  },
  "the driver of Linux for the adapter of Nintendo": () => {
    const desk = new Desk(), pad = desk.connect(2, WII_U, "", 12, [0, 0, -1, 0, 0, -1]);
    assert.deepEqual(desk.read(), {});
    press(pad, 3);
    pad.axes = [0, 0, -1, 0.75, 0, 0.7];
    assert.deepEqual(desk.read(), { B: 1, c_x: 16, shoulder: 4 });
  },
  "ids of browsers": () => {
    const found = (id, mapping = "") => padProfile(id, mapping).name;
    assert.match(found("0079-1843-MAYFLASH GameCube Controller Adapter"), /Mayflash/);
    assert.match(found("79-1844-Microsoft PC-joystick driver"), /Mayflash/);
    assert.match(found("MAYFLASH GameCube Controller Adapter (Vendor: 0079 Product: 1846)"), /Mayflash/);
    assert.match(found("USB GamePad (Vendor: 1a34 Product: f705)"), /Mayflash/);
    assert.match(found("057e-0337-Wii U GameCube Adapter Port 2"), /Linux/);
    assert.match(found("Wii U GameCube Adapter Port 4 (Vendor: 0000 Product: 0000)"), /Linux/);
    assert.match(found("vJoy - Virtual Joystick (Vendor: 1234 Product: bead)"), /vJoy/);
    assert.match(found("GC/N64 to USB, v2.9 (Vendor: 289b Product: 000c)"), /raphnet 2/);
    assert.match(found("GC/N64 to USB v3.2 (Vendor: 289b Product: 001d)"), /raphnet 3/);
    assert.match(found("xinput", "standard"), /Standard/);
    assert.match(
      found("DualSense Wireless Controller (STANDARD GAMEPAD Vendor: 054c Product: 0ce6)", "standard"), /Standard/,
    );
    assert.match(found("Some pad (Vendor: 1234 Product: 5678)"), /Unknown/);
  },
  "an empty port of an adapter does nothing": () => {
    const desk = new Desk(), pad = desk.connect(1, MAYFLASH, "", 16, [-1, -1, -1, -1, -1, -1, 0, 0, 0, 1.3]);
    assert.deepEqual(desk.read(), {});
    pad.axes = [0, 0, 0, -0.73, -0.73, 0, 0, 0, 0, 1.3]; // a controller is plugged in
    assert.deepEqual(desk.read(), {});
    pad.axes[0] = -0.8;
    assert.deepEqual(desk.read(), { main_x: 0 });
  },
  "a trigger that never moved is not half pressed": () => {
    const desk = new Desk(), pad = desk.connect(0, WII_U, "", 12, [0, 0, 0, 0, 0, 0]);
    assert.deepEqual(desk.read(), {});
    pad.axes[2] = -0.8;
    desk.read();
    pad.axes[2] = 0.8;
    assert.deepEqual(desk.read(), { shoulder: 4 });
  },
  "codes of a stick": () => {
    const expected = [
      [0, 0, 8, 8], [0.1, 0.1, 8, 8], [0.25, 0, 10, 8], [0.3, 0, 10, 8], [0.5, -0.5, 12, 4], [0, 0.91, 8, 15],
      [0, 0.93, 8, 16], [-1.4, 0, 0, 8], [0.7, 0.7, 16, 16], [0.92, 0.38, 16, 11], [-0.38, 0.92, 5, 16], [9, 9, 16, 16],
    ];
    for (const [x, y, ...codes] of expected) assert.deepEqual(stickCodes(x, y, 8), codes, `${x}, ${y}`);
    // the codes that the game tells apart
    for (let i = 0; i <= 8; i++) assert.deepEqual(stickCodes(i / 8, 0, 8), [i < 2 ? 8 : 8 + i, 8]);
  },
  "keyboard and controllers together": () => {
    const desk = new Desk(), pad = desk.standard(), other = desk.mayflash(1);
    desk.read();
    pad.axes = [0.5, 0, 0, 0];
    other.axes[0] = -0.8;
    press(pad, 0);
    assert.deepEqual(desk.down("KeyK", "ArrowUp").read(), { A: 1, B: 1, main_x: 0, c_y: 16 });
  },
  "a controller that goes leaves nothing pressed, and pauses": () => {
    const desk = new Desk(), pad = desk.standard();
    desk.settle();
    pad.axes[0] = 1;
    assert.deepEqual(desk.read(), { main_x: 16 });
    desk.pads[0] = null;
    assert.deepEqual(desk.read(), {});
    assert.deepEqual(desk.commands, ["pause: A controller is gone."]);
    desk.standard().axes[0] = 1; // it returns with its stick held
    assert.deepEqual(desk.read(), {});
  },
  "a browser that reads no controllers": () => {
    const desk = new Desk();
    for (const list of [() => { throw new Error("not allowed"); }, () => null, undefined]) {
      desk.navigator = { getGamepads: list };
      assert.deepEqual(desk.read(), {});
      assert.equal(desk.controls.noControllers, true); // the panel says so
    }
    desk.navigator = undefined;
    assert.deepEqual(desk.read(), {});
  },
  "a controller that reports nonsense": () => {
    const desk = new Desk(), pad = desk.standard();
    pad.axes = [NaN, Infinity];
    pad.buttons = [{ pressed: false, value: NaN }];
    assert.deepEqual(desk.read(), {});
  },
  "commands of a controller, each once": () => {
    const desk = new Desk(), pad = desk.standard(), { controls } = desk.settle();
    const tap = (button) => {
      press(pad, button);
      desk.read();
      desk.read();
      press(pad, button, 0);
      desk.read();
    };
    tap(0);
    press(pad, 9);
    desk.read();
    controls.stop();
    desk.read(); // Start is still held: it must not confirm
    assert.deepEqual(desk.commands.splice(0), ["pause"]);
    press(pad, 9, 0);
    desk.read();
    for (const button of [9, 0, 2]) tap(button);
    pad.axes = [0, 1, 0, 0];
    desk.read();
    desk.read();
    assert.deepEqual(desk.commands.splice(0), ["confirm", "confirm", "back", "down"]);
    controls.testing = true;
    for (const button of [0, 2, 9]) tap(button);
    assert.deepEqual(desk.commands, ["back"]);
  },

  "a key that is chosen": () => {
    const desk = new Desk(), taken = [];
    desk.controls.chooseKey((code) => taken.push(code));
    desk.down("Escape");
    desk.controls.chooseKey((code) => taken.push(code));
    desk.down("Tab", "F5", "ControlLeft", "KeyG", "KeyJ");
    assert.deepEqual(taken, [null, "KeyG"]);
    assert.deepEqual(desk.commands, []);
    assert.deepEqual(desk.read(), { A: 1 });
  },
  "keys that are changed are kept, and two controls exchange theirs": () => {
    const desk = new Desk();
    desk.controls.setKey("A", "KeyK");
    assert.deepEqual(desk.down("KeyK").read(), { A: 1 });
    assert.deepEqual(desk.up("KeyK").down("KeyJ").read(), { B: 1 });
    const next = new Desk(desk.kept.get(STORED));
    assert.deepEqual(next.down("KeyK").read(), { A: 1 });
    next.controls.resetKeys();
    assert.deepEqual(next.down("KeyK").read(), { B: 1 });
    assert.deepEqual(new Desk(next.kept.get(STORED)).down("KeyK").read(), { B: 1 });
  },
  "a controller that is changed is kept": () => {
    const desk = new Desk(), pad = desk.standard();
    desk.read();
    desk.controls.setPad(STANDARD, {
      sources: { A: "b3", main_left: "a0- b14" }, sticks: { main: { rest: [0.1, 0], reach: [0.5, 0.5, 0.5, 0.5] } },
    });
    const next = new Desk(desk.kept.get(STORED));
    next.pads[0] = pad;
    pad.axes = [0.1, 0, 0, 0];
    press(pad, 3);
    assert.deepEqual(next.read(), { A: 1, Y: 1 });
    pad.axes[0] = 0.6;
    assert.equal(next.read().main_x, 16);
    pad.axes[0] = 0;
    press(pad, 14);
    assert.equal(next.read().main_x, 0);
    next.controls.setPad(STANDARD, null);
    assert.deepEqual(next.read(), { Y: 1 });
  },
  "another layout for a controller": () => {
    const desk = new Desk(), pad = desk.standard();
    desk.controls.setPad(STANDARD, { profile: "GameCube adapter (Mayflash, PC mode)", sources: {}, sticks: {} });
    press(pad, 1);
    assert.deepEqual(desk.read(), { A: 1 });
  },
  "damaged storage gives the defaults": () => {
    const bad = [
      "", "{", "null", "1", "[]", '"text"', "{}", '{"keys":[]}', '{"keys":{"A":1}}', '{"keys":{"A":"<b>"}}',
      '{"keys":{"A":"Escape"}}', '{"pads":[1,null]}', '{"pads":{"__proto__":{"sources":{}}}}',
      `{"keys":"${"x".repeat(1 << 17)}"}`,
    ];
    bad.push(JSON.stringify({ keys: { ...KEY_DEFAULTS, A: "KeyK" } }));
    for (const text of bad) {
      const desk = new Desk(text);
      assert.deepEqual(desk.controls.keys, [KEY_DEFAULTS, SECOND_DEFAULTS], text);
      desk.standard();
      press(desk.pads[0], 0);
      assert.deepEqual(desk.down("KeyK").read(), { A: 1, B: 1 }, text);
    }
    assert.equal({}.sources, undefined);
  },
  "damaged settings of a controller are left out": () => {
    const wrong = { A: "b1", B: "b100", X: "x1", Y: 3, Z: "b1 b2", L: "", R: "a1", light_l: "t3", half: "b1" };
    const { [STANDARD]: clean } = cleanPads({
      [STANDARD]: {
        profile: "none", sources: wrong,
        sticks: { main: { rest: [0, 0], reach: [0, 1, 1, 1] }, c: { rest: ["0", 0], reach: [1, 1, 1, 1] } },
      },
    });
    assert.deepEqual(clean, { sources: { A: "b1", Z: "b1 b2", L: "", light_l: "t3" }, sticks: {} });
    assert.equal(
      Object.keys(cleanPads(
        Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`pad ${i}`, { sources: {} }])),
      )).length,
      16,
    );
    assert.deepEqual(cleanKeys({ ...KEY_DEFAULTS, D_UP: "" }).D_UP, "");
  },
  "storage that throws": () => {
    const storage = new Proxy({}, { get() { throw new Error("no"); } });
    for (const one of [storage, null, undefined, {}]) {
      const controls = new Controls(new Desk(), one, CONTROLLER);
      controls.setKey("A", "KeyG");
      assert.equal(controls.keys[0].A, "KeyG");
      assert.equal(controls.kept, false);
    }
  },

  "two people at one keyboard": () => {
    const desk = new Desk();
    desk.controls.start(2);
    desk.down("KeyD", "KeyJ", "ArrowLeft", "Numpad0");
    assert.deepEqual([desk.read(0), desk.read(1)], [{ A: 1, main_x: 16 }, { X: 1, main_x: 0 }]);
    desk.up("ArrowLeft", "Numpad0", "KeyJ");
    assert.deepEqual([desk.read(0), desk.read(1)], [{ main_x: 16 }, {}]);
    desk.controls.setKey("A", "KeyJ", 1); // a key of both is the second person's
    assert.deepEqual(desk.down("KeyJ").read(1), { A: 1 });
    assert.deepEqual(new Desk(desk.kept.get(STORED)).controls.keys[1].A, "KeyJ");
    desk.up("KeyJ");
    desk.controls.start(1);
    assert.deepEqual(desk.down("KeyJ", "ArrowUp").read(), { A: 1, c_y: 16 });
  },
  "a controller of a second person, then two": () => {
    const desk = new Desk(), pad = desk.standard();
    desk.controls.start(2);
    desk.settle();
    press(pad, 0);
    assert.deepEqual(desk.down("ArrowUp").read(1), { A: 1 });
    assert.deepEqual(desk.read(0), { c_y: 16 }); // the arrows are the first person's again
    press(desk.mayflash(1), 2);
    assert.deepEqual(desk.read(1), { B: 1 });
    assert.deepEqual(desk.read(0), { A: 1 });
    assert.deepEqual(desk.commands, ["pause: A controller was connected."]);
    desk.controls.gamepads.owners.set(0, 1).set(1, 0);
    assert.deepEqual([desk.read(0), desk.read(1)], [{ B: 1 }, { A: 1 }]);
  },
  "nobody plays while two others are watched": () => {
    const desk = new Desk();
    desk.controls.start(0);
    assert.deepEqual(desk.down("Escape").commands, ["pause"]);
  },
  "thumbs": () => {
    const desk = new Desk(), { touch } = desk.controls;
    touch.place([{ control: "A", x: 300, y: 300, radius: 30 }, { control: "X", x: 300, y: 230, radius: 30 }], 200, 50);
    touch.down(1, 80, 250); // the stick begins where the thumb lands
    assert.deepEqual(desk.read(), {});
    touch.move(1, 130, 250);
    touch.down(2, 290, 305);
    assert.deepEqual(desk.read(), { A: 1, main_x: 16 });
    touch.move(2, 295, 235); // the other thumb slides to the jump
    assert.deepEqual(desk.read(), { X: 1, main_x: 16 });
    touch.up(2);
    touch.move(1, 155, 250);
    assert.deepEqual(desk.read(), { main_x: 16 });
    touch.move(1, 80, 250); // the middle has followed the thumb to 105
    assert.deepEqual(desk.read(), { main_x: 4 });
    touch.move(1, 105, 200);
    assert.deepEqual(desk.read(), { main_y: 16 });
    touch.up(1);
    assert.deepEqual(desk.read(), { main_y: 16 }); // lifted since the last frame
    assert.deepEqual(desk.read(), {});
    touch.down(3, 250, 100); // neither the stick's half nor a button
    assert.deepEqual(desk.read(), {});
    touch.down(4, 300, 230);
    touch.up(4);
    assert.deepEqual([desk.read(), desk.read()], [{ X: 1 }, {}]);
    touch.down(5, 80, 250);
    touch.move(5, 30, 250);
    desk.controls.stop();
    desk.controls.start();
    assert.deepEqual(desk.read(), {});
  },
  "a hop is a jump for one frame": () => {
    const desk = new Desk(), { touch } = desk.controls;
    touch.place([{ control: "hop", x: 300, y: 300, radius: 30 }], 200, 50);
    touch.down(1, 300, 300);
    assert.deepEqual([desk.read(), desk.read(), touch.pressed("hop")], [{ X: 1 }, {}, true]);
  },
  "hints follow the device": () => {
    const desk = new Desk(), told = [], hint = () => playHint(desk.controls, ["Ann"]);
    desk.controls.onDevice = () => told.push(desk.controls.device);
    assert.equal(hint(), "Move W A S D · attack J · special K · jump Space · shield L · grab U · pause Escape");
    const pad = desk.standard();
    desk.read();
    press(pad, 0);
    desk.read();
    assert.equal(
      hint(),
      "Move left stick · attack A / ✕ · special X / □ · jump B / ○ · shield LT / L2 · grab LB / L1 · " +
        "pause Menu / Options",
    );
    desk.dispatchEvent(Object.assign(new Event("pointerdown"), { pointerType: "touch" }));
    assert.match(hint(), /^Left thumb/);
    desk.read(); // a button that stays pressed does not take over
    desk.dispatchEvent(Object.assign(new Event("pointerdown"), { pointerType: "mouse" }));
    desk.down("KeyA");
    assert.deepEqual(told, ["pad", "touch", "keys"]);
    assert.match(playHint(desk.controls, ["Ann", "Bob"]), /^Ann: Move W A S D .*\nBob: Move left stick .*\npause/);
  },

  "a source that is chosen by pressing": () => {
    const pad = new Desk().mayflash(), choice = new SourceChoice(pad), read = (analog) => choice.read(pad, analog);
    assert.equal(read(false), "");
    pad.axes[3] = 0.4; // a trigger moves, then clicks
    assert.equal(read(false), "");
    press(pad, 4);
    assert.equal(read(false), "");
    press(pad, 4, 0);
    pad.axes[3] = -0.73;
    assert.equal(read(false), "b4");
    assert.equal(read(false), "");
    pad.axes[3] = 0.4;
    press(pad, 4);
    read(true);
    press(pad, 4, 0);
    pad.axes[3] = -0.73;
    assert.equal(read(true), "t3");
    pad.axes[9] = -1 + (2 / 3.5);
    read(false);
    pad.axes[9] = 1.3;
    assert.equal(read(false), "h9.2");
    pad.axes[1] = -0.7;
    read(true);
    pad.axes[1] = 0;
    assert.equal(read(true), "a1-");
    assert.deepEqual(["b4", "t3", "h9.2", "a1-", "b0 b1", ""].map((source) => sourceName(source, false)), [
      "Button 4", "Trigger 3", "Hat 9 →", "Axis 1 −", "Button 0, Button 1", "–",
    ]);
    assert.equal(sourceName("b0", true), "A / ✕");
  },
  "a hat is a direction pad": () => {
    const pad = new Desk().mayflash(), state = new GamepadState(pad, { sources: { D_UP: "h9.0" } }, CONTROLLER);
    const held = [1.3, -1, -1 + 1 / 3.5, -1 + 2 / 3.5, 1].map((value) => {
      pad.axes[9] = value;
      return state.pressed("D_UP");
    });
    assert.deepEqual(held, [false, true, true, false, true]);
  },
  "sticks that are measured": () => {
    const pad = new Desk().mayflash(), state = new GamepadState(pad, null, CONTROLLER);
    pad.axes[0] = 0.1;
    state.read(pad);
    state.measure();
    for (let i = 0; i <= 16; i++) {
      pad.axes[0] = 0.1 + 0.6 * Math.cos((i * Math.PI) / 8);
      pad.axes[1] = 0.5 * Math.sin((i * Math.PI) / 8);
      state.read(pad);
    }
    const { main, c } = state.measurement();
    assert.equal(c, undefined); // it was not moved
    assert.deepEqual([...main.rest, ...main.reach].map((value) => Math.round(100 * value)), [10, 0, 58, 58, 49, 49]);
    state.use(pad, { sticks: { main } });
    Object.assign(pad.axes, { 0: 0.1, 1: 0 });
    state.read(pad);
    assert.deepEqual([state.sticks[0].x, state.sticks[0].y], [0, 0]);
  },
  "each layout has a source for each control": () => {
    const state = new GamepadState(new Desk().standard(), null, CONTROLLER);
    assert.deepEqual(Object.keys(state.sources).toSorted(), PAD_CONTROLS.toSorted());
  },
  "names of keys": () => {
    const layout = new Map([["KeyW", "z"], ["KeyQ", "ß"], ["Space", " "]]);
    const names = [
      "KeyW", "KeyX", "KeyQ", "Digit1", "Space", "ArrowUp", "ShiftLeft", "Numpad4", "NumpadAdd", "IntlBackslash", "",
    ].map((code) => keyName(code, layout));
    assert.deepEqual(names, ["Z", "X", "SS", "1", "Space", "↑", "Shift", "Num 4", "Num Add", "Intl Backslash", "–"]);
  },
  "a frame asks for the controllers once and keeps nothing": () => {
    const desk = new Desk().down("KeyW", "KeyD", "KeyJ");
    for (const index of [0, 1, 2, 3]) desk.mayflash(index).axes[0] = 0.5;
    desk.controls.read();
    let asked = 0;
    const kept = JSON.stringify([...desk.kept]), frames = 100;
    desk.navigator.getGamepads = () => { asked++; return desk.pads; };
    for (let i = 0; i < frames; i++) desk.controls.read();
    assert.equal(asked, frames);
    assert.equal(JSON.stringify([...desk.kept]), kept);
  },
};

await report(cases);
