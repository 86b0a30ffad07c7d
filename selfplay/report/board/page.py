"""A run as one page for browsers: who is how strong, how it came to be, and games to watch.

Tables and words are written here and work without the script; the script in ``view/`` sorts the table, draws curves
and maps from the numbers in the page, and plays the games. The page loads nothing, see ``sealed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.report.board.curves import rating_curve, training
from selfplay.report.board.facts import (
    about_ratings,
    definitions,
    headline,
    health,
    machine,
    paragraphs,
    points,
    settings,
)  # fmt: skip
from selfplay.report.board.maps import cycles, maps
from selfplay.report.board.table import rewards, table
from selfplay.report.board.talk import transcripts
from selfplay.report.fight.page import document, player
from selfplay.report.fight.saving import saved
from selfplay.report.sealed import read, sealed

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard, Study
    from selfplay.report.board.records import Records
    from selfplay.report.fight.film import Film
    from selfplay.report.transcripts import Transcript

_SCRIPTS: Final = ("svg.js", "charts.js", "maps.js", "table.js", "main.js")
LONGEST_S: Final = 150.0
"""Seconds of a game that a page shows; of a longer one the end."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A game to watch on the page."""

    kind: str
    why: str
    command: str  # which plays it again outside the page
    film: Film


@dataclass(frozen=True, slots=True)
class Subject:
    """All that a page is about."""

    name: str  # of the run, or of the file of games
    study: Study
    records: Records | None = None  # None: games of another program, which come without a run
    replays: Sequence[Replay] = ()
    notes: Sequence[str] = ()  # what is to be said about games that cannot be watched
    transcripts: Sequence[Transcript] = ()  # of games of words


def write_page(subject: Subject, path: Path) -> int:
    """Write the page, atomically; its size in bytes.

    Raises:
        ConfigError: the file cannot be written.
    """
    text = page(subject)
    with saved(path) as temporary:
        temporary.write_text(text, "utf-8")
    return path.stat().st_size


def page(subject: Subject) -> str:
    """The page as text."""
    folder, board, records = resources.files(__package__) / "view", subject.study.board, subject.records
    parts = player("h3")
    films = [_shown(replay) for replay in subject.replays]
    return sealed(
        read(folder, "page.html"),
        parts.style + read(folder, "board.css"),
        parts.script + read(folder, *_SCRIPTS),
        {
            "data-curve": rating_curve(board, records.steps_per_iteration if records else None),
            "data-maps": maps(subject.study),
            "data-training": training(records) if records else None,
            **{f"film-{i}": document(film) for i, film in enumerate(films)},
        },
        title=escape(subject.name),
        headline=escape(headline(board)),
        written=escape(datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        warnings=paragraphs(board.warnings, "warning"),
        table=table(board),
        rest=_rest(board),
        ratings=definitions(about_ratings(board)),
        cycles=_cycles(subject.study),
        rewards=rewards(board),
        watch="Games to read" if board.kind == "words" else "Games to watch",
        replays=transcripts(subject.transcripts) or _replays(subject, films, parts.html),
        training=_training(records),
        settings=_settings(records),
    )


def _rest(board: Leaderboard) -> str:
    hidden = len(board.rows) - len(board.top())
    return f'<button id="all" aria-pressed="false">Show all {len(board.rows)} players</button>' if hidden else ""


def _cycles(study: Study) -> str:
    found = cycles(study)
    if not found:
        return paragraphs(["No cycle of three players is clear enough to be named."], "quiet")
    return "<h3>Cycles</h3>" + points(found)


def _shown(replay: Replay) -> Film:
    film = replay.film
    return film.part(film.seconds - LONGEST_S) if film.seconds > LONGEST_S else film


def _replays(subject: Subject, films: Sequence[Film], element: str) -> str:
    if not films:
        return paragraphs(subject.notes or ["There is no game to watch on this page."], "quiet")
    choices, captions = [], []
    for i, (replay, film) in enumerate(zip(subject.replays, films, strict=True)):
        cut = replay.film.seconds - film.seconds
        left_out = f" The first {cut:.0f} seconds are left out here." if cut > 0.1 else ""
        choices.append(f'<button class="choice" data-film="{i}" aria-pressed="false">{escape(replay.kind)}</button>')
        captions.append(
            f'<p class="why" data-film="{i}" hidden>{escape(replay.why + left_out)}<br>'
            f"<code>{escape(replay.command)}</code></p>"
        )
    group = f'<div class="choices" role="group" aria-label="Games">{"".join(choices)}</div>'
    return f"{group}{''.join(captions)}{element}{paragraphs(subject.notes, 'quiet')}"


def _training(records: Records | None) -> str:
    if records is None:
        return ""
    charts = (
        '<div id="training"></div>'
        if records.metrics
        else paragraphs(["The run has no metrics.jsonl that could be read: no curves of its training."], "quiet")
    )
    return f'<section id="learning"><h2>Training</h2>{charts}<h3>Health</h3>{health(records)}</section>'


def _settings(records: Records | None) -> str:
    if records is None:
        return ""
    groups = [*settings(records.run), ("Machine and versions", machine(records))]
    cards = "".join(
        f'<div class="card"><h3>{escape(name)}</h3>{definitions(pairs)}</div>' for name, pairs in groups if pairs
    )
    return f'<section id="settings"><h2>Settings</h2><div class="cards">{cards}</div></section>' if cards else ""
