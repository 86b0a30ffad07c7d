// A fight: countdown, picture, clock, what has just happened, and the pause.

import { Stage } from "../../fight/player/draw.js";
import { fit } from "../../fight/player/data.js";
import { element, fullScreenSwitch } from "../../fight/player/player.js";
import { watchInterruptions } from "./interruptions.js";
import { Motion, withHeads } from "./lens.js";
import { deadPress } from "./specials.js";
import { TouchView } from "./touch_view.js";

const COUNTS = ["3", "2", "1", "GO!"];
const COUNT = 36; // frames of a count
const SHOWN = 75; // frames for which a cue is shown
const GO = 24; // the cue of the first frames, which must not hide them
const OVER = 100; // frames after the end, before the result
const SETTLED = 300; // milliseconds after an interruption
const HEADROOM = 5; // units above a head, for the mark
const HIT = 40; // frames for which the damage of hits is shown; those of another hit count together

export class Arena {
  // controls: Controls. sound: Sound. game: the data of the page. over: called with the match after its end.
  constructor(controls, sound, { facts, options, special_moves }, over) {
    const { categories, controller } = facts, { cap } = options;
    Object.assign(this, { controls, sound, over, cap, categories, specials: { controller, special_moves } });
    Object.assign(this, { match: null, people: [0, null], paused: false, interrupted: -Infinity });
    this.canvas = element("arena-view");
    this.touch = new TouchView(element("arena"), controls.touch, () => this.fighting);
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    const stale = () => { this.stale = true; };
    new ResizeObserver(stale).observe(this.canvas);
    for (const query of ["(prefers-color-scheme: light)", "(resolution: 1dppx)"]) {
      matchMedia(query).addEventListener("change", stale);
    }
    watchInterruptions((why) => this.pause(why), () => controls.device === "touch");
    // Escape is a command of the controls
    element("pause-menu").addEventListener("cancel", (event) => event.preventDefault());
    element("pause-menu").onclose = () => { if (this.paused) this.resume(); }; // closed by a gesture of the browser
    // with the screens that follow
    this.switchFullScreen = fullScreenSwitch(element("arena-full"), element("game-root"));
    element("arena-full").onclick = () => this.fullScreen();
    element("pause").onclick = () => this.pause();
    element("resume").onclick = () => this.resume();
  }

  /**
   * Shows a match from its countdown on.
   *
   * people: by seat the number of the person who plays it, null of others. score: of games before. characters: of the
   * page, by seat.
   */
  begin(match, people, score, characters) {
    Object.assign(this, {
      match, people, characters, countdown: COUNTS.length * COUNT, ending: 0, cueLeft: 0, shown: "", stale: true,
      pressed: [null, null],
    });
    this.stage = new Stage(this.canvas, match.film);
    this.motion = new Motion(() => this.still.matches);
    this.stage.lens = (view, t) => this.lens(view, t);
    this.stocks = [0, 1].map((seat) => match.film.stocks[seat]);
    this.hits = [0, 1].map(() => ({ damage: 0, age: HIT }));
    element("score").textContent = score;
    element("arena-hint").hidden = false;
    this.cue("");
    this.resume();
  }

  /** hint: what the device in use does. */
  useDevice(hint) {
    const thumbs = this.controls.device === "touch" && this.people.includes(0);
    element("arena-hint").textContent = hint;
    element("arena").dataset.device = this.controls.device;
    this.touch.show(thumbs);
    this.narrow = thumbs;
    this.stale = true;
  }

  get fighting() {
    return this.match !== null && !this.paused;
  }

  /** One frame; whether the game went on. */
  async frame() {
    const pressed = this.controls.read();
    if (!this.fighting) return false;
    if (this.cueLeft && !--this.cueLeft) this.cue("");
    if (this.countdown) return this.count();
    const { match } = this;
    if (!match.ended) {
      const actions = this.people.map((person) => (person === null ? null : pressed[person]));
      this.tellDeadPresses(actions);
      await match.frame(actions);
      this.watch(match.film);
      return true;
    }
    if (++this.ending === OVER) {
      this.match = null;
      this.controls.stop();
      this.over(match);
    }
    return false;
  }

  count() {
    const at = COUNTS.length - Math.ceil(this.countdown-- / COUNT);
    if (element("cue").textContent !== COUNTS[at]) {
      this.cue(COUNTS[at], "count");
      this.sound.count(at === COUNTS.length - 1);
    }
    if (at < COUNTS.length - 1) return false;
    Object.assign(this, { countdown: 0, cueLeft: GO }); // the fight begins with it
    element("arena-hint").hidden = true;
    return false;
  }

  // What happened on the last frame.
  watch(film) {
    const t = film.count - 1;
    this.motion.pass();
    for (const seat of [0, 1]) {
      const left = film.stocks[2 * t + seat];
      if (left < this.stocks[seat]) {
        this.sound.lost();
        this.motion.lost(film.x[2 * t + seat] / this.stage.unit, film.y[2 * t + seat] / this.stage.unit);
        this.cue(`${film.names[seat]}: ${left || "no"} stock${left === 1 ? "" : "s"} left`, `ko seat-${seat}`);
      }
      this.stocks[seat] = left;
      const hit = this.hits[seat], damage = film.percent[2 * t + seat] - film.percent[2 * (t - 1) + seat];
      if (damage > 0) {
        this.motion.strike(damage / film.units.percent);
        this.sound.hit(damage / film.units.percent);
        Object.assign(hit, { damage: (hit.age < HIT ? hit.damage : 0) + damage, age: 0 });
      } else hit.age++;
      if (this.blocks(film, 2 * t + seat)) this.sound.shield();
    }
    if (this.match.ended) this.cue(this.match.ending === "stocks" ? "GAME!" : "TIME!", "count");
  }

  // Presses of B for which a character has no move.
  tellDeadPresses(actions) {
    const { film } = this.match, last = 2 * (film.count - 1), busy = element("cue").className.startsWith("ko");
    for (const [seat, action] of actions.entries()) {
      const category = this.categories[film.action[last + seat]], character = this.characters[seat];
      const why = action && deadPress(this.pressed[seat], action, category, character, this.specials);
      if (why && !(this.cueLeft && busy)) this.cue(why, "dead");
    }
    this.pressed = actions;
  }

  // Whether a shield was hit on this frame.
  blocks(film, i) {
    const { action, action_frame: frame } = film;
    if (this.categories[action[i]] !== "shield_stun") return false;
    return action[i] !== action[i - 2] || frame[i] < frame[i - 2];
  }

  cue(text, kind = "") {
    const cue = element("cue");
    cue.textContent = text;
    cue.className = "";
    void cue.offsetWidth; // the animation begins again
    cue.className = kind;
    this.cueLeft = text ? SHOWN : 0;
  }

  draw() {
    if (!this.match) return;
    this.showTime(this.match);
    if (fit(this.canvas) || this.stale) this.shown = "";
    if (this.stale) this.stage.recolour();
    this.stale = false;
    this.stage.narrow = this.narrow && this.canvas.width > this.canvas.height * 1.5;
    this.touch.draw();
    const { film, ended } = this.match, t = film.count - 1, shown = `${t}`;
    // the camera of a film that ended is another
    if (this.shown === shown || (ended && this.shown === `${t - 1}`)) return;
    this.shown = shown;
    this.stage.draw(t);
    for (const seat of [0, 1]) if (this.people[seat] !== null) this.mark(t, seat);
    for (const seat of [0, 1]) this.damage(t, seat);
  }

  // Seconds to the end, and for tests the frames so far.
  showTime({ frames }) {
    const left = clockText((this.cap - frames) / this.stage.film.fps);
    if (element("clock").textContent !== left) element("clock").textContent = left;
    this.canvas.dataset.frame = frames;
  }

  // A place above a player's head, in pixels; null where the player is out of the game.
  above(t, seat) {
    const { stage, canvas } = this, { film } = stage, i = 2 * t + seat, up = film.looks[film.look[i]].height + 3;
    if (film.flags[i] & film.bits.gone) return null;
    return [
      canvas.width / 2 + (film.x[i] / stage.unit - stage.x) * stage.scale,
      canvas.height / 2 - (film.y[i] / stage.unit + up - stage.y) * stage.scale,
    ];
  }

  // The picture with the heads in it, closer where a stock was lost, and shaken by strong hits.
  lens(view, t) {
    const { film, unit } = this.stage, { width, height } = this.canvas;
    const places = [0, 1].map((seat) => 2 * t + seat).filter((i) => !(film.flags[i] & film.bits.gone)).map((i) => ({
      x: film.x[i] / unit, y: film.y[i] / unit, up: film.looks[film.look[i]].height + HEADROOM,
    }));
    return this.motion.shaken(withHeads(this.motion.closer(view), places, width / height));
  }

  // A triangle above a person's head.
  mark(t, seat) {
    const { stage, canvas } = this, { ctx } = stage, size = canvas.height / 60, place = this.above(t, seat);
    if (!place) return;
    const x = within(place[0], size, canvas.width - size), y = within(place[1], 1.5 * size, canvas.height);
    ctx.fillStyle = stage.seats[seat];
    ctx.strokeStyle = stage.colour("light");
    ctx.lineWidth = size / 4;
    ctx.beginPath();
    for (const [dx, dy] of [[0, 0], [size, -1.3 * size], [-size, -1.3 * size]]) ctx.lineTo(x + dx, y + dy);
    ctx.closePath();
    ctx.stroke();
    ctx.fill();
  }

  // The damage of the last hits, above who took it.
  damage(t, seat) {
    const { stage, canvas } = this, { ctx } = stage, { damage, age } = this.hits[seat];
    const place = age < HIT && this.above(t, seat);
    if (!place) return;
    const size = canvas.height / 22, rise = size * (seat ? 0.6 : 1.2) + (size * age) / HIT;
    ctx.globalAlpha = Math.min(1, (3 * (HIT - age)) / HIT);
    ctx.font = `800 ${size}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "alphabetic";
    ctx.lineWidth = size / 5;
    ctx.strokeStyle = stage.colour("outline");
    ctx.fillStyle = stage.colour("glow");
    const text = `${Math.round(damage / stage.film.units.percent)}%`;
    const x = within(place[0], size, canvas.width - size), y = within(place[1] - rise, size, canvas.height);
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
    ctx.globalAlpha = 1;
  }

  /** why: what interrupted the fight; the last reason is shown. */
  pause(why = "") {
    if (!this.match || this.match.ended) return;
    if (why || !this.paused) element("pause-about").textContent = why;
    if (why) this.interrupted = performance.now();
    if (this.paused) return;
    this.paused = true;
    this.controls.stop();
    element("pause-menu").showModal();
    element("resume").focus();
  }

  /** Back from the menu of the pause; not by the Escape that ends full screen, which pauses. */
  back() {
    if (performance.now() - this.interrupted > SETTLED) this.resume();
  }

  resume() {
    this.paused = false;
    element("pause-menu").close();
    this.controls.start(this.people.filter((person) => person !== null).length);
    document.activeElement?.blur(); // the space bar would press a button
  }

  /** The match is not played to its end. */
  leave() {
    const { match } = this;
    this.match = null;
    this.paused = false;
    element("pause-menu").close();
    this.controls.stop();
    match?.stop();
  }

  fullScreen() {
    document.activeElement?.blur(); // the space bar would press the button again
    this.switchFullScreen();
  }
}

function within(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function clockText(left) {
  const seconds = Math.ceil(Math.max(left, 0));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
