// After a game: who won, figures of both, the game as a file, and the fight to watch again.

import { element, Player } from "../../fight/player/player.js";
import { clipType, recordClip } from "./clip.js";
import { make } from "./dom.js";
import { bestMoment, CLIP_S } from "./highlight.js";
import { fightFigures } from "./openings.js";
import { LINK_KEY, packGame } from "./share.js";

export class ResultScreen {
  #player = null;
  link = ""; // that is the address because it could not be copied

  // facts: of `fightFigures`. served: whether a server hosts the page. again, menu: called when the person goes on.
  constructor(facts, served, again, menu) {
    Object.assign(this, { facts, served });
    element("again").onclick = again;
    element("to-menu").onclick = menu;
    element("save").onclick = () => this.save();
    element("copy-link").onclick = () => this.copyLink();
    element("save-clip").onclick = () => this.saveClip();
    if (!clipType()) {
      element("save-clip").disabled = true;
      element("save-clip").textContent = "No clip: this browser records no video";
    }
  }

  /**
   * match: that has ended. people: how many played it. about: how it was played. score: of the series. next: what the
   * first button says.
   */
  show(match, people, about, score, next) {
    this.match = match;
    const { film } = match, { names } = film;
    film.title = about; // the names are shown anyway
    film.opens = bestMoment(film);
    element("result-title").textContent = title(match, names, people);
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
    this.download([JSON.stringify(this.match.document())], "application/json", "json");
  }

  download(parts, type, ending_) {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(parts, { type }));
    link.download = fileName(this.match.film.names, ending_);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    const unless = window.top === window ? "" : ", unless the frame around this page forbids downloads";
    this.tell(`Saved as ${link.download}${unless}.`);
  }

  /** Record the best seconds, which takes as long as they are, and save them. */
  async saveClip() {
    const { film } = this.match, type = clipType(), button = element("save-clip");
    button.disabled = true;
    this.tell("Recording…");
    try {
      const clip = await recordClip(film, bestMoment(film), CLIP_S * film.fps, type);
      if (film === this.match.film) this.download([clip], clip.type, clip.type.split("/")[1]);
    } catch (error) {
      this.tell(`No clip: ${error.message}.`);
    }
    button.disabled = false;
  }

  /**
   * Copy a link that plays the game again. The address of a file tells the login of its owner, and that of a server
   * its token: of those only the end is copied.
   */
  async copyLink() {
    const { match } = this, whole = !this.served && location.protocol.startsWith("http");
    const end = `#${LINK_KEY}${await packGame(match.document(), match.fields)}`;
    const link = whole ? `${location.href.split("#", 1)[0]}${end}` : end;
    try {
      await navigator.clipboard.writeText(link);
      this.tell(whole ? "Copied." : "Copied: the end of a link. It goes behind the address of any copy of this page.");
    } catch {
      this.link = location.hash = end;
      this.tell("The address of this page is now the link: copy it from #game= on.");
    }
  }

  /** A line about the game, such as that a server has taken it. */
  tell(text) {
    element("kept").textContent = text;
  }
}

function title({ winner }, names, people) {
  if (winner === null) return "Draw";
  return winner === 0 && people === 1 ? "You win" : `${names[winner]} wins`;
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
function fileName(names, ending_) {
  const plain = names.map((name) => name.replaceAll(/[^\w.-]+/g, "_").slice(0, 32));
  return `${plain.join("-vs-")}-${new Date().toISOString().replaceAll(/[^\dT]/g, "").slice(0, 15)}.${ending_}`;
}
