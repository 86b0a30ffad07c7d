"""The fidelity score as Markdown tables, and the curves of its plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.figures import HEADLINE, Figure
from scripts.studies.fidelity.windows import CHECKS, LENGTH
from scripts.studies.pages import table
from selfplay_melee.tables import CHARACTERS, STAGES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scripts.studies.fidelity.measure import Measured

_BY_FILE: Final = {
    "covered": "covered",
    "same_actions": "movement: same",
    "position_error_30_p90": "error 90%",
    "all_same_actions": "all: same",
    "landing_exact": "landings",
    "contacts_recall": "contacts found",
    "contacts_precision": "of the game",
    "knockback_within_1pct": "knockback",
    "hitlag_exact": "hitlag",
    "damage_within_1pct": "damage",
}
_ERRORS: Final = frozenset(figure.key for figure in HEADLINE if figure.quantile is not None)
_HITS: Final = ("known", "knockback_within_1pct", "hitlag_exact", "hitstun_within_1", "damage_within_1pct")
MOST_LEFT_OUT: Final = 20  # rows of what is not covered


def text(made: dict[str, Any]) -> str:
    """All tables of what ``report`` made."""
    parts = [_about(made), headline(made), _files(made)]
    if made["mechanics"]:
        parts += [_windows(made["mechanics"], "windows with"), _windows(made["specials"], "windows with")]
        parts += [_contacts(made["contacts"]), _landings(made["landings"]), _hits(made["hits"]), _left_out(made)]
    return "\n\n".join([*(part for part in parts if part), _covered_list()])


def summary(made: dict[str, Any]) -> str:
    """What a page shows: the figures of all files, and what is covered."""
    return "\n\n".join((_about(made), headline(made), _covered_list()))


def character_text(made: dict[str, Any]) -> str:
    """One row per character that plays in the files, and one per file."""
    return f"{character_summary(made)}\n\n{_files(made)}"


def character_summary(made: dict[str, Any]) -> str:
    """One row per character that plays in the files."""
    rows = [
        row for name in sorted(CHARACTERS) for row in made["mechanics"] if row["name"] == coverage.character_group(name)
    ]
    return f"{_about(made)}\n\n{_windows(rows, 'windows with')}"


def _about(made: dict[str, Any]) -> str:
    judged = sum(file["judged"] for file in made["files"])
    tables = f"fitted on the other files of {made['folds']} folds" if made["folds"] else "of the mock"
    return f"{judged} of {len(made['files'])} files count; each was scored with the tables {tables}."


def headline(made: dict[str, Any]) -> str:
    """The figures of all judged files together, beside the bars of the project."""
    head = (
        *("figure", "all files", "95% interval", "median file", "10% to 90% of files"),
        *("held out", "bar", "met", "cases"),
    )
    rows = [_headline_row(figure, made["headline"][figure.key], made["folds"] > 0) for figure in HEADLINE]
    return table(head, rows)


def _headline_row(figure: Figure, made: dict[str, Any] | None, folds: bool) -> tuple[str, ...]:
    held_out = figure.refitted if folds else "no"
    if made is None:
        return (figure.title, *("" for _ in range(7)), "0")
    spread = made["quantiles_of_files"]
    bar = "" if made["bar"] is None else f"{'≥' if figure.quantile is None else '≤'} {_value(figure.key, made['bar'])}"
    return (
        figure.title,
        f"**{_exact(figure.key, made['value'])}**",
        f"{_value(figure.key, made['low'])} to {_value(figure.key, made['high'])}",
        _value(figure.key, made["median_file"]),
        f"{_value(figure.key, spread['10%'])} to {_value(figure.key, spread['90%'])}" if spread else "",
        held_out,
        bar,
        "" if made["bar"] is None else _met(made["holds"], held_out),
        f"{made['items']:,}",
    )


def _met(holds: bool, held_out: str) -> str:
    """A bar that is missed on files which the tables were fitted to is missed; only held-out files can meet one."""
    return ("yes" if held_out == "yes" else "not shown") if holds else "no"


def _value(key: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if key in _ERRORS else _percent(value)


def _exact(key: str, value: float) -> str:
    """With one digit more, so that a figure just below its bar does not look as if it met it."""
    return _value(key, value) if key in _ERRORS else f"{value:.2%}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _files(made: dict[str, Any]) -> str:
    rows = [
        (
            file["file"],
            f"{file['version']}{'' if file['judged'] else ' (apart)'}",
            f"{file['frames']:,}",
            f"{file['movement_windows']:,}",
            *(_value(key, file[key]) for key in _BY_FILE),
        )
        for file in made["files"]
    ]
    return table(("file", "slp", "frames", "movement windows", *_BY_FILE.values()), rows)


def _windows(rows: Sequence[dict[str, Any]], title: str) -> str:
    errors = [f"{check} f: 50%, 90%" for check in CHECKS]
    lines = [
        (
            row["name"],
            f"{row['windows']:,}",
            row["files"],
            _percent(row["covered"]),
            _percent(row["same_actions"]),
            *(", ".join(f"{np.round(x, 3):.3g}" for x in row["error"][str(check)]) for check in CHECKS),
        )
        for row in rows
    ]
    return table((title, "count", "files", "frames covered", "same actions", *errors), lines) if rows else ""


def _contacts(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        (
            row["name"],
            row["contacts"],
            _percent(row["recall"]),
            _percent(row["precision"]),
            *(row[key] for key in ("missed", "invented", "early")),
        )
        for row in rows
    ]
    return table(("contacts of", "in the game", "found", "of the game", "missed", "invented", "early"), lines)


def _landings(rows: Sequence[dict[str, Any]]) -> str:
    return table(
        ("landings from", "count", "same frame"),
        [(row["name"], row["landings"], _percent(row["exact"])) for row in rows],
    )


def _hits(rows: Sequence[dict[str, Any]]) -> str:
    lines = [(row["name"], row["hits"], *(_percent(row[key]) for key in (*_HITS, "circle_found"))) for row in rows]
    return table(("hits by", "count", "in the tables", "knockback", "hitlag", "hitstun", "damage", "circle"), lines)


def _left_out(made: dict[str, Any]) -> str:
    frames = sum(file["frames"] for file in made["files"] if file["judged"])
    rows = list(made["left_out"].items())[:MOST_LEFT_OUT]
    return table(
        ("not covered because of", "frames", "share"), [(name, f"{n:,}", f"{n / frames:.2%}") for name, n in rows]
    )


def _covered_list() -> str:
    def names(claim: bool | None) -> str:
        return ", ".join(dict.fromkeys(name for name, _, _, made in coverage.GROUPS if made is claim))

    return (
        f"Covered: characters {', '.join(sorted(CHARACTERS))}; stages {', '.join(sorted(STAGES))}; always "
        f"{names(coverage.RULES)}; where the character's table has the action {names(coverage.ROWS)}; "
        f"never {names(coverage.NOTHING)}."
    )


def closeness(judged: Sequence[Measured]) -> dict[str, NDArray[np.float64]]:
    """Share of movement windows, by character, that are still close after 0 .. LENGTH frames."""
    windows = np.concatenate([file.windows for file in judged])
    moving = windows[windows["moves"]]
    names = {number: name for name, number in CHARACTERS.items()}
    return {
        names[int(character)]: np.array(
            [(moving["close"][moving["character"] == character] >= frames).mean() for frames in range(LENGTH + 1)]
        )
        for character in np.unique(moving["character"])
    }
