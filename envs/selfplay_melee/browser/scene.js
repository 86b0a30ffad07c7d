// The film of a fight that goes on: the scene of selfplay_melee/drawing/scene.py in the columns of
// columns.py, moment by moment.
//
//   const film = new LiveFilm(facts, tables, { stage, characters, names, title: "live" });
//   film.record(moment);            // each frame; then draw moment film.count - 1
//   film.finish();                  // at the end: from now on a film like any other, for a player with seeking

import { Camera } from "./camera.js";
import { Combo, Move } from "./events.js";

const MOST_ITEMS = 16; // of a moment
const SEATS = [0, 1];
const ITEM_COLUMNS = { item_x: Int16Array, item_y: Int16Array, item_kind: Uint8Array, item_way: Int8Array };
/** Columns with a number for each seat, beside those of the axes of the controllers. */
const BY_SEAT = {
  look: Uint8Array, flags: Uint8Array, rays: Uint8Array, shield: Uint8Array, stocks: Uint8Array, shoulder: Uint8Array,
  move: Uint8Array, hits: Uint8Array, dealt: Uint8Array,
  x: Int16Array, y: Int16Array, figure: Uint16Array, circles: Uint16Array, percent: Uint16Array, action: Uint16Array,
  action_frame: Uint16Array, buttons: Uint16Array, values: Float32Array,
};

/** What a film has of the facts, and of those of its stage. */
const FACTS = [
  "looks", "joints", "actions", "moves", "burst", "units", "bits", "fps", "most_rays", "button_names", "item_kinds",
];
const STAGE_FACTS = ["stage", "scenery", "platforms", "still"];

const clip = (value, low, high) => Math.min(Math.max(value, low), high);
const single = Math.fround; // Python's scene has its places in 32 bits
/** The nearest whole number, of two the even one. */
const whole = (value) => value + 1.5 * 2 ** 52 - 1.5 * 2 ** 52;
const place = (value, unit) => clip(whole(single(value) * unit), -32768, 32767);

export class LiveFilm {
  #facts;
  #tables;
  #stage;
  #seats;
  #tracker;
  #moves = SEATS.map(() => new Move());
  #combos;

  /**
   * facts: of scene.py. tables: typed arrays of figures.py. stage, characters: Melee's ids, the characters by seat.
   * values: whether moments come with the estimates of both seats. longest: moments, at most.
   */
  constructor(facts, tables, { stage, characters, names, title, values = false, longest = facts.longest }) {
    this.#facts = facts;
    this.#tables = tables;
    this.#stage = facts.stages[stage];
    this.#seats = characters.map((character) => facts.characters.indexOf(character));
    /** Moments so far. */
    this.count = 0;
    for (const name of FACTS) this[name] = facts[name];
    for (const name of STAGE_FACTS) this[name] = this.#stage[name];
    Object.assign(this, { names, title });
    Object.assign(this, { opens: 0, losses: [], highest_percent: 0, highest_value: 0 });
    Object.assign(this, { figures: tables.figures, circle: tables.circle, circles_at: tables.circles_at });
    this.frames = new Int32Array(longest);
    this.camera = new Int16Array(3 * longest);
    this.moving = new Int16Array(3 * this.platforms * longest);
    for (const [name, Type] of Object.entries(BY_SEAT)) this[name] = new Type(2 * longest);
    for (const name of facts.axes) this[name] = new Int8Array(2 * longest);
    if (!values) this.values = null;
    this.items_at = new Uint32Array(longest + 1);
    for (const [name, Type] of Object.entries(ITEM_COLUMNS)) this[name] = new Type(MOST_ITEMS * longest);
    this.#combos = SEATS.map(() => new Combo(facts.combo));
    this.#tracker = new Camera(facts.camera, this.scenery.blast, longest);
  }

  /**
   * Add a moment, which comes one frame after the last.
   *
   * moment: `frame`; `players`, `controllers` and `values` by seat; `heights` of the moving platforms of Fountain of
   * Dreams; `items`, each with kind, x, y, vx and vy. Players and controllers have fields of selfplay_melee/state.py.
   */
  record(moment) {
    const t = this.count++, gone = SEATS.map((seat) => this.#category(moment.players[seat].action) === "dead");
    this.frames[t] = moment.frame;
    for (const seat of SEATS) {
      this.#recordPlayer(2 * t + seat, seat, moment.players[seat], gone[seat]);
      this.#recordPad(2 * t + seat, moment.controllers[seat]);
      if (this.values) this.values[2 * t + seat] = moment.values[seat];
    }
    for (const seat of SEATS) this.#recordCombo(2 * t + seat, 2 * t + 1 - seat);
    this.#recordItems(t, moment.items);
    this.moving.set(this.#platformsAt(moment), 3 * this.platforms * t);
    this.#tracker.add(moment.players.map(({ x, y }) => [x, y]), gone);
    this.#point(t, this.#tracker.next());
  }

  #point(t, picture) {
    this.camera.set(picture.map((number) => place(number, this.#facts.units.place)), 3 * t);
  }

  /** Make it a film like those of a page: its camera looks ahead, and its columns end with the fight. */
  finish() {
    const { count } = this, percents = this.percent.subarray(0, 2 * count);
    for (let t = 0; t < count; t++) this.#point(t, this.#tracker.at(t));
    for (const name of [...Object.keys(BY_SEAT), ...this.#facts.axes]) this[name] &&= this[name].subarray(0, 2 * count);
    for (const name of Object.keys(ITEM_COLUMNS)) this[name] = this[name].subarray(0, this.items_at[count]);
    this.items_at = this.items_at.subarray(0, count + 1);
    this.frames = this.frames.subarray(0, count);
    this.camera = this.camera.subarray(0, 3 * count);
    this.moving = this.moving.subarray(0, 3 * this.platforms * count);
    this.first = this.frames[0];
    this.last = this.frames[count - 1];
    this.length = count;
    this.moments = Uint32Array.from({ length: count }, (_, t) => t);
    this.highest_percent = percents.reduce((most, percent) => Math.max(most, percent), 0) / this.#facts.units.percent;
    for (const value of this.values ?? []) {
      if (Math.abs(value) > this.highest_value) this.highest_value = Math.abs(value); // false for NaN
    }
    for (let i = 2; i < this.stocks.length; i++) {
      if (this.stocks[i] < this.stocks[i - 2]) this.losses.push([i >> 1, i % 2]);
    }
    return this;
  }

  #recordPlayer(i, seat, player, gone) {
    const facts = this.#facts, tables = this.#tables, { units, bits } = facts;
    this.#seats[seat] = facts.characters.indexOf(player.character); // Sheik and Zelda become each other
    const category = this.#category(player.action), frozen = player.hitlag > 0, row = this.#rowAt(seat, player);
    this.look[i] = this.#seats[seat];
    this.figure[i] = tables.row_figure[row];
    this.circles[i] = tables.row_circles[row];
    this.x[i] = place(player.x + (frozen ? facts.shake * (i & 2 ? -1 : 1) : 0), units.place);
    this.y[i] = place(player.y, units.place);
    const tint = frozen ? bits.frozen : player.invulnerable > 0 || facts.dodges.includes(category) ? bits.safe : 0;
    const facing = player.facing < 0 ? 0 : bits.facing, halo = category === "respawn" ? bits.halo : 0;
    this.flags[i] = facing | tint | (gone ? bits.gone : 0) | halo | (player.hitstun > 0 && !gone ? bits.sparks : 0);
    this.rays[i] = gone ? clip(facts.most_rays - player.action_frame, 0, facts.most_rays) : 0;
    const radius = facts.shields.includes(category) ? this.#shieldRadius(seat, player) : 0;
    this.shield[i] = clip(whole(single(radius) * units.shield), 0, 255);
    this.percent[i] = clip(player.percent * units.percent, 0, 65535);
    this.stocks[i] = clip(player.stocks, 0, 99);
    this.action[i] = clip(player.action, 0, 65535);
    this.action_frame[i] = clip(player.action_frame, 0, 65535);
    this.move[i] = this.#moves[seat].add(this.#moveOf(seat, player.action), facts.move_stays);
  }

  /** After both players: of the seat at i, against the one at `other`. */
  #recordCombo(i, other) {
    const { bits, held, categories } = this.#facts;
    const caught = Boolean(this.flags[other] & bits.sparks) || held.includes(categories[this.action[other]]);
    [this.hits[i], this.dealt[i]] = this.#combos[i % 2].add(this.percent[other], caught);
  }

  #moveOf(seat, action) {
    const { move_of, specials } = this.#facts;
    return (action < move_of.length ? move_of[action] : specials[this.#seats[seat]][action - move_of.length]) ?? 0;
  }

  #recordPad(i, pad) {
    const { axes, units } = this.#facts;
    for (const axis of axes) this[axis][i] = clip(whole(pad[axis] * units.axis), -units.axis, units.axis);
    this.shoulder[i] = clip(whole(pad.shoulder * units.shoulder), 0, 255);
    this.buttons[i] = pad.buttons;
  }

  #recordItems(t, items) {
    const { units } = this.#facts;
    let n = this.items_at[t];
    for (const { kind, x, y, vx, vy } of items.slice(0, MOST_ITEMS)) {
      this.item_kind[n] = kind;
      this.item_x[n] = place(x, units.place);
      this.item_y[n] = place(y, units.place);
      this.item_way[n++] = whole((Math.atan2(vy, vx) / Math.PI) * units.axis);
    }
    this.items_at[t + 1] = n;
  }

  /** Left end, right end and height of each moving platform. */
  #platformsAt({ frame, heights }) {
    const { movers, cloud } = this.#stage, unit = this.#facts.units.place;
    const now = movers.map((mover, n) => {
      if (!cloud) return heights?.length === movers.length ? [mover[0], mover[1], heights[n]] : mover;
      const [left, height] = this.#cloudAt(frame);
      return [left, mover[1] + (left - mover[0]), height];
    });
    return now.flat().map((number) => place(number, unit));
  }

  /** Left end and height of the cloud of Yoshi's Story. */
  #cloudAt(frame) {
    const { loop, path } = this.#facts.cloud, start = path[0][0];
    const at = ((((frame - start) % loop) + loop) % loop) + start;
    const next = path.findIndex(([time]) => time > at);
    if (next < 0) return path[path.length - 1].slice(1);
    const [[t0, ...from], [t1, ...to]] = [path[next - 1], path[next]];
    return from.map((value, n) => value + ((to[n] - value) / (t1 - t0)) * (at - t0));
  }

  #category(action) {
    return this.#facts.categories[action] ?? "special";
  }

  /** The row of the tables with the figure and the circles of a player. */
  #rowAt(seat, { action, action_frame }) {
    const { first, count } = this.#tables, at = this.#seats[seat] * this.#facts.categories.length + action;
    const last = count[at] - 1, frame = Math.floor(Math.max(action_frame, 0));
    if (frame <= last) return first[at] + frame;
    const period = this.#facts.periods[this.#category(action)];
    return first[at] + (period && last ? clip(whole(frame % period), 0, last) : last);
  }

  #shieldRadius(seat, { shield }) {
    const { shield_full, shield_share, looks } = this.#facts, left = clip(shield / shield_full, 0, 1);
    return looks[this.#seats[seat]].shield_radius * (shield_share + (1 - shield_share) * left);
  }
}
