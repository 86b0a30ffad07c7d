"""Leaves ``reports/dialogue_checks.txt``: a line for each check of dialogue games, and one such game with its masks.

``python -m tests.support.dialogue_checks`` runs these checks alone.
"""

import os
import sys
from pathlib import Path

import pytest

REPORT = Path(__file__).parents[2] / "reports" / "dialogue_checks.txt"
CHECKS = {  # where the checks of each kind stand
    "game": ("tests/dialogue/games/",),
    "tokens": ("tests/dialogue/language/",),
    "masks": ("tests/dialogue/test_token_columns.py", "tests/dialogue/test_masks.py"),
    "loading": ("tests/dialogue/files/test_games.py", "tests/dialogue/files/test_rows.py"),
}
GAME = "dialogue_game"
"""Name of the property under which a test leaves the game."""
_found: dict[str, tuple[str, str]] = {}
_games: list[str] = []


def pytest_runtest_logreport(report):
    """Note a check that has come to its end, or failed before."""
    kind = next((kind for kind, places in CHECKS.items() if report.nodeid.startswith(places)), None)
    if kind is None:
        return
    if report.when == "call" or report.outcome != "passed":
        _found[report.nodeid] = (kind, report.outcome)
    if report.when == "call":
        _games.extend(text for name, text in report.user_properties if name == GAME)


def pytest_sessionfinish():
    """Write what was noted, if checks of every kind have run; where several processes share them, the first does."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    if {kind for kind, _ in _found.values()} == set(CHECKS):
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(text_of(_found, _games), encoding="utf-8")


def text_of(found, games):
    """The report."""
    order = list(CHECKS)
    checks = sorted(found.items(), key=lambda item: (order.index(item[1][0]), item[0]))
    lines = [f"{kind:<8} {outcome:<8} {name.removeprefix('tests/')}" for name, (kind, outcome) in checks]
    failed = sum(outcome == "failed" for _, outcome in found.values())
    return "\n".join([f"{len(lines)} checks of dialogue games, {failed} failed", "", *lines, "", *games[:1], ""])


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", *(place for places in CHECKS.values() for place in places), *sys.argv[1:]]))
