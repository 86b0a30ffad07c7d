// Small tools for drawings that follow width and colours of the page.

// An SVG element with attributes and children.
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function html(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Round numbers, 1, 2 or 5 times a power of ten apart, from low to high.
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? 10 * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
}

export function short(value) {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= unit) return `${+(value / (letter === "k" ? 1e3 : unit)).toPrecision(3)}${letter}`;
  }
  return size >= 100 ? value.toFixed(0) : String(+value.toPrecision(3));
}

// A number with its sign, if it is not 0 as written.
export function signed(value, decimals) {
  const text = Math.abs(value).toFixed(decimals);
  return +text === 0 ? text : `${value > 0 ? "+" : "−"}${text}`;
}

// Draws again whenever the place of the drawing changes its width; returns what draws again because the data changed.
// That waits while the place is out of sight, and while the pointer is on it, which has a box of text there.
export function follow(place, draw) {
  let width = 0, seen = false, late = false;
  const again = () => {
    late = !seen || place.matches(":hover");
    if (width && !late) place.replaceChildren(draw(width));
  };
  new ResizeObserver(() => {
    if (Math.round(place.clientWidth) === width) return;
    width = Math.round(place.clientWidth);
    if (width) place.replaceChildren(draw(width));
  }).observe(place);
  new IntersectionObserver(([entry]) => {
    seen = entry.isIntersecting;
    if (seen && late) again();
  }).observe(place);
  return again;
}

// A box with lines of text beside the pointer; without lines it goes away.
export function tip(event, lines) {
  const box = document.getElementById("tip");
  box.hidden = !lines;
  if (!lines) return;
  box.replaceChildren(...lines.map((line) => html("div", {}, line)));
  const { innerWidth, innerHeight } = window, x = event.clientX, y = event.clientY;
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.offsetWidth - 4))}px`;
  box.style.top = `${y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 12 : y + 18}px`;
}
