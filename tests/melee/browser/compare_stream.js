// node compare_stream.js MODULE TABLES: compares the recordings on standard input, each behind its length in 32 bits.
// A line of JSON for each says what came of it.

import { readFile } from "node:fs/promises";
import { compare } from "./compare.js";
import { loadRules } from "./rules.js";

const [module, tables] = await Promise.all(process.argv.slice(2).map((path) => readFile(path)));
const rules = await loadRules(module, tables);
let chunks = [], size = 0;
for await (const chunk of process.stdin) {
  chunks.push(chunk);
  size += chunk.length;
  while (size >= 4) {
    if (chunks[0].length < 4) chunks = [Buffer.concat(chunks)];
    const length = chunks[0].readUInt32LE(0);
    if (size < 4 + length) break;
    const all = Buffer.concat(chunks);
    console.log(JSON.stringify(compare(rules, all.subarray(4, 4 + length))));
    chunks = [all.subarray(4 + length)];
    size -= 4 + length;
  }
}
