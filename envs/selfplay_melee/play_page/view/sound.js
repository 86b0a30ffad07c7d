// Sounds of a fight, made by WebAudio; there are no files.

const STORED = "selfplay.sound.1";
const LOUD = 0.5;
const HARD = 25; // percent of the loudest hit

/** Off at first on a phone. The choice is kept. Where the browser allows no audio, nothing is heard. */
export class Sound {
  #context = null;
  #out = null;
  #noise = null;

  // target: window. storage: localStorage, or null. phone: whether it is one.
  constructor(target, storage, phone) {
    this.storage = storage;
    this.target = target;
    this.on = !phone;
    try {
      const kept = storage?.getItem(STORED);
      if (kept === "on" || kept === "off") this.on = kept === "on";
    } catch {
      // the default
    }
    // Browsers allow audio after a gesture; one that is made before logs a warning.
    for (const type of ["pointerup", "click", "keydown"]) target.addEventListener(type, () => this.wake(), true);
  }

  set(on) {
    this.on = on;
    this.wake();
    try {
      this.storage?.setItem(STORED, on ? "on" : "off");
    } catch {
      // it lasts as long as the page
    }
  }

  wake() {
    const { navigator, AudioContext } = this.target;
    if (!this.on || !AudioContext || navigator.userActivation?.isActive === false) return;
    try {
      this.#context ??= new AudioContext();
      if (this.#context.state === "suspended") this.#context.resume().catch(() => {});
    } catch {
      this.on = false; // a page may have only so many
    }
  }

  /** percent: the damage. */
  hit(percent) {
    const hard = Math.min(percent / HARD, 1);
    this.#rush(0.05 + 0.12 * hard, 0.3 + 0.7 * hard, 2600 - 1400 * hard);
    this.#tone("sine", 190 - 70 * hard, 50, 0.09 + 0.14 * hard, 0.4 + 0.6 * hard);
  }

  shield() {
    this.#tone("triangle", 880, 620, 0.09, 0.35);
    this.#rush(0.03, 0.2, 5000);
  }

  lost() {
    this.#rush(0.7, 1, 900);
    this.#tone("sawtooth", 320, 40, 0.7, 0.5);
  }

  /** last: the fight begins with it. */
  count(last) {
    this.#tone("square", last ? 784 : 392, last ? 784 : 392, last ? 0.3 : 0.1, 0.18);
  }

  #ready() {
    if (!this.on || this.#context?.state !== "running") return null;
    if (this.#out) return this.#context;
    const context = this.#context;
    this.#out = new DynamicsCompressorNode(context); // many hits at once stay clean
    this.#out.connect(new GainNode(context, { gain: LOUD })).connect(context.destination);
    this.#noise = new AudioBuffer({ length: context.sampleRate, sampleRate: context.sampleRate });
    const data = this.#noise.getChannelData(0);
    for (let n = 0, seed = 7; n < data.length; n++) {
      seed = (seed * 16807) % 2147483647;
      data[n] = seed / 1073741823.5 - 1;
    }
    return context;
  }

  #tone(type, from, to, seconds, gain) {
    const context = this.#ready();
    if (!context) return;
    const tone = new OscillatorNode(context, { type, frequency: from });
    tone.frequency.exponentialRampToValueAtTime(to, context.currentTime + seconds);
    this.#play(tone, seconds, gain);
  }

  #rush(seconds, gain, frequency) {
    const context = this.#ready();
    if (!context) return;
    const rush = new AudioBufferSourceNode(context, { buffer: this.#noise });
    const filter = new BiquadFilterNode(context, { type: "lowpass", frequency });
    this.#play(rush, seconds, gain, filter);
  }

  #play(source, seconds, gain, filter = null) {
    const context = this.#context, now = context.currentTime, fade = new GainNode(context, { gain });
    fade.gain.setValueAtTime(gain, now);
    fade.gain.exponentialRampToValueAtTime(0.001, now + seconds);
    (filter ? source.connect(filter) : source).connect(fade).connect(this.#out);
    source.start(now);
    source.stop(now + seconds);
  }
}
