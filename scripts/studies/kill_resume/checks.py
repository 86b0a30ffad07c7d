"""Checks of a killed run, between two inspections of its folder."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.kill_resume.inspect_run import inspect_run
from selfplay.checkpoint import load_latest_learner
from selfplay.league.records import generation_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from numpy.typing import NDArray

    from scripts.studies.kill_resume.inspect_run import RunContents
    from selfplay.checkpoint import RunDir
    from selfplay.report.leaderboard_page.records import RunRecords

DETERMINED: Final = ("iteration", "total_steps", "matchmaker", "opponents", "generations", "ledger_position")
"""Fields of the last state that are equal in two equal runs."""


class SeenGenerations:
    """All generations that were ever seen, and the hashes of their weights."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}  # hashes by name; several if a resumed run made it again

    def add(self, now: RunContents) -> None:
        """Add the generations of an inspection."""
        for name, digest in (*now.generations.items(), *now.aside):
            self._seen.setdefault(name, set()).add(digest)

    def allow(self, name: str, version: str, now: RunContents) -> bool:
        """Whether a generation of this name and hash may have played: it exists, or it existed and was deleted."""
        if name in now.published:
            return version == now.published[name]
        if name in self._seen:
            return version in self._seen[name]
        return (generation_number(name) or 0) <= (now.newest or 0)  # made and deleted between two inspections


def find_faults(before: RunContents, now: RunContents, seen: SeenGenerations, *, replays: bool = False) -> list[str]:
    """Faults after a kill.

    Args:
        before: Inspection after the previous kill.
        now: Inspection after this kill.
        seen: Has the generations of both.
        replays: Whether games after a state are cut off and played again, as with ``--deterministic``.
    """
    return [
        *now.faults,
        *_states(before, now),
        *_generations(before, now),
        *_ledger(before, now, replays=replays),
        *(
            f"the ledger has a game of {name} with weights {version[:12]}, which it never had"
            for name, version in dict.fromkeys(player for row in now.rows for player in row.players)
            if not seen.allow(name, version, now)
        ),
    ]


def find_restart_faults(before: RunContents, resumed_at: int | None, now: RunContents) -> list[str]:
    """Faults of a restart. ``resumed_at``: the iteration that it printed, if it did."""
    faults = [f"{path} was left behind by a restart" for path, _ in sorted(before.hidden & now.hidden)]
    if resumed_at is not None and resumed_at != before.newest:
        faults.append(f"it resumed at iteration {resumed_at}, but the newest state that verified was {before.newest}")
    return faults


def find_metrics_faults(records: RunRecords, resumed: Set[int]) -> list[str]:
    """Faults in the rows of metrics. ``resumed``: the iterations that the run was resumed at.

    A kill may only lose rows that were not written yet, up to that of the state that the run resumes from.
    """
    rows = [row["iteration"] for row in records.metrics]
    faults = [] if rows == sorted(set(rows)) else ["metrics.jsonl has an iteration twice, or not in its place"]
    return faults + [
        f"metrics.jsonl lacks iterations {first} to {last}, but the run did not resume at {last}"
        for first, last in records.gaps
        if last not in resumed
    ]


def _states(before: RunContents, now: RunContents) -> Iterator[str]:
    if before.newest is not None and (now.newest is None or now.newest < before.newest):
        yield f"the state of iteration {before.newest} is lost: the newest is {now.newest}"
    for iteration, meta in now.states.items():
        missing = [name for name in meta.generations if name not in now.generations]
        if missing:
            yield f"the state of iteration {iteration} names {', '.join(missing)}, which is missing"
    ages = [generation_number(name) or 0 for meta in now.states.values() for name in meta.generations]
    if ages and max(ages) > max(now.states):
        yield f"gen_{max(ages)} is named by a state, but all states are older"


def _generations(before: RunContents, now: RunContents) -> Iterator[str]:
    for name, digest in before.published.items():
        if now.generations.get(name, digest) != digest:
            yield f"{name} has other weights than before"


def _ledger(before: RunContents, now: RunContents, *, replays: bool) -> Iterator[str]:
    certain = max((meta.ledger_position for meta in before.states.values()), default=0)
    kept = before.rows[:certain] if replays else before.rows
    if now.rows[: len(kept)] != kept:
        yield f"the first {len(kept)} games of the ledger have changed"
    twice = [match for match, count in Counter(row.match for row in now.rows).items() if count > 1]
    if twice:
        yield f"the ledger has {len(twice)} games twice, such as {twice[0]}"
    positions = [(iteration, now.states[iteration].ledger_position) for iteration in sorted(now.states)]
    for iteration, position in positions:
        if position > len(now.rows):
            yield f"the state of iteration {iteration} counts {position} games, the ledger has {len(now.rows)}"
    if [position for _, position in positions] != sorted(position for _, position in positions):
        yield "a newer state counts fewer games than an older one"


def differences(one: RunDir, other: RunDir) -> list[str]:
    """Bitwise differences between two runs in weights, learner, games, matchmaker and ledger, except wall times."""
    first, second = inspect_run(one), inspect_run(other)
    mine, theirs = load_latest_learner(one), load_latest_learner(other)
    same = {
        "the generations": first.generations == second.generations,
        "the ledger": first.rows == second.rows,
        "the names of arrays": mine.arrays.keys() == theirs.arrays.keys(),
        **{field: getattr(mine.meta, field) == getattr(theirs.meta, field) for field in DETERMINED},
        **{
            name: name in theirs.arrays and _bits(array) == _bits(theirs.arrays[name])
            for name, array in mine.arrays.items()
        },
    }
    return [f"a difference in {what}" for what, equal in same.items() if not equal]


def _bits(array: NDArray[Any]) -> tuple[object, ...]:
    return array.dtype, array.shape, array.tobytes()
