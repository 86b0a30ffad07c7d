// Playing: what is shown when, and how the user says so.

import { clock, fit } from "./data.js";
import { heat, Stage } from "./draw.js";
import { Chart, facts, Pad } from "./panels.js";

export const element = (id) => document.getElementById(id);
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const SWITCHES = { camera: "follow", circles: "circles" }; // button, and what of the stage it switches
const PLAY = "M8 5v14l11-7z", PAUSE = "M7 5h4v14H7zM13 5h4v14h-4z";

/**
 * What a button does that shows ``root`` on the whole screen, or as before; hidden where the browser denies that.
 *
 * why: called with the reason where it does.
 */
export function fullScreenSwitch(button, root, why = () => {}) {
  const deny = (reason) => {
    button.hidden = true;
    why(reason);
  };
  if (!document.fullscreenEnabled) {
    const framed = window.top !== window;
    deny(framed ? "the frame around this page forbids it." : "this browser has none for pages, as on an iPhone.");
  }
  const denied = ({ message }) => deny(`the browser refused it (${message}).`);
  const change = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
  return () => button.hidden || change().catch(denied);
}

export class Player {
  // Keys that are pressed in ``scope`` are the player's.
  constructor(scope) {
    this.root = element("player");
    this.playing = false;
    for (const speed of SPEEDS) element("speed").add(new Option(`${speed}×`, speed));
    this.listen(scope);
    this.setSpeed(1);
  }

  // Shows a film from the frame where it opens, in place of the one before it.
  open(film) {
    this.film = film;
    this.position = film.opens; // frames of the game since the first, with a fraction while playing
    this.stage = new Stage(element("view"), film);
    this.pads = [0, 1].map((seat) => new Pad(element(`pad-${seat}`), film, seat));
    this.charts = [new Chart(
      element("percents"), film, (t, seat) => film.percent[2 * t + seat] / film.units.percent, 0,
      Math.max(100, film.highest_percent),
    )];
    element("values-chart").hidden = !film.values;
    if (film.values) {
      const reach = film.highest_value;
      this.charts.push(new Chart(element("values"), film, (t, seat) => film.values[2 * t + seat], -reach, reach));
    }
    for (const [button, what] of Object.entries(SWITCHES)) {
      this.stage[what] = element(button).getAttribute("aria-pressed") === "true";
    }
    this.texts();
    this.resize();
    this.pause();
  }

  get frame() {
    return Math.min(Math.floor(this.position + 1e-6), this.film.length - 1);
  }

  texts() {
    const { film } = this;
    for (const seat of [0, 1]) {
      element(`name-${seat}`).textContent = element(`card-${seat}`).textContent = film.names[seat];
    }
    const characters = [0, 1].map((seat) => film.looks[film.look[seat]].name).join(" vs ");
    element("about").textContent = [
      characters, film.stage, clock(film.length, film.fps), film.title,
    ].filter(Boolean).join(" · ");
    element("seek").max = film.length - 1;
  }

  listen(scope) {
    element("play").onclick = element("view").onclick = () => this.toggle();
    element("back").onclick = () => this.step(-1);
    element("next").onclick = () => this.step(1);
    element("seek").oninput = (event) => this.seek(Number(event.target.value));
    element("speed").onchange = (event) => this.setSpeed(Number(event.target.value));
    for (const button of Object.keys(SWITCHES)) element(button).onclick = () => this.press(button);
    this.fullScreen = fullScreenSwitch(element("full"), element("screen"));
    element("full").onclick = () => this.fullScreen();
    for (const canvas of this.root.querySelectorAll("figure canvas")) {
      const seek = (event) => this.seek(Math.round((event.offsetX / canvas.clientWidth) * (this.film.length - 1)));
      canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); seek(event); };
      canvas.onpointermove = (event) => { if (event.buttons) seek(event); };
    }
    scope.addEventListener("keydown", (event) => this.key(event));
    const seen = new ResizeObserver(() => this.resize());
    for (const canvas of this.root.querySelectorAll("canvas")) seen.observe(canvas);
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => this.resize());
  }

  key(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.tagName === "SELECT") return;
    if (target.tagName === "BUTTON" && (key === " " || key === "Enter")) return; // the button's own
    const stride = event.shiftKey ? this.film.fps : 1;
    const actions = {
      " ": () => this.toggle(), ArrowLeft: () => this.step(-stride), ArrowRight: () => this.step(stride),
      "[": () => this.faster(-1), "]": () => this.faster(1), Home: () => this.seek(0),
      End: () => this.seek(this.film.length - 1),
      c: () => this.press("camera"), h: () => this.press("circles"), f: () => this.fullScreen(),
    };
    if (!Object.hasOwn(actions, key)) return;
    event.preventDefault();
    actions[key]();
  }

  toggle() {
    this.playing ? this.pause() : this.play();
  }

  play() {
    if (this.frame >= this.film.length - 1) this.position = 0;
    this.setPlaying(true);
  }

  pause() {
    this.position = this.frame;
    this.setPlaying(false);
  }

  setPlaying(playing) {
    this.playing = playing;
    this.root.dataset.playing = playing;
    this.wake();
    element("play").setAttribute("aria-label", playing ? "Pause" : "Play");
    element("play-icon").setAttribute("d", playing ? PAUSE : PLAY);
  }

  step(frames) {
    this.pause();
    this.seek(this.frame + frames);
  }

  seek(frame) {
    this.position = Math.min(Math.max(frame, 0), this.film.length - 1);
    this.wake();
  }

  faster(steps) {
    const at = SPEEDS.indexOf(this.speed) + steps;
    this.setSpeed(SPEEDS[Math.min(Math.max(at, 0), SPEEDS.length - 1)]);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.root.dataset.speed = element("speed").value = speed;
  }

  press(button) {
    const what = SWITCHES[button];
    this.stage[what] = !this.stage[what];
    element(button).setAttribute("aria-pressed", this.stage[what]);
    this.redraw();
  }

  resize() {
    if (!this.film) return;
    for (const canvas of this.root.querySelectorAll("canvas")) fit(canvas);
    this.stage.recolour();
    for (const chart of this.charts) chart.recolour(this.stage.colour);
    this.redraw();
  }

  redraw() {
    this.shown = -1;
    this.wake();
  }

  // Draws the next picture; while nothing changes none is.
  wake() {
    this.waiting ??= requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.waiting = null;
    if (this.playing) {
      this.position += (Math.min(now - (this.last ?? now), 100) / 1000) * this.film.fps * this.speed;
      if (this.position >= this.film.length - 1) {
        this.position = this.film.length - 1;
        this.setPlaying(false);
      }
    }
    this.last = this.playing ? now : null;
    if (this.shown !== this.frame) this.show(this.frame);
    if (this.playing) this.wake();
  }

  show(frame) {
    const { film } = this, t = film.moments[frame];
    const [now, end] = [frame, film.length - 1].map((frames) => clock(frames, film.fps));
    this.shown = frame;
    this.stage.draw(t);
    for (const pad of this.pads) pad.draw(t, this.stage.colour);
    for (const chart of this.charts) chart.draw(frame);
    for (const seat of [0, 1]) this.card(t, seat);
    element("time").textContent = `${now} / ${end}   frame ${film.frames[t]}`;
    element("seek").value = frame;
    element("seek").setAttribute("aria-valuetext", `${now} of ${end}`);
    this.root.dataset.frame = frame;
  }

  card(t, seat) {
    const percent = this.film.percent[2 * t + seat] / this.film.units.percent, shown = element(`percent-${seat}`);
    const list = element(`facts-${seat}`);
    shown.textContent = `${Math.floor(percent)}%`;
    shown.style.color = heat(percent, this.stage.colour);
    facts(this.film, t, seat).forEach(([name, value], row) => {
      if (!list.children[2 * row]) list.append(document.createElement("dt"), document.createElement("dd"));
      list.children[2 * row].textContent = name;
      list.children[2 * row + 1].textContent = value;
    });
  }
}
