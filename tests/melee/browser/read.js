// Reads a moment from what stands for the rules: fields of which the test knows some, 0 elsewhere.
import { readMoment } from "./moment.js";

const fields = {
  "games.game 0 frame": 7, "games.game 0 fountain_left": 20.5, "games.game 0 fountain_right": 28,
  "games.players 0 0 x": -3, "games.players 0 1 x": 4,
  "tables hits 5 tail": 30, "games.controllers 0 0 buttons": 1, "games.controllers 0 1 buttons": 2,
};
const shots = {
  laser_life: [0, 3, 9], laser_hit: [0, 4, 5], laser_x: [0, 1, 2], laser_y: [10, 11, 12], laser_speed_x: [20, 21, 22],
  laser_speed_y: [30, 31, 32],
};
const rules = {
  get: (...path) => fields[path.join(" ")] ?? 0,
  numbers: (path, game, seat, name) => Float64Array.from(shots[name], (number) => (seat ? number : 0)),
};
console.log(JSON.stringify(readMoment(rules, { thing: 0, laser: 1 }, [0.25, -0.5])));
