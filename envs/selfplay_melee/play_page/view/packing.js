// Typed arrays from what `packed` in selfplay_melee/play_page/page.py has made of them.

import { NUMBER_TYPES } from "../../fight/player/data.js";

/** The numbers of an array, as a typed array. */
export async function unpack({ type, data, row }) {
  const zipped = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const Type = NUMBER_TYPES[type], size = Type.BYTES_PER_ELEMENT, count = planes.length / size;
  const bytes = size === 1 ? planes : new Uint8Array(planes.length);
  if (size > 1) {
    for (let i = 0; i < count; i++) {
      for (let plane = 0; plane < size; plane++) bytes[size * i + plane] = planes[plane * count + i];
    }
  }
  const numbers = new Type(bytes.buffer);
  if (row) for (let i = row; i < count; i++) numbers[i] += numbers[i - row];
  return numbers;
}

/** All arrays of an object. */
export async function unpackAll(arrays) {
  const entries = Object.entries(arrays).map(async ([name, array]) => [name, await unpack(array)]);
  return Object.fromEntries(await Promise.all(entries));
}
