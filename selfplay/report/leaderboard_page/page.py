"""The leaderboard page of a run: ratings, training and games to watch.

Tables and texts are static HTML. The script in ``view/`` sorts the table, draws charts and maps from data in the page,
and plays the games. The page loads nothing from outside, see ``standalone_page``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.games.columns import NONE, Columns
from selfplay.report.health import Health, HealthMonitor
from selfplay.report.leaderboard_page.curves import cycles, maps, rating_curve, training
from selfplay.report.leaderboard_page.facts import (
    about_ratings,
    definitions,
    headline,
    health,
    machine,
    paragraphs,
    points,
    settings,
)
from selfplay.report.leaderboard_page.table import rewards, table
from selfplay.report.saving import save_text
from selfplay.report.standalone_page import PagePart, read, read_modules, standalone_page, theme
from selfplay.report.tree import counted

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard, LeaderboardAnalysis
    from selfplay.report.leaderboard_page.records import RunRecords

_SCRIPTS: Final = ("svg.js", "charts.js", "training.js", "maps.js", "table.js", "main.js")
GAPS: Final = 10  # maximum number of gaps that are listed


@dataclass(frozen=True, slots=True)
class PageReplay:
    """A game to watch on the page."""

    kind: str
    why: str
    command: str  # replays it outside the page; empty: there is none
    film: Mapping[str, Any]  # for the script of ``PageContent.part``


@dataclass(frozen=True, slots=True)
class TrainingView:
    """What the page of a run shows that depends on its game and its training."""

    columns: Columns
    health: HealthMonitor
    reading: str | None = None  # games to read, as HTML; None: there are games to watch
    newest: str = ""  # those of the last iteration


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    name: str  # of the run or the file of games
    study: LeaderboardAnalysis
    records: RunRecords | None = None  # None: games of another program
    view: TrainingView | None = None  # of a run
    part: PagePart | None = None  # what shows the games to watch
    replays: Sequence[PageReplay] = ()
    notes: Sequence[str] = ()  # why there are no games to watch
    play: Mapping[str, str] = field(default_factory=dict)  # addresses of play pages, by player
    exact: str = ""  # section with exact figures, as HTML
    tree: str = ""  # the supervision tree of the run, as HTML


def write_page(subject: PageContent, path: Path) -> int:
    """Write the page; its size in bytes. See ``save_text``."""
    return save_text(path, page(subject))


def page(subject: PageContent) -> str:
    folder, board, records = resources.files(__package__) / "view", subject.study.board, subject.records
    view = subject.view or TrainingView(NONE, Health())
    part = subject.part if subject.part is not None and subject.replays else PagePart("", "", "")
    games = _games(subject, view.reading, part.html)
    return standalone_page(
        read(folder, "page.html"),
        theme() + part.style + read(folder, "board.css"),
        read_modules(folder, *_SCRIPTS) + part.script + 'document.body.dataset.ready = "true";\n',
        {
            "data-curve": rating_curve(board, records.steps_per_iteration if records else None),
            "data-maps": maps(subject.study),
            "data-training": training(records, view.columns) if records else None,
            **{f"film-{i}": replay.film for i, replay in enumerate(subject.replays)},
        },
        title=escape(f"{subject.name}: ratings"),
        name=escape(subject.name),
        headline=escape(headline(board)),
        written=escape(datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        warnings=paragraphs(board.warnings, "warning"),
        counted="" if board.external else "Games between frozen players only: training games never count. ",
        table=table(board, subject.play),
        rest=_rest(board),
        people='<option value="person">people</option>' if any(row.person for row in board.rows) else "",
        ratings=definitions(about_ratings(board)),
        cycles=_cycles(subject.study),
        rewards=rewards(board),
        exact=subject.exact,
        first=games if subject.replays else "",
        later="" if subject.replays else games,
        training=_training(records, view.health),
        tree=_tree(subject.tree),
        settings=_settings(records),
    )


def stepper() -> PagePart:
    """What shows games step by step."""
    folder = resources.files(__package__) / "steps"
    return PagePart(read(folder, "stepper.html"), read(folder, "stepper.css"), read_modules(folder, "stepper.js"))


def _rest(board: Leaderboard) -> str:
    hidden = len(board.rows) - len(board.top())
    return f'<button id="all" aria-pressed="false">Show all {len(board.rows)} players</button>' if hidden else ""


def _cycles(study: LeaderboardAnalysis) -> str:
    found = cycles(study)
    if not found:
        return paragraphs(["No significant cycle of three players."], "quiet")
    return "<h3>Cycles</h3>" + points(found)


def _games(subject: PageContent, reading: str | None, element: str) -> str:
    heading = "Games to read" if reading else "Games to watch"
    return f'<section id="games"><h2>{heading}</h2>{reading or _replays(subject, element)}</section>'


def _replays(subject: PageContent, element: str) -> str:
    if not subject.replays:
        return paragraphs(subject.notes or ["This page has no game to watch."], "quiet")
    choices, captions = [], []
    for i, replay in enumerate(subject.replays):
        choices.append(f'<button class="choice" data-film="{i}" aria-pressed="false">{escape(replay.kind)}</button>')
        command = f"<br><code>{escape(replay.command)}</code>" if replay.command else ""
        captions.append(f'<p class="why" data-film="{i}" hidden>{escape(replay.why)}{command}</p>')
    group = f'<div class="choices" role="group" aria-label="Games">{"".join(choices)}</div>'
    return f"{group}{''.join(captions)}{element}{paragraphs(subject.notes, 'quiet')}"


def _training(records: RunRecords | None, monitor: HealthMonitor) -> str:
    if records is None:
        return ""
    charts = (
        '<div id="training"></div>'
        if records.metrics
        else paragraphs(["No training curves: the run has no readable metrics.jsonl."], "quiet")
    )
    charts += paragraphs(_lacking(records.gaps), "quiet")
    return f'<section id="learning"><h2>Training</h2>{charts}<h3>Health</h3>{health(records, monitor)}</section>'


def _lacking(gaps: Sequence[tuple[int, int]]) -> list[str]:
    if not gaps:
        return []
    shown = [str(first) if first == last else f"{first} to {last}" for first, last in gaps[:GAPS]]
    others = " and others" if len(gaps) > GAPS else ""
    count = counted(sum(last - first + 1 for first, last in gaps), "iteration")
    return [
        f"The curves leave out {count} without metrics: {', '.join(shown)}{others}. A run "
        "that is killed loses metrics that it has not written yet, but no training."
    ]


def _tree(tree: str) -> str:
    return f'<section id="supervision"><h2>Supervision</h2>{tree}</section>' if tree else ""


def _settings(records: RunRecords | None) -> str:
    if records is None:
        return ""
    groups = [*settings(records.run), ("Machine and versions", machine(records))]
    cards = "".join(
        f'<div class="card"><h3>{escape(name)}</h3>{definitions(pairs)}</div>' for name, pairs in groups if pairs
    )
    return f'<section id="settings"><h2>Settings</h2><div class="cards">{cards}</div></section>' if cards else ""
