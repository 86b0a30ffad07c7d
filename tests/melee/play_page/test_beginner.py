"""People on the first rungs, as docs/melee/play.md tells it: hit, come back to the ledge, beat ``novice``.

A casual player has an even chance on two rungs; in 180 games it won 55% on ``casual`` and 34% on ``regular``.
"""

import json

import pytest

from selfplay.compilation.code_cache import sources_hash
from selfplay.policy.browser.weights import browser_policy
from selfplay.policy.policy import load_policy
from selfplay_melee.bot_names import REACTION
from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.browser.figures import move_tables
from selfplay_melee.browser.scene import scene_facts
from selfplay_melee.play.content import step_options
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.melee.browser import test_live_film as films
from tests.melee.play_page.test_match import HERE, VIEW
from tests.policy.browser.test_browser_policy import MODULES
from tests.support.node import gather, needs_node, run_node

pytestmark = [needs_node, pytest.mark.full]  # compiles the rules for browsers
CHARACTER = "marth"
RATED, LEDGES = "final_destination", "battlefield"  # stages: of rated games, of games in which the person falls
GAMES = 20
RUNGS = ("novice", "casual", "regular")
LEDGE = [False] * GAMES + [True] * 3  # of each game of a beginner, whether the person falls first
EVEN = 30  # games of a casual player on each of two rungs


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """All games: rung, who the person is, and what happened."""
    folder = tmp_path_factory.mktemp("beginner")
    character = CHARACTERS[CHARACTER]
    tables = move_tables([character])
    setup = {
        "version": sources_hash("selfplay_melee"),
        "characters": [character, character],
        "names": ["Ann", "policy"],
        "delay": [0, REACTION],
        "options": step_options(14_400, 60),
    }
    opponents = {}
    for rung in RUNGS:
        made = browser_policy(load_policy(rung))
        (folder / rung).write_bytes(made.weights)
        described = {"description": made.description, "weights": rung, "skip": made.description["frame_skip"]}
        opponents[rung] = {"kind": "policy", "temperature": 1.0, **described}
    played = [("novice", {"ledge": ledge}, seed) for seed, ledge in enumerate(LEDGE)]
    played += [(rung, {"casual": True}, seed) for rung in RUNGS[1:] for seed in range(EVEN)]
    about = {
        "facts": scene_facts([character], [STAGES[RATED], STAGES[LEDGES]]),
        "tables": {name: table.ravel().tolist() for name, table in tables.items()},
        "games": [
            {
                "setup": setup | {"seed": str(seed), "stage": STAGES[LEDGES if person.get("ledge") else RATED]},
                "seats": [{"kind": "person"}, opponents[rung]],
                **person,
            }
            for rung, person, seed in played
        ],
    }
    (folder / "about.json").write_text(json.dumps(about))
    (folder / "rules.wasm").write_bytes(rules_module())
    (folder / "tables").write_bytes(table_bytes([CHARACTER], [RATED, LEDGES]))
    view = [VIEW / name for name in ("keyboard.js", "gamepad.js", "touch.js", "controls.js", "match.js")]
    modules = (*MODULES, RULES_JS, *films.MODULES, films.MOMENT, *view)
    run_node(gather(folder, *modules, HERE / "beginner.js"), folder, limit_s=600)
    results = json.loads((folder / "made.json").read_text())
    return [
        {"rung": rung, "ledge": False, **person, **result}
        for (rung, person, _), result in zip(played, results, strict=True)
    ]


def of_beginners(games):
    return [game for game in games if game["rung"] == "novice"]


def test_left_hand_moves_and_right_hand_hits(games):
    assert all(game["hits"] >= 2 for game in of_beginners(games))


def test_who_walks_off_the_stage_comes_back_by_the_ledge(games):
    assert min(game["ledges"] for game in games if game["ledge"]) >= 1


def test_a_beginner_wins_on_the_first_rung(games):
    played = [game for game in of_beginners(games) if not game["ledge"]]
    assert sum(game["winner"] == 0 for game in played) >= 0.8 * GAMES
    used = {code for game in of_beginners(games) for _, _, code in game["keys"]}
    assert used <= {"KeyA", "KeyD", "KeyW", "Space", "KeyJ", "KeyK"}


@pytest.mark.parametrize("rung", RUNGS[1:])
def test_a_casual_player_has_an_even_chance_on_two_rungs(games, rung):
    won = sum(game["winner"] == 0 for game in games if game["rung"] == rung)
    assert 0.3 * EVEN <= won <= 0.7 * EVEN
