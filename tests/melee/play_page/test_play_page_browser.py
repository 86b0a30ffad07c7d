"""A person plays: the page in a real browser, with a clock that the test moves on."""

import json
import re
import time
from types import SimpleNamespace

import numpy as np
import pytest

from selfplay_melee.play.games import PlayedGame, replay
from tests.melee.play_page.pages import policy, write
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401  (a fixture)

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
CAP = 400  # frames of the longest game
COUNTDOWN_MS = 1850
EVIL = "</script><img src=x onerror=\"document.title='gotcha'\">\u202e" + "long" * 400
SEED = "crypto.getRandomValues = (array) => array.fill(7);"  # the same places to start from
RATED = {"characters": ["mewtwo", "mewtwo"], "stage": "battlefield", "scale": "abc"}
PAD = """
const up = () => ({ pressed: false, value: 0 });
const pad = { id: "Xbox 360 Controller (STANDARD GAMEPAD)", index: 0, connected: true, mapping: "standard",
  axes: [0, 0, 0, 0], buttons: Array.from({ length: 17 }, up) };
navigator.getGamepads = () => [pad];
globalThis.press = (button, down) => { pad.buttons[button] = { pressed: down, value: Number(down) }; };
globalThis.push = (x, y) => { pad.axes[0] = x; pad.axes[1] = y; };
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    usual = {"opponent": "gen_40", "characters": ["fox", "fox"], "stage": "battlefield"}
    return SimpleNamespace(
        broken=write(folder / "broken.html", policy(weights=bytes(400)), about="broken", defaults=usual, rated=None),
        usual=write(folder / "page.html", policy(), cap=CAP),
        rated=write(folder / "rated.html", policy(), about="rated", defaults=usual, rated=RATED, cap=30),
        evil=write(folder / "evil.html", policy("evil", label=EVIL, about=EVIL), title=EVIL, person=EVIL, cap=30),
    )


class Visit:
    """A page that is open; time stands still in it but for ``wait``."""

    def __init__(self, context, path, *, clock=True, script=""):
        self.page, self.errors, self.requests = context.new_page(), [], []
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if clock:
            self.page.clock.install(time=0)
        self.page.add_init_script(SEED + script)
        self.page.goto(path.as_uri())
        if clock:
            self.page.clock.pause_at(10_000)
        self.at("menu")

    def wait(self, ms):
        self.page.clock.run_for(ms)

    def at(self, screen):
        self.page.locator(f'#game-root[data-screen="{screen}"]').wait_for()

    def until(self, expression):
        """Wait until this is true. ``wait_for_function`` evaluates strings in the page, which its policy forbids."""
        end = time.monotonic() + LIMIT_MS / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, expression
            self.page.wait_for_timeout(20)

    def text(self, name):
        return self.page.locator(f"#{name}").inner_text()

    def button(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def down(self, key, ms):
        self.page.keyboard.down(key)
        self.wait(ms)
        self.page.keyboard.up(key)

    def fight(self):
        """Start a game and wait for GO."""
        self.button("Fight")
        self.at("arena")
        self.wait(COUNTDOWN_MS)

    def end(self):
        self.wait(1000 * CAP / 60 + 2500)
        self.at("result")

    @property
    def frame(self):
        return int(self.page.locator("#arena-view").get_attribute("data-frame"))

    def saved(self):
        with self.page.expect_download() as download:
            self.button("Save game")
        assert download.value.suggested_filename.endswith(".json")
        return download.value.path().read_bytes()


@pytest.fixture
def visit(browser, files):  # noqa: F811
    """Opens pages; none may have logged anything or asked the network for anything when it closes."""
    opened, contexts = [], []

    def show(path=None, *, clock=True, script="", **options):
        contexts.append(browser.new_context(**{"viewport": {"width": 800, "height": 700}} | options))
        contexts[-1].set_default_timeout(LIMIT_MS)
        opened.append(Visit(contexts[-1], path or files.usual, clock=clock, script=script))
        return opened[-1]

    yield show
    for context in contexts:
        context.close()
    assert [error for one in opened for error in one.errors] == []
    assert [url for one in opened for url in one.requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("name", ["Fight", "Enter"])
def test_a_page_in_a_frame_that_may_only_run_scripts_plays(browser, files, name):  # noqa: F811
    """No storage, forms, full screen, downloads and controllers: the fight begins, and the page says what it can."""
    frame = files.evil.with_name("frame.html")
    denied = """sandbox="allow-scripts" allow="gamepad 'none'\""""
    frame.write_text(f'<iframe {denied} src="{files.evil.name}" width="800" height="700"></iframe>')
    page = browser.new_context().new_page()
    page.set_default_timeout(LIMIT_MS)
    errors = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(frame.as_uri())
    inside = page.frame_locator("iframe")
    inside.get_by_role("button", name="Controls", exact=True).click()
    inside.get_by_text("The frame around this page forbids controllers: open the page by itself.").wait_for()
    inside.get_by_role("button", name="Done", exact=True).click()
    if name == "Enter":
        inside.locator("#person").press("Enter")
    else:
        inside.get_by_role("button", name=name, exact=True).click()
    inside.locator('#game-root[data-screen="arena"]').wait_for()
    assert not inside.locator("#arena-full").is_visible()
    inside.locator('#game-root[data-screen="result"]').wait_for()  # after half a second of fight
    assert errors == []
    inside.get_by_role("button", name="Save game", exact=True).click()
    assert inside.locator("#kept").inner_text().endswith(".json, unless the frame around this page forbids downloads.")
    page.context.close()
    assert all("Download is disallowed" in error for error in errors)


def hit(page):
    """Run to an opponent that stands still, and hit it while running."""
    page.page.keyboard.down("KeyD")
    page.wait(800)
    page.page.keyboard.press("KeyJ")
    page.wait(50)
    page.page.keyboard.up("KeyD")
    page.wait(700)


def test_a_person_wins_and_saves_a_game_that_python_plays_again(visit):
    page = visit()
    page.fight()
    hit(page)
    page.end()
    assert page.text("result-title") == "You win"
    assert page.text("result-about") == "by time"
    figures = dict(line.split("\t")[1::-1] for line in page.text("figures").splitlines()[1:])
    assert figures["Openings"] != "0"
    assert int(figures["Damage dealt"][:-1]) > 0
    game = PlayedGame.parse(page.saved())
    assert (game.names, game.frames) == (("Ann", "idle"), CAP)
    again = replay(game)  # checksums included
    assert again.score == (1.0, 0.0)
    assert f"{again.film.players['percent'][-1, 1]:.0f}%" == figures["Damage dealt"]


def test_the_fight_can_be_watched_again(visit):
    page = visit()
    page.page.locator('input[value="gen_40"]').check()
    page.fight()
    page.end()
    assert page.page.locator("#values-chart").is_visible()
    page.page.get_by_label("Position in the fight").fill("100")
    page.wait(100)
    assert page.page.locator("#player").get_attribute("data-frame") == "100"
    assert "reaction 6 frames, temperature 1" in page.text("about")


def test_a_person_falls_and_loses(visit):
    page = visit()
    page.fight()
    page.down("KeyD", 1900)
    cues = []
    for _ in range(8):
        page.wait(500)
        cues.append(page.text("cue"))
    assert "Ann: 3 stocks left" in cues
    page.end()
    assert page.text("result-title") == "idle wins"


def test_best_of_three_then_another_one(visit):
    page = visit()
    page.page.locator("#games").select_option("3")
    page.fight()
    for score, button in (("1 – 0", "Next game"), ("2 – 0", "Rematch")):
        hit(page)
        page.end()
        assert page.text("result-about") == f"by time · Best of three: {score}"
        page.button(button)
        page.at("arena")
        page.wait(COUNTDOWN_MS)
    assert page.text("score") == "Best of three: 0 – 0"


def test_pause_stops_time_and_leads_on(visit):
    page = visit()
    page.fight()
    page.wait(500)
    page.page.keyboard.press("Escape")
    at = page.frame
    page.wait(1000)
    assert page.frame == at > 0
    assert page.page.locator("#pause-menu").is_visible()
    page.page.keyboard.press("Enter")  # the focus is on Resume
    page.wait(500)
    assert page.frame == pytest.approx(at + 30, abs=2)
    page.page.keyboard.press("Escape")
    page.button("Restart")
    page.wait(100)
    assert page.text("cue") == "3"
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")
    page.wait(100)
    assert not page.page.locator("#pause-menu").is_visible()
    page.button("Pause (Escape)")
    page.button("Quit")
    page.at("menu")


def test_a_hidden_tab_pauses(visit):
    page = visit()
    page.fight()
    page.page.evaluate("""() => {
      Object.defineProperty(document, "hidden", { value: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }""")
    at = page.frame
    page.wait(1000)
    assert page.frame == at
    assert page.text("pause-about") == "The tab was hidden."


def test_a_key_is_seen_two_frames_later_at_most(visit):
    page = visit()
    page.fight()
    pressed = {}
    for key in ("KeyJ", "KeyL", "KeyA"):
        page.wait(400)
        pressed[key] = page.frame
        page.page.keyboard.down(key)
        page.wait(200)
        page.page.keyboard.up(key)
    page.end()
    held = PlayedGame.parse(page.saved()).presses()
    frames = held["frame"][np.flatnonzero(held["seat"] == 0)]
    for frame in pressed.values():
        assert any(frame <= other < frame + 2 for other in frames)


def test_a_controller_plays_and_leads_through_menus(visit):
    page = visit(script=PAD)

    def tap(button):
        page.page.evaluate(f"press({button}, true)")
        page.wait(50)
        page.page.evaluate(f"press({button}, false)")
        page.wait(50)

    page.wait(1000)
    page.page.evaluate("push(0, 1)")  # down: from the first button to the next
    page.wait(50)
    page.page.evaluate("push(0, 0)")
    page.wait(50)
    assert page.page.evaluate("document.activeElement.id") == "open-controls"
    page.page.evaluate("push(0, -1)")
    page.wait(50)
    page.page.evaluate("push(0, 0)")
    page.wait(50)
    tap(0)  # A
    page.at("arena")
    page.wait(COUNTDOWN_MS)
    page.page.evaluate("push(1, 0)")
    page.wait(800)
    tap(0)
    page.page.evaluate("push(0, 0)")
    page.wait(500)
    tap(9)  # Start
    assert page.page.locator("#pause-menu").is_visible()
    tap(9)
    assert not page.page.locator("#pause-menu").is_visible()
    page.end()
    assert page.text("result-title") == "You win"


def test_choices_are_kept_and_explained(visit):
    page = visit()
    choose = page.page.locator
    choose('input[value="gen_40"]').check()
    assert page.text("delay-told") == "6 frames, 100 ms, as trained"
    assert page.text("trained") == (
        "gen_40 was trained as Mewtwo against Mewtwo on Battlefield. "
        "It has never fought against yours, nor on this stage."
    )
    assert "Elo 2000 (1900 or more)" in page.text("opponent-list")
    assert page.text("rated") == "Not as in rated games: characters, stage."
    choose("#character-0").select_option("mewtwo")
    choose("#stage-choice").select_option("battlefield")
    assert page.text("rated") == "As in rated games."
    choose('input[value="idle"]').check()
    assert page.text("rated") == "Not as in rated games: opponent."
    choose('input[value="gen_40"]').check()
    choose("#delay").fill("14")
    assert page.text("delay-told") == "14 frames, 233 ms, a person's"
    choose("#temperature").fill("0")
    choose("#person").fill("Zoë\u202e  K")
    choose("#games").select_option("3")
    assert page.text("rated") == "Not as in rated games: delay, temperature."
    page.page.reload()
    page.at("menu")
    assert choose('input[value="gen_40"]').is_checked()
    values = [choose(f"#{name}").input_value() for name in ("character-0", "stage-choice", "delay", "games", "person")]
    assert values == ["mewtwo", "battlefield", "14", "3", "Zoë K"]


NO_STORAGE = "Object.defineProperty(window, 'localStorage', { get() { throw new Error(); } });"


@pytest.mark.parametrize("script", ["", NO_STORAGE])
def test_a_person_is_rated_and_forgotten(visit, files, script):
    page = visit(files.rated, clock=False, script=script)
    page.button("Fight")
    for count in (1, 2, 3):
        page.at("result")
        if count < 3:
            assert page.text("your-rating").startswith(f"Too early to rate you: {count} of 3 games")
            page.button("Rematch")
            page.at("arena")
    assert re.match(r"You are rated \d+ Elo, 95% interval \d+ to \d+, 3 games\.", page.text("your-rating"))
    page.page.get_by_role("button", name="Fight gen_40: expected score").click()
    page.at("arena")
    page.at("result")
    assert ", 4 games." in page.text("your-rating")
    if not script:
        page.page.reload()
        page.at("menu")
        assert ", 4 games." in page.text("your-rating")
    page.button("Forget my games")
    assert page.text("your-rating") == "Too early to rate you: 0 of 3 games as rated ones are."
    if script:
        page.button("Menu")
    page.page.locator("#delay").fill("20")  # such games do not count
    page.button("Fight")
    page.at("result")
    assert page.text("your-rating").startswith("Too early to rate you: 0 of 3 games")


def test_a_press_of_b_without_a_move_says_so_for_a_moment(visit, files):
    empty = files.usual.with_name("empty.html")  # as the tables of a character without special moves
    empty.write_text(re.sub(r'"specials":\[[012,]+\]', '"specials":[0,0,0,0,0,0,0,2]', files.usual.read_text("utf-8")))
    page = visit(empty)
    page.page.locator("#specials summary").click()
    assert page.text("specials").count("nothing yet") == 14  # of two characters
    page.fight()
    page.wait(500)
    page.down("KeyK", 50)
    assert page.text("cue") == "Fox, neutral special on the ground: nothing yet"
    page.wait(2000)
    assert page.text("cue") == ""


def test_another_page_keeps_the_name_alone(visit, files):
    page = visit()
    page.page.locator('input[value="walker"]').check()
    page.page.locator("#person").fill("Bob")
    page.page.goto(files.broken.as_uri())
    page.at("menu")
    assert page.page.locator('input[value="gen_40"]').is_checked()
    assert page.page.locator("#person").input_value() == "Bob"


def test_a_policy_that_cannot_be_played_is_told(visit, files):
    page = visit(files.broken)
    page.button("Fight")
    page.page.locator("#told", has_text="cannot be played: the weights end").wait_for()
    page.page.locator('input[value="walker"]').check()
    page.fight()
    page.wait(500)
    assert page.frame > 0
    assert not page.page.locator("#told").is_visible()


def test_every_control_has_a_name(visit):
    page = visit().page
    page.locator("#open-controls").click()
    for control in page.locator("button, input, select, canvas[role], dialog").all():
        name = control.evaluate("""e => e.getAttribute("aria-label") || e.labels?.[0]?.textContent || e.textContent
          || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent""")
        assert name.strip()


def test_it_fits_any_window_and_light(visit):
    page = visit(color_scheme="dark")
    page.fight()
    for width, height in ((420, 800), (1500, 500)):
        page.page.set_viewport_size({"width": width, "height": height})
        page.wait(100)
        canvas = page.page.locator("#arena-view")
        box = canvas.bounding_box()
        assert canvas.evaluate("canvas => canvas.width") == pytest.approx(box["width"], abs=1)
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    page.page.emulate_media(color_scheme="light")
    page.wait(100)
    page.page.set_viewport_size({"width": 420, "height": 800})
    page.end()
    for screen in ("result", "menu"):
        page.at(screen)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 420
        if screen == "result":
            page.button("Menu")


def test_texts_of_others_only_become_text(visit, files):
    page = visit(files.evil, viewport={"width": 420, "height": 800})
    page.page.locator('input[value="evil"]').check()
    assert "<img" in page.text("opponent-list")
    page.fight()
    page.end()
    assert "<img" in page.text("figures")
    assert page.page.locator("img").count() == 0
    assert "gotcha'" in page.page.title()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 420
    assert "\u202e" not in json.loads(page.saved())["names"][1]


def test_the_page_measures_the_script_of_a_frame(visit, files):
    page = visit(files.evil, clock=False)  # its games are the shortest
    page.page.locator('input[value="evil"]').check()
    page.button("Fight")
    page.at("result")
    median, most = map(float, page.page.locator("#game-root").get_attribute("data-script").split())
    assert 0 < median <= most  # docs/melee/play.md has both of an idle machine


CLIPBOARD = "if (navigator.clipboard) navigator.clipboard.writeText = async (text) =>"  # the empty page has none
COPIES = f"globalThis.copied = []; {CLIPBOARD} {{ copied.push(text); }};"
REFUSES = f"{CLIPBOARD} {{ throw new Error('denied'); }};"


def copied(page):
    page.button("Copy link")
    page.until("globalThis.copied.length > 0")
    return page.page.evaluate("copied.pop()")


def open_link(page, path, link):
    page.page.goto("about:blank")
    page.page.goto(path.as_uri() + link)


def test_a_link_plays_the_game_again(visit, files):
    page = visit(script=COPIES)
    page.page.locator('input[value="gen_40"]').check()
    page.fight()
    hit(page)
    page.end()
    saved, link = json.loads(page.saved()), copied(page)
    assert link.startswith("#game=")  # the address of a file has the name of its owner
    figures = page.text("figures")
    other = visit(clock=False, script=COPIES)
    open_link(other, files.usual, link)
    other.at("result")
    assert other.text("result-title") == page.text("result-title").replace("You win", "Ann wins")
    assert other.text("figures") == figures
    assert other.text("about").endswith("from a link, reaction 6 frames")
    assert json.loads(other.saved()) == saved
    assert copied(other) == link
    assert not other.page.locator("#to-menu").is_visible()
    other.button("Play yourself")
    other.at("menu")
    other.button("Fight")
    other.at("arena")


def test_the_name_of_a_person_who_types_none_is_player_1(visit, files):
    page = visit(clock=False, script=REFUSES)
    page.page.locator("#person").fill("")
    page.page.goto(files.evil.as_uri())
    page.page.locator("#person").fill("")
    page.button("Fight")
    page.at("result")
    assert json.loads(page.saved())["names"][0] == "You"
    page.button("Copy link")
    page.until("location.hash.startsWith('#game=')")
    assert page.text("kept").startswith("The address of this page is now the link")
    page.page.reload()
    page.at("result")
    assert page.text("figures").startswith("Player 1\t")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda link: link[: len(link) // 2], "it is not complete, or damaged"),
        (lambda link: "#game=%00<img>", "it is not complete, or damaged"),
        (lambda link: "#game=" + "A" * 2**20 + "A", "it is too long"),
    ],
)
def test_a_link_that_cannot_be_shown_is_told(visit, files, change, why):
    page = visit(files.evil, clock=False, script=COPIES)
    page.button("Fight")
    page.at("result")
    link = copied(page)
    open_link(page, files.evil, change(link))
    page.at("menu")
    page.page.locator("#told", has_text=f"The game of this link cannot be shown: {why}.").wait_for()
    page.button("Fight")
    page.at("arena")


def test_a_link_of_a_page_with_other_rules_or_of_a_changed_game_is_told(visit, files):
    page = visit(files.evil, clock=False, script=COPIES)
    page.button("Fight")
    page.at("result")
    link = copied(page)
    for name, old, new, why in (
        ("rules", '"sources":"', '"sources":"x', "another version of the rules than this page has"),
        ("bots", '"id":"idle"', '"id":"lazy"', "this page cannot play its players"),
    ):
        other = files.evil.with_name(f"{name}.html")
        other.write_text(files.evil.read_text("utf-8").replace(old, new), "utf-8")
        open_link(page, other, link)
        page.page.locator("#told", has_text=why).wait_for()
        page.at("menu")
    # a changed press
    open_link(page, files.evil, page.page.evaluate(FORGE, link))
    page.page.locator("#told", has_text="played again it is another game from second 1 on").wait_for()


FORGE = """async (link) => {
  const text = link.slice(6).replaceAll("-", "+").replaceAll("_", "/");
  const through = async (bytes, stream) => new Uint8Array(
    await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  const zipped = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const bytes = await through(zipped, new DecompressionStream("deflate-raw"));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const about = JSON.parse(new TextDecoder().decode(bytes.slice(4, 4 + length)));
  about.seed = "8";
  const changed = new TextEncoder().encode(JSON.stringify(about));
  const parts = new Blob([Uint32Array.of(changed.length), changed, bytes.slice(4 + length)]);
  const packed = await through(await parts.arrayBuffer(), new CompressionStream("deflate-raw"));
  return "#game=" + btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}"""


def test_the_result_of_a_fight_without_hits_opens_at_its_start(visit):
    page = visit()
    page.fight()
    page.down("KeyD", 1900)  # a stock that is thrown away
    page.end()
    assert page.page.locator("#player").get_attribute("data-frame") == "0"


def test_a_clip_is_saved(visit, files):
    page = visit(files.evil, clock=False)
    page.button("Fight")
    page.at("result")
    with page.page.expect_download() as download:
        page.button("Save clip")
    assert download.value.suggested_filename.endswith(".webm")
    clip = download.value.path().read_bytes()
    assert clip.startswith(b"\x1aE\xdf\xa3")
    assert len(clip) > 2000


def test_a_browser_without_video_offers_no_clip(visit):
    page = visit(script="delete globalThis.MediaRecorder;")
    page.fight()
    page.end()
    button = page.page.locator("#save-clip")
    assert button.is_disabled()
    assert button.inner_text() == "No clip: this browser records no video"
