// Plays a fight to its end as a page does: node fight.js FOLDER. Writes the columns of its film, and what the game was
// at each decision and at the end: all parts of its memory, and the actions.
import fs from "node:fs";
import { readMoment } from "./moment.js";
import { Policy } from "./policy.js";
import { loadRules } from "./rules.js";
import { saveFilm } from "./save.js";
import { LiveFilm } from "./scene.js";

const folder = process.argv[2];
const load = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`));
const {
  start, seats, parts, facts, tables, fight, frame_skip: skip,
} = JSON.parse(fs.readFileSync(`${folder}/about.json`));
const rules = await loadRules(load("rules.wasm"), load("tables"));
const players = seats.map(
  (seat, n) => seat && new Policy(
    seat.description, new Float32Array(load(`weights${n}`).buffer),
  ).seat(BigInt(seat.key)),
);
const film = new LiveFilm(facts, tables, fight), watched = [...parts, "actions"].map((path) => rules.bytes(path));
const states = [], keep = () => states.push(...watched.map((bytes) => bytes.slice()));
const record = () => film.record(readMoment(rules, facts.item_kinds, players.map((player) => player?.value ?? NaN)));
const ended = () => rules.get("out.terminated", 0) || rules.get("out.truncated", 0);

rules.start({ ...start, seed: BigInt(start.seed) });
for (let frame = 0; !ended(); frame++) {
  if (frame % skip === 0) {
    rules.hold(players.map((player, seat) => player && player.decide(rules.numbers("out.obs", 0, seat))));
    keep();
  }
  record();
  rules.exports.live_step();
}
record();
keep();
fs.writeFileSync(`${folder}/states`, Buffer.concat(states));
saveFilm(`${folder}/film.json`, film.finish());
