"""The page of a run in a real browser: sorting, filtering, maps, a game that plays, every width and light."""

import re
from itertools import pairwise

import pytest

from selfplay.report.leaderboard_page.page import PageContent, write_page
from tests.dialogue.report.talks import HOSTILE, talked, transcript
from tests.report.boards import STRENGTHS, paid, stepped, subject
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
NEAR = dict.fromkeys(("random", "walker", "jumper", "edge_guard", "rusher", "all_rounder"), 1500.0)
MANY = STRENGTHS | {f"gen_{n}": 2000.0 + n for n in range(60, 100)}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """A page of few players with games, and one of many without."""
    folder = tmp_path_factory.mktemp("pages")
    write_page(subject(folder / "a"), folder / "few.html")
    write_page(subject(folder / "b", MANY, films=0), folder / "many.html")
    write_page(talked(folder / "c", [transcript(text=HOSTILE)]), folder / "words.html")
    write_page(stepped(folder / "d", HOSTILE), folder / "steps.html")
    write_page(PageContent("run-9", paid()), folder / "chips.html")
    write_page(subject(folder / "e", STRENGTHS | NEAR), folder / "levels.html")
    return {name: folder / f"{name}.html" for name in ("few", "many", "words", "steps", "chips", "levels", "none")}


@pytest.fixture
def show(browser, paths):  # noqa: F811
    """Opens a page; none may have logged anything or asked the network for anything when it closes."""
    contexts, errors, requests = [], [], []

    def opened(name="few", width=1000, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, offline=True, **options))
        contexts[-1].set_default_timeout(LIMIT_MS)
        page = contexts[-1].new_page()
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(paths[name].as_uri())
        page.locator("body[data-ready]").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_games_of_words_are_read_and_nothing_in_them_runs(show):
    page = show("words")
    talk = page.locator("details.talk")
    assert talk.count() == 1
    assert HOSTILE in talk.inner_text()
    assert "a secret thought" in talk.inner_text()
    talk.locator("summary").click()
    assert talk.get_attribute("open") is None
    assert page.locator(".talk img").count() == 0
    assert page.locator("#training figure").count() > 5
    assert page.locator("table.plain tbody tr").count() == 3


def column(page, place):
    return page.locator(f"#board tbody tr:not([hidden]) > :nth-child({place})").evaluate_all(
        "cells => cells.map(cell => cell.dataset.v)"
    )


def test_every_column_sorts_both_ways(show):
    page = show()
    for place, button in enumerate(page.locator("#board thead button").all(), 1):
        before = button.locator("xpath=..").get_attribute("aria-sort")
        button.click()
        first = [cell for cell in column(page, place) if cell]
        assert button.locator("xpath=..").get_attribute("aria-sort") not in (None, before)
        button.click()
        second = [cell for cell in column(page, place) if cell]
        if place == 2:
            assert first[0] == "gen_0"
            assert second == first[::-1]
        else:
            assert {tuple(map(float, order)) for order in (first, second)} == {
                tuple(sorted(map(float, first))),
                tuple(sorted(map(float, first), reverse=True)),
            }


def test_the_table_can_be_filtered_and_shown_whole(show):
    page = show("many")
    total = len(MANY)
    assert len(column(page, 2)) < total
    page.get_by_role("button", name=f"Show all {total} players").click()
    assert len(column(page, 2)) == total
    page.get_by_label("Kind of player").select_option("scripted")
    assert set(column(page, 2)) == {"random", "rusher"}
    page.get_by_label("Kind of player").select_option("")
    page.get_by_label("Filter players by name").fill("GEN_5")
    assert set(column(page, 2)) == {"gen_50"}
    assert page.locator("#count").inner_text() == f"1 of {total} players"


@pytest.mark.parametrize("touch", [False, True])
def test_a_cell_tells_the_games_behind_it(show, touch):
    page = show(has_touch=touch)
    cell = page.locator("#residuals rect[data-cell]").first
    cell.scroll_into_view_if_needed()
    cell.tap() if touch else cell.hover()
    told = page.locator("#detail").inner_text()
    assert "of the points in 8 games on 4 seeds; the ratings expect" in told
    assert "standard errors" in told


def test_a_page_of_payoffs_tells_chips(show):
    page = show("chips")
    assert "In chips a game." in page.locator("#map-note").inner_text()
    page.locator("#curve svg").hover()
    assert "chips a game, 95%:" in page.locator("#tip").inner_text()
    cell = page.locator("#scores rect[data-cell]").first
    cell.scroll_into_view_if_needed()
    cell.hover()
    told = page.locator("#detail").inner_text()
    assert re.search(r": [+−]\d+\.\d\d chips a game in 8 games on 4 seeds; the ratings expect [+−]\d+\.\d\d", told)
    page.get_by_role("button", name="Mean payoff").click()
    payoffs = [float(value) for value in column(page, 5)]
    assert payoffs == sorted(payoffs, reverse=True)


def test_maps_of_many_say_what_they_leave_out(show):
    page = show("many")
    assert "more are left out" in page.locator("#map-note").inner_text()
    assert page.locator("#scores rect[data-cell]").count() < 30 * 30


def test_curves_tell_their_points(show):
    page = show()
    chart = page.locator("#curve svg")
    chart.hover()
    assert "Elo, 95%:" in page.locator("#tip").inner_text()
    assert page.locator("#training svg").count() >= 8
    page.mouse.move(2, 2)
    assert page.locator("#tip").is_hidden()


def test_a_game_plays_and_another_can_be_chosen(show):
    page = show()
    player = page.locator("#player")
    assert player.get_attribute("data-frame") == "0"
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator('#player:not([data-frame="0"])').wait_for()
    page.get_by_role("button", name="Kind 1").click()
    assert player.get_attribute("data-playing") == "false"
    assert page.locator("#seek").get_attribute("max") == "300"
    assert page.locator(".why:visible").inner_text().endswith("--game 1")
    page.get_by_role("button", name="Next frame").focus()
    page.keyboard.press("End")
    page.locator('#player[data-frame="300"]').wait_for()


def test_keys_outside_the_player_are_the_page_s_own(show):
    page = show()
    page.get_by_label("Filter players by name").fill("gen")
    page.keyboard.press("Space")
    page.keyboard.press("h")
    assert page.get_by_label("Filter players by name").input_value() == "gen h"
    assert page.locator("#player").get_attribute("data-playing") == "false"


def test_games_that_are_no_fights_are_stepped_through(show):
    page = show("steps")
    told, text = page.locator("#step-told"), page.locator("#step-text")
    assert told.inner_text() == "Step 0 of 2."
    assert text.inner_text() == "..."
    page.get_by_role("button", name="Next step").click()
    assert told.inner_text() == "Step 1 of 2: gen_10 (seat 0) played 0."
    assert text.inner_text() == f"x..{HOSTILE}"
    page.keyboard.press("ArrowRight")
    assert told.inner_text().endswith("(seat 1) played 1. gen_10 wins.")
    page.get_by_role("button", name="Next step").click()
    assert page.locator("#stepper").get_attribute("data-step") == "2"
    page.get_by_role("slider", name="Position in the game").focus()
    assert page.locator("#step-seek").input_value() == "2"
    page.keyboard.press("ArrowLeft")
    assert text.inner_text() == f"x..{HOSTILE}"
    page.keyboard.press("Home")
    assert page.locator("#step-seek").get_attribute("aria-valuetext") == "step 0 of 2"
    page.get_by_role("button", name="Previous step").click()
    assert page.locator("#stepper").get_attribute("data-step") == "0"
    page.locator("#step-seek").fill("1")
    assert text.inner_text() == f"x..{HOSTILE}"
    assert page.locator("#step-picture").is_hidden()
    assert page.locator("#step-none").is_hidden()


def test_pictures_are_shown_and_what_is_not_rendered_has_its_actions(show):
    page = show("steps")
    page.get_by_role("button", name="Longest game").click()
    assert page.locator(".why:visible").inner_text() == "It lasted."
    assert page.locator("#step-told").inner_text() == "Step 40 of 41."
    assert page.locator("#step-picture").is_visible()
    assert page.locator("#step-text").is_hidden()
    page.get_by_role("button", name="Next step").press("End")
    assert page.locator("#step-picture").is_hidden()
    assert page.locator("#step-none").is_visible()
    told = "Step 41 of 41: gen_0 (seat 0) played 1, 0; random (seat 1) played 2, 1. Draw."
    assert page.locator("#step-told").inner_text() == told


@pytest.mark.parametrize("name", ["few", "many", "steps"])
def test_a_phone_scrolls_up_and_down_only(show, name):
    page = show(name, width=375)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 375
    assert page.locator("#scores rect[data-cell]").first.bounding_box()["width"] >= 12


def test_a_phone_shows_a_game_first_and_labels_apart(show):
    page = show("levels", width=390)
    assert page.locator("main > section").first.get_attribute("id") == "games"
    page.locator("#curve").scroll_into_view_if_needed()
    heights = sorted(one.bounding_box()["y"] for one in page.locator("#curve .faint").all())
    assert len(heights) == len(NEAR)
    assert all(below - above > 10 for above, below in pairwise(heights))
    table = page.locator("#leaderboard > .scroll")
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")
    assert "local" in table.evaluate("one => getComputedStyle(one).backgroundAttachment")


def test_maps_of_no_pairs_are_left_out(show, paths):
    text = paths["many"].read_text("utf-8")
    paths["many"].with_name("none.html").write_text(re.sub(r'"pairs":\[\[.*?\]\]', '"pairs":[]', text), "utf-8")
    page = show("none")
    assert page.locator("main > section").first.get_attribute("id") == "leaderboard"  # it has no game to watch
    assert page.locator(".maps").is_hidden()
    assert page.locator("#map-note").is_hidden()


def test_colours_follow_the_light_of_the_system(show):
    page = show(color_scheme="light")
    colours = """() => ["body", "#board tbody th", "#curve .line"].map((one) => {
        const { backgroundColor, color, stroke } = getComputedStyle(document.querySelector(one));
        return backgroundColor + color + stroke;
    })"""
    light = page.evaluate(colours)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colours)
    assert all(one != other for one, other in zip(light, dark, strict=True))
