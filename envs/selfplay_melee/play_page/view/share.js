// A game in a link: packed behind `#game=`, read with all checks, and played again bit for bit. Runs in node too.
//
//   link = `${address}#${LINK_KEY}${await packGame(match.document(), match.fields)}`;
//   const match = await playAgain(await readGame(packed, page), rules, page, tables);

import { Match } from "./match.js";

export const LINK_KEY = "game=";
export const MOST_LETTERS = 1 << 20; // of a packed game; browsers take links of 1 to 2 MB
export const MOST_BYTES = 1 << 20; // unpacked; both seats press on every frame of eight minutes: 0.99 MB
const PREFIX = 3; // bytes before the action of a row of `held`, HELD of selfplay_melee/play/games.py: frame (2), seat
const MOST_NUMBER = 1e6;
const PART = 600; // frames between two pauses
const SEATS = [0, 1];

/** The document of a game as letters of a link. fields: of an action. */
export async function packGame({ held, ...about }, fields) {
  const text = new TextEncoder().encode(JSON.stringify(about));
  const parts = [Uint32Array.of(text.length), text, toColumns(bytesOf(held), PREFIX + fields)];
  const packed = await through(parts, new CompressionStream("deflate-raw"), MOST_BYTES);
  return textOf(packed).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The document of a packed game. Throws an Error whose message is the end of a sentence.
 *
 * page: `sources` (the version of its rules), `facts`, and `characters`, `stages` and `opponents` with their ids.
 */
export async function readGame(packed, page) {
  if (packed.length > MOST_LETTERS) throw new Error("it is too long");
  const bytes = await unpacked(packed), view = new DataView(bytes.buffer);
  const length = bytes.length < 4 ? Infinity : view.getUint32(0, true);
  if (4 + length > bytes.length) throw new Error("it is not complete");
  let about;
  try {
    about = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(4, 4 + length)));
  } catch {
    throw new Error("it is damaged");
  }
  check(about, page);
  return { ...about, held: textOf(toRows(bytes.subarray(4 + length), about, page)) };
}

async function unpacked(packed) {
  try {
    return await through(
      [bytesOf(packed.replaceAll("-", "+").replaceAll("_", "/"))], new DecompressionStream("deflate-raw"), MOST_BYTES,
    );
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Error("it is not complete, or damaged", { cause: error });
  }
}

/** What a stream makes of parts; RangeError where that is more than some bytes, of which no more are made. */
async function through(parts, stream, most) {
  const reader = new Blob(parts).stream().pipeThrough(stream).getReader(), chunks = [];
  let size = 0, next = await reader.read();
  while (!next.done && size <= most) {
    chunks.push(next.value);
    size += next.value.length;
    next = await reader.read(); // oxlint-disable-line no-await-in-loop -- chunks follow one another
  }
  if (size <= most) return new Uint8Array(await new Blob(chunks).arrayBuffer());
  reader.cancel().catch(() => {}); // the rest, which nobody reads, may be damaged
  throw new RangeError("its game is too large");
}

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const textOf = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

// ---- rows of `held` in an order that packs well: by seat, frames as differences, one column after the other

function toColumns(held, size) {
  const count = held.length / size;
  const rows = Array.from({ length: count }, (_, n) => held.subarray(size * n, size * (n + 1)));
  const sorted = SEATS.flatMap((seat) => rows.filter((row) => row[2] === seat)), columns = new Uint8Array(held.length);
  const last = [0, 0];
  for (const [n, row] of sorted.entries()) {
    const frame = row[0] | (row[1] << 8), later = frame - last[row[2]];
    last[row[2]] = frame;
    for (const [place, byte] of [later & 255, later >> 8, ...row.subarray(2)].entries()) {
      columns[place * count + n] = byte;
    }
  }
  return columns;
}

/** The rows again, in the order of frames; checked. */
function toRows(columns, { frames, seats }, { facts }) {
  const { highest } = facts.controller, size = PREFIX + highest.length, count = columns.length / size;
  const last = [-1, -1], rows = [];
  if (!Number.isInteger(count)) throw new Error("it is not complete");
  for (let n = 0; n < count; n++) {
    const row = Array.from({ length: size }, (_, place) => columns[place * count + n]), [low, high, seat] = row;
    const first = last[seat] === -1, frame = Math.max(last[seat], 0) + low + 256 * high;
    const fits = seats[seat] && seats[seat].kind !== "bot" && frame < frames && (first || frame > last[seat]);
    if (!fits || row.slice(PREFIX).some((code, field) => code > highest[field])) {
      throw new Error("it has presses that are not possible");
    }
    last[seat] = frame;
    row[0] = frame & 255;
    row[1] = frame >> 8;
    rows.push([2 * frame + seat, row]);
  }
  return rows.toSorted(([place], [other]) => place - other).flatMap(([, row]) => row);
}

// ---- checks: nothing in a link is believed

const whole = (value, low, high) => Number.isInteger(value) && value >= low && value <= high;
const word = (value) => typeof value === "string" && value.length > 0 && value.length <= 64;
const pair = (values, valid) => Array.isArray(values) && values.length === 2 && values.every(valid);

function check(game, { sources, facts, characters, stages, opponents }) {
  if (!game || game.format !== facts.document.format || game.game !== "mock") throw new Error("it has another format");
  if (game.rules !== sources) throw new Error("it was played with another version of the rules than this page has");
  const { options = {}, frames, checksums } = game, longest = facts.longest - 2;
  const bots = opponents.filter(({ kind }) => kind === "bot").map(({ id }) => id);
  const valid = {
    seed: /^(0|[1-9]\d{0,18})$/.test(game.seed),
    stage: stages.some(({ id }) => id === game.stage),
    characters: pair(game.characters, (character) => characters.some(({ id }) => id === character)),
    names: pair(game.names, (name) => word(name) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name)),
    delay: pair(game.delay, (frames_) => whole(frames_, 0, MOST_NUMBER)), // the rules have their own bound
    options: options?.frame_skip === 1 && whole(options.bot_skip, 1, 3600) && whole(options.cap, 1, 10 * longest)
      && whole(options.ledge_grab_limit, 0, MOST_NUMBER),
    players: pair(game.seats, (seat) => (seat?.kind === "bot" ? bots.includes(seat.name) : known(seat))),
    length: whole(frames, 1, longest),
    checksums: Array.isArray(checksums) && checksums.length === Math.ceil(frames / facts.document.checked),
  };
  const wrong = Object.keys(valid).find((name) => !valid[name]);
  if (wrong) throw new Error(`this page cannot play its ${wrong}`);
}

function known(seat) {
  return seat?.kind === "person" || (seat?.kind === "policy" && word(seat.id));
}

/**
 * Play a game again, to its end: the match. Throws an Error where it does not come out as its document says.
 *
 * page: as of `readGame`. tables: of `LiveFilm`. pause: awaited now and then, so that the page stays alive.
 */
export async function playAgain(game, rules, { facts, opponents }, tables, pause = () => {}) {
  const held = presses(bytesOf(game.held), PREFIX + facts.controller.highest.length);
  const setup = { ...game, version: game.rules, seed: BigInt(game.seed) };
  const seats = game.seats.map((about, seat) => {
    if (about.kind !== "bot") return { kind: "held", about, held: held[seat] };
    return { ...about, bot: opponents.find(({ id, kind }) => kind === "bot" && id === about.name).bot };
  });
  const match = new Match(rules, facts, tables, setup, seats);
  // oxlint-disable-next-line no-await-in-loop -- frames follow one another
  while (match.frames < game.frames && !(await match.frame([null, null]))) if (match.frames % PART === 0) await pause();
  match.stop();
  const again = match.document(), other = game.checksums.findIndex((sum, n) => sum !== again.checksums[n]);
  if (other >= 0) throw new Error(`played again it is another game from second ${other + 1} on`);
  const same = JSON.stringify([game.frames, game.result]) === JSON.stringify([again.frames, again.result]);
  if (!same) throw new Error("played again it ends otherwise");
  return match;
}

/** By seat, the action that it holds from a frame on. */
function presses(held, size) {
  const found = SEATS.map(() => new Map());
  for (let at = 0; at < held.length; at += size) {
    found[held[at + 2]].set(held[at] | (held[at + 1] << 8), new Int8Array(held.slice(at + PREFIX, at + size)));
  }
  return found;
}
