// Draws actions from logits, number for number as selfplay/policy/compiled_heads.py does.
//
// A row of logits has `binary` buttons and then the classes of each categorical. An action has a 0 or 1 for each button
// and then a class for each categorical.

const round = Math.fround; // every step is rounded to 32 bits, as in the compiled code
const NEVER = -1e9; // logit of what may not be chosen
const TINY = 2 ** -26; // below every random number but 0

// exp x = 2^n exp y with y = x - n log 2: see compiled_heads.py.
const LOG2_E = round(Math.LOG2E);
const LN2_HIGH = round(0.693359375);
const LN2_LOW = round(-2.1219444e-4);
const LOWEST = -87; // below it the result is 0
const ROUND = 1.5 * 2 ** 23; // adding it leaves a whole number
const POLYNOMIAL = [
  1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1,
].map(round);

export class Heads {
  /** binary: number of buttons. sizes: number of classes of each categorical. */
  constructor({ binary, sizes }) {
    this.binary = binary;
    this.sizes = sizes;
    /** Numbers in an action. */
    this.width = binary + sizes.length;
    /** Numbers in a row of logits. */
    this.logits = sizes.reduce((sum, size) => sum + size, binary);
    this.row = new Float32Array(this.logits);
    this.e = new Float32Array(Math.max(0, ...sizes));
  }

  /**
   * Draw an action.
   *
   * logits: Float32Array, of which the first numbers are used. uniform: a random number in [0, 1) for each part.
   * action: Int8Array, written. temperature: the logits are divided by it; 0 takes the likeliest of each part.
   * legal: for each logit whether it may be chosen; without it all may.
   */
  draw(logits, uniform, action, { temperature = 1, legal } = {}) {
    const { row, binary } = this, scale = temperature ? round(temperature) : 1;
    for (let k = 0; k < row.length; k++) row[k] = !legal || legal[k] ? logits[k] / scale : NEVER;
    for (let k = 0; k < binary; k++) action[k] = temperature ? pressed(row[k], uniform[k]) : row[k] > 0;
    let first = binary;
    this.sizes.forEach((size, head) => {
      const at = binary + head;
      action[at] = temperature ? this.chosen(first, size, uniform[at]) : likeliest(row, first, size) - first;
      first += size;
    });
    return action;
  }

  /** The class that a number draws: the inverse of the cumulative distribution. */
  chosen(first, size, uniform) {
    const { row, e } = this, top = row[likeliest(row, first, size)];
    let mass = 0;
    for (let k = 0; k < size; k++) {
      e[k] = exp(round(row[first + k] - top));
      mass = round(mass + e[k]);
    }
    const point = round(Math.max(uniform, TINY) * mass); // never a class of probability 0
    let below = 0, choice = 0;
    for (let k = 0; k < size - 1; k++) {
      below = round(below + e[k]);
      if (below < point) choice++;
    }
    return choice;
  }
}

function pressed(logit, uniform) {
  const e = exp(-Math.abs(logit));
  return round(uniform * round(1 + e)) < (logit > 0 ? 1 : e);
}

/** Index of the highest of `size` numbers from `first` on, the first of equal ones. */
function likeliest(row, first, size) {
  let best = first;
  for (let k = first + 1; k < first + size; k++) if (row[k] > row[best]) best = k;
  return best;
}

/** The exponential of a number that is 0 or less. */
function exp(x) {
  if (x < LOWEST) return 0;
  const n = round(round(round(x * LOG2_E) + ROUND) - ROUND);
  const y = round(round(x - round(n * LN2_HIGH)) - round(n * LN2_LOW));
  let p = POLYNOMIAL[0];
  for (let i = 1; i < POLYNOMIAL.length; i++) p = round(round(p * y) + POLYNOMIAL[i]);
  return round(round(round(round(round(p * y) * y) + y) + 1) * 2 ** n);
}
