// Frames of the game at 60 a second, whatever the refresh rate of the screen.

const RATE = 60 / 1000; // frames of the game in a millisecond: FPS of selfplay_melee/state.py, to which RATIOS belong
// Frames to refreshes of the screen: 30, 50, 60, 72, 75, 90, 100, 120, 144, 165, 180, 240 and 360 Hz.
const RATIOS = [
  [2, 1], [6, 5], [1, 1], [5, 6], [4, 5], [2, 3], [3, 5], [1, 2], [5, 12], [4, 11], [1, 3], [1, 4], [1, 6],
];
const NEAR = 0.012; // share by which a rate differs from the usual one, at most
const ROUNDING = 1e-6;
const GAPS = 90; // refreshes by which the rate is known, at most
const ENOUGH = 20; // refreshes, at least
const PAUSE = 250; // milliseconds; a longer gap says nothing of the screen
const MOST = 4; // frames at one refresh; more are left out, and the game is slower

/**
 * How many frames are due at each refresh.
 *
 * Refreshes are counted, where their rate is a known one: the time of a callback jitters, and a sum of such times would
 * now and then give two frames at one refresh and none at the next. On a screen of 60 Hz each refresh has one frame.
 */
export class Pace {
  #gaps = [];
  #last = null;
  #owed = 0;

  /** Frames at the refresh of this time, in milliseconds. */
  due(now) {
    const gap = this.#last === null ? 1 / RATE : Math.max(now - this.#last, 0);
    this.#last = now;
    if (gap < PAUSE) this.#gaps.push(gap);
    if (this.#gaps.length > GAPS) this.#gaps.shift();
    const period = this.#period(), rate = period * RATE;
    const ratio = this.#gaps.length < ENOUGH
      ? null
      : RATIOS.find(([frames, refreshes]) => Math.abs((rate * refreshes) / frames - 1) < NEAR);
    this.#owed += ratio && gap < PAUSE ? (Math.round(gap / period) * ratio[0]) / ratio[1] : gap * RATE;
    const frames = Math.floor(this.#owed + ROUNDING);
    this.#owed -= frames;
    return Math.min(frames, MOST);
  }

  /** Milliseconds of a refresh: the mean, where a gap of two refreshes counts twice. */
  #period() {
    const sorted = this.#gaps.toSorted((a, b) => a - b), sum = sorted.reduce((total, gap) => total + gap, 0);
    let period = sorted[sorted.length >> 2] || 1 / RATE; // few gaps are shorter, though many may be missed refreshes
    for (let round = 0; round < 2; round++) {
      period = sum / sorted.reduce((count, gap) => count + Math.max(Math.round(gap / period), 1), 0) || 1 / RATE;
    }
    return period;
  }

  /** The screen was not drawn for a while. */
  forget() {
    this.#last = null;
  }
}

/** Calls ``frame`` for each frame, and then ``draw``. */
export class Loop {
  #pace = new Pace();
  #spent = []; // milliseconds of script of the last refreshes with a frame

  /** frame: may be async; returns whether it played a frame of a game. failed: is told of errors. */
  constructor(frame, draw, failed) {
    Object.assign(this, { frame, draw, failed });
  }

  start() {
    requestAnimationFrame((now) => this.#refresh(now));
    document.addEventListener("visibilitychange", () => this.#pace.forget());
  }

  async #refresh(now) {
    const began = performance.now();
    try {
      await this.#play(this.#pace.due(now), began);
    } catch (error) {
      this.failed(error);
    }
    requestAnimationFrame((later) => this.#refresh(later));
  }

  async #play(due, began) {
    let played = false;
    // oxlint-disable-next-line no-await-in-loop -- frames follow one another
    for (let n = 0; n < due; n++) played = (await this.frame()) || played;
    this.draw();
    if (!played) return;
    this.#spent.push(performance.now() - began);
    if (this.#spent.length > 1200) this.#spent.shift();
  }

  /** Milliseconds of script at a refresh with a frame: the median and the 99th percentile. */
  get spent() {
    const sorted = this.#spent.toSorted((a, b) => a - b);
    return [0.5, 0.99].map((share) => sorted[Math.floor(share * sorted.length)] ?? 0);
  }
}
