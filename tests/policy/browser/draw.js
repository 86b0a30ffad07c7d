// Draws from given logits: node draw.js FOLDER. Writes the random numbers and the actions of each way to draw.
import fs from "node:fs";
import { Heads } from "./heads.js";
import { uniforms } from "./uniforms.js";

const folder = process.argv[2];
const load = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`)).buffer;
const { heads: spec, ways, rows } = JSON.parse(fs.readFileSync(`${folder}/about.json`));
const heads = new Heads(spec);
const logits = new Float32Array(load("logits")), legal = new Uint8Array(load("legal"));
const keys = new BigUint64Array(load("keys"));
const decisions = new Uint32Array(load("decisions"));
const numbers = new Float32Array(rows * heads.width), actions = new Int8Array(ways.length * rows * heads.width);

for (let row = 0; row < rows; row++) {
  const uniform = uniforms(keys[row], decisions[row], numbers.subarray(row * heads.width, (row + 1) * heads.width));
  const part = (of) => of.subarray(row * heads.logits, (row + 1) * heads.logits);
  for (const [way, { temperature, masked }] of ways.entries()) {
    const action = actions.subarray((way * rows + row) * heads.width, (way * rows + row + 1) * heads.width);
    heads.draw(part(logits), uniform, action, { temperature, ...(masked && { legal: part(legal) }) });
  }
}
fs.writeFileSync(`${folder}/numbers`, numbers);
fs.writeFileSync(`${folder}/actions`, actions);
