"""What must be true of a run that was killed, between one look at its folder and the next."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import load_latest_learner
from selfplay.league.records import generation_number
from selfplay.trainer.torture.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from selfplay.checkpoint import RunDir
    from selfplay.trainer.torture.survey import Survey

DETERMINED: Final = ("iteration", "total_steps", "matchmaker", "opponents", "generations", "ledger_position")
"""What two equal runs have in common of their last state, beside its arrays."""


class Book:
    """Every generation that was ever seen, which nothing on the disk may contradict."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}  # hashes by name; more than one where a run went back and made it anew

    def note(self, now: Survey) -> None:
        """Remember who is there."""
        for name, digest in (*now.generations.items(), *now.aside):
            self._seen.setdefault(name, set()).add(digest)

    def knows(self, name: str, version: str, now: Survey) -> bool:
        """Whether somebody may have played under this name and hash: he is there, or was and has been deleted."""
        if name in now.published:
            return version == now.published[name]
        if name in self._seen:
            return version in self._seen[name]
        return (generation_number(name) or 0) <= (now.newest or 0)  # came and went between two looks


def faults_of(before: Survey, now: Survey, book: Book, *, replays: bool = False) -> list[str]:
    """What is wrong after a kill.

    Args:
        before: The look after the kill before this one.
        now: The look after this one.
        book: Knows both.
        replays: Whether games behind a state are cut off and played again, as with ``--deterministic``.
    """
    return [
        *now.faults,
        *_states(before, now),
        *_generations(before, now),
        *_ledger(before, now, replays=replays),
        *(
            f"the ledger has a game of {name} with weights {version[:12]}, which it never had"
            for name, version in dict.fromkeys(player for row in now.rows for player in row.players)
            if not book.knows(name, version, now)
        ),
    ]


def faults_of_restart(before: Survey, resumed_at: int | None, now: Survey) -> list[str]:
    """What is wrong with how a run went on. ``before`` is the look before it, ``resumed_at`` what it said."""
    faults = [f"{path} was left behind by a restart" for path, _ in sorted(before.hidden & now.hidden)]
    if resumed_at is not None and resumed_at != before.newest:
        faults.append(f"it resumed at iteration {resumed_at}, but the newest state that verified was {before.newest}")
    return faults


def _states(before: Survey, now: Survey) -> Iterator[str]:
    if before.newest is not None and (now.newest is None or now.newest < before.newest):
        yield f"the state of iteration {before.newest} is lost: the newest is {now.newest}"
    for iteration, meta in now.states.items():
        missing = [name for name in meta.generations if name not in now.generations]
        if missing:
            yield f"the state of iteration {iteration} goes on with {', '.join(missing)}, which is not there"
    ages = [generation_number(name) or 0 for meta in now.states.values() for name in meta.generations]
    if ages and max(ages) > max(now.states):
        yield f"gen_{max(ages)} is named by a state, but none of them is as new"


def _generations(before: Survey, now: Survey) -> Iterator[str]:
    for name, digest in before.published.items():
        if now.generations.get(name, digest) != digest:
            yield f"{name} has other weights than before"


def _ledger(before: Survey, now: Survey, *, replays: bool) -> Iterator[str]:
    certain = max((meta.ledger_position for meta in before.states.values()), default=0)
    kept = before.rows[:certain] if replays else before.rows
    if now.rows[: len(kept)] != kept:
        yield f"the {len(kept)} games that the ledger had are not those that it begins with"
    twice = [match for match, count in Counter(row.match for row in now.rows).items() if count > 1]
    if twice:
        yield f"the ledger has {len(twice)} games twice, such as {twice[0]}"
    positions = [(iteration, now.states[iteration].ledger_position) for iteration in sorted(now.states)]
    for iteration, position in positions:
        if position > len(now.rows):
            yield f"the state of iteration {iteration} knows of {position} games, the ledger has {len(now.rows)}"
    if [position for _, position in positions] != sorted(position for _, position in positions):
        yield "a newer state knows of fewer games than an older one"


def differences(one: RunDir, other: RunDir) -> list[str]:
    """Where two runs are not equal bit for bit: weights, learner, games, matchmaker and ledger, but for the clock."""
    first, second = survey(one), survey(other)
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
