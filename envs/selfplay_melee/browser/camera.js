// The camera that follows both players: that of selfplay_melee/drawing/camera.py, for frames that follow one another.
//
// The picture of a moment is decided by the frames before and after it (`at`). While a fight goes on those after it are
// not known, and the last one stands for them all: the camera is on its way to that of a film that ends now (`next`).
// It opens later than the other, and a player that is brought back elsewhere is out of the picture for some frames.

const SHARE = 0.25; // of its way in a frame: a player of 6 units a frame stays in the picture
const clip = (value, low, high) => Math.min(Math.max(value, low), high);

export class Camera {
  /** facts: `camera` of scene_facts. blast: left, right, bottom and top of the blast zone. moments: at most so many. */
  constructor(facts, blast, moments) {
    this.facts = facts;
    this.blast = blast;
    // What the picture must hold at each moment: how far to the left, right, down and up, the first and third negated.
    this.sides = Array.from({ length: 4 }, () => new Float64Array(moments));
    this.moments = 0;
    this.earlier = new Float64Array(2 * facts.ahead + 1);
    this.later = new Float64Array(2 * facts.ahead + 1);
    this.now = null; // the last picture of `next`
    this.held = null; // last place of each player in the game
    this.seen = [false, false]; // whether it was in the game at all
  }

  /** Add a moment; places: x and y of both players. gone: whether each is out of the game. */
  add(places, gone) {
    const [left, right, bottom, top] = this.blast, [beside, above] = this.facts.around;
    const inside = places.map(([x, y]) => [clip(x, left, right), clip(y, bottom, top)]);
    this.held ??= inside.slice();
    for (const seat of [0, 1]) {
      if (gone[seat]) continue;
      this.held[seat] = inside[seat];
      this.seen[seat] = true;
    }
    // A player that was never in the game has the place of the other.
    const [a, b] = [0, 1].map((seat) => this.held[this.seen[seat] ? seat : 1 - seat]);
    const west = Math.min(a[0], b[0]) - beside, east = Math.max(a[0], b[0]) + beside;
    const south = Math.min(a[1], b[1]) - above, north = Math.max(a[1], b[1]) + above;
    const needs = [-west, east, -south, north];
    needs.forEach((need, side) => (this.sides[side][this.moments] = need));
    this.moments++;
  }

  /** Middle and width of the picture while the fight goes on; called once for each moment. */
  next() {
    const target = this.at(this.moments - 1);
    this.now = this.now?.map((number, n) => number + SHARE * (target[n] - number)) ?? target;
    return this.now;
  }

  /** Middle and width of the picture of a moment, in units, from all moments so far. */
  at(moment) {
    const { room, narrowest, aspect, around } = this.facts, [left, right, bottom, top] = this.blast;
    const [west, east, south, north] = this.sides.map((side, n) => (n % 2 ? 1 : -1) * this.cover(side, moment));
    const height = Math.max((north - south) / (1 - room), Math.max(east - west, narrowest) / aspect);
    return [
      within((west + east) / 2, height * aspect, left, right),
      within((south + north - room * height) / 2, height, bottom - room * height, top + around[1]),
      height * aspect,
    ];
  }

  /** The mean of the maxima around a moment, weighted by nearness: smooth, and nowhere below the track. */
  cover(track, moment) {
    const { ahead } = this.facts, { earlier, later } = this;
    this.maxima(track, moment, -1, earlier);
    this.maxima(track, moment, 1, later);
    let sum = 0;
    for (let shift = -ahead; shift <= ahead; shift++) {
      sum += (ahead + 1 - Math.abs(shift)) * Math.max(earlier[ahead - shift], later[ahead + shift]);
    }
    return sum / (ahead + 1) ** 2;
  }

  /** The highest of the first 1, 2, ... numbers from a moment on, backwards or forwards in time, into `out`. */
  maxima(track, moment, way, out) {
    let highest = -Infinity;
    for (let n = 0; n < out.length; n++) {
      highest = Math.max(highest, track[clip(moment + way * n, 0, this.moments - 1)]);
      out[n] = highest;
    }
  }
}

/** The middle of a stretch, moved so that it lies between two places, or halfway where it is too long. */
function within(middle, size, low, high) {
  const centre = (low + high) / 2, room = Math.max((high - low - size) / 2, 0);
  return clip(middle, centre - room, centre + room);
}
