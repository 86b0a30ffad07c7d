"""The screen of the controls in a real browser, with a keyboard and with controllers that the test makes up."""

from importlib import resources

import pytest

from selfplay.report.standalone_page import read, read_modules, standalone_page, theme
from selfplay_melee.browser.scene import controller_facts
from selfplay_melee.drawing.columns import film_facts
from selfplay_melee.show.page import player
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401  (a fixture)

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
VIEW = resources.files("selfplay_melee") / "play_page" / "view"
MODULES = ("dom.js", "keyboard.js", "gamepad.js", "touch.js", "controls.js", "controls_panel.js")
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="$policy"><title>controls</title><style>$style</style></head>
<body>$data<main id="panel"></main><script type="module">$script</script></body></html>"""
START = """
globalThis.pads = [];
navigator.getGamepads = () => pads;
const known = JSON.parse(document.getElementById("facts").textContent);
const hostile = new Proxy({}, { get() { throw new Error("no storage"); } });
const storage = location.hash === "#hostile" ? hostile : localStorage;
const controls = globalThis.controls = new Controls(window, storage, known.controller);
globalThis.commands = [];
globalThis.frames = []; // what each frame of the game read
controls.onCommand = (name) => commands.push(name);
const panel = globalThis.panel = new ControlsPanel(document.getElementById("panel"), controls, known);
(function loop() {
  const [action] = controls.read();
  if (controls.playing) frames.push(action.join());
  requestAnimationFrame(loop);
})();
panel.open();
document.body.dataset.ready = "true";
"""
PAD = """([id, mapping, buttons, axes]) => {
  const up = () => ({ pressed: false, value: 0 });
  pads[0] = { id, index: 0, connected: true, mapping, axes, buttons: Array.from({ length: buttons }, up) };
}"""
STANDARD = ["Xbox 360 Controller (XInput STANDARD GAMEPAD)", "standard", 17, [0, 0, 0, 0]]
MAYFLASH = ["0079-1843-MAYFLASH GameCube Controller Adapter", "", 16, [0, 0, 0, -0.73, -0.73, 0, 0, 0, 0, 1.3]]
REST = "0,0,0,0,0,0,0,0,8,8,8,8,0,0"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    parts, path = player("h1"), tmp_path_factory.mktemp("controls") / "controls.html"
    script = parts.script + read_modules(VIEW, *MODULES) + START
    facts = {"facts": film_facts() | {"controller": controller_facts()}}
    path.write_text(standalone_page(PAGE, theme() + parts.style + read(VIEW, "controls.css"), script, facts))
    return path.as_uri()


@pytest.fixture
def opened(browser, address):  # noqa: F811
    """A function that opens the page; no script of it may fail."""
    context, wrong = browser.new_context(), []
    context.set_default_timeout(LIMIT_MS)

    def opened(more="", **options):
        page = context.new_page() if not options else browser.new_page(**options)
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(address + more)
        page.locator("body[data-ready]").wait_for(state="attached")
        return page

    yield opened
    context.close()
    assert not wrong


def play(page):
    page.evaluate("() => { panel.close(); frames.length = 0; controls.start(); }")


def wait_for(page, frame):
    page.wait_for_function("(frame) => frames.at(-1) === frame", arg=frame)


def press(page, button, value):
    page.evaluate("([i, value]) => { pads[0].buttons[i] = { pressed: value > 0, value }; }", [button, value])


def settle(page):
    """Let two frames pass."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def source(page, label):
    return page.locator(".controls-pair", has=page.get_by_text(label, exact=True)).locator("button")


def test_a_sequence_of_keys(opened):
    page = opened()
    play(page)
    page.keyboard.down("d")
    wait_for(page, "0,0,0,0,0,0,0,0,16,8,8,8,0,0")
    page.keyboard.down("Shift")
    wait_for(page, "0,0,0,0,0,0,0,0,12,8,8,8,0,0")
    page.keyboard.down("w")  # with a held modifier the letter is another, the place is not
    wait_for(page, "0,0,0,0,0,0,0,0,12,12,8,8,0,0")
    page.keyboard.up("Shift")
    page.keyboard.down("k")
    wait_for(page, "0,1,0,0,0,0,0,0,16,16,8,8,0,0")
    for key in "dwk":
        page.keyboard.up(key)
    wait_for(page, REST)
    page.evaluate("""() => {
      frames.length = 0;
      for (const type of ["keydown", "keyup"]) dispatchEvent(new KeyboardEvent(type, { code: "KeyJ" }));
    }""")
    settle(page)
    assert [frame[0] for frame in page.evaluate("frames")].count("1") == 1  # a tap between two frames
    page.keyboard.down("ArrowLeft")
    wait_for(page, "0,0,0,0,0,0,0,0,8,8,0,8,0,0")
    page.evaluate("dispatchEvent(new Event('blur'))")
    wait_for(page, REST)
    page.keyboard.press("Escape")
    assert page.evaluate("commands") == ["pause"]


def test_a_key_is_changed_and_kept(opened):
    page = opened()
    cap = page.locator(".controls-A .controls-cap").first
    assert cap.inner_text() == "J"
    cap.click()
    page.keyboard.press("Escape")
    assert (cap.inner_text(), page.evaluate("commands")) == ("J", [])
    cap.click()
    page.keyboard.press("Space")  # the key of the jump, which takes the key of the attack
    assert (cap.inner_text(), page.locator(".controls-X .controls-cap").first.inner_text()) == ("Space", "J")
    page.reload()
    page.locator("body[data-ready]").wait_for(state="attached")
    assert cap.inner_text() == "Space"
    page.keyboard.down("Space")
    page.wait_for_function("() => document.querySelector('.controls-A .down')")
    page.keyboard.up("Space")
    page.get_by_role("button", name="Reset keys").click()
    assert cap.inner_text() == "J"
    second = page.locator(".controls-A .controls-cap").nth(1)
    assert second.inner_text() == "Num 4"
    second.click()
    page.keyboard.press("KeyP")
    assert (second.inner_text(), cap.inner_text()) == ("P", "J")
    page.get_by_role("button", name="Reset second keys").click()
    assert second.inner_text() == "Num 4"


def test_controllers_are_read_and_go(opened):
    page = opened()
    page.get_by_text("Connect a controller").wait_for()
    page.evaluate(PAD, STANDARD)
    page.get_by_label("Layout").wait_for()
    assert page.get_by_label("Layout").input_value() == "Standard controller"
    press(page, 0, 1)
    page.wait_for_function("() => document.querySelectorAll('.controls-lamp.down').length === 1")
    assert "down" in source(page, "Attack (A)").get_attribute("class")
    press(page, 0, 0)
    page.evaluate(PAD, MAYFLASH)
    page.wait_for_function(
        "() => document.querySelector('.controls-choices label:last-child select').value.includes('Mayflash')"
    )
    play(page)
    page.evaluate("() => { pads[0].axes[0] = -0.53; pads[0].axes[1] = -0.53; pads[0].axes[4] = 0.6; }")
    wait_for(page, "0,0,0,0,0,0,0,0,0,16,8,8,4,0")
    page.evaluate("() => { pads.length = 0; }")
    wait_for(page, REST)
    assert page.evaluate("commands") == ["pause"]


def test_a_controller_is_changed_and_kept(opened):
    page = opened()
    page.evaluate(PAD, MAYFLASH)
    chosen = source(page, "Attack (A)")
    chosen.click()
    press(page, 9, 1)  # the button of the pause: while it is chosen it is no command
    settle(page)
    press(page, 9, 0)
    page.get_by_text("Changed.").wait_for()
    assert (chosen.inner_text(), page.evaluate("commands")) == ("Button 9", [])
    page.get_by_role("button", name="Measure sticks").click()
    for x, y in ((0.6, 0), (0, 0.6), (-0.6, 0), (0, -0.6), (0, 0)):
        page.evaluate("([x, y]) => { pads[0].axes[0] = x; pads[0].axes[1] = y; }", [x, y])
        settle(page)
    page.get_by_role("button", name="Done").click()
    page.get_by_text("Measured: main stick.").wait_for()
    page.reload()
    page.evaluate(PAD, MAYFLASH)
    page.wait_for_function("() => document.querySelector('.controls-source')")
    assert chosen.inner_text() == "Button 9"
    settle(page)
    play(page)
    page.evaluate("() => { pads[0].axes[0] = 0.58; }")
    press(page, 9, 1)
    wait_for(page, "1,0,0,0,0,0,0,0,16,8,8,8,0,0")
    page.evaluate("() => { controls.stop(); panel.open(); }")
    page.get_by_role("button", name="Reset controller").click()
    page.wait_for_function("() => document.querySelectorAll('.controls-source')[8].textContent === 'Button 1'")


def test_all_of_a_controller_in_turn(opened):
    page = opened()
    page.evaluate(PAD, STANDARD)
    page.get_by_role("button", name="Set all in turn").click()
    page.evaluate("() => { pads[0].axes[2] = -1; }")
    page.get_by_text("Press and let go the control for Left.").wait_for()
    settle(page)
    page.evaluate("() => { pads[0].axes[2] = 0; }")
    page.get_by_text("the control for Right").wait_for()
    page.keyboard.press("q")
    page.get_by_text("the control for Down").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("Changed.").wait_for()
    assert [source(page, name).inner_text() for name in ("Left", "Right")] == ["Axis 2 −", "Axis 0 +"]


def test_without_storage(opened):
    page = opened("#hostile")
    page.locator(".controls-A .controls-cap").first.click()
    page.keyboard.press("g")
    assert page.locator(".controls-A .controls-cap").first.inner_text() == "G"
    page.get_by_text("The browser keeps no settings").wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (420, "light")])
def test_it_fits(opened, width, scheme):
    page = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.evaluate(PAD, [f"<b>{'long name ' * 20}</b>", "", 32, [0] * 10])
    page.get_by_text("This controller is not known").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.querySelector('main b')") is None
    page.close()
