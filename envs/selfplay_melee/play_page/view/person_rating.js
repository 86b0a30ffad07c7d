// Games that rate the person at the page: kept in the browser, and what they say. Runs in node too.

import { expectedScore, fitRating } from "./rating.js";

const STORED = "selfplay.play.rating.1"; // the number is that of the format
const KEPT = 500; // games; older ones say little of today
const LONGEST = 1 << 17; // characters of what is kept
const LEAST = 3; // games
const WIDEST = 800; // Elo: at the ends a player of the same rating is expected to score 9% and 91%
const EVEN = [0.4, 0.6]; // expected scores

/** Games of all who play in this browser. Without storage they last as long as the page. */
export class PersonRating {
  #games;

  /** rated: of the page; null: none of its games counts. fit: facts of `fitRating`. storage: localStorage, or null. */
  constructor({ rated, fit, opponents }, storage) {
    const ladder = opponents.filter((one) => one.rated && Number.isFinite(one.elo));
    Object.assign(this, { scale: rated?.scale ?? null, fit, storage, ladder });
    this.#games = this.#load();
  }

  /** Games of a person under the conditions of this page's ratings. */
  games(person) {
    return this.#games.filter((game) => game.scale === this.scale && game.person === person);
  }

  /** Keep a game as rated ones are. score: of the person. */
  add(person, { id, elo }, score) {
    this.#games = [...this.#games, { scale: this.scale, person, opponent: id, elo, score }].slice(-KEPT);
    this.#save();
  }

  /** Forget the games of a person, on all pages. */
  forget(person) {
    this.#games = this.#games.filter((game) => game.person !== person);
    this.#save();
  }

  /** What the games say in a sentence; "" on a page without ratings. */
  sentence(person) {
    const games = this.games(person), count = games.length;
    if (!this.scale || !this.ladder.length) return "";
    if (count < LEAST) return `Too early to rate you: ${count} of ${LEAST} games as rated ones are.`;
    const { elo, low, high } = fitRating(games, this.fit), early = `Too early to rate you after ${count} games`;
    if (low === null || high === null) return `${early}: ${low === null ? "you lost" : "you won"} all.`;
    const width = Math.round(high - low);
    if (width > WIDEST) return `${early}: the 95% interval is ${width} Elo wide, more than ${WIDEST}.`;
    const [at, from, to] = [elo, low, high].map(Math.round);
    return `You are rated ${at} Elo, 95% interval ${from} to ${to}, ${count} games.`;
  }

  /**
   * The opponent against whom the expected score is nearest to a half: `player`, `expected`, and whether the score is
   * `even`, from 40 to 60%. Null before the third game.
   */
  offer(person) {
    const games = this.games(person);
    if (games.length < LEAST || !this.ladder.length) return null;
    const { elo } = fitRating(games, this.fit);
    const scores = this.ladder.map((player) => ({ player, expected: expectedScore(elo, player.elo, this.fit) }));
    const [best] = scores.toSorted((one, other) => Math.abs(one.expected - 0.5) - Math.abs(other.expected - 0.5));
    return { ...best, even: best.expected >= EVEN[0] && best.expected <= EVEN[1] };
  }

  #save() {
    try {
      this.storage?.setItem(STORED, JSON.stringify(this.#games));
    } catch {
      // the games last as long as the page
    }
  }

  #load() {
    try {
      const text = this.storage?.getItem(STORED);
      const stored = text && text.length < LONGEST ? JSON.parse(text) : [];
      return Array.isArray(stored) ? stored.filter(valid).slice(-KEPT) : [];
    } catch {
      return []; // a browser may keep nothing for a file, and what it keeps may be damaged
    }
  }
}

function valid(game) {
  return Boolean(game) && [game.scale, game.person, game.opponent].every((text) => typeof text === "string")
    && Number.isFinite(game.elo) && Math.abs(game.elo) < 1e5 && [0, 0.5, 1].includes(game.score);
}
