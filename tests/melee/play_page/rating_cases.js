// The person's rating: node rating_cases.js RESULTS.json. Prints by name "" or what is wrong.
import assert from "node:assert/strict";
import fs from "node:fs";

import { PersonRating } from "./person_rating.js";
import { expectedScore, fitRating } from "./rating.js";
import { report } from "../../support/cases.js";

const { fit, fits, expected } = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const OPPONENTS = [
  ["idle", null, false], ["random", 1500, true], ["rusher", 1879.4, true], ["strong", 3050.5, true],
  ["new", null, true],
].map(([id, elo, rated]) => ({ id, label: id, elo, rated }));
const PAGE = { rated: { scale: "abc" }, fit, opponents: OPPONENTS };
const [, RANDOM, RUSHER] = OPPONENTS;

function storage(kept = {}) {
  return { kept, getItem: (name) => kept[name] ?? null, setItem: (name, text) => { kept[name] = text; } };
}

function rating(kept = storage(), page = PAGE) {
  return new PersonRating(page, kept);
}

/** Games against one opponent; scores: of the person. */
function play(one, opponent, ...scores) {
  for (const score of scores) one.add("Ann", opponent, score);
  return one;
}

const close = (found, right) => assert.ok(found === right || Math.abs(found - right) < 1e-6, `${found}, not ${right}`);

const cases = {
  "the fit is that of Python": () => {
    assert.ok(fits.length >= 40);
    for (const { games, ...right } of fits) {
      const found = fitRating(games, fit);
      for (const name of Object.keys(right)) close(found[name], right[name]);
    }
    for (const [elo, other, score] of expected) close(expectedScore(elo, other, fit), score);
  },
  "two games are too few": () => {
    const one = play(rating(), RUSHER, 1, 0);
    assert.equal(one.sentence("Ann"), "Too early to rate you: 2 of 3 games as rated ones are.");
    assert.equal(one.offer("Ann"), null);
  },
  "games that are all won or lost bound one side only": () => {
    assert.equal(play(rating(), RUSHER, 1, 1, 1).sentence("Ann"), "Too early to rate you after 3 games: you won all.");
    assert.equal(play(rating(), RUSHER, 0, 0, 0).sentence("Ann"), "Too early to rate you after 3 games: you lost all.");
  },
  "a wide interval is no rating, a narrower one is": () => {
    const one = play(rating(), RUSHER, 1, 0, 1);
    assert.match(one.sentence("Ann"), /^Too early to rate you after 3 games: the 95% interval is \d+ Elo wide, more/);
    play(one, RUSHER, 0, 1, 0, 1);
    assert.match(one.sentence("Ann"), /^You are rated 1\d\d\d Elo, 95% interval \d{4} to \d{4}, 7 games\.$/);
  },
  "the rated opponent nearest to an even game is offered": () => {
    const even = play(rating(), RUSHER, 1, 0, 1).offer("Ann");
    assert.equal(even.player, RUSHER);
    assert.ok(even.even && even.expected > 0.4 && even.expected < 0.6);
    const beaten = play(rating(), RANDOM, 0, 0, 0).offer("Ann");
    assert.equal(beaten.player, RANDOM);
    assert.ok(!beaten.even && beaten.expected < 0.4);
    assert.equal(play(rating(), OPPONENTS[3], 1, 1, 0).offer("Ann").player, OPPONENTS[3]);
  },
  "games are kept by person and scale": () => {
    const kept = storage();
    play(rating(kept), RUSHER, 1, 0, 1);
    assert.equal(rating(kept).games("Ann").length, 3);
    assert.equal(rating(kept).games("Bob").length, 0);
    assert.equal(rating(kept, { ...PAGE, rated: { scale: "other" } }).games("Ann").length, 0);
  },
  "games are forgotten": () => {
    const kept = storage(), one = play(rating(kept), RUSHER, 1, 0, 1);
    one.add("Bob", RUSHER, 1);
    one.forget("Ann");
    assert.equal(rating(kept).games("Ann").length, 0);
    assert.equal(rating(kept).games("Bob").length, 1);
  },
  "a page without ratings says nothing": () => {
    const one = rating(storage(), { ...PAGE, rated: null });
    assert.equal(one.sentence("Ann"), "");
    assert.equal(one.offer("Ann"), null);
  },
  "storage that is missing, throws or is damaged": () => {
    const refuses = { getItem() { throw new Error("no"); }, setItem() { throw new Error("full"); } };
    for (const kept of [null, refuses]) assert.equal(play(rating(kept), RUSHER, 1, 0, 1).games("Ann").length, 3);
    const game = { scale: "abc", person: "Ann", opponent: "rusher", elo: 1800, score: 1 };
    for (const text of ["{", "7", "null", "{}", "x".repeat(1 << 18)]) {
      assert.equal(rating(storage({ "selfplay.play.rating.1": text })).games("Ann").length, 0);
    }
    const bad = [null, 7, { ...game, elo: null }, { ...game, elo: 1e9 }, { ...game, score: 2 }, { ...game, person: 7 }];
    const mixed = storage({ "selfplay.play.rating.1": JSON.stringify([...bad, game]) });
    assert.equal(rating(mixed).games("Ann").length, 1);
  },
  "the oldest of many games are dropped": () => {
    const kept = storage();
    play(rating(kept), RUSHER, ...Array(501).fill(1));
    assert.equal(rating(kept).games("Ann").length, 500);
  },
};

await report(cases);
