"""The page of a run that trains: the parts of the page of a run, which ask a server for what changed.

An answer is a JSON object with ``status`` (``state``, ``text`` and ``figures``, two lines) and ``parts``: those that
differ from what the page has, each with ``content`` and ``at``, which the page sends with its next request. Parts are
``training`` (of ``GrowingCurves.changes``), ``health``, ``tree`` and ``reading`` (HTML), ``board`` (of ``board_part``)
and ``game`` (``why``, ``command`` and ``film``, see ``PageReplay``).
"""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from selfplay.report.leaderboard_page.curves import rating_curve
from selfplay.report.leaderboard_page.facts import paragraphs
from selfplay.report.leaderboard_page.table import table
from selfplay.report.standalone_page import PagePart, read, read_modules, standalone_page, theme

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard

EVERY_S: Final = 2  # between two requests of a page
_SCRIPTS: Final = ("svg.js", "charts.js", "table.js", "training.js", "live.js")
_GAME: Final = (
    '<button id="newer" hidden>Show the newest game</button><p id="why" class="why"></p><code id="command"></code>'
    '<div id="film" hidden>$part</div>'
)
_READING: Final = '<div id="reading"></div>'


def live_page(name: str, snapshot: str, part: PagePart | None) -> str:
    """The page; ``part`` shows its games, None: they are read. ``snapshot`` is a command that writes a page."""
    folder = resources.files(__package__) / "view"
    style, script = ("", "") if part is None else (part.style, part.script)
    return standalone_page(
        read(folder, "live.html"),
        theme() + style + read(folder, "board.css"),
        read_modules(folder, *_SCRIPTS) + script + 'document.body.dataset.ready = "true";\n',
        {"every": EVERY_S},
        title=escape(f"{name}: training"),
        served=True,
        name=escape(name),
        every=str(EVERY_S),
        snapshot=escape(snapshot),
        game=_READING if part is None else _GAME.replace("$part", part.html),
    )


def board_part(board: Leaderboard, steps_per_iteration: int | None) -> dict[str, Any]:
    """Table and curve of the ratings."""
    return {
        "html": table(board, {}),
        "warnings": paragraphs(board.warnings, "warning"),
        "curve": rating_curve(board, steps_per_iteration),
    }
