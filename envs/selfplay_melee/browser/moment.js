// What LiveFilm records of a game that rules.js plays.

const PLAYER = [
  "x", "y", "facing", "percent", "shield", "hitlag", "hitstun", "action_frame", "action", "stocks", "invulnerable",
  "character",
];
const CONTROLLER = ["main_x", "main_y", "c_x", "c_y", "shoulder", "buttons"];

/** The game as it is now. kinds: `item_kinds` of film_facts. values: what both seats estimate. */
export function readMoment(rules, kinds, values) {
  const read = (path, names) =>
    [0, 1].map((seat) => Object.fromEntries(names.map((name) => [name, rules.get(path, 0, seat, name)])));
  return {
    frame: rules.get("games.game", 0, "frame"),
    heights: [rules.get("games.game", 0, "fountain_left"), rules.get("games.game", 0, "fountain_right")],
    players: read("games.players", PLAYER),
    controllers: read("games.controllers", CONTROLLER),
    items: [0, 1].flatMap((seat) => shotsOf(rules, seat, kinds)),
    values,
  };
}

function shotsOf(rules, seat, { laser, thing }) {
  const column = (name) => rules.numbers("games.memory", 0, seat, `laser_${name}`);
  const [life, x, y, vx, vy, hit] = ["life", "x", "y", "speed_x", "speed_y", "hit"].map(column);
  const kindOf = (n) => (rules.get("tables", "hits", hit[n], "tail") > 0 ? laser : thing); // lasers are long
  const flying = Array.from(life.keys()).filter((n) => life[n] > 0);
  return flying.map((n) => ({ kind: kindOf(n), x: x[n], y: y[n], vx: vx[n], vy: vy[n] }));
}
