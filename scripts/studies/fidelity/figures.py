"""The headline figures of the score: over the frames of all files, and over files.

A pooled figure weighs files down so that none gives more than a tenth of what it rests on. Its interval comes from
drawing files, not frames: frames of one game are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.coverage import NAMES
from scripts.studies.fidelity.measure import Measured
from scripts.studies.fidelity.windows import CHECKS

LARGEST_SHARE: Final = 0.1  # that one file gives of a pooled figure, and
LARGEST_PART: Final = 2.0  # of an equal part, which is more where there are fewer than 20 files
LEAST_ITEMS: Final = 20  # windows, hits, ... that a file needs to count among files
DRAWS: Final = 1000  # of files, for an interval
SEED: Final = 25
WITHIN: Final = 0.01  # of knockback and damage, as a share

Values = Callable[[Measured], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: a share of 0 and 1, or a quantile, of the values of all files."""

    key: str
    title: str
    values: Values
    bar: float | None = None  # of the project
    quantile: float | None = None  # None: the mean
    refitted: Literal["yes", "in part", "no"] = "no"  # by the folds, of what it rests on and was fitted to replays

    def holds(self, value: float) -> bool:
        """Whether the bar is met: shares are to be high, errors low."""
        return self.bar is None or (value >= self.bar if self.quantile is None else value <= self.bar)


def _same(select: Callable[[NDArray[np.void]], NDArray[np.bool_]]) -> Values:
    return lambda file: file.windows["same"][select(file.windows)].astype(float)


def _error(frames: int, moving: bool) -> Values:
    column = CHECKS.index(frames)
    return lambda file: file.windows["error"][:, column][file.windows["moves"] | (not moving)]


def _with(*names: str) -> Callable[[NDArray[np.void]], NDArray[np.bool_]]:
    columns = [NAMES.index(name) for name in names]
    return lambda windows: np.asarray(windows["mechanics"][:, columns].any(1))


def _covered(file: Measured) -> NDArray[np.float64]:
    return (np.arange(file.counted) < file.covered).astype(float)


def _landings(file: Measured) -> NDArray[np.float64]:
    exact: NDArray[np.float64] = file.landings["exact"]
    return exact


def _recall(grab: bool) -> Values:
    return lambda file: file.contacts["found"][file.contacts["real"] & (file.contacts["grab"] == grab)].astype(float)


def _precision(file: Measured) -> NDArray[np.float64]:
    part = file.contacts[file.contacts["found"] & ~file.contacts["grab"] & ~file.contacts["early"]]
    return np.asarray(part["real"], float)


def _on_time(file: Measured) -> NDArray[np.float64]:
    part = file.contacts[file.contacts["found"] & ~file.contacts["grab"]]
    return np.asarray(~part["early"][part["real"] | part["early"]], float)


def _hits(name: str, close: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]]) -> Values:
    def values(file: Measured) -> NDArray[np.float64]:
        hits = file.hits  # one that the tables do not know is wrong
        launched = (hits["real_hitlag"] > 0) | (hits["mock_hitstun"] > 0) | (name == "damage")
        return np.asarray(close(hits[f"mock_{name}"], hits[f"real_{name}"])[launched], float)

    return values


def _relative(mock: NDArray[np.float64], real: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.abs(mock - real) <= WITHIN * np.maximum(real, 1e-9)


# The folds refit the heights of hulls and the lengths of falls. Landings rest on nothing else that was fitted; windows
# of all kinds also rest on attributes and single constants that were measured in all files.
IN_PART: Final = "in part"
HEADLINE: Final = (
    Figure("same_actions", "movement windows: same actions", _same(lambda w: w["moves"]), 0.95, None, IN_PART),
    Figure(
        "position_error_30_median",
        "movement windows: error after 30 frames, median",
        _error(30, True),
        None,
        0.5,
        IN_PART,
    ),
    Figure(
        "position_error_30_p90", "movement windows: error after 30 frames, 90%", _error(30, True), 0.3, 0.9, IN_PART
    ),
    Figure("all_same_actions", "all windows: same actions", _same(lambda w: w["t"] >= 0), 0.85, None, IN_PART),
    Figure(
        "all_position_error_30_p90", "all windows: error after 30 frames, 90%", _error(30, False), None, 0.9, IN_PART
    ),
    Figure("landing_exact", "landings on the same frame", _landings, 0.95, None, "yes"),
    Figure("contacts_recall", "contacts of the game that the mock finds", _recall(False), 0.93),
    Figure("contacts_precision", "contacts of the mock that the game has", _precision, 0.95),
    Figure("contacts_on_time", "those that do not come early", _on_time),
    Figure("grabs_recall", "grabs of the game that the mock finds", _recall(True)),
    Figure("knockback_within_1pct", "hits: knockback within 1%", _hits("knockback", _relative), 0.97),
    Figure("hitlag_exact", "hits: hitlag exact", _hits("hitlag", lambda mock, real: mock == real), 0.99),
    Figure("hitstun_within_1", "hits: hitstun within 1 frame", _hits("hitstun", lambda m, r: np.abs(m - r) <= 1), 0.98),
    Figure("damage_within_1pct", "hits: damage within 1%", _hits("damage", _relative), 0.95),
    Figure("covered", "frames covered", _covered, 0.95),
    Figure("held_same_actions", "grabbed and thrown: same actions", _same(_with("grabbed", "thrown")), 0.85),
    Figure("special_same_actions", "special moves: same actions", _same(_with("special")), 0.85),
    Figure("projectile_same_actions", "projectiles near: same actions", _same(lambda w: w["projectile"]), 0.85),
    Figure("ledge_same_actions", "ledge get-ups: same actions", _same(_with("ledge get-up")), 0.9),
)


def pooled(figure: Figure, files: Sequence[Measured]) -> dict[str, Any] | None:
    """A figure over all files with its 95% interval, and how files are spread; None without any value."""
    values = [part for part in (figure.values(file) for file in files) if len(part)]
    if not values:
        return None
    counts = np.array([len(part) for part in values], float)
    weights = file_weights(counts)
    draws = np.random.default_rng(SEED).multinomial(len(values), np.full(len(values), 1 / len(values)), DRAWS)
    made = _reduce(figure, values, np.concatenate([np.ones((1, len(values))), draws]) * weights)
    by_file = [_plain(figure, part) for part in values if len(part) >= LEAST_ITEMS]
    return {
        "value": float(made[0]),
        "low": float(np.quantile(made[1:], 0.025)),
        "high": float(np.quantile(made[1:], 0.975)),
        "items": int(counts.sum()),
        "files": len(by_file),
        "median_file": float(np.median(by_file)) if by_file else None,
        "quantiles_of_files": {f"{q}%": float(np.percentile(by_file, q)) for q in (10, 90)} if by_file else {},
        "bar": figure.bar,
        "holds": figure.holds(float(made[0])),
    }


def file_weights(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """[F] weight of each value of a file that gives ``counts`` values, above 0."""
    weights: NDArray[np.float64] = np.minimum(counts, cap(counts)) / counts
    return weights


def cap(counts: NDArray[np.float64]) -> float:
    """Number of values down to which files are weighed, so that none gives more than its largest share of all."""
    share = min(max(LARGEST_SHARE, LARGEST_PART / len(counts)), 1.0)
    descending = np.sort(counts)[::-1]
    for capped in range(len(counts)):
        if share * capped >= 1.0 - 1e-9:
            break
        limit = share * descending[capped:].sum() / (1.0 - share * capped)
        if descending[capped] <= limit * (1.0 + 1e-9):
            return float(max(limit, descending[capped]))
    return float(descending[-1])


def _reduce(figure: Figure, values: Sequence[NDArray[np.float64]], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """[D] the figure for each row of weights of the files, [D, F]."""
    if figure.quantile is None:
        total = weights @ np.array([len(part) for part in values])
        return np.asarray(weights @ np.array([part.sum() for part in values]) / total)
    everything = np.concatenate(values)
    order = np.argsort(everything)
    file = np.repeat(np.arange(len(values)), [len(part) for part in values])[order]
    sums = (np.cumsum(row[file]) for row in weights)
    return np.array([everything[order[np.searchsorted(part, figure.quantile * part[-1])]] for part in sums])


def _plain(figure: Figure, values: NDArray[np.float64]) -> float:
    return float(values.mean() if figure.quantile is None else np.quantile(values, figure.quantile))


def of_file(file: Measured) -> dict[str, float | None]:
    """The headline figures of one file."""
    values = ((figure, figure.values(file)) for figure in HEADLINE)
    return {figure.key: _plain(figure, part) if len(part) else None for figure, part in values}
