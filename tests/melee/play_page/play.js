// Plays games as a page does: node play.js FOLDER. Writes their documents, films, figures and what the match said.
import fs from "node:fs";
import { Match } from "./match.js";
import { fightFigures } from "./openings.js";
import { Policy } from "./policy.js";
import { loadRules } from "./rules.js";
import { packGame, playAgain, readGame } from "./share.js";

const folder = process.argv[2];
const load = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`));
const { facts, tables, openings, games, page } = JSON.parse(fs.readFileSync(`${folder}/about.json`));
const rules = await loadRules(load("rules.wasm"), load("tables"));

/** A seat whose decisions come later, and as a plain list: as from a server. */
class Remote {
  constructor(seat) {
    this.seat = seat;
  }

  begin(key) {
    this.seat.begin(key);
  }

  async decide(obs, options) {
    const seen = obs.slice();
    await new Promise((resolve) => setImmediate(resolve));
    return Array.from(this.seat.decide(seen, options));
  }

  get value() {
    return this.seat.value;
  }
}

function seatOf(about) {
  if (about.kind !== "policy") return about;
  const seat = new Policy(about.description, new Float32Array(load(about.weights).buffer)).seat(0n);
  return { ...about, seat: about.remote ? new Remote(seat) : seat };
}

async function play({ name, setup, seats, frames }) {
  const pressed = seats.map(({ kind }, seat) => kind === "person" && new Int8Array(load(`${name}-${seat}`).buffer));
  const match = new Match(rules, facts, tables, { ...setup, seed: BigInt(setup.seed) }, seats.map(seatOf));
  const mirrored = [];
  function* steps() {
    for (let at = 0; match.frames < frames; at += 14) {
      mirrored.push([0, 1].map((seat) => rules.get("games.mirrored", 0, seat)));
      yield match.frame(pressed.map((actions) => actions && actions.subarray(at, at + 14)));
    }
  }
  for await (const ended of steps()) if (ended) break;
  const stand = () => [0, 1].map((seat) => [match.stocks(seat), match.percent(seat)]);
  const before = stand(), finished = match.ended;
  match.stop();
  await match.frame([null, null]); // a game that is over stays as it is
  const { film, frames: played, winner, ending } = match;
  const columns = Object.entries(film).map(([key, value]) => [
    key, ArrayBuffer.isView(value) ? Array.from(value) : value,
  ]);
  const said = { before, after: stand(), finished, winner, ending, frames: played, mirrored };
  return { document: match.document(), film: Object.fromEntries(columns), figures: fightFigures(film, openings), said };
}

/** The letters of the game's link, and whether the game comes out of them as it was. */
async function share({ document, film, ...rest }) {
  const packed = await packGame(document, facts.controller.highest.length);
  const again = await playAgain(await readGame(packed, { ...page, facts }), rules, { ...page, facts }, tables);
  const plain = (column) => JSON.stringify(ArrayBuffer.isView(column) ? Array.from(column) : column);
  const columns = Object.entries(film).filter(([name]) => !name.includes("value")); // the link has no policies
  const same = plain(again.document()) === plain(document)
    && columns.every(([name, column]) => plain(again.film[name]) === plain(column));
  return { document, film, ...rest, link: { letters: packed.length, same } };
}

function* all() {
  for (const game of games) yield play(game).then(share).then((made) => [game.name, made]);
}

for await (const [name, made] of all()) fs.writeFileSync(`${folder}/${name}.json`, JSON.stringify(made));
