"""People on the first rungs, as docs/melee/play.md tells it: hit, come back to the ledge, beat ``novice``."""

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
RUNG = "novice"
LEDGE = [False] * GAMES + [True] * 3  # of each game, whether the person falls first


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """Whether the person falls first, and what happened."""
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
    made = browser_policy(load_policy(RUNG))
    (folder / "weights").write_bytes(made.weights)
    described = {"description": made.description, "weights": "weights", "skip": made.description["frame_skip"]}
    opponent = {"kind": "policy", "temperature": 1.0, **described}
    about = {
        "facts": scene_facts([character], [STAGES[RATED], STAGES[LEDGES]]),
        "tables": {name: table.ravel().tolist() for name, table in tables.items()},
        "games": [
            {
                "setup": setup | {"seed": str(seed), "stage": STAGES[LEDGES if ledge else RATED]},
                "seats": [{"kind": "person"}, opponent],
                "ledge": ledge,
            }
            for seed, ledge in enumerate(LEDGE)
        ],
    }
    (folder / "about.json").write_text(json.dumps(about))
    (folder / "rules.wasm").write_bytes(rules_module())
    (folder / "tables").write_bytes(table_bytes([CHARACTER], [RATED, LEDGES]))
    view = [VIEW / name for name in ("keyboard.js", "gamepad.js", "touch.js", "controls.js", "match.js")]
    modules = (*MODULES, RULES_JS, *films.MODULES, films.MOMENT, *view)
    run_node(gather(folder, *modules, HERE / "beginner.js"), folder, limit_s=600)
    return [*zip(LEDGE, json.loads((folder / "made.json").read_text()), strict=True)]


def test_left_hand_moves_and_right_hand_hits(games):
    assert all(game["hits"] >= 2 for _, game in games)


def test_who_walks_off_the_stage_comes_back_by_the_ledge(games):
    assert min(game["ledges"] for ledge, game in games if ledge) >= 1


def test_a_beginner_wins_on_the_first_rung(games):
    played = [game for ledge, game in games if not ledge]
    assert sum(game["winner"] == 0 for game in played) >= 0.8 * GAMES
    used = {code for _, game in games for _, _, code in game["keys"]}
    assert used <= {"KeyA", "KeyD", "KeyW", "Space", "KeyJ", "KeyK"}
