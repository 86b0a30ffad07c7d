// The mock's rules, compiled to WebAssembly: one game of two seats. Runs in browsers and in node.
//
//   const rules = await loadRules(moduleBytes, tableBytes);
//   rules.start({ seed: 1n, characters: [1, 18], stage: 24, options });
//   rules.hold([actionOfSeat0, actionOfSeat1]);
//   rules.exports.live_step();
//   rules.get("games.players", 0, 1, "x"); // of seat 1 of the game, which is game 0
//
// Values lie in the module's memory. The module itself says where, by the paths of selfplay_melee/browser/program.py.

const PAGE = 65536; // bytes
const KINDS = { i: "Int", u: "Uint", b: "Uint", f: "Float" };
const SEATS = [0, 1];

/** Compile a module, from its bytes, and put tables into its memory: those of `table_bytes` in assets.py. */
export async function loadRules(moduleBytes, tableBytes) {
  const rules = new Rules(await WebAssembly.compile(moduleBytes));
  rules.loadTables(tableBytes);
  return rules;
}

export class Rules {
  constructor(module) {
    const [text] = WebAssembly.Module.customSections(module, "layout");
    /** Where every value lies: see `layout` in selfplay_melee/wasm/memory.py. */
    this.layout = JSON.parse(new TextDecoder().decode(text));
    const memory = new WebAssembly.Memory({ initial: Math.ceil(this.layout.end / PAGE) });
    const stack = new WebAssembly.Global({ value: "i32", mutable: true }, this.layout.stack);
    const env = { __linear_memory: memory, __stack_pointer: stack };
    /** The functions of the module; none has arguments. */
    this.exports = new WebAssembly.Instance(module, { env }).exports;
    this.buffer = memory.buffer;
    this.view = new DataView(memory.buffer);
  }

  /** Replace all tables. Characters and stages without tables cannot be played. */
  loadTables(bytes) {
    const lengths = new DataView(bytes.buffer, bytes.byteOffset);
    this.bytes("tables").fill(0);
    let at = 0;
    for (const name of Object.keys(this.layout.values.tables.type.fields)) {
      const length = lengths.getUint32(at, true);
      this.bytes("tables", name).set(bytes.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
  }

  /**
   * Begin a game.
   *
   * seed: BigInt. characters: Melee's internal ids of both seats. stage: its id. options: the fields of StepOptions;
   * weights of the reward that `options.rewards` does not name are 0. bots: the scripted player of each seat, -1 none.
   * delay: frames from seeing to acting.
   */
  start({ seed, characters, stage, options, bots = [-1, -1], delay = [0, 0] }) {
    this.#check(characters, stage, options, delay);
    for (const path of Object.keys(this.layout.values)) {
      const [group, name, weight] = path.split(".");
      if (group === "games") this.bytes(path).fill(0);
      if (group === "options") this.set(weight ? (options.rewards?.[weight] ?? 0) : options[name], path);
    }
    this.set(seed & (2n ** 62n - 1n), "games.episode", 0, "seed");
    this.set(stage, "games.game", 0, "stage");
    for (const seat of SEATS) {
      this.set(characters[seat], "games.players", 0, seat, "character");
      this.set(bots[seat], "games.bots", 0, seat);
      this.set(delay[seat], "games.delay", 0, seat);
    }
    this.restart();
  }

  /** Begin the next game with the same players, on the same stage. */
  restart() {
    this.exports.start();
    this.exports.observe();
  }

  #check(characters, stage, options, delay) {
    for (const id of characters)
      if (!(this.get("tables", "character_rows", id) >= 0)) throw new RangeError(`character ${id} has no tables`);
    if (!(this.get("tables", "stage_rows", stage) >= 0)) throw new RangeError(`stage ${stage} has no tables`);
    const longest = this.layout.values["games.line"].type.shape[2] - options.frame_skip;
    if (!delay.every((frames) => frames >= 0 && frames <= longest))
      throw new RangeError(`a delay is 0 to ${longest} frames, not ${delay}`);
  }

  /** Set what seats press from now on: the actions of both, in their own view; a seat without one keeps its last. */
  hold(actions) {
    for (const seat of SEATS) {
      this.set(actions[seat] ? 1 : 0, "acts", 0, seat);
      if (actions[seat]) this.numbers("actions", 0, seat).set(actions[seat]);
    }
    if (!this.exports.hold()) throw new RangeError(`no controller can express the actions ${JSON.stringify(actions)}`);
  }

  /** A number. The steps lead into the value of a path: an index of each dimension of an array, the name of a field. */
  get(path, ...steps) {
    const { at, type } = this.find(path, ...steps);
    return this.view[`get${viewName(type)}`](at, true);
  }

  /** Set a number; those of 64 bits may be a BigInt. */
  set(value, path, ...steps) {
    if (value === undefined) throw new TypeError(`no value for ${path}`);
    const { at, type } = this.find(path, ...steps);
    this.view[`set${viewName(type)}`](at, type === "i8" ? BigInt(value) : Number(value), true);
  }

  /** The memory of a value or of a part of it: a view, not a copy. */
  bytes(path, ...steps) {
    const { at, type } = this.find(path, ...steps);
    return new Uint8Array(this.buffer, at, sizeOf(type));
  }

  /** The numbers of an array as a typed array: a view, not a copy. */
  numbers(path, ...steps) {
    const { at, type } = this.find(path, ...steps);
    const name = viewName(type.of);
    return new globalThis[`${name}Array`](this.buffer, at, sizeOf(type) / sizeOf(type.of));
  }

  /** Address and type of a value, or of the part that steps lead to. */
  find(path, ...steps) {
    let { at, type } = this.layout.values[path];
    for (const step of steps) {
      if (type.fields) {
        const [offset, its] = type.fields[step];
        at += offset;
        type = its;
      } else {
        const [length, ...rest] = type.shape;
        if (!(step >= 0 && step < length)) throw new RangeError(`${path} has no ${step} in [${steps}]`);
        type = rest.length ? { shape: rest, of: type.of } : type.of;
        at += step * sizeOf(type);
      }
    }
    return { at, type };
  }
}

/** Bytes of a type, see `describe` in selfplay_melee/wasm/memory.py. */
export function sizeOf(type) {
  if (type.shape) return type.shape.reduce((product, length) => product * length, sizeOf(type.of));
  return type.size ?? Number(type.slice(1));
}

/** What DataView and typed arrays call a type of numbers: `Float64` of `f8`. */
function viewName(type) {
  const bits = 8 * Number(type.slice(1));
  return `${bits === 64 && type[0] !== "f" ? "Big" : ""}${KINDS[type[0]]}${bits}`;
}
