// The curves of a training.

import { follow, html } from "./svg.js";
import { legend, lineChart, stackChart } from "./charts.js";

const SHARES = { opponents: "Whom the learner met, share of episodes", phases: "Where the time went, share" };
const CURVES = ["play", "losses"];
const names = (training) => JSON.stringify(
  [...Object.keys(SHARES).map((kind) => training[kind].series), ...CURVES.map((kind) => training[kind])]
    .map((series) => series.map((one) => one.name)),
);

export class Training {
  constructor(root) {
    this.root = root;
  }

  // Draws the curves, in the place of those before them.
  show(training) {
    const drawn = names(training);
    this.training = training;
    if (drawn !== this.drawn) this.build();
    else for (const draw of this.draws) draw();
    this.drawn = drawn;
    const { each } = training;
    this.note.textContent = "Over steps of training. Each point is " +
      `${each > 1 ? `the mean of ${each} iterations or one fewer` : "an iteration"}. ` +
      "A falling loss is no progress by itself: the ratings above are.";
  }

  build() {
    const wide = html("div", { class: "charts wide" }), small = html("div", { class: "charts" });
    this.note = html("p", { class: "quiet" });
    this.draws = [];
    for (const [kind, caption] of Object.entries(SHARES)) {
      const { x, series } = this.training[kind];
      if (x.length && series.length) {
        this.figure(wide, caption, ({ [kind]: now }) => stackChart(now.x, now.series, caption), legend(series));
      }
    }
    for (const kind of CURVES) {
      this.training[kind].forEach(({ name, y }, i) => {
        if (y.every((value) => value === null)) return;
        this.figure(small, name, ({ x, [kind]: now }) => lineChart(x, now[i]));
      });
    }
    this.root.replaceChildren(wide, small, this.note);
  }

  // chart: of a training; what draws it in a width.
  figure(parent, caption, chart, ...more) {
    const place = html("div");
    parent.append(html("figure", { class: "chart" }, html("figcaption", {}, caption), ...more, place));
    this.draws.push(follow(place, (width) => chart(this.training)(width)));
  }
}
