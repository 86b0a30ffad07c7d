"""The fidelity score: how closely the mock reproduces replay files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee import actions as a
from envs.melee.tables import CHARACTERS, STAGES
from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.hits import HIT, clean_hits
from scripts.studies.fidelity.reconstruct import reconstruct_memory
from scripts.studies.fidelity.windows import CHECKS, LENGTH, play_windows

if TYPE_CHECKING:
    from envs.melee.replay import Replay

JUDGED: Final = (3, 8)  # versions from here on record everything that the score compares
LEAST_MOVE: Final = 0.5  # units that a movement window moves at least
LEAST_WINDOWS: Final = 30  # windows of a mechanic that make a row
KNOCKBACK_SHARE: Final = 0.01

# One window of one seat in which both players do only what is covered.
WINDOW: Final = np.dtype(
    [
        ("t", "i4"),
        ("seat", "i4"),
        ("character", "i4"),
        ("moves", "?"),  # a movement window
        ("still", "?"),  # would be one but does not move
        ("same", "?"),  # the actions are equal on every frame
        ("close", "i4"),  # frames for which the mock stays within NEAR
        ("error", "f8", (len(CHECKS),)),
        ("mechanics", "?", (len(coverage.NAMES),)),  # those that occur
    ]
)
# Actions of a movement window: on foot or in the air, attacks, shields and dodges, but nothing done by the other.
_MOVING: Final = ((a.WAIT, a.FALL_SPECIAL_B), (a.SQUAT, a.LANDING_DAIR), (a.GUARD_ON, a.GUARD_OFF),
                  (a.ROLL_F, a.AIR_DODGE), (a.PLATFORM_DROP, a.TEETER_WAIT))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of one file."""

    name: str
    version: tuple[int, int, int]
    counted: int  # frames of play
    covered: int
    left_out: dict[str, int]  # why the rest is not covered: reason -> frames
    windows: NDArray[np.void]  # WINDOW [K]
    hits: NDArray[np.void]  # HIT [K]

    @property
    def judged(self) -> bool:
        """Whether the file's version records every field."""
        return self.version[:2] >= JUDGED


def measure(replay: Replay) -> Measured:
    """Measure one replay."""
    reasons, counted = coverage.reasons(replay), coverage.counted(replay)
    known = int(replay.stage) in STAGES.values() and not (reasons == coverage.CHARACTER).any()
    memory = reconstruct_memory(replay) if known else None
    return Measured(
        Path(replay.path).name,
        replay.version,
        int(counted.sum()),
        int((counted & (reasons == coverage.COVERED)).sum()),
        _left_out(replay, reasons, counted),
        np.zeros(0, WINDOW) if memory is None else _windows(replay, memory, counted & (reasons == coverage.COVERED)),
        np.zeros(0, HIT) if memory is None else clean_hits(replay, memory),
    )


def _left_out(replay: Replay, reasons: NDArray[np.int8], counted: NDArray[np.bool_]) -> dict[str, int]:
    result: Counter[str] = Counter()
    for reason in (coverage.CHARACTER, coverage.STAGE, coverage.PROJECTILE):
        result[coverage.REASONS[reason]] = int((counted & (reasons == reason)).sum())
    rows = np.flatnonzero(counted & (reasons == coverage.ACTION))
    mechanics = coverage.mechanics(replay)[rows]
    actions = replay.state.players["action"][rows]
    for seat in (0, 1):
        first = (mechanics[:, seat] < 0) & ((seat == 0) | (mechanics[:, 0] >= 0))
        for action, count in zip(*np.unique(actions[first, seat], return_counts=True), strict=True):
            result[f"action {coverage.action_name(int(action))}"] += int(count)
    return {name: count for name, count in result.most_common() if count}


def _windows(replay: Replay, memory: NDArray[np.void], covered: NDArray[np.bool_]) -> NDArray[np.void]:
    played = play_windows(replay, memory)
    whole = _all_in(covered & ~replay.rolled_back)
    mechanics = coverage.mechanics(replay)
    parts = []
    for seat in (0, 1):
        p = replay.state.players[:, seat]
        free = _all_in(_is_moving(p["action"]) & ~(p["hitlag"] > 0))
        moves = _farthest(p["x"], p["y"]) > LEAST_MOVE
        rows = np.flatnonzero(whole)
        part = np.zeros(len(rows), WINDOW)
        part["t"], part["seat"], part["character"] = rows, seat, p["character"][rows]
        part["moves"], part["still"] = (free & moves)[rows], (free & ~moves)[rows]
        part["same"] = played.same[rows, seat] == LENGTH
        part["close"] = played.close[rows, seat]
        part["error"] = played.error[rows, seat]
        for i in range(len(coverage.NAMES)):
            part["mechanics"][:, i] = _any_in(mechanics[:, seat] == i)[rows]
        parts.append(part)
    return np.concatenate(parts)


def _is_moving(action: NDArray[np.int32]) -> NDArray[np.bool_]:
    moving = np.zeros(action.shape, bool)
    for first, last in _MOVING:
        moving |= (action >= first) & (action <= last)
    return moving


def _all_in(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of every window, whether a flag holds on all of its frames, the first real one included."""
    if len(flags) <= LENGTH:
        return flags[:0]
    views: NDArray[np.bool_] = np.lib.stride_tricks.sliding_window_view(flags, LENGTH + 1)
    whole: NDArray[np.bool_] = np.asarray(views.all(1))
    return whole


def _any_in(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return ~_all_in(~flags)


def _farthest(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest distance of a window from its start."""
    count = max(0, len(x) - LENGTH)
    result = np.zeros(count)
    for i in range(1, LENGTH + 1):
        np.maximum(result, np.hypot(x[i : i + count] - x[:count], y[i : i + count] - y[:count]), out=result)
    return result


def figures(files: Sequence[Measured]) -> dict[str, Any]:
    """The score over some files; None if nothing can be judged."""
    windows = np.concatenate([np.zeros(0, WINDOW), *(file.windows for file in files)])
    moving = windows[windows["moves"]]
    hits = np.concatenate([np.zeros(0, HIT), *(file.hits for file in files)])
    error = moving["error"][:, CHECKS.index(30)]
    counted = sum(file.counted for file in files)
    within = np.abs(hits["mock_knockback"] / np.maximum(hits["real_knockback"], 1e-9) - 1) <= KNOCKBACK_SHARE
    return {
        "position_error_30_median": _quantile(error, 50),
        "position_error_30_p90": _quantile(error, 90),
        "same_actions": _share(moving["same"]),
        "knockback_within_1pct": _share(within),
        "hitlag_exact": _share(hits["mock_hitlag"] == hits["real_hitlag"]),
        "hitstun_within_1": _share(np.abs(hits["mock_hitstun"] - hits["real_hitstun"]) <= 1),
        "damage_within_1pct": _share(np.abs(hits["mock_damage"] / np.maximum(hits["real_damage"], 1e-9) - 1) <= 0.01),
        "circle_found": _share(hits["found"] == 1),
        "covered": sum(file.covered for file in files) / counted if counted else None,
        "movement_windows": len(moving),
        "still_windows": int(windows["still"].sum()),
        "windows": len(windows),
        "hits": len(hits),
        "frames": counted,
        "covered_frames": sum(file.covered for file in files),
    }


def _quantile(values: NDArray[np.float64], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if len(values) else None


def _share(flags: NDArray[np.bool_]) -> float | None:
    return float(flags.mean()) if len(flags) else None


@dataclass(frozen=True, slots=True)
class WindowErrors:
    """Errors of some windows: quantiles 50, 90 and 99 after each of CHECKS."""

    name: str
    windows: int
    same: float
    error: NDArray[np.float64]  # [3, len(CHECKS)]


def rows(files: Sequence[Measured]) -> list[WindowErrors]:
    """By kind of window, by character and by mechanic; those with enough windows."""
    windows = np.concatenate([file.windows for file in files])
    moving = windows[windows["moves"]]
    names = {number: name for name, number in CHARACTERS.items()}
    groups = [("all movement windows", moving), ("still windows", windows[windows["still"]])]
    groups += [(names[int(c)], moving[moving["character"] == c]) for c in np.unique(moving["character"])]
    groups += [(name, windows[windows["mechanics"][:, i]]) for i, name in enumerate(coverage.NAMES)]
    return [
        WindowErrors(name, len(part), float(part["same"].mean()), np.percentile(part["error"], (50, 90, 99), axis=0))
        for name, part in groups
        if len(part) >= LEAST_WINDOWS
    ]


def report(files: Sequence[Measured]) -> dict[str, Any]:
    """The score as a JSON document: of all judged files together, and of each file."""
    judged = [file for file in files if file.judged]
    return figures(judged) | {
        "characters": sorted(CHARACTERS),
        "stages": sorted(STAGES),
        "mechanics": list(coverage.NAMES),
        "files": [
            {"file": file.name, "version": ".".join(map(str, file.version)), "judged": file.judged}
            | figures([file])
            | {"left_out": file.left_out}
            for file in files
        ],
    }
