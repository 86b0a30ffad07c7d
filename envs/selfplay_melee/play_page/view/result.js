// After a game: who won, figures of both, the game as a file, and the fight to watch again.

import { element, Player } from "../../fight/player/player.js";
import { make } from "./dom.js";
import { fightFigures } from "./openings.js";

export class ResultScreen {
  #player = null;

  // facts: of `fightFigures`. again, menu: called when the person goes on.
  constructor(facts, again, menu) {
    this.facts = facts;
    element("again").onclick = again;
    element("to-menu").onclick = menu;
    element("save").onclick = () => this.save();
  }

  /** match: that has ended. about: how it was played. score: of the series. next: what the first button says. */
  show(match, about, score, next) {
    this.match = match;
    const { film } = match, { names } = film;
    film.title = about; // the names are shown anyway
    element("result-title").textContent = title(match, names);
    element("result-title").className = match.winner === null ? "" : `seat-${match.winner}`;
    element("result-about").textContent = [ending(match), score].filter(Boolean).join(" · ");
    element("again").textContent = next;
    element("kept").textContent = "";
    this.figures(match);
    this.#player ??= new Player(element("result"));
    this.#player.open(film);
  }

  figures(match) {
    const table = element("figures"), { film } = match, body = table.tBodies[0];
    table.tHead.rows[0].cells[0].textContent = film.names[0];
    table.tHead.rows[0].cells[2].textContent = film.names[1];
    body.replaceChildren(...rows(match, this.facts).map(
      ([name, mine, its]) => make("tr", "", "", make("td", "", mine), make("th", "", name), make("td", "", its)),
    ));
  }

  save() {
    const { match } = this, text = JSON.stringify(match.document()), link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = fileName(match.film.names);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    const unless = window.top === window ? "" : ", unless the frame around this page forbids downloads";
    element("kept").textContent = `Saved as ${link.download}${unless}.`;
  }

  /** A line about the game, such as that a server has taken it. */
  tell(text) {
    element("kept").textContent = text;
  }
}

function title({ winner }, names) {
  if (winner === null) return "Draw";
  return winner === 0 ? "You win" : `${names[1]} wins`;
}

function ending({ ending: how }) {
  return { stocks: "by stocks", timer: "by time", cap: "by time" }[how] ?? "not played to its end";
}

// What is said of both players, by name.
function rows(match, facts) {
  const figures = fightFigures(match.film, facts);
  const percent = (number) => (Number.isFinite(number) ? `${Math.round(number)}%` : "–");
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  const shown = {
    "Stocks left": (seat) => `${match.stocks(seat)}`,
    "Damage at the end": (seat) => percent(Math.floor(match.percent(seat))),
    "Damage dealt": (seat) => percent(figures[seat].damage),
    Openings: (seat) => `${figures[seat].openings}`,
    "Damage per opening": (seat) => percent(figures[seat].damage_per_opening ?? NaN),
    "Kill percent": (seat) => percent(mean(figures[seat].kill_percents)),
  };
  return Object.entries(shown).map(([name, text]) => [name, text(0), text(1)]);
}

/** A name for a file that every system takes. */
function fileName(names) {
  const plain = names.map((name) => name.replaceAll(/[^\w.-]+/g, "_").slice(0, 32));
  return `${plain.join("-vs-")}-${new Date().toISOString().replaceAll(/[^\dT]/g, "").slice(0, 15)}.json`;
}
