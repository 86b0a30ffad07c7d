"""What lies in the folder of a run at a moment, read as a stranger would: nothing is repaired and nothing removed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import list_generations, load_generation
from selfplay.checkpoint.generations import SET_ASIDE
from selfplay.checkpoint.learner_state import verified_meta
from selfplay.checkpoint.models import is_model, read_model, weights_of
from selfplay.errors import CheckpointError
from selfplay.league.records import generation_number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selfplay.checkpoint import LearnerMeta, RunDir

HIDDEN: Final = (".tmp-", ".old-")
OLD: Final = ".old-"


@dataclass(frozen=True, slots=True)
class Row:
    """A game of the ledger."""

    match: str
    players: tuple[tuple[str, str], ...]  # name and version of each generation in it; scripted players are left out
    text: str  # all of it but the clock, which two equal runs may differ in


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found.

    Attributes:
        states: Of those that verify, by iteration.
        generations: Hash of the weights of each that verifies.
        aside: The same, (name, hash), of those that a resumed run has moved out of the way.
        rows: Of the ledger, in order; a torn last line is left out.
        hidden: What a save in progress leaves, by path and inode.
        faults: What cannot be as it is, whenever a run is killed.
    """

    states: dict[int, LearnerMeta]
    generations: dict[str, str]
    aside: frozenset[tuple[str, str]]
    rows: tuple[Row, ...]
    hidden: frozenset[tuple[str, int]]
    faults: tuple[str, ...]

    @property
    def newest(self) -> int | None:
        """Iteration of the newest state that verifies."""
        return max(self.states, default=None)

    @property
    def published(self) -> dict[str, str]:
        """Generations that a state names, and the hash of their weights."""
        named = {name for meta in self.states.values() for name in meta.generations}
        return {name: digest for name, digest in self.generations.items() if name in named}


def survey(run: RunDir) -> Survey:
    """Look at a run that nobody trains."""
    faults: list[str] = []
    states, generations = {}, {}
    for path in _states(run):
        try:
            meta = verified_meta(path)
            states[meta.iteration] = meta
        except CheckpointError as error:
            faults.append(f"a state is damaged: {error}")
    for one in list_generations(run):
        try:
            generations[one.id] = _hash(one.path)
        except CheckpointError as error:
            faults.append(f"a generation is damaged: {error}")
    aside = run.generations / SET_ASIDE
    moved = sorted(aside.iterdir()) if aside.is_dir() else []
    rows, wrong = _rows(run.ledger)
    return Survey(
        states=states,
        generations=generations,
        aside=frozenset((path.name.rpartition("-")[0], _hash(path)) for path in moved),
        rows=rows,
        hidden=frozenset((str(path.relative_to(run.path)), path.lstat().st_ino) for path in hidden(run)),
        faults=(*faults, *wrong),
    )


def hidden(run: RunDir) -> Iterator[Path]:
    """What a save in progress, or one that was killed, has in the folder of a run."""
    for folder in (run.path, run.exploiters):
        yield from _hidden(folder)
    yield from saving(run)


def saving(run: RunDir) -> Iterator[Path]:
    """The same of generations and states alone."""
    for folder in (run.generations, run.learner):
        yield from _hidden(folder)


def _hidden(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.name.startswith(HIDDEN))


def _states(run: RunDir) -> list[Path]:
    """Folders of states; one that was moved aside counts where its successor has not come."""
    if not run.learner.is_dir():
        return []
    there = {path.name: path for path in run.learner.iterdir()}
    old = {name.removeprefix(OLD): path for name, path in there.items() if name.startswith(OLD)}
    return [path for name, path in sorted((old | there).items()) if name.startswith("iter_")]


def _hash(path: Path) -> str:
    if is_model(path):
        read_model(path)
        return weights_of(path)
    return str(load_generation(path)[0].weights_hash)


def _rows(path: Path) -> tuple[tuple[Row, ...], list[str]]:
    if not path.exists():
        return (), []
    *lines, torn = path.read_bytes().split(b"\n")
    rows, faults = [], []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_row(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            faults.append(f"{path}:{number} is no game: {error!r}")
    del torn  # the next writer cuts it off
    return tuple(rows), faults


def _row(game: dict[str, Any]) -> Row:
    sides = [*game["seats"], *([game["partner"]] if game.get("partner") else [])]
    players = tuple((s["player"], s["version"]) for s in sides if generation_number(s["player"]) is not None)
    text = json.dumps({name: value for name, value in game.items() if name != "wall"})
    return Row(game["match"], players, text)
