"""The first game of a beginner, as docs/melee/play.md tells it: hit, come back to the ledge, beat the weakest."""

import json

import pytest

from selfplay.compilation.code_cache import sources_hash
from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.browser.figures import move_tables
from selfplay_melee.browser.scene import scene_facts
from selfplay_melee.play.content import step_options
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.melee.browser import test_live_film as films
from tests.melee.play_page.pages import policy
from tests.melee.play_page.test_match import HERE, VIEW
from tests.policy.browser.test_browser_policy import MODULES
from tests.support.node import gather, needs_node, run_node

pytestmark = [needs_node, pytest.mark.full]  # compiles the rules for browsers
CHARACTER, STAGE = "marth", "battlefield"
GAMES = [(seed, ledge) for ledge in (False, True) for seed in range(3)]  # ledge: walks off the stage first


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beginner")
    untrained, character = policy(), CHARACTERS[CHARACTER]
    (folder / "weights").write_bytes(untrained.weights)
    tables = move_tables([character])
    setup = {
        "version": sources_hash("selfplay_melee"),
        "stage": STAGES[STAGE],
        "characters": [character, character],
        "names": ["Ann", untrained.label],
        "delay": [0, 0],
        "options": step_options(14_400, 60),
    }
    description = {"description": untrained.description, "weights": "weights"}
    opponent = {"kind": "policy", "skip": untrained.frame_skip, "temperature": 1.0, **description}
    seats = [{"kind": "person"}, opponent]
    about = {
        "facts": scene_facts([character], [STAGES[STAGE]]),
        "tables": {name: table.ravel().tolist() for name, table in tables.items()},
        "games": [{"setup": setup | {"seed": str(seed)}, "seats": seats, "ledge": ledge} for seed, ledge in GAMES],
    }
    (folder / "about.json").write_text(json.dumps(about))
    (folder / "rules.wasm").write_bytes(rules_module())
    (folder / "tables").write_bytes(table_bytes([CHARACTER], [STAGE]))
    view = [VIEW / name for name in ("keyboard.js", "gamepad.js", "controls.js", "match.js")]
    modules = (*MODULES, RULES_JS, *films.MODULES, films.MOMENT, *view)
    run_node(gather(folder, *modules, HERE / "beginner.js"), folder)
    return dict(zip(GAMES, json.loads((folder / "made.json").read_text()), strict=True))


def test_left_hand_moves_and_right_hand_hits(games):
    for game in games.values():
        assert game["hits"] >= 2


def test_who_walks_off_the_stage_comes_back_by_the_ledge(games):
    assert min(game["ledges"] for (_, ledge), game in games.items() if ledge) >= 1


def test_a_beginner_wins_against_an_untrained_policy(games):
    played = [game for (_, ledge), game in games.items() if not ledge]
    assert sum(game["winner"] == 0 for game in played) >= 2
    used = {code for game in games.values() for _, _, code in game["keys"]}
    assert used <= {"KeyA", "KeyD", "KeyW", "Space", "KeyJ", "KeyK"}
