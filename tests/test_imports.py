"""Rules about imports that matter at run time; ``lint-imports`` holds the rest."""

import ast
import sys
from pathlib import Path

import pytest

from selfplay.verbs import find_verb, verb_names
from tests.support.processes import finish

ROOT = Path(__file__).parent.parent


IMPORT = """
import importlib, sys
absent, *modules = sys.argv[1:]
for module in modules:
    importlib.import_module(module)
    if absent in sys.modules:
        sys.exit(f"{module} imports {absent}")
"""


@pytest.mark.parametrize(
    ("absent", "modules"),
    [
        ("matplotlib", ["scripts.studies.charts"]),
        ("scipy.optimize", ["selfplay.dialogue.contract", "selfplay.games.registry"]),
        ("pyspiel", ["selfplay.config.programs", "selfplay.games.openspiel_games"]),
        ("textarena", ["selfplay.config.programs", "selfplay.games.textarena_games"]),
        ("pettingzoo", ["selfplay.games.registry", "selfplay.games.pettingzoo_games"]),
        (
            "torch",
            [
                *(
                    "selfplay_melee",
                    "selfplay",
                    "selfplay.checkpoint",
                    "selfplay.league",
                    "selfplay_melee.replays.library",
                ),
                *("selfplay.report", "selfplay.cli.ppo", "selfplay.ppo.train", "selfplay.dialogue.train"),
                "selfplay.imitation.train",
            ],
        ),
        ("selfplay.cli", ["selfplay.api"]),
        ("selfplay.commands", ["selfplay.api"]),
        ("numpy", ["selfplay.supervision", *(find_verb(name).module for name in verb_names())]),
    ],
)
def test_imports_leave_out(absent, modules):
    """One process imports them in turn. What a module loads alone, it loads there, too."""
    done = finish([sys.executable, "-c", IMPORT, absent, *modules], cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_thread_can_import_what_trains_after_the_main_thread_has_ended():
    code = """
import threading, selfplay
def late():
    threading.main_thread().join()
    import concurrent.futures.thread
    print("imported")
threading.Thread(target=late).start()
"""
    assert finish([sys.executable, "-c", code], cwd=ROOT).stdout == "imported\n"


def test_the_trainer_loads_the_fighting_game_only_where_scripted_players_are_imitated():
    """The tables of all characters take a second to read."""
    top = ast.parse((ROOT / "selfplay" / "ppo" / "app.py").read_text()).body
    loaded = {node.module for node in top if isinstance(node, ast.ImportFrom)}
    assert not {"selfplay_melee.imitation.scripted", "selfplay_melee.replays.games", "selfplay_melee.tables"} & loaded


ALONE = """
import sys, selfplay
from selfplay.examples.tic_tac_toe import TicTacToe
if __name__ == "__main__":
    config = {"run": {"timesteps": 256}, "ppo": {"rollout_length": 32}, "league": {"track_elo": True}}
    run = selfplay.train(config, game=TicTacToe, checkpoint=sys.argv[1])
    selfplay.evaluate(run, "finisher", games=2)
    guests = ("selfplay_melee", "selfplay_dialogue", "selfplay.dialogue")
    print(*(name for name in sys.modules if name.startswith(guests)))
"""


def test_a_game_of_ones_own_is_trained_without_the_games_of_this_project(tmp_path):
    done = finish([sys.executable, "-c", ALONE, tmp_path / "run"], cwd=ROOT)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_supervision_imports_only_the_standard_library():
    foreign = {
        f"{path.name}: {name}"
        for path in sorted((ROOT / "selfplay" / "supervision").glob("*.py"))
        for name in _imported(path)
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("selfplay.supervision")
    }
    assert not foreign


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
