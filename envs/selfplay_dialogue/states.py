"""States of the matching game: a table, the cells that each seat sees, and the value of the best assignment.

States are drawn as dialop does (Lin et al., "Decision-Oriented Dialogue for Human-AI
Collaboration", TACL 2024). Letters in shapes: N states, n reviewers and as many papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from selfplay.games.errors import GameError
from selfplay_dialogue.hardness import first_hard, solo_worth

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PAPERS: Final = ("BLEU", "Electra", "GloVe", "GLUE", "LLaMA", "RoBERTa", "QuAC", "SWAG")
REVIEWERS: Final = (
    "Ava Li", "Daniel Nguyen", "Sofia Patel", "Andrei Petrov", "Morgan Reed", "Joseph Santos", "Ethan Smith",
    "Noah Wilson",
)  # fmt: skip
LARGEST_FACTOR: Final = 10.0  # of the values that a player sees
MOST: Final = 100_000  # maximum of a cell or factor in a JSON state
STATES_VERSION: Final = 2  # raise it when a seed gives another state
BATCH: Final = 256  # tables tried at once for a state
TRIES: Final = 2_000  # batches until the settings count as impossible


@dataclass(frozen=True, slots=True)
class MatchingRules:
    """Settings of the game. The defaults are dialop's."""

    size: int = 8  # n, 2 to 8
    known: float = 0.4  # probability that a player sees a cell
    values: int = 100  # cells are worth 0 to values - 1
    unseen: float = 50.0  # assumed value of a cell that a seat does not see
    hardness: float = 1.25  # minimum of best value / value of either player's own assignment
    scaled: bool = True  # each player sees values times its own factor, from 1 to 10
    max_turns: int = 30  # in all
    retries: int = 8  # maximum number of refused replies per turn; one more ends the game
    error_penalty: float = 0.0  # per refused reply, subtracted from the seat's reward
    table: str = "csv"  # format of a seat's cells: `csv`, or `triples` of paper, reviewer and value
    told: str = "full"  # text before the first turn: `full`, rules and an example; or `nothing`

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            GameError: names the setting.
        """
        for name, fine, valid in (
            ("size", 2 <= self.size <= len(PAPERS), f"2 to {len(PAPERS)}"),
            ("known", 0 < self.known <= 1, "above 0, at most 1"),
            ("values", 2 <= self.values <= 1000, "2 to 1000"),
            ("unseen", 0 <= self.unseen < self.values, "0 to below values"),
            ("hardness", self.hardness >= 1, "at least 1"),
            ("max_turns", self.max_turns >= 2, "at least 2"),
            ("retries", self.retries >= 0, "at least 0"),
            ("error_penalty", 0 <= self.error_penalty <= 100, "0 to 100"),
            ("table", self.table in ("csv", "triples"), "csv or triples"),
            ("told", self.told in ("full", "nothing"), "full or nothing"),
        ):
            if not fine:
                raise GameError(f"matching: {name} is {getattr(self, name)!r} (valid: {valid})")

    @property
    def papers(self) -> tuple[str, ...]:
        """Columns of the table."""
        return PAPERS[: self.size]

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Rows of the table."""
        return REVIEWERS[: self.size]


LAPTOP: Final = MatchingRules(
    size=4, values=10, unseen=4.5, scaled=False, max_turns=8, retries=0, table="triples", told="nothing"
)
"""The game that a laptop learns in minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchingState:
    """The start of a game."""

    table: Floats  # [n, n] reviewers x papers, unseen cells included
    masks: Bools  # [2, n, n] what each player sees
    scales: tuple[float, float]
    best: float  # value of the best assignment

    def shown(self, seat: int) -> list[tuple[int, int, int]]:
        """Cells that a seat sees, row by row: (reviewer, paper, value times the seat's factor, rounded down)."""
        rows, columns = np.nonzero(self.masks[seat])
        shown = (self.table[rows, columns] * self.scales[seat]).astype(int)
        return list(zip(rows.tolist(), columns.tolist(), shown.tolist(), strict=True))

    def worth(self, pairs: Sequence[tuple[int, int]]) -> float:
        """Sum of the cells (reviewer, paper)."""
        return float(sum(self.table[reviewer, paper] for reviewer, paper in pairs))

    def solo(self, seat: int, unseen: float) -> float:
        """Value of the assignment that is best on a seat's own cells: of all that are, the mean."""
        return solo_worth(self.table, self.masks[seat], unseen)

    def to_json(self) -> dict[str, Any]:
        """The state under the field names of dialop."""
        return {
            "table": [[number(value) for value in row] for row in self.table],
            "mask1": self.masks[0].astype(int).tolist(),
            "mask2": self.masks[1].astype(int).tolist(),
            "scale1": self.scales[0],
            "scale2": self.scales[1],
            "best_assignment_reward": number(self.best),
        }

    @classmethod
    def from_json(cls, document: object) -> MatchingState:
        """The state from JSON; other fields are ignored.

        Raises:
            GameError: a field is missing, of another shape, or its numbers do not agree.
        """
        match document:
            case {"table": table, "mask1": first, "mask2": second, "scale1": own, "scale2": other, **rest}:
                pass
            case _:
                raise GameError("matching: a state needs table, mask1, mask2, scale1 and scale2")
        values = _square("table", table, MOST)
        masks = [_square("mask1", first, 1), _square("mask2", second, 1)]
        if any(mask.shape != values.shape for mask in masks) or not np.isin(masks, (0, 1)).all():
            raise GameError(f"matching: mask1 and mask2 must be {len(values)} x {len(values)}, of 0 and 1")
        best = float(values[assignment(values)].sum())
        if best <= 0:
            raise GameError("matching: no assignment of this table is worth anything")
        given = rest.get("best_assignment_reward", best)
        if not isinstance(given, (int, float)) or not best - 1e-6 <= given <= best + 1e-6:
            raise GameError(f"matching: best_assignment_reward is {given!r}, but the best assignment is worth {best:g}")
        return cls(values, np.array(masks, np.bool_), (_scale("scale1", own), _scale("scale2", other)), best)


def number(value: float) -> int | float:
    """As JSON of dialop has it: whole numbers without a point."""
    return int(value) if float(value).is_integer() else float(value)


def _square(name: str, value: object, most: float) -> Floats:
    """[n, n] of a list of lists of numbers from 0 to ``most``."""
    rows = value if isinstance(value, list) and 2 <= len(value) <= len(PAPERS) else []
    if not rows or any(not isinstance(row, list) or len(row) != len(rows) for row in rows):
        raise GameError(f"matching: {name} must be a square of 2 to {len(PAPERS)} rows")
    for cell in (cell for row in rows for cell in row):
        if not _is_number(cell) or not 0 <= cell <= most:
            raise GameError(f"matching: {name} has a cell {str(cell)[:20]!r} (valid: numbers from 0 to {most:g})")
    return np.array(rows, np.float64)


def _scale(name: str, value: object) -> float:
    if not _is_number(value) or not 0 < value <= MOST:
        raise GameError(f"matching: {name} is {str(value)[:20]!r} (valid: above 0, at most {MOST:g})")
    return float(value)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def assignment(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Reviewers and papers of the assignment with the largest sum, by SciPy's solver."""
    rows, columns = linear_sum_assignment(values, maximize=True)
    return np.asarray(rows), np.asarray(columns)


def draw_states(rules: MatchingRules, seeds: Sequence[int]) -> list[MatchingState]:
    """A state for each seed; a state depends on its own seed alone.

    Raises:
        GameError: no such state was found.
    """
    return [_draw(rules, seed) for seed in seeds]


def _draw(rules: MatchingRules, seed: int) -> MatchingState:
    """Draw tables until one is hard enough to make talking pay (dialop's filter), with ties drawn at random."""
    rng = np.random.default_rng(seed)
    shape = (BATCH, rules.size, rules.size)
    for _ in range(TRIES):
        masks = rng.random((2, *shape)) < rules.known
        tables = np.where(masks.any(0), rng.integers(0, rules.values, shape), float(rules.unseen))
        i = first_hard(tables, masks, rng.random((2, BATCH, rules.size)), rules.unseen, rules.hardness)
        if i >= 0:
            scales = tuple(rng.uniform(1, LARGEST_FACTOR, 2).tolist()) if rules.scaled else (1.0, 1.0)
            table = tables[i].copy()
            return MatchingState(table, masks[:, i].copy(), scales, float(table[assignment(table)].sum()))
    raise GameError(f"matching: no state is as hard as {rules.hardness:g} with known {rules.known:g}")
