// The names of moves and the combos that are shown: those of selfplay_melee/drawing/events.py, moment by moment.

const MOST = 255;

/** The move of one seat. */
export class Move {
  #left = 0; // frames for which the last move is still shown
  #shown = 0;

  /** Add a moment one frame after the last, with the number of the move that is done, 0 none; the one to show. */
  add(done, stays) {
    if (done) [this.#shown, this.#left] = [done, stays];
    else if (this.#left-- <= 0) [this.#shown, this.#left] = [0, 0];
    return this.#shown;
  }
}

/** The combo of one seat. */
export class Combo {
  #facts;
  #percent = null; // of the opponent, at the moment before
  #hits = 0;
  #start = 0; // the opponent's percent before the first of them
  #dealt = 0;
  #goesOn = false;
  #since = 0; // frames since the opponent was last held in it or hit

  /** facts: `combo` of scene_facts. */
  constructor(facts) {
    this.#facts = facts;
  }

  /** Add a moment: the opponent's percent in tenths, and whether it is held; hits and whole percents to show. */
  add(percent, held) {
    const { from, stays, unit } = this.#facts, before = this.#percent ?? percent, struck = percent > before;
    this.#percent = percent;
    if (struck) {
      [this.#hits, this.#start] = this.#goesOn ? [this.#hits + 1, this.#start] : [1, before];
      this.#dealt = percent - this.#start;
    }
    this.#goesOn = held && (this.#goesOn || struck);
    this.#since = struck || this.#goesOn ? 0 : this.#since + 1;
    if (this.#hits < from || this.#since > stays) return [0, 0];
    return [this.#hits, Math.floor((this.#dealt + unit / 2) / unit)].map((number) => Math.min(number, MOST));
  }
}
