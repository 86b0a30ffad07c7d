// The menu: whom to fight, with what, where, and how fast it reacts.

import { element } from "../../fight/player/player.js";
import { MOST_DELAY, MOST_TEMPERATURE } from "./choices.js";
import { make } from "./dom.js";
import { specialRows } from "./specials.js";

const PERSON = [12, 24]; // frames in which people react to what they see

export class Menu {
  /** begin: called when the person starts a game. show: called with the choices when they change. */
  constructor(choices, begin, show) {
    Object.assign(this, { choices, show });
    const { game } = choices;
    element("menu-title").textContent = game.title;
    this.radios = this.opponents(game.opponents);
    for (const seat of [0, 1]) {
      this.select(`character-${seat}`, game.characters, (name) => (choices.characters[seat] = name));
    }
    this.select("first", [{ name: "", label: "You" }, ...game.opponents.filter(({ kind }) => kind !== "person").map(
      ({ id, label }) => ({ name: id, label: `${label}, you watch` }),
    )], (id) => choices.use({ ...choices.all(), first: id }));
    this.select("stage-choice", game.stages, (name) => (choices.stage = name));
    this.range("delay", MOST_DELAY, (value) => (choices.delay = value));
    this.range("temperature", MOST_TEMPERATURE, (value) => (choices.temperature = value));
    element("games").onchange = (event) => this.changed(() => (choices.games = Number(event.target.value)));
    element("person").maxLength = game.name_letters;
    element("person").oninput = (event) => this.changed(() => choices.use(
      { ...choices.all(), person: event.target.value },
    ));
    element("person").onchange = () => this.update();
    element("fight").onclick = begin; // no form: a page in a frame may not be allowed to submit one
    element("choices").onkeydown = ({ key, target, repeat, isComposing }) => {
      if (key === "Enter" && target.tagName === "INPUT" && !repeat && !isComposing) begin();
    };
    this.update();
  }

  opponents(all) {
    const list = element("opponent-list"), radios = new Map();
    let group = null;
    for (const one of all) {
      if (one.group !== group) list.append(make("h3", "", one.group));
      group = one.group;
      const radio = make("input");
      Object.assign(radio, { type: "radio", name: "opponent", value: one.id });
      radio.onchange = () => this.changed(() => this.choices.meet(one.id));
      radios.set(one.id, radio);
      const name = make("span", "name", "", make("bdi", "", one.label));
      list.append(make(
        "label", "opponent", "", radio, name, make("span", "rating", rating(one)),
        make("span", "about", about(one, this.choices.game)),
      ));
    }
    return radios;
  }

  select(id, options, chosen) {
    const select = element(id);
    for (const { name, label } of options) select.add(new Option(label, name));
    select.onchange = () => this.changed(() => chosen(select.value));
  }

  range(id, most, chosen) {
    const input = element(id);
    input.max = most;
    input.oninput = () => this.changed(() => chosen(Number(input.value)));
  }

  changed(change) {
    change();
    this.choices.save();
    this.update();
  }

  update() {
    const { choices } = this, { player } = choices, policy = player.kind === "policy";
    this.radios.get(choices.opponent).checked = true;
    for (const seat of [0, 1]) element(`character-${seat}`).value = choices.characters[seat];
    element("stage-choice").value = choices.stage;
    element("games").value = choices.games;
    if (document.activeElement !== element("person")) element("person").value = choices.person;
    element("first").value = choices.first;
    element("first").disabled = player.kind === "person";
    element("delay-field").hidden = player.kind === "person";
    element("fight").textContent = choices.people ? "Fight" : "Watch";
    element("whose-0").textContent = choices.people ? "Your character" : "First character";
    element("whose-1").textContent = choices.people === 2 ? "The other's character" : "Its character";
    this.updateDelay(player, policy);
    element("temperature-field").hidden = !policy;
    element("temperature").value = choices.temperature;
    element("temperature-told").textContent = temperatureText(choices.temperature);
    const trained = element("trained");
    trained.textContent = trainedText(choices);
    trained.classList.toggle("warn", policy && strange(choices));
    this.updateSpecials();
    element("rated").textContent = ratedText(choices.unrated(), choices.people);
    this.show(choices);
  }

  updateSpecials() {
    const { game, characters } = this.choices, table = element("specials").querySelector("table");
    const chosen = [...new Set(characters)].map((name) => game.characters.find((one) => one.name === name));
    const row = (tag, cells) => make("tr", "", "", ...cells.map((text, n) => make(n ? tag : "th", "", text)));
    const heads = chosen.flatMap(({ label }) => [`${label}, ground`, `${label}, air`]);
    table.tHead.replaceChildren(row("th", ["", ...heads]));
    table.tBodies[0].replaceChildren(...specialRows(chosen, game.special_moves).map((cells) => row("td", cells)));
  }

  updateDelay(player, policy) {
    const { delay } = this.choices, marks = policy ? [player.delay] : [];
    element("delay").value = delay;
    element("delay-marks").replaceChildren(...marks.map((value) => new Option("", value)));
    const person = delay >= PERSON[0] && delay <= PERSON[1] ? ", a person's" : "";
    const trained = policy && delay === player.delay ? ", as trained" : "";
    const ms = Math.round((1000 * delay) / this.choices.game.facts.fps);
    element("delay-told").textContent = `${delay} frames, ${ms} ms${person}${trained}`;
    element("delay").setAttribute("aria-valuetext", element("delay-told").textContent);
    element("delay").title = policy
      ? `Trained with ${player.delay} frames. People react in ${PERSON.join(" to ")}.`
      : "";
  }
}

const names = (list, chosen) => list.find(({ name }) => name === chosen)?.label ?? chosen;

function rating({ elo, interval, kind }) {
  if (kind === "person") return "";
  if (elo === null || elo === undefined) return "not rated";
  const [low, high] = (interval ?? []).map((end) => (end === null ? null : Math.round(end)));
  if (low === high) return `Elo ${Math.round(elo)}`;
  const range = low === null ? `${high} or less` : high === null ? `${low} or more` : `${low} to ${high}`;
  return `Elo ${Math.round(elo)} (${range})`;
}

function about({ about: text, characters, kind }, game) {
  if (kind !== "policy") return text;
  const trained = characters.length ? `${names(game.characters, characters[0])}` : "";
  return [trained, text].filter(Boolean).join(" · ");
}

function strange({ player, characters, stage }) {
  const [its, other = its] = player.characters;
  return its !== characters[1] || other !== characters[0] || player.stage !== stage;
}

function trainedText(choices) {
  const { player, game, characters, stage } = choices;
  if (player.kind === "person") return "Both people, their keys and controllers: see Controls.";
  if (player.kind === "bot") return `${player.label} is scripted and plays any character.`;
  const [its, other = its] = player.characters.map((name) => names(game.characters, name));
  const text = `${player.label} was trained as ${its} against ${other} on ${names(game.stages, player.stage)}.`;
  const news = [
    player.characters[0] !== characters[1] && "as this character",
    (player.characters[1] ?? player.characters[0]) !== characters[0] && "against yours",
    player.stage !== stage && "on this stage",
  ].filter(Boolean);
  return news.length ? `${text} It has never fought ${news.join(", nor ")}.` : text;
}

function temperatureText(temperature) {
  if (temperature === 0) return "0, always the likeliest action";
  return temperature === 1
    ? "1, as trained"
    : `${temperature.toFixed(1)}, ${temperature < 1 ? "surer" : "wilder"} than trained`;
}

function ratedText(differs, people) {
  if (people !== 1) return `Not rated: ${people ? "two people play" : "nobody plays"}.`;
  if (!differs) return "";
  return differs.length ? `Not as in rated games: ${differs.join(", ")}.` : "As in rated games.";
}
