// Records moments: node record.js FOLDER. Writes the columns of the film, and the cameras while it went on.
import fs from "node:fs";
import { saveFilm } from "./save.js";
import { LiveFilm } from "./scene.js";

const folder = process.argv[2];
const { facts, tables, fight, moments } = JSON.parse(fs.readFileSync(`${folder}/fight.json`));
const film = new LiveFilm(facts, tables, { ...fight, longest: moments.length });
const live = [];
for (const moment of moments) {
  film.record(moment);
  live.push(...film.camera.subarray(3 * film.count - 3, 3 * film.count));
}
saveFilm(`${folder}/film.json`, film.finish(), { live });
