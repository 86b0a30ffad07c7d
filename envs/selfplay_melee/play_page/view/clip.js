// Some seconds of a film as a video file, recorded while they are drawn.

import { Stage } from "../../fight/player/draw.js";

const SIZE = [960, 540];
const RATE = 60; // pictures a second
const BITS = 6e6; // a second
const TAIL_MS = 300; // for which the last picture stays
const TYPES = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

/** The kind of video that this browser records of a canvas; undefined: none. */
export function clipType() {
  if (!globalThis.MediaRecorder || !HTMLCanvasElement.prototype.captureStream) return undefined;
  return TYPES.find((type) => MediaRecorder.isTypeSupported(type));
}

/**
 * A promise of the file, a Blob. Takes as long as the clip.
 *
 * from, frames: of the film. type: of `clipType`. Throws an Error where the tab was hidden meanwhile, which stops time.
 */
export async function recordClip(film, from, frames, type) {
  const canvas = document.createElement("canvas"), parts = [];
  [canvas.width, canvas.height] = SIZE;
  const stage = new Stage(canvas, film);
  stage.circles = false;
  stage.draw(film.moments[from]);
  const recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: type, videoBitsPerSecond: BITS });
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const stopped = new Promise((resolve, reject) => {
    recorder.onstop = resolve;
    recorder.onerror = ({ error }) => reject(error ?? new Error("the browser stopped it"));
  });
  await new Promise((resolve) => {
    recorder.onstart = resolve;
    recorder.start();
  });
  const shown = await drawAll(stage, from, Math.min(from + frames, film.length));
  if (recorder.state !== "inactive") recorder.stop();
  await stopped;
  if (!shown) throw new Error("the tab was hidden");
  return new Blob(parts, { type: type.split(";", 1)[0] });
}

/** Draws frames as time goes by; a promise of whether the tab was visible all the time. */
function drawAll(stage, from, end) {
  const { film } = stage;
  return new Promise((resolve) => {
    let start = null;
    const next = (now) => {
      start ??= now;
      const frame = from + Math.floor(((now - start) / 1000) * film.fps);
      if (document.hidden || frame >= end + (TAIL_MS / 1000) * film.fps) return resolve(!document.hidden);
      stage.draw(film.moments[Math.min(frame, end - 1)]);
      requestAnimationFrame(next);
    };
    document.addEventListener("visibilitychange", () => resolve(false), { once: true });
    requestAnimationFrame(next);
  });
}
