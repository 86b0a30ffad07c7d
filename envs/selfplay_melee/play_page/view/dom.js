// Small helpers for elements. Texts of others only ever become text.

/** An element with a class and a text, around other elements. */
export function make(tag, className = "", text = "", ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

/** The storage of the browser; null where the page may have none. */
export function browserStorage() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

const FOCUSED = "button, select, input, a[href]";

/** What a controller does in a menu: moves the focus, changes a value, presses a button. */
export function steer(root, command) {
  const all = Array.from(root.querySelectorAll(FOCUSED)).filter(
    (one) => !one.disabled && one.getClientRects().length && (one.type !== "radio" || one.checked),
  );
  const now = document.activeElement, at = all.indexOf(now);
  if (command === "confirm") {
    return at < 0 || now.type === "range" ? root.querySelector(".primary")?.click() : now.click();
  }
  if (command === "up" || command === "down") {
    return all.at((at + (command === "down" ? 1 : -1) + (at < 0 && command === "up")) % all.length)?.focus();
  }
  if (command === "left" || command === "right") change(now, command === "right" ? 1 : -1);
}

function change(control, step) {
  if (control.type === "range") step > 0 ? control.stepUp() : control.stepDown();
  else if (control.tagName === "SELECT") control.selectedIndex = Math.min(
    Math.max(control.selectedIndex + step, 0), control.length - 1,
  );
  else if (control.type === "radio") return turn(control, step);
  control.dispatchEvent(new Event("input", { bubbles: true }));
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

function turn(radio, step) {
  const all = Array.from(document.getElementsByName(radio.name));
  const next = all.at((all.indexOf(radio) + step) % all.length);
  next.focus();
  next.click();
}
