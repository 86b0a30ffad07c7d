"""Write the tables of docs/games from the games: observation by index, actions, versions, scripted players."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command
from scripts.studies.games import fights, solved, texts
from scripts.studies.pages import put_between

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from pathlib import Path

MARKER: Final = "game"
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "mock": fights.text,
    **{name: partial(solved.text, name) for name in solved.GAMES},
    **{name: partial(texts.text, name) for name in texts.PLAYERS},
}
"""Tables by the name of the page; ``dolphin`` is on the page of the mock."""


def write(root: Path) -> None:
    """Write the tables into the pages below ``root/docs/games``; pages that do not exist are left out."""
    for name, text in PAGES.items():
        if (page := root / "docs/games" / f"{name}.md").exists():
            put_between(page, MARKER, text())


def main() -> int:
    return Command("games", __doc__).execute(_run)


def _run(_: argparse.Namespace) -> None:
    write(ROOT)


if __name__ == "__main__":
    sys.exit(main())
