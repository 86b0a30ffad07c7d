// node playthroughs.js MODULE TABLES GAMES: plays the committed playthroughs; a line of the digests of each.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { loadRules } from "./rules.js";

const [module, tables, games] = await Promise.all(process.argv.slice(2).map((path) => readFile(path)));
const rules = await loadRules(module, tables);
for (const { start, state, stretches } of JSON.parse(games)) {
  rules.start({ seed: 0n, ...start });
  for (const [path, hex] of Object.entries(state)) put(path, hex);
  const digests = stretches.map(([frames, chosen]) => {
    put("games.chosen", chosen);
    for (let frame = 0; frame < frames; frame++) rules.exports.live_step();
    const digest = createHash("sha256");
    for (const path of ["games.game", "games.players", "games.memory"]) digest.update(rules.bytes(path));
    return digest.digest("hex").slice(0, 16);
  });
  console.log(JSON.stringify(digests));
}

function put(path, hex) {
  rules.bytes(path).set(Buffer.from(hex, "hex"));
}
