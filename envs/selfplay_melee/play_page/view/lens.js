// What a fight that goes on changes of the camera's picture: heads stay inside it, strong hits shake it, and it closes
// in on a lost stock. A picture has its middle `x`, `y` and its `width`, in units of the game.

const STRONG = 8; // percent of a hit that shakes
const SHAKEN = 14; // frames
const REACH = 0.012; // of the width that the strongest hit moves the picture, at 25 percent
const CLOSING = 45; // frames
const CLOSER = 0.08; // of the width

/** The picture with the heads in it of those whose feet are. places: `x`, `y` of the feet, and `up` to the highest. */
export function withHeads({ x, y, width }, places, aspect) {
  const bottom = y - width / aspect / 2, top = y + width / aspect / 2;
  const inside = places.filter((one) => Math.abs(one.x - x) <= width / 2 && one.y >= bottom && one.y <= top);
  const height = Math.max(top, ...inside.map((one) => one.y + one.up)) - bottom;
  return { x, y: bottom + height / 2, width: height * aspect };
}

/** Shakes and closes in, unless motion is to be reduced. */
export class Motion {
  #shake = { strength: 0, age: SHAKEN };
  #close = { x: 0, y: 0, age: CLOSING };

  // still: a function that says whether motion is to be reduced.
  constructor(still) {
    this.still = still;
  }

  /** percent: of a hit. */
  strike(percent) {
    if (percent >= STRONG && !this.still()) this.#shake = { strength: Math.min(percent / 25, 1), age: 0 };
  }

  /** A stock was lost there. */
  lost(x, y) {
    if (!this.still()) this.#close = { x, y, age: 0 };
  }

  /** The end of a frame. */
  pass() {
    this.#shake.age = Math.min(this.#shake.age + 1, SHAKEN);
    this.#close.age = Math.min(this.#close.age + 1, CLOSING);
  }

  closer({ x, y, width }) {
    const { age, ...at } = this.#close, share = CLOSER * Math.sin((Math.PI * age) / CLOSING);
    return { x: x + share * (at.x - x), y: y + share * (at.y - y), width: width * (1 - share) };
  }

  shaken({ x, y, width }) {
    const { strength, age } = this.#shake, far = REACH * width * strength * (1 - age / SHAKEN);
    return { x: x + far * Math.cos(2.6 * age), y: y + far * Math.sin(4.1 * age), width };
  }
}
