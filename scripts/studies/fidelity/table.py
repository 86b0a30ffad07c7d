"""The fidelity score as Markdown tables, and the curves of its plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.melee.tables import CHARACTERS, STAGES
from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.score import Measured, figures, rows
from scripts.studies.fidelity.windows import CHECKS, LENGTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLUMNS = {
    "covered": "covered",
    "movement windows": "movement_windows",
    "error, median": "position_error_30_median",
    "error, 90%": "position_error_30_p90",
    "same actions": "same_actions",
    "clean hits": "hits",
    "knockback": "knockback_within_1pct",
    "hitlag": "hitlag_exact",
    "hitstun": "hitstun_within_1",
    "damage": "damage_within_1pct",
    "circle": "circle_found",
}
_SHARES = {"covered", "same actions", "knockback", "hitlag", "hitstun", "damage", "circle"}


def text(files: Sequence[Measured]) -> str:
    """All tables."""
    judged = [file for file in files if file.judged]
    parts = [_file_table(files, judged)]
    if judged:
        parts += ["", _row_table(judged), "", _left_out_table(judged)]
    parts += ["", _covered_list()]
    return "\n".join(parts)


def _file_table(files: Sequence[Measured], judged: Sequence[Measured]) -> str:
    lines = [f"| file | slp | frames | {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 3) + "|"]
    for file in files:
        version = ".".join(map(str, file.version))
        lines.append(f"| {file.name} | {version}{'' if file.judged else ' (apart)'} | {_cells(figures([file]))} |")
    if len(judged) > 1:
        lines.append(f"| **from 3.8 on, together** | | {_cells(figures(judged))} |")
    return "\n".join(lines)


def _cells(made: dict[str, Any]) -> str:
    cells = [f"{made['frames']:,}"]
    for title, name in _COLUMNS.items():
        value = made[name]
        if value is None:
            cells.append("")
        elif title in _SHARES:
            cells.append(f"{value:.1%}")
        else:
            cells.append(f"{value:.3f}" if isinstance(value, float) else f"{value:,}")
    return " | ".join(cells)


def _row_table(judged: Sequence[Measured]) -> str:
    titles = [f"{check} f: 50%, 90%, 99%" for check in CHECKS]
    lines = [f"| windows of | count | same actions | {' | '.join(titles)} |", "|---" * (len(CHECKS) + 3) + "|"]
    for row in rows(judged):
        errors = [", ".join(f"{value:.3g}" for value in np.round(row.error[:, i], 3)) for i in range(len(CHECKS))]
        lines.append(f"| {row.name} | {row.windows:,} | {row.same:.0%} | {' | '.join(errors)} |")
    return "\n".join(lines)


def _left_out_table(judged: Sequence[Measured]) -> str:
    total: Counter[str] = Counter()
    for file in judged:
        total.update(file.left_out)
    frames = sum(file.counted for file in judged)
    lines = ["| not covered because of | frames | share |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {n:,} | {n / frames:.1%} |" for name, n in total.most_common(20))])


def _covered_list() -> str:
    actions = [
        f"{name} ({first}-{last})" if last > first else f"{name} ({first})" for name, first, last in coverage.MECHANICS
    ]
    return (
        f"Covered: characters {', '.join(sorted(CHARACTERS))}; stages {', '.join(sorted(STAGES))}; "
        f"action states {', '.join(actions)}."
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
