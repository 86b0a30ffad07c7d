// A page on which a person fights: reads the data of the page, and leads from screen to screen.

import { readMoment } from "../../../../selfplay_melee/browser/moment.js";
import { loadRules } from "../../../../selfplay_melee/browser/rules.js";
import { LiveFilm } from "../../../../selfplay_melee/browser/scene.js";
import { Policy } from "../../../policy/browser/policy.js";
import { Stage } from "../../fight/player/draw.js";
import { fit } from "../../fight/player/data.js";
import { element } from "../../fight/player/player.js";
import { Arena } from "./arena.js";
import { Choices, plainName } from "./choices.js";
import { Controls } from "./controls.js";
import { ControlsPanel } from "./controls_panel.js";
import { browserStorage, steer } from "./dom.js";
import { Loop } from "./loop.js";
import { Match } from "./match.js";
import { Menu } from "./menu.js";
import { unpack, unpackAll } from "./packing.js";
import { RemoteSeat, sendGame } from "./remote.js";
import { ResultScreen } from "./result.js";

const SCREENS = ["menu", "arena", "result"];
const LONGEST = 200; // letters of a title
const SETTLED = 700; // milliseconds; a button that is still pressed from the fight leads nowhere

class PlayPage {
  constructor(game, rules, tables) {
    Object.assign(this, { game, rules, tables, policies: new Map(), won: [0, 0] });
    const storage = browserStorage();
    this.controls = new Controls(window, storage, game.facts.controller);
    this.controls.onCommand = (command) => this.command(command);
    this.arena = new Arena(this.controls, (match) => this.ended(match));
    this.result = new ResultScreen(game.openings, () => this.fight(), () => this.show("menu"));
    this.panel = new ControlsPanel(element("controls-root"), this.controls, game.facts);
    this.choices = new Choices(game, storage);
    this.menu = new Menu(this.choices, () => this.begin(), (choices) => this.preview(choices));
    this.dialog = element("controls-dialog");
    for (const id of ["open-controls", "pause-controls"]) element(id).onclick = () => this.openControls();
    element("close-controls").onclick = () => this.dialog.close();
    this.dialog.onclose = () => {
      this.panel.close();
      element("keys-hint").textContent = this.keysHint();
    };
    this.dialog.addEventListener("cancel", (event) => event.preventDefault());
    element("restart").onclick = () => this.restart();
    element("quit").onclick = () => this.quit();
    new ResizeObserver(() => this.menu.update()).observe(element("preview"));
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => this.menu.update());
    this.loop = new Loop(() => this.arena.frame(), () => this.arena.draw(), (error) => this.failed(error));
    this.loop.start();
    this.show("menu");
  }

  show(screen) {
    this.screen = screen;
    this.since = performance.now();
    element("keys-hint").textContent = this.keysHint();
    tell("");
    for (const id of SCREENS) element(id).hidden = id !== screen;
    element("game-root").dataset.screen = screen;
    if (screen === "menu") {
      this.menu.update();
      element("choices").querySelector(".primary").focus();
    }
    if (screen === "result") element("result-title").focus();
    window.scrollTo(0, 0);
  }

  command(command) {
    if (this.dialog.open) return command === "back" ? this.dialog.close() : steer(this.dialog, command);
    if (this.screen === "arena" && !this.arena.paused) return command === "pause" && this.arena.pause();
    if (this.screen === "arena") {
      return command === "back" ? this.arena.resume() : steer(element("pause-menu"), command);
    }
    if (performance.now() - this.since < SETTLED) return;
    if (this.screen === "result" && command === "back") return this.show("menu");
    steer(element(this.screen), command);
  }

  keysHint() {
    const key = (...controls) => controls.map((control) => this.controls.keyLabel(control)).join(" ");
    const moves = key("main_up", "main_left", "main_down", "main_right");
    const acts = { attack: "A", special: "B", jump: "X", shield: "L", grab: "Z" };
    const hits = Object.entries(acts).map(([act, control]) => `${act} ${key(control)}`);
    return [`Move ${moves}`, ...hits, "pause Escape"].join(" · ");
  }

  openControls() {
    this.dialog.showModal();
    this.panel.open();
  }

  /** The stage and both characters, as the fight begins. */
  preview(choices) {
    const canvas = element("preview");
    if (this.arena.match || !canvas.clientWidth) return;
    const { rules, game, tables } = this, stage = choices.stageId, characters = choices.characterIds;
    rules.start({ seed: 0n, stage, characters, options: game.options });
    const film = new LiveFilm(game.facts, tables, {
      stage, characters, names: [choices.person, choices.player.label], title: "", longest: 2,
    });
    film.record(readMoment(rules, game.facts.item_kinds.laser, [NaN, NaN]));
    fit(canvas);
    new Stage(canvas, film).draw(0);
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
    const { choices, game } = this, { player, delay, temperature } = choices;
    if (this.decided) this.won = [0, 0];
    const setup = {
      version: game.sources,
      seed: randomSeed(),
      stage: choices.stageId,
      characters: choices.characterIds,
      names: [choices.person, player.label],
      delay: [0, delay],
      options: game.options,
    };
    const seats = [{ kind: "person" }, await this.seat(player, temperature)];
    this.show("arena");
    this.arena.begin(
      new Match(this.rules, game.facts, this.tables, setup, seats), this.score, this.keysHint(), game.options.cap,
    );
  }

  async seat(player, temperature) {
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
    const [median, most] = this.loop.spent;
    element("game-root").dataset.script = `${median.toFixed(2)} ${most.toFixed(2)}`;
    this.show("result");
    this.result.show(
      match, settingsText(this.choices), this.score, this.choices.games > 1 && !this.decided ? "Next game" : "Rematch",
    );
    if (this.game.server) this.send(match);
  }

  /** Gives a game to the server, which may take a moment. */
  async send(match) {
    const answer = (text) => { if (this.result.match === match) this.result.tell(text); };
    try {
      answer("Sending the game…");
      const { message } = await sendGame(this.game.server, match.document());
      answer(message);
    } catch (error) {
      answer(`Not kept: ${error.message}`);
    }
  }

  // The menu says why a game cannot be played; another one may.
  failed(error) {
    this.quit();
    tell(`This game cannot be played: ${error.message}`);
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
  return [
    `reaction ${delay} frames`, player.kind === "policy" && `temperature ${temperature}`,
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
  const [module, tableBytes, tables] = await Promise.all([
    unpack(game.rules), unpack(game.tables), unpackAll(game.figures),
  ]);
  return new PlayPage(game, await loadRules(module, tableBytes), tables);
}

open().catch((error) => tell(`This browser cannot show the page: ${error.message}`));
