"""The report of the checks of dialogue games."""

from pathlib import Path
from types import SimpleNamespace

import tests.support.dialogue_checks as checks
from tests.support.dialogue_checks import CHECKS, GAME, pytest_runtest_logreport, text_of


def test_one_line_a_check_and_one_game(monkeypatch):
    found, games = {}, []
    monkeypatch.setattr(checks, "_found", found)
    monkeypatch.setattr(checks, "_games", games)
    for name, when, outcome, properties in (
        ("tests/dialogue/test_token_columns.py::test_a", "setup", "passed", []),
        ("tests/dialogue/test_token_columns.py::test_a", "call", "passed", [(GAME, "a game"), ("other", "x")]),
        ("tests/dialogue/games/test_b.py::test_b", "call", "failed", []),
        ("tests/dialogue/games/test_c.py::test_c", "setup", "skipped", []),
        ("tests/league/test_d.py::test_d", "call", "passed", []),
    ):
        pytest_runtest_logreport(SimpleNamespace(nodeid=name, when=when, outcome=outcome, user_properties=properties))
    assert text_of(found, games).splitlines() == [
        "3 checks of dialogue games, 1 failed",
        "",
        "game     failed   dialogue/games/test_b.py::test_b",
        "game     skipped  dialogue/games/test_c.py::test_c",
        "masks    passed   dialogue/test_token_columns.py::test_a",
        "",
        "a game",
    ]


def test_every_kind_has_its_checks():
    root = Path(__file__).parents[1]
    for places in CHECKS.values():
        assert all((root / place).exists() for place in places)
