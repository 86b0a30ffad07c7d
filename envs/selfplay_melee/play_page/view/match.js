// A game of two seats, each a person, a policy or a scripted player: played, filmed, and kept so that Python can play
// it again (selfplay_melee/play/games.py). Runs in browsers and in node.
//
//   const match = new Match(rules, facts, tables, setup, seats);
//   while (!match.ended) await match.frame([controls.read(), null]);
//   save(match.document());

import { readMoment } from "../../../../selfplay_melee/browser/moment.js";
import { LiveFilm } from "../../../../selfplay_melee/browser/scene.js";
import { word } from "../../../policy/browser/uniforms.js";

const SEATS = [0, 1];

export class Match {
  #rules;
  #setup;
  #seats;
  #pressed = [null, null]; // what each person presses, in directions of the screen
  #held = []; // [frame, seat, action] of what seats began to hold, in their own view
  #checksums = [];
  #parts; // of the game's memory, of which checksums are made
  #facts;
  #result = null; // of a game that has ended

  /**
   * A new game, with its first moment filmed. It has the rules to itself until the next begins.
   *
   * rules: loaded `Rules`. facts: of scene_facts in selfplay_melee/browser/scene.py. tables: of `LiveFilm`.
   * setup: `version` of the rules, `seed` (BigInt), `stage` and `characters` (Melee's ids), `names`, `delay` in frames
   * by seat, `options` (the fields of StepOptions without `rewards`, with a frame skip of 1).
   * seats: of each { kind: "person" }, { kind: "bot", bot, name } (its number and its name in the rules) or
   * { kind: "policy", seat, skip, temperature, id, weights_hash }, where seat is one of `Policy` or has the same
   * `begin`, `decide` (which may be async) and `value`; or, of a game that is played again, { kind: "held", held,
   * about }: what it holds by frame (a Map), and who it is as the document says it.
   */
  constructor(rules, facts, tables, setup, seats) {
    this.#rules = rules;
    this.#setup = setup;
    this.#seats = seats;
    const { seed, stage, characters, names, delay, options } = setup;
    this.#parts = remembered(rules);
    rules.start({ seed, stage, characters, delay, options, bots: seats.map(({ bot = -1 }) => bot) });
    for (const [n, { seat }] of seats.entries()) seat?.begin(word(seed, BigInt(n + 1)));
    /** Frames so far. */
    this.frames = 0;
    /** Whether it is over: by its rules, or by `stop`. */
    this.ended = false;
    const values = seats.some(({ kind }) => kind === "policy");
    /** The film so far; moment `film.count - 1` is what is seen now. */
    this.film = new LiveFilm(facts, tables, { stage, characters, names, title: names.join(" vs "), values });
    this.#facts = facts;
    this.#record();
  }

  #record() {
    this.film.record(readMoment(this.#rules, this.#facts.item_kinds, this.#values()));
  }

  #values() {
    return this.#seats.map(({ seat }) => seat?.value ?? NaN);
  }

  /**
   * Play a frame; whether the game is over. The next begins after this one is done.
   *
   * actions: by seat, what a person presses, with sticks in directions of the screen; null of others.
   */
  async frame(actions) {
    if (this.ended) return true;
    const held = await Promise.all(SEATS.map((seat) => this.#choose(seat, actions[seat])));
    if (this.ended) return true; // stopped meanwhile
    const rules = this.#rules, { film } = this;
    film.values?.set(this.#values(), 2 * (film.count - 1)); // what was estimated from the last moment belongs to it
    rules.hold(held);
    for (const seat of SEATS) if (held[seat]) this.#held.push([this.frames, seat, Int8Array.from(held[seat])]);
    rules.exports.live_step();
    this.frames++;
    this.#record();
    const over = rules.get("out.terminated", 0) || rules.get("out.truncated", 0);
    if (over || this.frames % this.#facts.document.checked === 0) this.#checksums.push(checksum(this.#parts));
    if (over) this.#end();
    return this.ended;
  }

  /** The action that a seat holds from now on, in its own view; null if it goes on as before. */
  #choose(seat, action) {
    const { kind, skip, temperature, seat: player, held } = this.#seats[seat], rules = this.#rules;
    if (kind === "held") return held.get(this.frames) ?? null;
    if (kind === "policy") {
      return this.frames % skip ? null : player.decide(rules.numbers("out.obs", 0, seat), { temperature });
    }
    if (kind === "bot" || this.#pressed[seat]?.every((code, n) => code === action[n])) return null;
    this.#pressed[seat] = action.slice();
    return rules.get("games.mirrored", 0, seat) ? mirrored(action, this.#facts.controller) : action;
  }

  #end() {
    const rules = this.#rules, [mine, other] = SEATS.map((seat) => rules.get("out.score", 0, seat));
    this.#result = {
      ...this.#standing(),
      winner: mine === other ? null : Number(other > mine),
      ended: this.#facts.document.ended[rules.get("out.stats", 0, 0, "ended")],
    };
    this.ended = true;
    this.film.finish();
  }

  /** End a game that is not played to its end. */
  stop() {
    if (this.ended) return;
    if (this.frames % this.#facts.document.checked) this.#checksums.push(checksum(this.#parts));
    this.#result = { ...this.#standing(), winner: null, ended: null };
    this.ended = true;
    this.film.finish();
  }

  #standing() {
    const read = (name) => SEATS.map((seat) => this.#rules.get("games.players", 0, seat, name));
    return { stocks: read("stocks"), percents: read("percent") };
  }

  stocks(seat) {
    return (this.#result ?? this.#standing()).stocks[seat];
  }

  percent(seat) {
    return (this.#result ?? this.#standing()).percents[seat];
  }

  /** The seat that has won; null: neither. */
  get winner() {
    return this.#result?.winner ?? null;
  }

  /** Numbers of an action. */
  get fields() {
    return this.#facts.controller.highest.length;
  }

  /** How it ended: "stocks", "timer" or "cap"; null if it was stopped or goes on. */
  get ending() {
    return this.#result?.ended ?? null;
  }

  /** The game as JSON that Python plays again bit for bit; of a game that has ended or was stopped. */
  document() {
    const { version, seed, stage, characters, names, delay, options } = this.#setup;
    return {
      format: this.#facts.document.format,
      game: "mock",
      rules: version,
      seed: String(seed),
      stage,
      characters,
      names,
      delay,
      options,
      seats: this.#seats.map(described),
      frames: this.frames,
      held: packHeld(this.#held),
      checksums: this.#checksums,
      result: this.#result,
    };
  }
}

/** An action with left and right exchanged: `mirror` of selfplay_melee/controller.py. */
function mirrored(action, { sticks, highest }) {
  const other = action.slice();
  for (const n of Object.values(sticks)) other[n] = highest[n] - action[n];
  return other;
}

/** Who plays a seat, as the document says it. */
function described({ kind, name, id, weights_hash, skip, temperature, about }) {
  if (kind === "held") return about;
  if (kind === "bot") return { kind, name };
  return kind === "policy" ? { kind, id, weights_hash, frame_skip: skip, temperature } : { kind };
}

/** HELD of selfplay_melee/play/games.py in base64: frame, seat, action. */
function packHeld(held) {
  const letters = held.map(([frame, seat, action]) => String.fromCharCode(frame & 255, frame >> 8, seat, ...action));
  return btoa(letters.join(""));
}

// ---- the checksum of everything that a game remembers between two frames

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

/** CRC-32 of what a game remembers, as `PageGame.checksum` of selfplay_melee/browser/game.py makes it. */
function checksum(parts) {
  let crc = -1;
  for (const part of parts) for (const byte of part) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The memory of a game, without rows of the tables, of which a page has a part only. */
function remembered(rules) {
  const paths = Object.keys(rules.layout.values).filter((path) => path.startsWith("games.") && path !== "games.memory");
  return paths.sort().map((path) => rules.bytes(path));
}
