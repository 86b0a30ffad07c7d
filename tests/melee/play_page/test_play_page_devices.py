"""The play page on a phone, among other windows and controllers, and with two people or none, in a real browser."""

import numpy as np
import pytest

from selfplay_melee.actions import CATEGORIES, CATEGORY_OF
from selfplay_melee.play.games import PlayedGame, replay
from tests.melee.play_page.test_play_page_browser import COUNTDOWN_MS, files, visit  # noqa: F401  (fixtures)
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401  (a fixture)

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
SIDEWAYS, UPRIGHT = {"width": 844, "height": 390}, {"width": 390, "height": 844}
FRAME_MS = 1000 / 60
PADS = """
globalThis.pads = [];
navigator.getGamepads = () => pads;
const up = () => ({ pressed: false, value: 0 });
globalThis.plug = (index) => { pads[index] = { id: "Xbox 360 Controller (STANDARD GAMEPAD)", index, connected: true,
  mapping: "standard", axes: [0, 0, 0, 0], buttons: Array.from({ length: 17 }, up) }; };
globalThis.push = (index, x) => { pads[index].axes[0] = x; };
"""


def phone(visit, viewport=SIDEWAYS, **options):  # noqa: F811
    return visit(viewport=viewport, has_touch=True, is_mobile=True, **options)


class Thumbs:
    """Touches of a page, by name."""

    def __init__(self, page):
        self.page, self.down = page, {}
        self.session = page.context.new_cdp_session(page)

    def send(self, kind):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in self.down.items()]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def put(self, number, x, y):
        self.down[number] = (x, y)
        self.send("touchStart")

    def move(self, number, x, y):
        self.down[number] = (x, y)
        self.send("touchMove")

    def lift(self, number):
        del self.down[number]
        self.send("touchEnd")

    def on(self, control):
        box = self.page.locator(f".touch-{control}").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def presses(page, seat=0):
    """What a seat held, by frame, of the game that has ended: actions [frames, 14]."""
    game = PlayedGame.parse(page.saved())
    held = game.presses()
    held = held[held["seat"] == seat]
    return held["action"][np.searchsorted(held["frame"], np.arange(game.frames), side="right") - 1]


@pytest.mark.parametrize("viewport", [SIDEWAYS, UPRIGHT], ids=["sideways", "upright"])
def test_two_thumbs_play_a_fight(visit, viewport):  # noqa: F811
    page = phone(visit, viewport)
    assert page.text("keys-hint").startswith("Left thumb")
    page.page.locator("#fight").tap()
    page.at("arena")
    page.wait(COUNTDOWN_MS)
    thumbs, seen = Thumbs(page.page), page.page.locator("#arena-view").bounding_box()
    assert seen["x"] >= 0
    assert seen["y"] >= 0
    assert seen["x"] + seen["width"] <= viewport["width"]
    for button in page.page.locator(".touch-button, #arena-buttons button").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= viewport["width"]
        assert box["y"] + box["height"] <= viewport["height"]
    x, y = 60, viewport["height"] - 90
    thumbs.put(0, x, y)
    thumbs.move(0, x + 60, y)
    page.wait(800)
    thumbs.put(1, *thumbs.on("A"))
    page.wait(50)
    thumbs.lift(1)
    thumbs.move(0, x + 60, y - 150)  # no page scrolls under a thumb
    page.wait(50)
    thumbs.lift(0)
    assert page.page.evaluate("[scrollX, scrollY, visualViewport.scale, `${getSelection()}`]") == [0, 0, 1, ""]
    page.page.keyboard.press("KeyJ")
    assert not page.page.locator("#touch").is_visible()
    thumbs.put(0, x, y)
    thumbs.lift(0)
    assert page.page.locator("#touch").is_visible()
    page.end()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    held = presses(page)
    assert held[:, 8].max() == 16  # to the right
    assert 3 <= held[:, 0].sum() < 9  # attack, for 50 ms


def test_a_short_tap_of_jump_is_a_short_hop(visit):  # noqa: F811
    page = phone(visit)
    page.page.locator("#fight").tap()
    page.at("arena")
    page.wait(COUNTDOWN_MS)
    thumbs, starts = Thumbs(page.page), []
    for control, frames in (("X", 12), ("X", 1), ("hop", 12)):
        starts.append(page.frame)
        thumbs.put(0, *thumbs.on(control))
        page.wait(frames * FRAME_MS)
        thumbs.lift(0)
        page.wait(1500)
    page.end()
    film = replay(PlayedGame.parse(page.saved())).film
    full, tap, hop = (film.players["y"][start : start + 80, 0].max() for start in starts)
    assert 5 < tap == hop < 0.6 * full


def test_a_flick_with_attack_is_a_smash(visit):  # noqa: F811
    page = phone(visit)
    page.page.locator("#fight").tap()
    page.at("arena")
    page.wait(COUNTDOWN_MS)
    thumbs = Thumbs(page.page)
    thumbs.put(0, 80, 300)
    thumbs.move(0, 130, 300)
    thumbs.put(1, *thumbs.on("A"))
    page.wait(100)
    thumbs.lift(1)
    thumbs.lift(0)
    page.end()
    film = replay(PlayedGame.parse(page.saved())).film
    smash = CATEGORIES.index("fsmash")
    assert any(CATEGORY_OF[action] == smash for action in film.players["action"][:40, 0])


def test_the_menu_of_a_phone(visit):  # noqa: F811
    page = phone(visit, UPRIGHT)
    boxes = [page.page.locator(f"#{name}").bounding_box() for name in ("opponent-list", "fight")]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    assert boxes[1]["y"] + boxes[1]["height"] <= UPRIGHT["height"]  # without scrolling
    assert page.text("menu-sound") == "Sound off"
    page.page.locator("#menu-sound").tap()
    page.page.reload()
    page.at("menu")
    assert page.text("menu-sound") == "Sound on"


def test_a_browser_without_full_screen_says_so(visit):  # noqa: F811
    denied = "Object.defineProperty(document, 'fullscreenEnabled', { value: false });"
    page = phone(visit, UPRIGHT, script=denied)
    assert page.text("full-note") == "No full screen: this browser has none for pages, as on an iPhone."
    assert not page.page.locator("#menu-full").is_visible()


def test_hints_name_the_keys_of_the_layout_from_the_start(visit):  # noqa: F811
    layout = "{ getLayoutMap: async () => new Map([['KeyW', 'z'], ['KeyA', 'q']]) }"
    page = visit(script=f"Object.defineProperty(navigator, 'keyboard', {{ value: {layout} }});")
    assert page.text("keys-hint").startswith("Move Z Q S D · attack J")
    page.page.evaluate("dispatchEvent(new PointerEvent('pointerdown', { pointerType: 'touch' }))")
    assert page.text("keys-hint").startswith("Left thumb")


def test_a_frame_that_loses_the_focus_pauses(browser, files):  # noqa: F811
    around = files.usual.with_name("around.html")
    frame = f'<iframe sandbox="allow-scripts" src="{files.usual.name}" width="800" height="600"></iframe>'
    around.write_text(f'{frame}<input id="other">')
    page = browser.new_page(viewport={"width": 900, "height": 750})
    page.set_default_timeout(LIMIT_MS)
    errors = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto(around.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("#full-note", has_text="No full screen: the frame around this page forbids it.").wait_for()
    inside.locator("#fight").click()
    inside.locator('#game-root[data-screen="arena"]').wait_for()
    page.locator("#other").click()
    inside.locator("#pause-about", has_text="Another window or frame has the keyboard.").wait_for()
    inside.locator("#resume").click()
    inside.locator("#pause-menu").wait_for(state="hidden")
    page.close()
    assert errors == []


def reason(page):
    """Why the fight is paused; goes on."""
    at = page.frame
    page.wait(200)
    assert page.frame == at
    told = page.text("pause-about")
    page.button("Resume")
    page.wait(100)
    assert page.frame > at
    return told


def test_every_interruption_pauses_with_its_reason_and_ends_no_fight(visit):  # noqa: F811
    page = visit(script=PADS)
    page.fight()
    page.wait(100)
    page.page.evaluate("dispatchEvent(new Event('blur'))")
    assert reason(page) == "Another window or frame has the keyboard."
    page.page.locator("#arena-full").click()
    page.until("document.fullscreenElement")
    assert reason(page) == "Full screen began."
    page.page.evaluate("document.exitFullscreen()")
    page.until("!document.fullscreenElement")
    assert reason(page) == "Full screen ended."
    for number in (0, 1):
        page.page.evaluate(f"plug({number})")
        page.wait(50)
        assert reason(page) == "A controller was connected."
    page.page.evaluate("pads.pop()")
    page.wait(50)
    assert reason(page) == "A controller is gone."
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert reason(page) == "The page was printed."
    page.page.clock.fast_forward(4000)
    page.wait(50)
    assert reason(page) == "The page stood still for some seconds."
    page.end()


def test_a_phone_that_is_turned_pauses(visit):  # noqa: F811
    page = phone(visit)
    page.page.locator("#fight").tap()
    page.at("arena")
    page.wait(COUNTDOWN_MS + 100)
    page.page.set_viewport_size(UPRIGHT)
    page.page.locator("#pause-menu").wait_for()
    assert reason(page) == "The screen was turned."


def test_two_people_at_one_keyboard(visit):  # noqa: F811
    page = visit()
    page.page.locator('input[value="second person"]').check()
    assert page.text("rated") == "Not rated: two people play."
    assert page.text("keys-hint").splitlines()[1].startswith("Player 2: Move ↑ ← ↓ → · attack Num 4")
    assert not page.page.locator("#delay").is_visible()
    page.fight()
    for key in ("KeyD", "ArrowRight"):
        page.page.keyboard.down(key)
    page.wait(300)
    page.page.keyboard.press("Numpad4")
    page.wait(100)
    for key in ("KeyD", "ArrowRight"):
        page.page.keyboard.up(key)
    page.end()
    assert page.text("kept").startswith("Not rated")
    game = PlayedGame.parse(page.saved())
    assert (game.people, game.names, game.delay) == ((True, True), ("Ann", "Player 2"), (0, 0))
    assert replay(game).film.frames.size == game.frames + 1
    assert page.text("result-title") != "You win"


def test_one_of_two_people_has_a_controller(visit):  # noqa: F811
    page = visit(script=PADS)
    page.page.evaluate("plug(0)")
    page.wait(50)
    page.page.locator('input[value="second person"]').check()
    page.fight()
    page.page.evaluate("push(0, 1)")
    page.page.keyboard.down("KeyA")
    page.wait(200)
    page.page.keyboard.up("KeyA")
    page.end()
    first, second = (presses(page, seat)[:, 8] for seat in (0, 1))
    assert np.count_nonzero(first != 8) in range(8, 20)
    assert np.count_nonzero(second != 8) > 200  # it is held to the end


def test_two_policies_are_watched(visit):  # noqa: F811
    page = visit()
    page.page.locator('input[value="walker"]').check()
    page.page.locator("#first").select_option("gen_40")
    assert page.text("rated") == "Not rated: nobody plays."
    page.button("Watch")
    page.at("arena")
    page.wait(COUNTDOWN_MS)
    page.down("KeyD", 200)
    page.end()
    assert page.text("result-title") in ("gen_40 wins", "walker wins", "Draw")
    game = PlayedGame.parse(page.saved())
    assert (game.people, game.names, game.delay[0]) == ((False, False), ("gen_40", "walker"), 6)


def test_sound_is_heard_after_a_gesture_alone(visit):  # noqa: F811
    page = visit(
        script="""
    globalThis.made = [];
    const { OscillatorNode: Tone } = globalThis;
    globalThis.OscillatorNode = class extends Tone { constructor(...all) { super(...all); made.push(all[1].type); } };
    """
    )
    assert page.text("menu-sound") == "Sound on"
    page.fight()
    assert "square" in page.page.evaluate("made")  # of the countdown
    page.page.keyboard.press("Escape")
    page.button("Sound on")
    page.button("Resume")
    made = page.page.evaluate("made.length")
    page.down("KeyD", 1900)
    page.end()
    assert page.page.evaluate("made.length") == made
