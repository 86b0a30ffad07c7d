// Writes a film as JSON: its columns as plain lists.
import fs from "node:fs";

const plain = (name, value) => (ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(value) : value);

/** film: a LiveFilm. more: columns beside its own. */
export function saveFilm(path, film, more) {
  fs.writeFileSync(path, JSON.stringify({ ...film, ...more }, plain));
}
