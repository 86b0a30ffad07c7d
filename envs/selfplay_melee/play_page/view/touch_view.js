// The stick and the buttons of a touch screen: where they are, and the thumbs on them.

import { element } from "../../fight/player/player.js";
import { make } from "./dom.js";
import { TOUCH_BUTTONS } from "./touch.js";

const REACH = [0.12, 40, 60]; // of the shorter side of the screen; pixels at least and at most
const LEFT = 0.55; // of the width, where the stick can begin

export class TouchView {
  // root: the element on which thumbs play. touch: Touch. playing: says whether a fight goes on.
  constructor(root, touch, playing) {
    Object.assign(this, { root, touch });
    this.box = element("touch");
    this.knob = element("touch-stick");
    this.buttons = Object.entries(TOUCH_BUTTONS).map(([control, text]) => {
      const button = make("span", `touch-button touch-${control}`, text);
      element("touch-buttons").append(button);
      return [control, button];
    });
    const own = (event) => event.target.closest?.("button, dialog");
    // Else the browser would zoom, select, or press what is below.
    root.addEventListener("touchstart", (event) => { if (!own(event)) event.preventDefault(); }, { passive: false });
    root.addEventListener("contextmenu", (event) => { if (!own(event)) event.preventDefault(); });
    const listen = (type, take) => root.addEventListener(type, (event) => {
      if (event.pointerType !== "mouse") take(event);
    });
    const playable = (event) => playing() && !this.box.hidden && !own(event);
    listen("pointerdown", (event) => { if (playable(event)) touch.down(...thumb(event)); });
    listen("pointermove", (event) => touch.move(...thumb(event)));
    for (const type of ["pointerup", "pointercancel"]) listen(type, (event) => touch.up(event.pointerId));
    new ResizeObserver(() => this.place()).observe(root);
  }

  show(shown) {
    this.box.hidden = !shown;
    if (shown) this.place();
    else this.touch.release();
  }

  place() {
    if (this.box.hidden) return;
    const { clientWidth: width, clientHeight: height } = this.root, [share, least, most] = REACH;
    const at = this.buttons.map(([control, button]) => {
      const box = button.getBoundingClientRect();
      return { control, x: box.x + box.width / 2, y: box.y + box.height / 2, radius: box.width / 2 };
    });
    const reach = Math.min(Math.max(share * Math.min(width, height), least), most);
    this.touch.place(at, Math.min(LEFT * width, ...at.map(({ x, radius }) => x - radius - 6)), reach);
  }

  draw() {
    if (this.box.hidden) return;
    const { stick } = this.touch, style = this.knob.style;
    for (const [control, button] of this.buttons) button.classList.toggle("down", this.touch.pressed(control));
    this.knob.classList.toggle("down", Boolean(stick));
    style.left = stick ? `${stick.x0}px` : "";
    style.top = stick ? `${stick.y0}px` : "";
    this.knob.firstElementChild.style.transform = stick
      ? `translate(${stick.x - stick.x0}px, ${stick.y - stick.y0}px)`
      : "";
  }
}

function thumb({ pointerId, clientX, clientY }) {
  return [pointerId, clientX, clientY];
}
