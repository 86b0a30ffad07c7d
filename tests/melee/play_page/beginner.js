// A person with a keyboard, who sees the fight a quarter of a second late. A beginner knows one sentence: "left hand
// moves, right hand hits"; a casual player also jumps in, and waits between attacks. node beginner.js FOLDER plays the
// games of about.json there, and writes what happened in each.
import fs from "node:fs";
import { Controls } from "./controls.js";
import { Match } from "./match.js";
import { Policy } from "./policy.js";
import { loadRules } from "./rules.js";

const LATE = 15; // frames
const CATCH = [252, 253]; // actions of who hangs on a ledge
const folder = process.argv[2];
const load = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`));
const { facts, tables, games } = JSON.parse(fs.readFileSync(`${folder}/about.json`));
const rules = await loadRules(load("rules.wasm"), load("tables"));

/** What a window is to `Controls`: the beginner's fingers press its keys. */
class Fingers extends EventTarget {
  down = new Set();
  timeline = []; // of [frame, type, code]

  hold(frame, codes) {
    for (const code of [...this.down]) if (!codes.includes(code)) this.#send(frame, "keyup", code);
    for (const code of codes) if (!this.down.has(code)) this.#send(frame, "keydown", code);
  }

  #send(frame, type, code) {
    this.down[type === "keydown" ? "add" : "delete"](code);
    this.timeline.push([frame, type, code]);
    this.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), { code }));
  }
}

const TURNS = ["run", "wait", "jump", "wait"], TURN = 40; // of a casual player, and the frames of one

/**
 * The steps of docs/melee/play.md: walk towards the opponent; press J when it is near; off the stage hold the key to it
 * and press Space, below it W and K; from the ledge press W. ledge: falls first, which leads to the ledge.
 */
function keys(film, edge, frame, ledge, casual) {
  const t = Math.max(film.count - 1 - LATE, 0), me = 2 * t, other = me + 1, unit = film.units.place;
  const x = film.x[me] / unit, y = film.y[me] / unit, far = film.x[other] / unit - x, above = film.y[other] / unit - y;
  const towards = (way) => (way < 0 ? "KeyA" : "KeyD"), beat = frame % 24 < 6;
  if (CATCH.includes(film.action[me])) return beat ? ["KeyW"] : [];
  if (Math.abs(x) > edge || y < -2) {
    const jump = y < -10 ? ["KeyW", "KeyK"] : ledge ? [] : ["Space"];
    return [towards(-x), ...(beat ? jump : [])];
  }
  const turn = casual ? TURNS[Math.floor(frame / TURN) % TURNS.length] : "run", at = frame % TURN;
  if (turn === "wait") return at < 6 && Math.abs(far) < 20 ? ["KeyJ"] : [];
  if (turn === "jump" && Math.abs(far) < 45) {
    return [towards(far), ...(at < 6 ? ["Space"] : at > 12 && at < 18 ? ["KeyJ"] : [])];
  }
  if (Math.abs(far) > 16) return [towards(far)];
  if (above > 12) return beat ? ["KeyW", "KeyJ"] : [];
  return beat ? [towards(far), "KeyJ"] : [];
}

async function play({ setup, seats, ledge = false, casual = false }) {
  const fingers = new Fingers(), controls = new Controls(fingers, null, facts.controller);
  const players = seats.map((about) => about.kind === "policy"
    ? { ...about, seat: new Policy(about.description, new Float32Array(load(about.weights).buffer)).seat(0n) } : about);
  const match = new Match(rules, facts, tables, { ...setup, seed: BigInt(setup.seed) }, players);
  const edge = Math.max(...match.film.scenery.floors.flat().filter(([, y]) => y < 1).map(([x]) => x));
  controls.start();
  const { film } = match, seen = { hits: 0, ledges: 0 };
  let leaves = ledge;
  for (let frame = 0; !match.ended; frame++) {
    leaves &&= Math.abs(film.x[2 * (film.count - 1)] / film.units.place) < edge;
    fingers.hold(frame, leaves ? ["KeyA"] : keys(film, edge, frame, ledge, casual));
    await match.frame([controls.read()[0], null]); // oxlint-disable-line no-await-in-loop -- frames follow one another
    const me = 2 * (film.count - 1);
    if (film.percent[me + 1] > film.percent[me - 1]) seen.hits++;
    if (film.action[me] === CATCH[0] && film.action[me - 2] !== CATCH[0]) seen.ledges++;
  }
  const { winner, ending } = match;
  return {
    ...seen, winner, ending, stocks: [match.stocks(0), match.stocks(1)], frames: match.frames, keys: fingers.timeline,
  };
}

function* all() {
  for (const game of games) yield play(game);
}

const made = [];
for await (const game of all()) made.push(game);
fs.writeFileSync(`${folder}/made.json`, JSON.stringify(made));
