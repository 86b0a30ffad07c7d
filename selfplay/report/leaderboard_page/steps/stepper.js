// A game step by step: what it showed as text or a picture, and who played what.

import { showGames } from "../view/main.js";

class Stepper {
  constructor(root) {
    this.root = root;
    for (const part of ["text", "picture", "none", "told", "back", "next", "seek"]) {
      this[part] = document.getElementById(`step-${part}`);
    }
    this.back.onclick = () => this.show(this.at - 1);
    this.next.onclick = () => this.show(this.at + 1);
    this.seek.oninput = () => this.show(Number(this.seek.value));
    root.addEventListener("keydown", (event) => this.key(event));
  }

  // Shows the first moment of a game, in place of the game before it.
  open(game) {
    this.game = game;
    this.root.querySelectorAll("h3 [class^=seat]").forEach((place, seat) => (place.textContent = game.names[seat]));
    this.seek.min = 0;
    this.seek.max = game.moments.length - 1;
    this.show(0);
  }

  key(event) {
    const places = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.game.moments.length - 1 };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(places, event.key)) return;
    event.preventDefault();
    this.show(places[event.key]);
  }

  show(place) {
    const { first, moments, names, result } = this.game, last = moments.length - 1;
    this.at = Math.min(Math.max(place, 0), last);
    const { text, picture, played = [] } = moments[this.at];
    this.text.hidden = text === undefined;
    this.text.textContent = text ?? "";
    this.picture.hidden = picture === undefined;
    if (picture) this.picture.src = picture;
    this.none.hidden = (text ?? picture) !== undefined;
    const moves = played.map(([seat, action]) => `${names[seat]} (seat ${seat}) played ${action}`).join("; ");
    const step = `Step ${first + this.at} of ${first + last}`, end = this.at === last ? ` ${result}.` : "";
    this.told.textContent = `${step}${moves && `: ${moves}`}.${end}`;
    this.seek.value = this.at;
    this.seek.setAttribute("aria-valuetext", `step ${first + this.at} of ${first + last}`);
    this.root.dataset.step = first + this.at;
  }
}

const stepper = new Stepper(document.getElementById("stepper"));
showGames((text) => stepper.open(JSON.parse(text)));
