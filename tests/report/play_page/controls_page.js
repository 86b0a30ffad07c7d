// A page of nothing but the controls. Controllers are what the test puts into ``pads``.
const pads = globalThis.pads = [];
navigator.getGamepads = () => pads;
const hostile = new Proxy({}, { get() { throw new Error("no storage"); } });
const controls = globalThis.controls = new Controls(window, location.hash === "#hostile" ? hostile : localStorage);
globalThis.commands = [];
globalThis.frames = []; // what each frame read while the page is played on
controls.onCommand = (name) => commands.push(name);
const panel = globalThis.panel = new ControlsPanel(document.getElementById("panel"), controls);
const loop = () => {
  const action = Array.from(controls.read());
  if (controls.playing) frames.push(action);
  requestAnimationFrame(loop);
};
requestAnimationFrame(loop);
panel.open();
document.body.dataset.ready = "true";
