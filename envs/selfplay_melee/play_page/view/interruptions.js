// Every way in which a page stops being alone with the people who play.

const STOOD = 3000; // milliseconds without a refresh, such as under a dialog of the browser

/**
 * Calls ``pause`` with the reason.
 *
 * touched: says whether a touch screen is in use. Then a screen that is turned moves the thumbs off their buttons.
 */
export function watchInterruptions(pause, touched) {
  let last = null; // refresh
  const on = (target, type, why) => target.addEventListener(type, () => {
    const told = why();
    if (told) pause(told);
  });
  on(window, "blur", () => "Another window or frame has the keyboard.");
  on(window, "beforeprint", () => "The page was printed.");
  on(window, "pagehide", () => "The page was left.");
  on(document, "visibilitychange", () => {
    last = null;
    return document.hidden && "The tab was hidden.";
  });
  on(document, "fullscreenchange", () => (document.fullscreenElement ? "Full screen began." : "Full screen ended."));
  on(matchMedia("(orientation: portrait)"), "change", () => touched() && "The screen was turned.");
  const watch = (now) => {
    if (last !== null && now - last > STOOD) pause("The page stood still for some seconds.");
    last = now;
    requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
}
