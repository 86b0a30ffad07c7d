// The film as typed arrays. What stands interleaved by seat has seat s of moment t at [2 * t + s]. Numbers are in steps
// of `units`, flags have the `bits` of `film_facts` in selfplay_melee/drawing/columns.py.

export const NUMBER_TYPES = {
  i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array, i32: Int32Array, u32: Uint32Array,
  f32: Float32Array,
};

export function numbers({ type, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return new NUMBER_TYPES[type](bytes.buffer);
}

export function readFilm(text) {
  const film = JSON.parse(text);
  for (const [name, column] of Object.entries(film.columns)) film[name] = column && numbers(column);
  film.first = film.frames[0];
  film.last = film.frames[film.frames.length - 1];
  film.length = film.last - film.first + 1; // in frames of the game
  film.moments = new Uint32Array(film.length); // the moment to show on each frame
  for (let frame = 0, t = 0; frame < film.length; frame++) {
    while (t + 1 < film.frames.length && film.frames[t + 1] - film.first <= frame) t++;
    film.moments[frame] = t;
  }
  return film;
}

export function clock(frames, fps) {
  const seconds = Math.abs(frames) / fps, minutes = Math.floor(seconds / 60);
  return `${frames < 0 ? "-" : ""}${minutes}:${(seconds - 60 * minutes).toFixed(2).padStart(5, "0")}`;
}

// The colours of the style sheet by name, as they are now.
export function readColours() {
  const style = getComputedStyle(document.documentElement), known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name);
  };
}

export function mix(colour, other, share) {
  return `color-mix(in srgb, ${colour}, ${other} ${Math.round(100 * share)}%)`;
}

// Sizes a canvas to its place on the page; true where that changed it.
export function fit(canvas) {
  const density = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * density));
  const height = Math.max(1, Math.round(canvas.clientHeight * density));
  if (canvas.width === width && canvas.height === height) return false;
  canvas.width = width;
  canvas.height = height;
  return true;
}
