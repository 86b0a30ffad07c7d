// What a person chose for a game: checked, kept for the next visit, and compared with games that are rated.

const STORED = "selfplay.play.1"; // the number is that of the format
const LONGEST = 1 << 14; // characters of what is kept
export const MOST_DELAY = 24; // frames
export const MOST_TEMPERATURE = 2;

/** The opponent that is a second person at the same page. */
export const SECOND_PERSON = {
  id: "second person", kind: "person", label: "A second person", group: "People", characters: [], stage: null, delay: 0,
  about: "with a second set of keys, or a controller",
};

/** A name as a game's document may have it: letters that can be shown, at most so many. */
export function plainName(text, letters = 64) {
  const shown = String(text).replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
  return Array.from(shown).slice(0, letters).join("").trim();
}

export class Choices {
  /** game: the data of the page. storage: localStorage, or null. */
  constructor(game, storage) {
    this.game = game;
    this.storage = storage;
    this.use(this.#load());
  }

  /** Takes all choices from an object; the default stands for what is missing or unknown. */
  use(stored) {
    const { game } = this, { defaults } = game;
    const known = (list, ...names) => names.find((name) => typeof name === "string" && list.some(
      (one) => (one.name ?? one.id) === name,
    ));
    const number = (value, most, other) => (Number.isFinite(value) && value >= 0 && value <= most ? value : other);
    this.opponent = known(game.opponents, stored.opponent, defaults.opponent) ?? game.opponents[0].id;
    const usual = this.usual();
    this.characters = [0, 1].map(
      (seat) => known(game.characters, stored.characters?.[seat], usual.characters[seat]) ?? game.characters[0].name,
    );
    this.stage = known(game.stages, stored.stage, usual.stage) ?? game.stages[0].name;
    this.delay = Math.round(number(stored.delay, MOST_DELAY, usual.delay));
    this.temperature = number(stored.temperature, MOST_TEMPERATURE, 1);
    this.games = stored.games === 3 ? 3 : 1;
    const watched = game.opponents.some(({ id, kind }) => id === stored.first && kind !== "person");
    this.first = watched && this.player.kind !== "person" ? stored.first : "";
    this.person = plainName(
      typeof stored.person === "string" ? stored.person : game.person, game.name_letters,
    ) || game.nameless;
  }

  // What was kept, as far as it is for this page: another one has other players, or --name has changed.
  #fitting({ page, offered, ...stored }) {
    const { about, person } = this.game;
    return {
      ...(page === about ? stored : { games: stored.games }), person: offered === person ? stored.person : null,
    };
  }

  get player() {
    return this.game.opponents.find(({ id }) => id === this.opponent);
  }

  /** Who plays the first seat while the person watches; null: the person plays it. */
  get watched() {
    return this.game.opponents.find(({ id }) => id === this.first) ?? null;
  }

  /** How many people play. */
  get people() {
    return this.watched ? 0 : 1 + Number(this.player.kind === "person");
  }

  get names() {
    const [first, second] = [this.watched?.label ?? this.person, this.player.label];
    return [first, this.people === 2 ? "Player 2" : second];
  }

  get stageId() {
    return this.game.stages.find(({ name }) => name === this.stage).id;
  }

  get characterIds() {
    return this.characters.map((chosen) => this.game.characters.find(({ name }) => name === chosen).id);
  }

  /** Characters (of the person first), stage and delay for which the opponent is made. */
  usual() {
    const { characters, stage, delay } = this.player, { defaults } = this.game;
    return {
      characters: characters.length ? [characters[1], characters[0]] : defaults.characters,
      stage: stage ?? defaults.stage, delay,
    };
  }

  /** Choose another opponent, with its own character and delay. */
  meet(id) {
    this.opponent = id;
    const usual = this.usual();
    this.use({ ...this.all(), characters: [this.characters[0], usual.characters[1]], delay: usual.delay });
  }

  /** Choose an opponent, and the rest as in games that are rated. */
  meetRated(id) {
    const { games, person } = this;
    this.use({ opponent: id, games, person });
    this.save();
  }

  /** Whether a game that is played to its end rates the person. */
  get counts() {
    return this.unrated()?.length === 0 && Number.isFinite(this.player.elo);
  }

  /** What differs from games that are rated, in words; null: no game of this page is. */
  unrated() {
    const { rated } = this.game, { delay } = this.player;
    if (!rated || this.people !== 1) return null;
    const differs = {
      opponent: !this.player.rated,
      characters: `${[...this.characters].sort()}` !== `${[...rated.characters].sort()}`,
      stage: this.stage !== rated.stage,
      delay: this.delay !== delay,
      temperature: this.player.kind === "policy" && this.temperature !== 1,
    };
    return Object.keys(differs).filter((name) => differs[name]);
  }

  all() {
    const { opponent, first, characters, stage, delay, temperature, games, person } = this;
    return { opponent, first, characters, stage, delay, temperature, games, person };
  }

  save() {
    try {
      const { about: page, person: offered } = this.game;
      this.storage?.setItem(STORED, JSON.stringify({ page, offered, ...this.all() }));
    } catch {
      // the choices last as long as the page
    }
  }

  #load() {
    try {
      const text = this.storage?.getItem(STORED);
      const stored = text && text.length < LONGEST ? JSON.parse(text) : null;
      return stored && typeof stored === "object" ? this.#fitting(stored) : {};
    } catch {
      return {}; // a browser may keep nothing for a file, and what it keeps may be damaged
    }
  }
}
