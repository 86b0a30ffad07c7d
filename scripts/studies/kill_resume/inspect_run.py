"""Read the folder of a run without repairing or removing anything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import list_generations, load_generation
from selfplay.checkpoint.generations import SET_ASIDE
from selfplay.checkpoint.learner_state import read_meta
from selfplay.checkpoint.store import open_folder
from selfplay.dialogue.models import is_model, read_model, weights_of
from selfplay.errors import CheckpointError
from selfplay.league.records import generation_number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selfplay.checkpoint import LearnerMeta, RunDir

HIDDEN: Final = (".tmp-", ".old-")
OLD: Final = ".old-"


@dataclass(frozen=True, slots=True)
class LedgerGame:
    """A game of the ledger."""

    match: str
    players: tuple[tuple[str, str], ...]  # name and version of each generation, without scripted players
    text: str  # the row without its wall time


@dataclass(frozen=True, slots=True)
class RunContents:
    """Contents of the folder of a run.

    Attributes:
        states: Verified learner states, by iteration.
        generations: Hashes of the weights of verified generations, by name.
        aside: Names and hashes of generations that a resumed run has set aside.
        rows: Games of the ledger, without a torn last line.
        hidden: Paths and inodes of unfinished saves.
        faults: Damage that no kill may cause.
    """

    states: dict[int, LearnerMeta]
    generations: dict[str, str]
    aside: frozenset[tuple[str, str]]
    rows: tuple[LedgerGame, ...]
    hidden: frozenset[tuple[str, int]]
    faults: tuple[str, ...]

    @property
    def newest(self) -> int | None:
        """Iteration of the newest verified state."""
        return max(self.states, default=None)

    @property
    def published(self) -> dict[str, str]:
        """Hashes of the generations that a state names, by name."""
        named = {name for meta in self.states.values() for name in meta.generations}
        return {name: digest for name, digest in self.generations.items() if name in named}


def inspect_run(run: RunDir) -> RunContents:
    """Read a run that is not being trained."""
    faults: list[str] = []
    states, generations = {}, {}
    for path in _states(run):
        try:
            folder = open_folder(path)
            folder.verify()
            meta = read_meta(folder)
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
    return RunContents(
        states=states,
        generations=generations,
        aside=frozenset((path.name.rpartition("-")[0], _hash(path)) for path in moved),
        rows=rows,
        hidden=frozenset((str(path.relative_to(run.path)), path.lstat().st_ino) for path in hidden(run)),
        faults=(*faults, *wrong),
    )


def hidden(run: RunDir) -> Iterator[Path]:
    """Temporary files and folders of saves that are in progress or were killed."""
    for folder in (run.path, run.exploiters):
        yield from _hidden(folder)
    yield from unfinished_saves(run)


def unfinished_saves(run: RunDir) -> Iterator[Path]:
    """Those of generations and learner states only."""
    for folder in (run.generations, run.learner):
        yield from _hidden(folder)


def _hidden(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.name.startswith(HIDDEN))


def _states(run: RunDir) -> list[Path]:
    """Folders of states; one that was moved aside counts if its replacement is missing."""
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


def _rows(path: Path) -> tuple[tuple[LedgerGame, ...], list[str]]:
    if not path.exists():
        return (), []
    *lines, torn = path.read_bytes().split(b"\n")
    rows, faults = [], []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_row(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            faults.append(f"{path}:{number} is no game: {error!r}")
    del torn  # the next writer removes it
    return tuple(rows), faults


def _row(game: dict[str, Any]) -> LedgerGame:
    sides = [*game["seats"], *([game["partner"]] if game.get("partner") else [])]
    players = tuple((s["player"], s["version"]) for s in sides if generation_number(s["player"]) is not None)
    text = json.dumps({name: value for name, value in game.items() if name != "wall"})
    return LedgerGame(game["match"], players, text)
