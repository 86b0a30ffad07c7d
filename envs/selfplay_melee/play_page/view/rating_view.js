// What the page says of the person's rating, on the menu and on the result: the rating, the next opponent, and a button
// that forgets the games.

import { make } from "./dom.js";

export class RatingView {
  /** rating: PersonRating. person: gives the name. meet: called with the opponent that was chosen. */
  constructor(rating, person, meet) {
    Object.assign(this, { rating, person });
    this.text = make("p", "note");
    this.next = make("button", "", "Fight an even opponent");
    this.forget = make("button", "", "Forget my games");
    for (const button of [this.next, this.forget]) button.type = "button";
    this.next.onclick = () => meet(this.offered.player);
    this.forget.onclick = () => {
      rating.forget(person());
      this.update();
    };
    this.root = make("div", "row", "", this.text, this.next, this.forget);
    this.root.id = "your-rating";
  }

  update() {
    const { rating } = this, person = this.person(), offered = (this.offered = rating.offer(person));
    this.text.textContent = rating.sentence(person);
    this.root.hidden = !this.text.textContent;
    this.forget.hidden = !rating.games(person).length;
    this.next.hidden = !offered;
    if (!offered) return;
    const share = Math.round(100 * offered.expected), far = offered.even ? "" : ", the nearest to even";
    this.next.textContent = `Fight ${offered.player.label}: expected score ${share}%${far}`;
  }

  /** Show it under an element. */
  under(parent) {
    parent.append(this.root);
    this.update();
  }
}
