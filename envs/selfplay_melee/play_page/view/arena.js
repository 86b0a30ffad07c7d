// A fight: countdown, picture, clock, what has just happened, and the pause.

import { Stage } from "../../fight/player/draw.js";
import { fit } from "../../fight/player/data.js";
import { element, fullScreenSwitch } from "../../fight/player/player.js";

const COUNTS = ["3", "2", "1", "GO!"];
const COUNT = 36; // frames of a count
const SHOWN = 75; // frames for which a cue is shown
const GO = 24; // the cue of the first frames, which must not hide them
const OVER = 100; // frames after the end, before the result
const HIT = 40; // frames for which the damage of hits is shown; those of another hit count together

export class Arena {
  // controls: Controls. over: called with the match after its end.
  constructor(controls, over) {
    Object.assign(this, { controls, over, match: null, paused: false });
    this.canvas = element("arena-view");
    const stale = () => { this.stale = true; };
    new ResizeObserver(stale).observe(this.canvas);
    for (const query of ["(prefers-color-scheme: light)", "(resolution: 1dppx)"]) {
      matchMedia(query).addEventListener("change", stale);
    }
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.pause("The tab was hidden."); });
    // Escape is a command of the controls
    element("pause-menu").addEventListener("cancel", (event) => event.preventDefault());
    element("pause-menu").onclose = () => { if (this.paused) this.resume(); }; // closed by a gesture of the browser
    // with the screens that follow
    this.switchFullScreen = fullScreenSwitch(element("arena-full"), element("game-root"));
    element("arena-full").onclick = () => this.fullScreen();
    element("pause").onclick = () => this.pause();
    element("resume").onclick = () => this.resume();
  }

  /** Shows a match from its countdown on. score: of games before. hint: what keys do. cap: most frames of a game. */
  begin(match, score, hint, cap) {
    Object.assign(this, {
      match, cap, countdown: COUNTS.length * COUNT, ending: 0, cueLeft: 0, shown: "", stale: true,
    });
    this.stage = new Stage(this.canvas, match.film);
    this.stocks = [0, 1].map((seat) => match.film.stocks[seat]);
    this.hits = [0, 1].map(() => ({ damage: 0, age: HIT }));
    element("score").textContent = score;
    element("arena-hint").textContent = hint;
    element("arena-hint").hidden = !hint;
    this.cue("");
    this.resume();
  }

  get fighting() {
    return this.match !== null && !this.paused;
  }

  /** One frame; whether the game went on. */
  async frame() {
    const action = this.controls.read();
    if (!this.fighting) return false;
    if (this.cueLeft && !--this.cueLeft) this.cue("");
    if (this.countdown) return this.count();
    const { match } = this;
    if (!match.ended) {
      await match.frame([action, null]);
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
    if (element("cue").textContent !== COUNTS[at]) this.cue(COUNTS[at], "count");
    if (at < COUNTS.length - 1) return false;
    Object.assign(this, { countdown: 0, cueLeft: GO }); // the fight begins with it
    element("arena-hint").hidden = true;
    return false;
  }

  // What happened on the last frame.
  watch(film) {
    const t = film.count - 1;
    for (const seat of [0, 1]) {
      const left = film.stocks[2 * t + seat];
      if (left < this.stocks[seat]) {
        this.cue(`${film.names[seat]}: ${left || "no"} stock${left === 1 ? "" : "s"} left`, `ko seat-${seat}`);
      }
      this.stocks[seat] = left;
      const hit = this.hits[seat], damage = film.percent[2 * t + seat] - film.percent[2 * (t - 1) + seat];
      if (damage > 0) Object.assign(hit, { damage: (hit.age < HIT ? hit.damage : 0) + damage, age: 0 });
      else hit.age++;
    }
    if (this.match.ended) this.cue(this.match.ending === "stocks" ? "GAME!" : "TIME!", "count");
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
    const { film, ended } = this.match, t = film.count - 1, shown = `${t}`;
    // the camera of a film that ended is another
    if (this.shown === shown || (ended && this.shown === `${t - 1}`)) return;
    this.shown = shown;
    this.stage.draw(t);
    this.mark(t);
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

  // A triangle above the person's head.
  mark(t) {
    const { stage, canvas } = this, { ctx } = stage, size = canvas.height / 60, place = this.above(t, 0);
    if (!place) return;
    const [x, y] = place;
    ctx.fillStyle = stage.seats[0];
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
    const text = `${Math.round(damage / stage.film.units.percent)}%`, [x, y] = place;
    ctx.strokeText(text, x, y - rise);
    ctx.fillText(text, x, y - rise);
    ctx.globalAlpha = 1;
  }

  pause(why = "") {
    if (!this.match || this.paused || this.match.ended) return;
    this.paused = true;
    this.controls.stop();
    element("pause-about").textContent = why;
    element("pause-menu").showModal();
    element("resume").focus();
  }

  resume() {
    this.paused = false;
    element("pause-menu").close();
    this.controls.start();
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

function clockText(left) {
  const seconds = Math.ceil(Math.max(left, 0));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
