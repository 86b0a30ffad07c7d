// Openings and other figures of a fight, from the columns of a film; selfplay_melee/drawing/openings.py defines them.

const among = (action, spans) => spans.some(([first, last]) => first <= action && action <= last);

/**
 * Figures of both seats: `openings`, their `hits`, `damage_per_opening` (null without one), `kill_percents`, and
 * `damage`, the percent that the opponent took in the whole fight.
 *
 * film: finished. facts: `opening_facts` of Python.
 */
export function fightFigures(film, facts) {
  return [0, 1].map((seat) => {
    const fight = new Punishment(film, facts, seat), found = fight.openings();
    const sum = (name) => found.reduce((total, opening) => total + opening[name], 0);
    return {
      openings: found.length,
      hits: sum("hits"),
      damage_per_opening: found.length ? sum("damage") / facts.percent / found.length : null,
      kill_percents: found.filter(({ killed }) => killed).map(
        ({ end }) => fight.percent(Math.max(end - 1, 0)) / facts.percent,
      ),
      damage: fight.damage(1, fight.length - 1) / facts.percent,
    };
  });
}

/** What one seat does to the other. */
class Punishment {
  constructor(film, facts, seat) {
    const of = (name, who) => (t) => film[name][2 * t + who];
    this.facts = facts;
    this.length = film.frames.length;
    /** Of the opponent, at a moment; the percent in steps of the film. */
    this.percent = of("percent", 1 - seat);
    this.stocks = of("stocks", 1 - seat);
    const action = of("action", seat), frame = of("action_frame", seat), victim = of("action", 1 - seat);
    this.hurt = (t) => among(victim(t), facts.hurt) || among(victim(t), facts.grabbed);
    this.free = (t) => among(victim(t), facts.in_control);
    this.uses = new Uint32Array(this.length); // actions that this seat has begun, also the same one again
    for (let t = 1; t < this.length; t++) {
      this.uses[t] = this.uses[t - 1] + (action(t) !== action(t - 1) || frame(t) < frame(t - 1));
    }
  }

  /** `start` and `end` of each opening, its `hits` and `damage`, and whether it `killed`. */
  openings() {
    const found = [];
    for (let t = 0; t < this.length; t++) {
      if (!this.hurt(t)) continue;
      const end = this.#end(t);
      found.push({ start: t, end, hits: this.#hits(t, end), damage: this.damage(t, end), killed: this.#lost(end) });
      t = end;
    }
    return found;
  }

  /** The moment on which the opening that began at `start` ends. */
  #end(start) {
    for (let t = start, counter = 0; t < this.length; t++) {
      if (this.hurt(t)) counter = 0;
      else if (counter || this.free(t)) counter++;
      if (this.#lost(t) || counter > this.facts.reset) return t;
    }
    return this.length - 1;
  }

  /** Moves that dealt damage; each hit of one use of a move is the same. */
  #hits(start, end) {
    const uses = new Set();
    // The frame before a hit shows the move that dealt it.
    for (let t = start; t <= end; t++) if (this.#taken(t) > 0 && this.hurt(t)) uses.add(this.uses[t - 1]);
    return uses.size;
  }

  damage(start, end) {
    let sum = 0;
    for (let t = start; t <= end; t++) if (!this.#lost(t)) sum += Math.max(this.#taken(t), 0);
    return sum;
  }

  #taken(t) {
    return t && this.percent(t) - this.percent(t - 1);
  }

  #lost(t) {
    return t > 0 && this.stocks(t) < this.stocks(t - 1);
  }
}
