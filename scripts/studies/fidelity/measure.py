"""Everything that the score needs of one replay."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.contacts import CONTACT, contacts
from scripts.studies.fidelity.hits import HIT, clean_hits
from scripts.studies.fidelity.landings import LANDING, landings
from scripts.studies.fidelity.reconstruct import reconstruct_memory
from scripts.studies.fidelity.select import LEAST_MOVE, all_in, any_in, farthest, is_moving
from scripts.studies.fidelity.windows import CHECKS, LENGTH, Windows, play_windows
from selfplay_melee.tables import CHARACTERS, Tables, load_tables

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

JUDGED: Final = (3, 8)  # versions from here on record everything that the score compares

# One window of one seat in which both players do only what is covered.
WINDOW: Final = np.dtype(
    [
        ("t", "i4"),
        ("seat", "i4"),
        ("character", "i4"),
        ("moves", "?"),  # a movement window
        ("same", "?"),  # the actions are equal on every frame
        ("close", "i4"),  # frames for which the mock stays within NEAR
        ("error", "f8", (len(CHECKS),)),
        ("mechanics", "?", (len(coverage.NAMES),)),  # those that occur
        ("specials", "?", (len(coverage.DIRECTIONS),)),  # special moves that occur
        ("projectile", "?"),  # one is near on some frame
    ]
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of one file."""

    name: str
    version: tuple[int, int, int]
    playable: bool  # the mock has its stage and characters
    counted: int  # frames of play
    covered: int
    left_out: dict[str, int]  # why the rest is not covered: reason -> frames
    groups: dict[str, tuple[int, int]]  # of mechanics: frames of either player, and how many of them are covered
    windows: NDArray[np.void]  # WINDOW [K]
    landings: NDArray[np.void]  # LANDING [K]
    contacts: NDArray[np.void]  # CONTACT [K]
    hits: NDArray[np.void]  # HIT [K]

    @property
    def judged(self) -> bool:
        """Whether the mock can play it, and the file's version records every field."""
        return self.playable and self.version[:2] >= JUDGED


def measure(replay: Replay, tables: Tables | None = None) -> Measured:
    """Measure one replay."""
    tables = tables or load_tables()
    reasons, counted = coverage.reasons(replay, tables), coverage.counted(replay)
    playable = coverage.is_playable(replay)
    covered = counted & (reasons == coverage.COVERED)
    memory = reconstruct_memory(replay, tables) if playable else None
    played = None if memory is None else play_windows(replay, memory, tables)
    complete = replay.version[:2] >= JUDGED
    return Measured(
        Path(replay.path).name,
        replay.version,
        playable,
        int(counted.sum()),
        int(covered.sum()),
        _left_out(replay, reasons, counted, tables),
        _groups(replay, counted, covered, tables),
        np.zeros(0, WINDOW) if played is None else _windows(replay, played, covered, tables),
        np.zeros(0, LANDING) if memory is None or played is None else landings(replay, memory, played, covered, tables),
        np.zeros(0, CONTACT) if memory is None or not complete else contacts(replay, memory, covered, tables),
        np.zeros(0, HIT) if memory is None or not complete else clean_hits(replay, memory, covered, tables),
    )


def _left_out(replay: Replay, reasons: NDArray[np.int8], counted: NDArray[np.bool_], tables: Tables) -> dict[str, int]:
    result: Counter[str] = Counter()
    for reason in (coverage.CHARACTER, coverage.STAGE, coverage.PROJECTILE):
        result[coverage.REASONS[reason]] = int((counted & (reasons == reason)).sum())
    rows = np.flatnonzero(counted & (reasons == coverage.ACTION))
    claimed, players = coverage.claims(replay, tables)[rows], replay.state.players[rows]
    for seat in (0, 1):
        first = ~claimed[:, seat] & ((seat == 0) | claimed[:, 0])
        pairs = np.stack([players["character"][first, seat], players["action"][first, seat]], 1)
        for (character, action), count in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
            result[coverage.name_of(int(character), int(action))] += int(count)
    return {name: count for name, count in result.most_common() if count}


def _groups(
    replay: Replay, counted: NDArray[np.bool_], covered: NDArray[np.bool_], tables: Tables
) -> dict[str, tuple[int, int]]:
    p = replay.state.players
    mechanics, specials = coverage.mechanics(replay, tables), coverage.special_moves(p["character"], p["action"])
    groups = {name: mechanics == i for i, name in enumerate(coverage.NAMES)}
    groups["projectile"] = coverage.near_items(replay)[:, None]
    for name, number in CHARACTERS.items():
        groups[coverage.character_group(name)] = p["character"] == number
        mine = (p["character"] == number) & (mechanics == coverage.NAMES.index("special"))
        groups |= {coverage.special_name(name, i): mine & (specials == i) for i in range(len(coverage.DIRECTIONS))}
    rows = {name: on.any(1) & counted for name, on in groups.items()}
    return {name: (int(on.sum()), int((covered & on).sum())) for name, on in rows.items() if on.any()}


def _windows(replay: Replay, played: Windows, covered: NDArray[np.bool_], tables: Tables) -> NDArray[np.void]:
    whole = np.flatnonzero(all_in(covered))
    mechanics, near = coverage.mechanics(replay, tables), any_in(coverage.near_items(replay))
    parts = []
    for seat in (0, 1):
        p = replay.state.players[:, seat]
        free = all_in(is_moving(p["action"]) & ~(p["hitlag"] > 0))
        specials = coverage.special_moves(p["character"], p["action"])
        part = np.zeros(len(whole), WINDOW)
        part["t"], part["seat"], part["character"] = whole, seat, p["character"][whole]
        part["moves"] = (free & (farthest(p["x"], p["y"]) > LEAST_MOVE))[whole]
        part["same"] = played.same[whole, seat] == LENGTH
        part["close"] = played.close[whole, seat]
        part["error"] = played.error[whole, seat]
        part["mechanics"] = any_in(mechanics[:, seat, None] == np.arange(len(coverage.NAMES)))[whole]
        part["specials"] = any_in(specials[:, None] == np.arange(len(coverage.DIRECTIONS)))[whole]
        part["projectile"] = near[whole]
        parts.append(part)
    return np.concatenate(parts)
