// Plays a recording of recording.py again and compares every byte after every step.

import { sizeOf } from "./rules.js";

const WIDTH = 14, UNTOUCHED = 0xa5;

/** Name, frames, microseconds of a frame, bytes of the stack that were used, and the first difference or null. */
export function compare(rules, recording) {
  const length = new DataView(recording.buffer, recording.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(recording.subarray(4, 4 + length)));
  const parts = header.parts.map((path) => ({ path, bytes: rules.bytes(path) }));
  let at = 4 + length;
  const take = (size) => recording.subarray(at, (at += size));
  const differs = (step) => {
    let found = null;
    for (const { path, bytes } of parts) {
      const expected = take(bytes.length);
      if (!found && !equal(bytes, expected)) found = { step, ...difference(rules, path, bytes, expected) };
    }
    return found;
  };

  const { constants, stack } = rules.layout, unused = new Uint8Array(rules.buffer, constants, stack - constants);
  unused.fill(UNTOUCHED);
  for (const { path, bytes } of parts) if (path.startsWith("out.")) bytes.fill(0);
  rules.start({ ...header.start, seed: BigInt(header.start.seed) });
  let found = differs(-1), ms = 0;
  for (let step = 0; step < header.steps && !found; step++) {
    rules.bytes("actions").set(take(2 * WIDTH));
    rules.bytes("acts").set(take(2));
    const before = performance.now();
    rules.exports.hold();
    rules.exports[header.live ? "live_step" : "step"]();
    ms += performance.now() - before;
    if (header.live && (rules.get("out.terminated", 0) || rules.get("out.truncated", 0))) {
      const last = rules.bytes("out.obs"), expected = rules.bytes("out.final_obs");
      if (!equal(last, expected)) found = { step, ...difference(rules, "out.obs", last, expected) };
      rules.restart();
    }
    found ??= differs(step);
  }
  const frames = header.steps * header.start.options.frame_skip;
  const used = unused.length - unused.findIndex((byte) => byte !== UNTOUCHED);
  return { name: header.name, frames, us: (1000 * ms) / frames, stack: used, difference: found };
}

function equal(mine, expected) {
  if (globalThis.Buffer) return Buffer.compare(mine, expected) === 0;
  return mine.every((byte, i) => byte === expected[i]);
}

function difference(rules, path, mine, expected) {
  const byte = mine.findIndex((value, i) => value !== expected[i]);
  return { field: path + fieldAt(rules.layout.values[path].type, byte), byte };
}

/** Name of what lies at a byte of a value: `[0][1].x`. */
function fieldAt(type, byte) {
  if (type.shape) {
    const [, ...rest] = type.shape, part = rest.length ? { shape: rest, of: type.of } : type.of;
    const size = sizeOf(part);
    return `[${Math.floor(byte / size)}]${fieldAt(part, byte % size)}`;
  }
  if (!type.fields) return "";
  const before = Object.entries(type.fields).filter(([, [offset]]) => offset <= byte);
  const [name, [offset, its]] = before.reduce((a, b) => (b[1][0] > a[1][0] ? b : a));
  return `.${name}${byte - offset < sizeOf(its) ? fieldAt(its, byte - offset) : " (padding)"}`;
}
