"""Games of the play page, in node, against the same games in Python."""

import json
from pathlib import Path

import numpy as np
import pytest

from scripts.studies.play_style.openings import kill_percents, openings
from selfplay import load_policy
from selfplay.compilation.code_cache import sources_hash
from selfplay.policy.browser.weights import browser_policy
from selfplay_melee import play_page
from selfplay_melee.bots import NAMES as BOTS
from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.browser.figures import move_tables
from selfplay_melee.browser.scene import scene_facts
from selfplay_melee.controller import CENTRE, NEUTRAL, mirror
from selfplay_melee.drawing.openings import opening_facts
from selfplay_melee.play.games import PlayedGame, replay
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.melee.browser import recording
from tests.melee.browser import test_live_film as films
from tests.policy.browser.test_browser_policy import MODULES
from tests.support.node import gather, needs_node, run_node

HERE = Path(__file__).parent
VIEW = Path(play_page.__file__).parent / "view"
VIEWS = [VIEW / name for name in ("match.js", "openings.js", "share.js")]
PLAYED = ("fox", "marth", "mewtwo")
CAP = 3600
PERSON = {"kind": "person"}
pytestmark = [needs_node, pytest.mark.full]  # compiles the rules for browsers


def bot(name):
    return {"kind": "bot", "bot": BOTS.index(name), "name": name}


def policy(name, remote):
    about = {"kind": "policy", "id": name, "weights_hash": name * 2, "skip": 4, "temperature": 1.0}
    return about | {"weights": f"{name}.f32", "remote": remote}


def game(name, seats, stage="battlefield", characters=("fox", "marth"), delay=(0, 0), frames=CAP, seed=7):
    return {
        "name": name,
        "seats": seats,
        "frames": frames,
        "setup": {
            "version": sources_hash("selfplay_melee"),
            "seed": str(seed),
            "stage": STAGES[stage],
            "characters": [CHARACTERS[character] for character in characters],
            "names": ["Ada", "the other"],
            "delay": delay,
            "options": {"frame_skip": 1, "bot_skip": 4, "cap": CAP, "ledge_grab_limit": 60},
        },
    }


POLICIES = ("strong", "medium")
FIGHTS = (
    game("bots", [bot("all_rounder"), bot("rusher")], characters=("fox", "mewtwo")),
    game("policies", [policy("strong", True), policy("medium", False)], characters=("mewtwo",) * 2, frames=1200),
    game("policy and bot", [bot("rusher"), policy("strong", False)], "final_destination", ("marth", "mewtwo"), (0, 7)),
    game("person and bot", [PERSON, bot("all_rounder")], "yoshis_story", delay=(3, 0), seed=2**61 + 12345),
    game("person and policy", [policy("medium", False), PERSON], "dreamland", ("mewtwo", "fox"), frames=300),
    *(game(stage, [PERSON, PERSON], stage, ("marth", "mewtwo"), frames=150) for stage in sorted(STAGES)),
)


def presses(seed, frames):
    """What a person presses: random actions that are held for a while."""
    rng = np.random.default_rng(seed)
    return np.stack([actions[0] for actions, _ in recording.inputs(rng, frames)])


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("games")
    known = sorted(CHARACTERS[name] for name in PLAYED)
    tables, games = move_tables(known), json.loads(json.dumps(FIGHTS))
    descriptions = {}
    for name in POLICIES:
        data = browser_policy(load_policy(name))
        (folder / f"{name}.f32").write_bytes(data.weights)
        descriptions[name] = data.description
    for number, one in enumerate(games):
        for seat, about in enumerate(one["seats"]):
            if about["kind"] == "person":
                presses(2 * number + seat, one["frames"]).tofile(folder / f"{one['name']}-{seat}")
            if about["kind"] == "policy":
                about["description"] = descriptions[about["id"]]
    about = {
        "facts": scene_facts(known, sorted(STAGES.values())),
        "tables": {name: table.ravel().tolist() for name, table in tables.items()},
        "openings": opening_facts(),
        "games": games,
        "page": {
            "sources": sources_hash("selfplay_melee"),
            "characters": [{"id": number} for number in known],
            "stages": [{"id": number} for number in STAGES.values()],
            "opponents": [{"kind": "bot", "id": name, "bot": number} for number, name in enumerate(BOTS)],
        },
    }
    (folder / "about.json").write_text(json.dumps(about))
    (folder / "rules.wasm").write_bytes(rules_module())
    (folder / "tables").write_bytes(table_bytes(PLAYED, STAGES))
    modules = (*MODULES, RULES_JS, *films.MODULES, films.MOMENT, *VIEWS)
    run_node(gather(folder, *modules, HERE / "play.js"), folder)
    return {one["name"]: json.loads((folder / f"{one['name']}.json").read_text()) for one in games} | {"tables": tables}


def again(one):
    found = PlayedGame.parse(json.dumps(one["document"]).encode())
    return found, replay(found)


@pytest.mark.parametrize("name", [one["name"] for one in FIGHTS])
def test_games_are_played_again_bit_for_bit(played, name):
    said = played[name]["said"]
    document, same = again(played[name])
    assert len(same.film) == said["frames"] + 1 == document.frames + 1
    last = same.film.players[-1]
    assert said["before"] == said["after"] == [[p["stocks"], p["percent"]] for p in last]
    if said["finished"]:
        assert said["winner"] == (None if same.score == (0.5, 0.5) else int(np.argmax(same.score)))
        assert said["ending"] == document.result.ended
    else:
        assert (said["winner"], said["ending"], same.stats) == (None, None, None)


@pytest.mark.parametrize("name", [one["name"] for one in FIGHTS])
def test_links_play_games_again_bit_for_bit(played, name):
    link = played[name]["link"]
    assert link["same"]
    assert link["letters"] < 16 * played[name]["said"]["frames"]


def test_these_games_have_all_endings(played):
    endings = {name: played[name]["said"]["ending"] for name in (one["name"] for one in FIGHTS)}
    assert set(endings.values()) == {"stocks", "cap", None}
    assert played["policy and bot"]["said"]["winner"] is not None


def test_people_press_in_directions_of_the_screen(played):
    one = played["person and bot"]
    document, same = again(one)
    mirrored = np.array(one["said"]["mirrored"], bool)[:, 0]
    assert mirrored.any()
    assert not mirrored.all()
    pressed = presses(2 * [game["name"] for game in FIGHTS].index("person and bot"), CAP)[: document.frames]
    late = document.delay[0]
    pads = same.film.controllers[1 + late :, 0]
    np.testing.assert_array_equal(pads["main_x"], (pressed[: len(pads), 8] - CENTRE) / CENTRE)
    np.testing.assert_array_equal(pads["c_x"], (pressed[: len(pads), 10] - CENTRE) / CENTRE)
    held = document.presses()
    assert len(held) < document.frames / 2  # what goes on as before is not kept again
    np.testing.assert_array_equal(held["action"], mirror(pressed, mirrored)[held["frame"]])


def test_policies_decide_as_often_as_they_do(played):
    one = played["policies"]
    document, _ = again(one)
    held = document.presses()
    for seat in (0, 1):
        assert held["frame"][held["seat"] == seat].tolist() == list(range(0, document.frames, 4))
    assert [seat.temperature for seat in document.seats] == [1.0, 1.0]
    assert not (held["action"] == NEUTRAL).all()
    values = np.array(one["film"]["values"]).reshape(-1, 2)
    assert np.isfinite(values).all()
    assert (np.flatnonzero(np.diff(values[:-1], axis=0).any(1)) % 4 == 3).all()  # seen from the first moment after it


def test_the_film_is_that_of_python(played):
    _, same = again(played["bots"])
    films.assert_same_film(played["bots"]["film"], played["tables"], same.film, films.ROUNDED | {"figures": 1})
    assert same.film.title == played["bots"]["film"]["title"]


def fight_figures(players):
    """Figures of both seats of a fight, from PLAYER [T, 2], as ``openings.js`` gives them.

    Returns:
        By seat ``openings``, their ``hits``, ``damage_per_opening`` (None without one), ``kill_percents``, and
        ``damage``, the percent that the opponent took in the whole fight.
    """
    result = []
    for seat in (0, 1):
        me, other = players[:, seat], players[:, 1 - seat]
        found = openings(me["action"], me["action_frame"], other["action"], other["percent"], other["stocks"])
        same_life = np.diff(other["stocks"]) >= 0
        result.append(
            {
                "openings": len(found),
                "hits": int(found["hits"].sum()),
                "damage_per_opening": float(found["damage"].mean()) if len(found) else None,
                "kill_percents": kill_percents(found, other["percent"]).tolist(),
                "damage": float(np.maximum(np.diff(other["percent"]), 0.0)[same_life].sum()),
            }
        )
    return tuple(result)


@pytest.mark.parametrize("name", ["bots", "policy and bot", "person and bot"])
def test_figures_are_those_of_python(played, name):
    expected = fight_figures(again(played[name])[1].film.players)
    assert sum(one["openings"] for one in expected) > 3
    for found, right in zip(played[name]["figures"], expected, strict=True):
        assert (found["openings"], found["hits"]) == (right["openings"], right["hits"])
        for figure in ("damage_per_opening", "kill_percents", "damage"):
            # The film has whole tenths, cut off, of each life.
            assert found[figure] == pytest.approx(right[figure], abs=0.4 if figure == "damage" else 0.1)
