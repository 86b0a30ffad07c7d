// What is on the page, put together.

import { follow, signed } from "./svg.js";
import { ratingChart } from "./charts.js";
import { PairMap } from "./maps.js";
import { Table } from "./table.js";
import { Training } from "./training.js";

const data = (id) => JSON.parse(document.getElementById(`data-${id}`).textContent);

function showMaps(maps) {
  const { payoff, shared, spread, decimals } = maps, written = (value) => signed(value, decimals);
  if (shared) document.querySelector("#pairs h2").textContent = "Results of pairs";
  // one standard deviation of a game's payoff is as dark as it gets
  const shade = payoff ? (score) => score / spread : (score) => 2 * score - 1;
  new PairMap(
    document.getElementById("scores"), maps, ({ score }) => (shared ? 0.5 : shade(score)),
    ({ score }) => (payoff ? written(score) : (100 * score).toFixed(0)),
  );
  new PairMap(
    document.getElementById("residuals"), maps,
    ({ score, expected }) => 3 * (payoff ? (score - expected) / (2 * spread) : score - expected),
    ({ score, expected }) => (payoff ? written(score - expected) : signed(100 * (score - expected), 0)),
  );
  const what = !payoff
    ? "In percent of the points, a draw is half a win. Blue: more than half, or more than expected; orange: less. "
    : `In ${maps.unit}. Blue: ${shared ? "more than expected" : "more than 0, or more than expected"}; orange: less. `;
  document.getElementById("map-note").textContent = what +
    "A pair with few games is mostly chance: the standard errors say how much. " +
    (maps.left_out
      ? `The maps show ${maps.players.length} players: the top of the table, the scripted ones, people, the start ` +
        `and the newest; ${maps.left_out} more are left out.`
      : "Rows and columns are in the order of the table.");
}

// Lets a choice of a game open its data, which is text, by the script of its kind; the first is opened at once.
export function showGames(open) {
  const choices = [...document.querySelectorAll(".choice")];
  const choose = (choice) => {
    const { film } = choice.dataset;
    for (const other of choices) other.setAttribute("aria-pressed", other === choice);
    for (const why of document.querySelectorAll(".why")) why.hidden = why.dataset.film !== film;
    open(document.getElementById(`film-${film}`).textContent);
  };
  for (const choice of choices) choice.onclick = () => choose(choice);
  choose(choices[0]);
}

new Table(document.getElementById("board"));
const curve = data("curve");
if (curve.points.length) follow(document.getElementById("curve"), ratingChart(curve));
else document.getElementById("progress").hidden = true;
const pairMaps = data("maps"), training = data("training");
if (pairMaps.pairs.length) showMaps(pairMaps);
else for (const part of document.querySelectorAll(".maps, #detail, #map-note")) part.hidden = true;
if (training) new Training(document.getElementById("training")).show(training);
