// A page on which a person fights: reads the data of the page, and leads from screen to screen.

import { readMoment } from "../../../../selfplay_melee/browser/moment.js";
import { loadRules } from "../../../../selfplay_melee/browser/rules.js";
import { LiveFilm } from "../../../../selfplay_melee/browser/scene.js";
import { Policy } from "../../../policy/browser/policy.js";
import { Stage } from "../../fight/player/draw.js";
import { fit } from "../../fight/player/data.js";
import { element, fullScreenSwitch } from "../../fight/player/player.js";
import { Arena } from "./arena.js";
import { Choices, plainName, SECOND_PERSON } from "./choices.js";
import { Controls } from "./controls.js";
import { ControlsPanel } from "./controls_panel.js";
import { browserStorage, steer } from "./dom.js";
import { aboutDevice, playHint } from "./hints.js";
import { Loop } from "./loop.js";
import { Match } from "./match.js";
import { Menu } from "./menu.js";
import { unpack, unpackAll } from "./packing.js";
import { PersonRating } from "./person_rating.js";
import { RatingView } from "./rating_view.js";
import { askKept, RemoteSeat, sendGame } from "./remote.js";
import { ResultScreen } from "./result.js";
import { LINK_KEY, playAgain, readGame } from "./share.js";
import { Sound } from "./sound.js";

const SCREENS = ["menu", "arena", "result"];
const LONGEST = 200; // letters of a title
const SETTLED = 700; // milliseconds; a button that is still pressed from the fight leads nowhere

class PlayPage {
  constructor(game, rules, tables) {
    Object.assign(this, { game, rules, tables, policies: new Map(), won: [0, 0] });
    const storage = browserStorage();
    this.controls = new Controls(window, storage, game.facts.controller);
    this.controls.onCommand = (command, why) => this.command(command, why);
    this.controls.onDevice = () => this.useDevice();
    this.sound = new Sound(window, storage, matchMedia("(pointer: coarse)").matches);
    this.arena = new Arena(this.controls, this.sound, game, (match) => this.ended(match));
    this.result = new ResultScreen(game.openings, Boolean(game.server), () => this.again(), () => this.show("menu"));
    this.panel = new ControlsPanel(element("controls-root"), this.controls, game.facts);
    this.choices = new Choices(game, storage);
    this.rating = new PersonRating(game, storage);
    this.ratingView = new RatingView(this.rating, () => this.choices.person, (player) => this.meet(player));
    this.menu = new Menu(this.choices, () => this.begin(), (choices) => this.preview(choices));
    this.dialog = element("controls-dialog");
    for (const id of ["open-controls", "pause-controls"]) element(id).onclick = () => this.openControls();
    element("close-controls").onclick = () => this.dialog.close();
    this.dialog.onclose = () => {
      this.panel.close();
      this.useDevice();
    };
    this.dialog.addEventListener("cancel", (event) => event.preventDefault());
    element("restart").onclick = () => this.restart();
    element("quit").onclick = () => this.quit();
    for (const id of ["menu-sound", "pause-sound"]) element(id).onclick = () => this.setSound(!this.sound.on);
    this.setSound(this.sound.on);
    const full = element("menu-full");
    full.onclick = fullScreenSwitch(full, element("game-root"), (why) => {
      element("full-note").textContent = `No full screen: ${why}`;
    });
    new ResizeObserver(() => this.menu.update()).observe(element("preview"));
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => this.menu.update());
    this.loop = new Loop(() => this.arena.frame(), () => this.arena.draw(), (error) => this.failed(error));
    this.loop.start();
    this.show("menu");
    this.opening = Promise.resolve(); // links are opened one after the other
    window.onhashchange = () => this.openLink();
    this.openLink();
  }

  show(screen) {
    this.screen = screen;
    this.since = performance.now();
    this.useDevice();
    tell("");
    for (const id of SCREENS) element(id).hidden = id !== screen;
    element("game-root").dataset.screen = screen;
    if (screen === "menu" || screen === "result") this.ratingView.under(element(screen).querySelector(".top"));
    if (screen === "menu") {
      this.menu.update();
      element("choices").querySelector(".primary").focus();
    }
    if (screen === "result") element("result-title").focus();
    window.scrollTo(0, 0);
  }

  setSound(on) {
    if (on !== this.sound.on) this.sound.set(on);
    for (const id of ["menu-sound", "pause-sound"]) element(id).textContent = `Sound ${this.sound.on ? "on" : "off"}`;
  }

  /** Hints for the device in use, and the buttons of a touch screen. */
  useDevice() {
    const { people, names } = this.choices, hint = playHint(this.controls, names.slice(0, people));
    element("game-root").dataset.device = this.controls.device;
    element("menu-about").textContent = aboutDevice(this.controls);
    element("keys-hint").textContent = hint;
    this.arena.useDevice(hint);
  }

  command(command, why) {
    if (this.dialog.open) return command === "back" ? this.dialog.close() : steer(this.dialog, command);
    if (this.screen === "arena" && !this.arena.paused) return command === "pause" && this.arena.pause(why);
    if (this.screen === "arena") {
      return command === "back" ? this.arena.back() : steer(element("pause-menu"), command);
    }
    if (performance.now() - this.since < SETTLED) return;
    if (this.screen === "result" && command === "back") return this.show("menu");
    steer(element(this.screen), command);
  }

  openControls() {
    this.dialog.showModal();
    this.panel.open();
  }

  /** What was chosen: the hints of those who play, and the stage and both characters as the fight begins. */
  preview(choices) {
    this.controls.people = choices.people;
    this.useDevice();
    this.ratingView.update();
    const canvas = element("preview");
    if (this.arena.match || !canvas.clientWidth) return;
    const { rules, game, tables } = this, stage = choices.stageId, characters = choices.characterIds;
    rules.start({ seed: 0n, stage, characters, options: game.options });
    const film = new LiveFilm(game.facts, tables, {
      stage, characters, names: choices.names, title: "", longest: 2,
    });
    film.record(readMoment(rules, game.facts.item_kinds, [NaN, NaN]));
    fit(canvas);
    new Stage(canvas, film).draw(0);
  }

  /** A game with an opponent as rated ones are. */
  meet(player) {
    this.choices.meetRated(player.id);
    this.menu.update();
    this.begin();
  }

  begin() {
    this.won = [0, 0];
    this.choices.save();
    this.fight();
  }

  fight() {
    this.start().catch((error) => this.failed(error));
  }

  /** Starts the next game of the series, or the first of a new one. */
  async start() {
    const { choices, game } = this, { player, watched, people, delay, temperature } = choices;
    if (this.decided) this.won = [0, 0];
    const setup = {
      version: game.sources,
      seed: randomSeed(),
      stage: choices.stageId,
      characters: choices.characterIds,
      names: choices.names,
      delay: [watched?.delay ?? 0, people === 2 ? 0 : delay],
      options: game.options,
    };
    const seats = [
      watched ? await this.seat(watched, 1) : { kind: "person" }, await this.seat(player, temperature),
    ];
    this.show("arena");
    const match = new Match(this.rules, game.facts, this.tables, setup, seats);
    const characters = setup.characters.map((number) => game.characters.find(({ id }) => id === number));
    this.arena.begin(match, [watched ? null : 0, people === 2 ? 1 : null], this.score, characters);
    this.useDevice();
  }

  async seat(player, temperature) {
    if (player.kind === "person") return { kind: "person" };
    if (player.kind === "bot") return { kind: "bot", bot: player.bot, name: player.id };
    const { id, description, remote } = player, { frame_skip: skip, weights_hash } = description;
    const seat = remote ? new RemoteSeat(this.game.server, player, 0n) : (await this.policy(player)).seat(0n);
    return { kind: "policy", seat, skip, temperature, id, weights_hash };
  }

  async policy({ id, description, weights }) {
    if (!this.policies.has(id)) this.policies.set(id, new Policy(description, await unpack(weights)));
    return this.policies.get(id);
  }

  get decided() {
    return Math.max(...this.won) > this.choices.games / 2;
  }

  get score() {
    return this.choices.games > 1 ? `Best of three: ${this.won.join(" – ")}` : "";
  }

  ended(match) {
    if (match.winner !== null) this.won[match.winner]++;
    this.rate(match);
    const [median, most] = this.loop.spent;
    element("game-root").dataset.script = `${median.toFixed(2)} ${most.toFixed(2)}`;
    this.show("result");
    element("to-menu").hidden = false;
    const next = this.choices.games > 1 && !this.decided ? "Next game" : "Rematch";
    this.result.show(match, this.choices.people, settingsText(this.choices), this.score, next);
    this.linked = false;
    if (this.choices.people !== 1) this.result.tell("Not rated: only games of one person against an opponent are.");
    else if (this.game.server) this.send(match);
  }

  /** Keeps the result of a game that was as rated ones are. */
  rate({ winner }) {
    const { person, player } = this.choices;
    if (this.choices.counts) this.rating.add(person, player, winner === null ? 0.5 : Number(winner === 0));
  }

  /** Gives a game to the server, which may take a moment. */
  async send(match) {
    const answer = (text) => { if (this.result.match === match) this.result.tell(text); };
    try {
      answer("Sending the game…");
      const { server } = this.game;
      let said = await sendGame(server, match.document());
      answer(said.message);
      // oxlint-disable-next-line no-await-in-loop -- questions follow one another
      while (said.waiting !== undefined) answer((said = await askKept(server, said.waiting)).message);
    } catch (error) {
      answer(`Not kept: ${error.message}`);
    }
  }

  // The menu says why a game cannot be played; another one may.
  failed(error) {
    this.quit();
    tell(`This game cannot be played: ${error.message}`);
  }

  /** Shows the game of the address, if it has one that is not shown yet. */
  openLink() {
    const packed = location.hash.startsWith(`#${LINK_KEY}`) ? location.hash.slice(1 + LINK_KEY.length) : "";
    if (packed && location.hash !== this.result.link) this.opening = this.opening.then(() => this.showLink(packed));
  }

  async showLink(packed) {
    this.arena.leave();
    this.show("none");
    tell("Playing the game of the link again…");
    const pause = () => new Promise((resolve) => { setTimeout(resolve); });
    try {
      const game = await readGame(packed, this.game);
      const match = await playAgain(game, this.rules, this.game, this.tables, pause);
      match.film.names = game.names.map((name, seat) => (name === this.game.nameless ? `Player ${seat + 1}` : name));
      this.show("result");
      element("to-menu").hidden = this.linked = true;
      this.result.show(match, 0, linkText(game), "", "Play yourself");
    } catch (error) {
      this.show("menu");
      tell(`The game of this link cannot be shown: ${error.message}.`);
    }
  }

  /** After a game the next one; after that of a link the menu. */
  again() {
    return this.linked ? this.show("menu") : this.fight();
  }

  restart() {
    this.arena.leave();
    this.fight();
  }

  quit() {
    this.arena.leave();
    this.show("menu");
  }
}

function settingsText({ player, delay, temperature }) {
  if (player.kind === "person") return "two people";
  return [
    `reaction ${delay} frames`, player.kind === "policy" && `temperature ${temperature}`,
  ].filter(Boolean).join(", ");
}

function linkText({ seats, delay }) {
  return [
    "from a link", ...seats.map(({ kind }, seat) => kind !== "person" && `reaction ${delay[seat]} frames`),
  ].filter(Boolean).join(", ");
}

function randomSeed() {
  const [low, high] = crypto.getRandomValues(new Uint32Array(2));
  return (BigInt(high >>> 2) << 32n) | BigInt(low);
}

function tell(text) {
  element("told").textContent = text;
  element("told").hidden = !text;
}

async function open() {
  const game = JSON.parse(element("game").textContent);
  game.title = plainName(game.title, LONGEST);
  for (const one of game.opponents) one.label = plainName(one.label) || "?";
  game.opponents.push(SECOND_PERSON);
  const [module, tableBytes, tables] = await Promise.all([
    unpack(game.rules), unpack(game.tables), unpackAll(game.figures),
  ]);
  return new PlayPage(game, await loadRules(module, tableBytes), tables);
}

open().catch((error) => tell(`This browser cannot show the page: ${error.message}`));
