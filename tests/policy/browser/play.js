// Plays recorded observations: node play.js FOLDER. Writes what the network gives and the actions.
import fs from "node:fs";
import { Policy } from "./policy.js";

const folder = process.argv[2];
const load = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`)).buffer;
const { description, seats, decisions, episode } = JSON.parse(fs.readFileSync(`${folder}/about.json`));
const policy = new Policy(description, new Float32Array(load("weights")));
const obs = new Float32Array(load("obs")), keys = new BigUint64Array(load("keys"));
const width = description.obs_width, row = policy.heads.logits + 1;
const outputs = new Float32Array(decisions * seats * row);
const actions = new Int8Array(decisions * seats * policy.heads.width);
const players = Array.from({ length: seats }, (_, seat) => policy.seat(keys[seat]));

// The outputs of the last decision of a seat, which the next decision of any seat overwrites.
const forward = policy.network.forward.bind(policy.network);
let last;
policy.network.forward = (...given) => (last = forward(...given));

for (let t = 0, i = 0; t < decisions; t++) {
  for (const [seat, player] of players.entries()) {
    if (t && t % episode === 0) player.begin(keys[Math.floor(t / episode) * seats + seat]);
    actions.set(player.decide(obs.subarray(i * width, (i + 1) * width)), i * policy.heads.width);
    outputs.set(last, i++ * row);
  }
}
fs.writeFileSync(`${folder}/outputs`, outputs);
fs.writeFileSync(`${folder}/actions`, actions);
