"""The page in a real browser: what it shows, and what buttons and keys do."""

import base64
import io
from dataclasses import replace

import pytest
from PIL import Image

from selfplay_melee.drawing.film import film_of
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.show.page import write_html
from tests.melee.drawing.fights import film, replay
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
FRAMES = 600


class Opened:
    """A page that is open, and what went wrong in it or was asked of the network."""

    def __init__(self, page, path):
        self.page, self.errors, self.requests = page, [], []
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        self.root = page.locator("#player")
        self.root.and_(page.locator("[data-frame]")).wait_for()

    def __getattr__(self, name):
        return self.root.get_attribute(f"data-{name}")

    @property
    def at(self):
        return int(self.frame)

    def wait_frame(self, frame):
        self.page.locator(f'#player[data-frame="{frame}"]').wait_for()

    def press(self, key):
        self.page.keyboard.press(key)

    def seek(self, frame):
        self.page.locator("#seek").fill(str(frame))
        self.wait_frame(frame)

    def settle(self):
        """Until what was changed has been drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def image(self, canvas):
        """The picture on a canvas, as the bytes of a PNG."""
        address = self.page.locator(f"#{canvas}").evaluate("canvas => canvas.toDataURL()")
        return base64.b64decode(address.partition(",")[2])

    def colours(self, canvas):
        """Number of different colours on a canvas."""
        with Image.open(io.BytesIO(self.image(canvas))) as picture:
            return len(picture.convert("RGB").getcolors(1 << 24))


@pytest.fixture
def fight(browser, tmp_path):  # noqa: F811
    """Opens the page of a film; no page may have logged anything or asked the network for anything when it closes."""
    opened, contexts = [], []

    def show(made, **options):
        path = tmp_path / f"{len(opened)}.html"
        write_html(made, path)
        contexts.append(browser.new_context(viewport={"width": 800, "height": 700}, **options))
        contexts[-1].set_default_timeout(LIMIT_MS)
        opened.append(Opened(contexts[-1].new_page(), path))
        return opened[-1]

    yield show
    for context in contexts:
        context.close()
    assert [error for one in opened for error in one.errors] == []
    assert [url for one in opened for url in one.requests if not url.startswith(("file:", "data:"))] == []


@pytest.fixture
def page(fight):
    return fight(film(FRAMES, values=lambda frame: (frame / 100, -frame / 100)))


def test_it_opens_still_at_the_first_frame_with_everything_drawn(page):
    assert (page.at, page.playing, page.speed) == (0, "false", "1")
    assert page.page.title() == "gen_5 vs random"
    assert page.page.locator("#about").inner_text() == "Fox vs Mewtwo · Final Destination · 0:10.00 · made by hand"
    for canvas in ("view", "pad-0", "pad-1", "percents", "values"):
        assert page.colours(canvas) > 3, canvas
    assert page.colours("view") > 200


def test_it_opens_at_the_moment_that_the_film_names(fight):
    opened = fight(replace(film(FRAMES), opens_s=4.0))
    assert (opened.at, opened.playing) == (240, "false")


def test_play_and_pause(page):
    page.page.get_by_role("button", name="Play", exact=True).click()
    assert page.playing == "true"
    page.page.locator('#player:not([data-frame="0"])').wait_for()
    page.page.get_by_role("button", name="Pause", exact=True).click()
    assert page.playing == "false"
    at = page.at
    page.settle()
    assert page.at == at


def test_space_plays_too_and_the_end_stops(page):
    page.seek(FRAMES - 5)
    page.press("Space")
    page.wait_frame(FRAMES - 1)
    page.page.locator('#player[data-playing="false"]').wait_for()
    page.press("Space")  # from the beginning again
    assert page.playing == "true"
    page.press("Space")
    page.settle()
    assert page.at < FRAMES - 1


def test_steps_by_frame_and_by_second(page):
    page.seek(100)
    for name, frame in (("Next frame", 101), ("Previous frame", 100)):
        page.page.get_by_role("button", name=name).click()
        page.wait_frame(frame)
    page.page.locator("h1").click()
    for key, frame in (
        ("ArrowRight", 101), ("Shift+ArrowRight", 161), ("Shift+ArrowLeft", 101), ("ArrowLeft", 100),
        ("Home", 0), ("ArrowLeft", 0), ("End", FRAMES - 1), ("ArrowRight", FRAMES - 1),
    ):  # fmt: skip
        page.press(key)
        page.wait_frame(frame)


def test_keys_work_wherever_the_focus_is(page):
    page.page.locator("#seek").focus()
    page.press("ArrowRight")
    page.wait_frame(1)
    page.press("Shift+ArrowRight")
    page.wait_frame(61)
    page.page.get_by_role("button", name="Next frame").focus()
    page.press("Space")  # the button's own
    page.wait_frame(62)
    assert page.playing == "false"


def test_a_step_stops_playing(page):
    page.press("Space")
    page.press("ArrowRight")
    assert page.playing == "false"


def test_speed(page):
    page.press("]")
    assert page.speed == "2"
    for _ in range(9):
        page.press("[")
    assert page.speed == "0.1"
    page.page.get_by_label("Speed").select_option("0.5")
    assert page.speed == "0.5"


def test_seeking_by_slider_and_by_chart(page):
    page.page.get_by_role("slider").fill("300")
    page.wait_frame(300)
    assert page.page.get_by_role("slider").get_attribute("aria-valuetext") == "0:05.00 of 0:09.98"
    chart = page.page.locator("#percents")
    width = chart.bounding_box()["width"]
    chart.click(position={"x": width / 4, "y": 20})
    page.settle()
    assert page.at == pytest.approx(FRAMES / 4, abs=2)


def test_the_picture_changes_with_the_frame_and_comes_back(page):
    first = page.image("view")
    page.seek(70)
    assert page.image("view") != first
    page.seek(0)
    assert page.image("view") == first


def test_inputs_percents_and_actions_are_shown(page):
    still = page.image("pad-0")
    page.seek(70)
    assert page.image("pad-0") != still
    assert "fsmash" in page.page.locator("#facts-0").inner_text()
    assert "0.70" in page.page.locator("#facts-0").inner_text()
    assert "wait" in page.page.locator("#facts-1").inner_text()
    assert page.page.locator("#percent-0").inner_text() == "0%"


@pytest.mark.parametrize(("button", "key"), [("Follow", "c"), ("Hits", "h")])
def test_camera_and_hit_circles_can_be_switched_off(page, button, key):
    scene = scene_of(film(FRAMES))
    page.seek(next(t for t, which in enumerate(scene.shots["circles"][:, 0]) if len(scene.circles[which])))
    on = page.image("view")
    page.page.get_by_role("button", name=button).click()
    page.page.locator(f'button[aria-pressed="false"]:has-text("{button}")').wait_for()
    page.settle()
    assert page.image("view") != on
    page.page.locator("h1").click()
    page.press(key)
    page.settle()
    assert page.image("view") == on


def test_a_picture_for_every_kind_of_light_and_size(fight):
    made = film(60)
    dark, light = (fight(made, color_scheme=scheme) for scheme in ("dark", "light"))
    assert dark.image("view") != light.image("view")
    narrow = fight(made)
    narrow.page.set_viewport_size({"width": 360, "height": 700})
    narrow.settle()
    assert narrow.page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert narrow.colours("view") > 200
    dark.page.emulate_media(color_scheme="light")
    dark.settle()
    assert dark.image("view") == light.image("view")


def test_without_estimates_there_is_no_chart_of_them(fight):
    assert fight(film(10)).page.locator("#values-chart").is_hidden()


def test_names_cannot_run_anything(fight):
    names = ("<img src=x onerror=\"document.title='gotcha'\">", "</script><script>document.title='gotcha'</script>")
    shown = fight(film_of(replay(30, names=names)))
    shown.settle()
    assert "gotcha'" in shown.page.title()
    assert shown.page.title() == " vs ".join(names)
    assert shown.page.locator("#name-0").inner_text() == names[0]
    assert shown.page.locator("#card-1").inner_text() == names[1]
    assert shown.page.locator("img").count() == 0


def test_every_control_has_a_name(page):
    for control in page.page.locator("button, input, select, canvas[role]").all():
        name = control.evaluate("e => e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent")
        assert name.strip()


def test_a_replay_of_one_frame_is_a_page_too(fight):
    shown = fight(film_of(replay(1)))
    shown.press("Space")
    shown.press("ArrowRight")
    assert shown.at == 0
