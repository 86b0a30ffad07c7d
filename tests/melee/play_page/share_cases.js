// Links of games, good and bad: node share_cases.js. Prints by name "" or what is wrong.
import assert from "node:assert/strict";
import zlib from "node:zlib";

import { MOST_BYTES, MOST_LETTERS, packGame, readGame } from "./share.js";
import { report } from "../../support/cases.js";

const HIGHEST = Array.from({ length: 13 }, () => 16);
const PAGE = {
  sources: "abc", characters: [{ id: 1 }, { id: 18 }], stages: [{ id: 24 }],
  facts: { longest: 28802, document: { format: 1, checked: 60 }, controller: { highest: HIGHEST } },
  opponents: [{ kind: "bot", id: "rusher", bot: 3 }, { kind: "policy", id: "gen_40" }],
};

const row = (frame, seat, code = 8) => [frame & 255, frame >> 8, seat, ...HIGHEST.map((_, n) => (n ? code : n))];
const text = (...rows) => Buffer.from(rows.flat()).toString("base64");

function game(changes = {}) {
  return {
    format: 1, game: "mock", rules: "abc", seed: "7", stage: 24, characters: [1, 18], names: ["Zoë K", "gen_40"],
    delay: [0, 6], options: { frame_skip: 1, bot_skip: 4, cap: 400, ledge_grab_limit: 60 },
    seats: [{ kind: "person" }, { kind: "policy", id: "gen_40", weights_hash: "00", frame_skip: 4, temperature: 1 }],
    frames: 400, held: text(row(0, 0), row(0, 1), row(4, 1, 3), row(300, 0, 16), row(399, 1)),
    checksums: [1, 2, 3, 4, 5, 6, 4294967295], result: { stocks: [4, 4], percents: [0, 12.5], winner: 0, ended: "cap" },
    ...changes,
  };
}

const read = async (changes) => readGame(await packGame(game(changes), HIGHEST.length), PAGE);
const refuse = (changes, why) => assert.rejects(read(changes), { message: why });
const refuseText = (packed, why) => assert.rejects(readGame(packed, PAGE), { message: why });
const letters = (bytes) => zlib.deflateRawSync(Buffer.from(bytes)).toString("base64url");
const header = (length) => [length & 255, (length >> 8) & 255, (length >> 16) & 255, length >>> 24];
const cannot = (name) => `this page cannot play its ${name}`;
const each = (values, check) => Promise.all(Array.from(values, check));
const BROKEN = "it is not complete, or damaged", PRESSES = "it has presses that are not possible";

const cases = {
  "a game comes back as it was": async () => {
    assert.deepEqual(await read(), game());
    assert.match(await packGame(game(), HIGHEST.length), /^[\w-]+$/);
  },
  "a game without presses, one of bots, one of many frames": async () => {
    const bots = [{ kind: "bot", name: "rusher" }, { kind: "bot", name: "rusher" }];
    assert.deepEqual(await read({ held: "", seats: bots }), game({ held: "", seats: bots }));
    const rows = Array.from({ length: 28800 }, (_, frame) => [row(frame, 0, frame % 17), row(frame, 1, frame % 13)]);
    const long = { frames: 28800, held: text(...rows.flat()), checksums: Array(480).fill(4294967295) };
    assert.deepEqual(await read(long), game(long));
  },
  "texts that are no game": async () => {
    await refuseText("", BROKEN);
    await refuseText("%%%", BROKEN);
    await refuseText("é", BROKEN);
    await refuseText("AAAA", BROKEN);
    await refuseText("A".repeat(MOST_LETTERS + 1), "it is too long");
    await refuseText(letters([]), "it is not complete");
    await refuseText(letters([1, 0, 0]), "it is not complete");
    await refuseText(letters([...header(3), 255, 255, 255]), "it is damaged");
    await refuseText(letters([...header(2), 91, 93]), "it has another format");
    await refuseText(letters([...header(4), ...Buffer.from("null")]), "it has another format");
  },
  "a link that was cut anywhere": async () => {
    const packed = await packGame(game(), HIGHEST.length);
    await each(Array.from(packed).keys(), (length) => assert.rejects(readGame(packed.slice(0, length), PAGE)));
  },
  "lengths that are not there": async () => {
    await each([1, 1000, 2 ** 31, 2 ** 32 - 1], (length) => refuseText(letters(header(length)), "it is not complete"));
  },
  "a small text that unpacks to much": async () => {
    await refuseText(letters(Buffer.alloc(MOST_BYTES + 1)), "its game is too large");
    const bomb = letters(Buffer.alloc(600 * MOST_BYTES)), before = process.memoryUsage().rss;
    assert.ok(bomb.length < MOST_LETTERS);
    await refuseText(bomb, "its game is too large");
    assert.ok(process.memoryUsage().rss - before < 64 * MOST_BYTES);
  },
  "other formats and rules": async () => {
    await refuse({ format: 2 }, "it has another format");
    await refuse({ game: "kuhn" }, "it has another format");
    await refuse({ rules: "abd" }, "it was played with another version of the rules than this page has");
  },
  "numbers out of range": async () => {
    await each(["-1", "07", "1e3", "99999999999999999999", "", null, {}], (seed) => refuse({ seed }, cannot("seed")));
    await each([0, "24", null, [24]], (stage) => refuse({ stage }, cannot("stage")));
    await each([[1], [1, 2], [1, 18, 1], "ab", null], (characters) => refuse({ characters }, cannot("characters")));
    await each([[0, -1], [0, 0.5], [0, "6"], [0, 1e9], {}], (delay) => refuse({ delay }, cannot("delay")));
    await each([0, -1, 28801, 1.5, "400", 1e300, null], (frames) => refuse({ frames }, cannot("length")));
    await each([[1], [], null, "abcdefg", { length: 7 }], (checksums) => refuse({ checksums }, cannot("checksums")));
    const changes = [{ frame_skip: 2 }, { bot_skip: 0 }, { cap: 1e9 }, { cap: null }, { ledge_grab_limit: -1 }];
    const changed = (change) => Object.assign(game().options, change);
    await each(changes, (change) => refuse({ options: changed(change) }, cannot("options")));
    await each([null, 7, [], "x"], (options) => refuse({ options }, cannot("options")));
  },
  "names and players": async () => {
    const pairs = [["a"], ["a", ""], ["a", "b".repeat(65)], ["a", "\u202eb"], ["a", "b\n"], ["a", 7], null];
    await each(pairs, (names) => refuse({ names }, cannot("names")));
    const person = { kind: "person" };
    const seats = [{ kind: "bot", name: "gen_40" }, { kind: "bot" }, { kind: "held" }, { kind: "policy" }, null, 7];
    await each(seats, (seat) => refuse({ seats: [person, seat], held: "" }, cannot("players")));
  },
  "presses that are not possible": async () => {
    const about = Buffer.from(JSON.stringify({ ...game(), held: undefined }));
    const held = (...bytes) => letters([...header(about.length), ...about, ...bytes]);
    const rows = [row(400, 0), row(0, 2), row(0, 255), row(0, 0, 17), row(0, 0, 255)];
    await each(rows, (bytes) => refuseText(held(...bytes), PRESSES));
    await refuse({ held: text(row(5, 0), row(5, 0)) }, PRESSES);
    await refuseText(held(7, 7), "it is not complete");
    await refuse({ held: text(row(0, 1)), seats: [{ kind: "person" }, { kind: "bot", name: "rusher" }] }, PRESSES);
  },
};

await report(cases);
