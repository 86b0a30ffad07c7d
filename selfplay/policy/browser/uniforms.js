// The random numbers of a seat's decisions, equal to those of selfplay/runner/counter_rng.py.

const GAMMA = 0x9e3779b97f4a7c15n;
const WIDEST = 65536n; // numbers that are kept for one decision

/** Word `number` in the stream of a seed (selfplay/games/splitmix.py); BigInts of 64 bits. */
export function word(seed, number) {
  let z = BigInt.asUintN(64, seed + number * GAMMA);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** Fill `out` with numbers in [0, 1), multiples of 2^-24, for decision number `decision` of the seat with this key. */
export function uniforms(key, decision, out) {
  let number = BigInt(decision) * WIDEST;
  for (let i = 0; i < out.length; i++) out[i] = Number(word(key, ++number) >> 40n) * 2 ** -24;
  return out;
}
