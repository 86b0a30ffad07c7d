import sys
from pathlib import Path

import numpy as np
import pytest

from selfplay.games import plugins, registry
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.plugins import allow, is_code, is_known, meant_module
from selfplay.games.registry import find_game, make_game
from selfplay.games.vector import SyncVectorGame
from tests.games.games import Nim
from tests.support.processes import finish

NIM, DUEL = "tests.games.games:Nim", "tests.games.games:Duel"


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch):
    monkeypatch.setattr(plugins, "_allowed", set())
    monkeypatch.setattr(sys, "path", [*sys.path])
    registry._described.cache_clear()
    plugins.installed.cache_clear()
    yield
    registry._described.cache_clear()
    plugins.installed.cache_clear()


def test_kinds_of_names():
    assert is_code("my_package.my_game:make")
    assert not is_code("pettingzoo:pettingzoo.classic.connect_four_v3")
    assert is_code("openspiel:start_at(game=kuhn_poker(),history=9)")
    assert not is_code("openspiel:leduc_poker")
    assert not is_code("mock")
    assert is_known("pettingzoo:pettingzoo.classic.connect_four_v3")
    assert is_known("my_game:make")
    assert is_known("mock")
    assert not is_known("no_game")


def test_a_module_is_imported_only_where_a_person_named_it():
    with pytest.raises(GameError, match=f"add --game-type {NIM}"):
        find_game(NIM)
    allow(NIM)
    assert find_game(NIM).obs_width == 13
    with pytest.raises(GameError, match=f"add --game-type {DUEL}"):
        find_game(DUEL)


def test_what_is_known_of_a_game():
    allow(DUEL)
    entry = find_game(DUEL)
    assert (entry.obs_width, entry.actions.sizes, entry.encoder_version) == (2, (3, 2), 4)
    assert entry.ladder == ("random",)
    assert entry.rated.described == {"game": DUEL, "version": 4}
    assert entry.repeats
    game = make_game(DUEL, num_games=3)
    assert isinstance(game, SyncVectorGame)
    assert game.reset(np.arange(3, dtype=np.uint64)).shape == (3, 2, 2)


def test_a_game_that_does_not_repeat_itself_is_known_to():
    allow("tests.games.games:Uncounted")
    assert not find_game("tests.games.games:Uncounted").repeats


class Mark:
    """A module of this file that is no game."""


number = 3
players = {"first": lambda game, seat, rng: 0}


class Strangers(Nim):
    players = players
    held_out = ("second",)


class Broken(Nim):
    def __init__(self):
        raise RuntimeError("no license")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_package.games:make", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("tests.games.no_games:make", "No module named 'tests.games.no_games'"),
        ("tests.games.games:Nimm", "tests.games.games has no 'Nimm'; did you mean 'Nim'"),
        (f"{__name__}:number", "3 is not a callable object"),
        (f"{__name__}:Broken", "RuntimeError: no license"),
        (f"{__name__}:Strangers", "held_out player .* 'second'.*valid: first, random"),
        ("tests.games.broken_import:make", "--game-type tests.games.broken_import:make: RuntimeError"),
        (":", "--game-type :: ValueError: Empty module name"),
        ("tests.games.games:", "tests.games.games has no ''"),
    ],
)
def test_what_is_wrong_is_told(name, message):
    allow(name)
    with pytest.raises(GameError, match=message):
        find_game(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("./stones.py:Stones", "stones:Stones"),
        ("stones.py", "stones:NAME"),
        ("stones", "stones:NAME"),
        ("stones.Stones", "stones:Stones"),
        ("old/stones.py:Stones", "old.stones:Stones"),
        ("old", "old:NAME"),
        ("stones:Stones", None),
        ("mock", None),
        ("mock.Game", None),
    ],
)
def test_the_path_of_a_file_suggests_its_module(tmp_path, monkeypatch, name, meant):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stones.py").touch()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "__init__.py").touch()
    assert meant_module(name) == meant
    if ":" in name and meant is not None:
        allow(name)
        with pytest.raises(GameError, match=f"a module is named as Python imports it; did you mean '{meant}'"):
            find_game(name)


def test_an_unknown_name_lists_the_games():
    with pytest.raises(UnknownNameError, match="mock"):
        find_game("mack")


def test_an_installed_package_brings_games(tmp_path, monkeypatch):
    info = tmp_path / "other_games-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-games\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[selfplay.games]\nstones = other_games:Stones\n")
    (tmp_path / "other_games.py").write_text("from tests.games.games import Nim\nclass Stones(Nim):\n    version = 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.installed.cache_clear()
    assert is_known("stones")
    assert find_game("stones").encoder_version == 7  # nobody has to allow what was installed
    with pytest.raises(UnknownNameError, match="stones"):
        find_game("stone")


def test_kuhn_loads_neither_the_fighting_game_nor_numba():
    code = (
        "import sys; from selfplay.games.registry import make_game; make_game('kuhn', num_games=1);"
        "sys.exit(bool({'numba', 'pettingzoo', 'torch'} & set(sys.modules)))"
    )
    assert finish([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0
