// Frames at refreshes of screens with these rates and this jitter: node pace_cases.js. Prints a list for each case.
import { Pace } from "./loop.js";

const REFRESHES = 1200, SETTLED = 100;

function random(seed) {
  let state = seed;
  return () => (state = (state * 16807) % 2147483647) / 2147483647;
}

/** Frames at each refresh, once the rate is known. missed: share of refreshes without a callback. */
function played(rate, jitter, missed = 0) {
  const pace = new Pace(), next = random(7), frames = [];
  for (let n = 0; n < REFRESHES; n++) {
    if (next() < missed) continue;
    frames.push(pace.due((1000 * n) / rate + jitter * (next() - 0.5)));
  }
  return frames.slice(SETTLED);
}

const cases = JSON.parse(process.argv[2]);
console.log(JSON.stringify(cases.map((one) => played(...one))));
