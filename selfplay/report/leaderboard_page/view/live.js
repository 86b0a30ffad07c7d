// The page of a run that trains: it asks its server for what changed, and shows that. See ../live.py for the answers.

import { follow } from "./svg.js";
import { ratingChart } from "./charts.js";
import { Table } from "./table.js";
import { Training } from "./training.js";

const EVERY_MS = Number(JSON.parse(document.getElementById("every").textContent)) * 1000;
const LIMIT_MS = 20_000; // for an answer
const CURVES_MS = 6000; // between two drawings of the curves, which cost more than a request
const element = (id) => document.getElementById(id);
const known = {}; // which content of each part is on the page
const training = new Training(element("training"));
let show = null, newest = null, touched = false, table = null, curve = null, redraw = null;
let curves = null, curvesDrawn = null, drawnAt = -Infinity; // curves as the server told them, and as they are drawn

// Takes what shows a game, which is text, by the script of its kind.
export function showGames(open) {
  show = open;
}

function openNewest() {
  touched = false;
  element("newer").hidden = true;
  element("why").textContent = newest.why;
  element("command").textContent = newest.command;
  element("film").hidden = false;
  show(JSON.stringify(newest.film));
}

// A game that the reader does something with stays.
function offer(game) {
  if (!game.film) {
    if (newest === null) element("why").textContent = game.why;
    return;
  }
  newest = game;
  if (touched) element("newer").hidden = false;
  else openNewest();
}

function showBoard({ html, warnings, curve: changed, none }) {
  element("unrated").textContent = none ?? "";
  element("rated").hidden = !html;
  if (!html) return;
  element("warnings").innerHTML = warnings;
  element("table").innerHTML = html;
  table = new Table(element("board"), table);
  curve = changed;
  if (redraw) redraw();
  else redraw = follow(element("curve"), (width) => ratingChart(curve)(width));
}

const spliced = (before, from, later) => [...before.slice(0, from), ...later];

// The curves with the points that are new, behind those that stay.
function grown(before, { from, shares_from: sharesFrom, ...changed }) {
  if (!from && !sharesFrom) return changed;
  const merged = { ...changed, x: spliced(before.x, from, changed.x) };
  for (const kind of ["play", "losses"]) {
    merged[kind] = changed[kind].map(({ name, y }, i) => ({ name, y: spliced(before[kind][i].y, from, y) }));
  }
  for (const kind of ["opponents", "phases"]) {
    const { x, series } = changed[kind], old = before[kind];
    merged[kind] = {
      x: spliced(old.x, sharesFrom, x),
      series: series.map(({ name, y }, i) => ({ name, y: spliced(old.series[i].y, sharesFrom, y) })),
    };
  }
  return merged;
}

function drawCurves() {
  if (curves === curvesDrawn || performance.now() < drawnAt + CURVES_MS) return;
  training.show(curves);
  curvesDrawn = curves;
  drawnAt = performance.now();
}

const PARTS = {
  training: (changed) => { curves = grown(curves, changed); },
  board: showBoard,
  game: offer,
  tree: ({ html }) => { element("tree").innerHTML = html; },
  health: ({ html }) => { element("health").innerHTML = html; },
  reading: ({ html }) => { element("reading").innerHTML = html; },
};

function setState(state) {
  if (document.body.dataset.state !== state) document.body.dataset.state = state; // a change styles the page again
}

function take({ status, parts }) {
  setState(status.state);
  element("status").textContent = status.text;
  element("figures").textContent = status.figures;
  for (const [name, { at, content }] of Object.entries(parts)) {
    PARTS[name](content);
    known[name] = at;
  }
  drawCurves();
}

async function ask() {
  const answer = await fetch(`changes?${new URLSearchParams(known)}`, { signal: AbortSignal.timeout(LIMIT_MS) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

function lose(why) {
  setState("lost");
  element("lost").hidden = false;
  element("lost").textContent = `The server of this page does not answer (${why}). Start it again with the same ` +
    "command: the page then goes on by itself.";
}

let waiting = 0;

async function update() {
  clearTimeout(waiting);
  if (!document.hidden) {
    try {
      const told = await ask();
      element("lost").hidden = true;
      take(told);
    } catch (error) {
      lose(error.message);
    }
  }
  waiting = setTimeout(update, EVERY_MS);
}

if (element("newer")) {
  element("newer").onclick = openNewest;
  for (const event of ["pointerdown", "keydown"]) element("film").addEventListener(event, () => { touched = true; });
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) update(); });
setTimeout(update, 0); // behind the script that shows games
