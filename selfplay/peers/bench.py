"""Steps a second of this project's loop and of other trainers on the same training, in turn.

A sample is a fresh process; its first iteration is not counted. First each trainer tries its ways, threads and
variants; the fastest is kept. Then the rounds: every trainer once in each, so that what else the machine does meets
all of them.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.peers.jobs import session_of, write_first_weights
from selfplay.peers.running import Answer, System, Way, ask, ours
from selfplay.peers.venvs import PeerError, prepared
from selfplay.trainer.bench import ROLLOUT
from selfplay.trainer.machine import processor, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from selfplay.peers.venvs import Peer

    Ask = Callable[[list[str], dict[str, str]], Answer]
    Say = Callable[[str], None]

TRIALS = 2  # of each way


@dataclass(slots=True)
class Row:
    """One trainer at one number of games."""

    system: str
    games: int
    seats: int
    threads: int
    variant: str = ""
    version: str = ""
    agent_steps_per_s: list[float] = field(default_factory=list)  # of each round
    rollout_share: list[float] = field(default_factory=list)  # of the time, where the trainer tells
    tried: list[dict[str, Any]] = field(default_factory=list)  # its ways, each with the best of its trials
    error: str | None = None


class Bench:
    """Measures; what a trainer cannot do is kept as its error, and the others go on.

    Args:
        peers: The trainers beside ours.
        venvs: Where their environments are.
        say: Is told how it goes.
        ask: Runs a sample.
    """

    def __init__(self, peers: Sequence[Peer], venvs: Path, say: Say, ask: Ask = ask) -> None:
        self._peers, self._venvs, self._say, self._ask = peers, venvs, say, ask
        self.failed: dict[str, str] = {}  # what does not install

    def measure(self, games: Sequence[int], rounds: int) -> dict[str, Any]:
        """All figures, JSON-able."""
        systems = [ours(), *self._installed()]
        rows: list[Row] = []
        for count in games:
            rows += self._at(count, systems, rounds)
        return {
            "date": datetime.now(UTC).date().isoformat(),
            "processor": processor(),
            "cores": usable_cores(),
            "rounds": rounds,
            "not_installed": self.failed,
            "rows": [row_document(row) for row in rows],
        }

    def _installed(self) -> list[System]:
        found = []
        for peer in self._peers:
            self._say(f"environment of {peer.name}")
            try:
                python = prepared(peer, self._venvs)
            except PeerError as error:
                self.failed[peer.name] = str(error)
                self._say(f"{peer.name} does not install: {error}")
            else:
                found += [System(peer, python, seats) for seats in (2, 1)]
        return found

    def _at(self, games: int, systems: Sequence[System], rounds: int) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            weights = Path(folder) / "first.npz"
            write_first_weights(session_of(games), weights)
            rows: list[Row] = []
            for system in systems:
                rows.append(self._row(games, system, weights, rows))
            for i in range(rounds):
                self._say(f"{games} games, round {i + 1} of {rounds}")
                for system, row in zip(systems, rows, strict=True):
                    if row.error is None:
                        self._sample(system, row, weights)
        return rows

    def _row(self, games: int, system: System, weights: Path, rows: Sequence[Row]) -> Row:
        """To be filled, with the fastest way of a trainer with both seats; ours chooses for itself, by the cores."""
        if system.peer is None:
            return Row(system.name, games, system.seats, usable_cores())
        for row in rows:
            if row.system == system.name:
                return Row(system.name, games, system.seats, row.threads, row.variant)
        choices = [Way(threads, v) for v in system.peer.variants for threads in sorted({1, usable_cores()})]
        speeds: dict[Way, float] = dict.fromkeys(choices, 0.0)
        for _ in range(TRIALS):
            for way in choices:
                row = Row(system.name, games, system.seats, way.threads, way.variant)
                self._sample(system, row, weights)
                speeds[way] = max([speeds[way], *row.agent_steps_per_s])
        best = max(choices, key=speeds.__getitem__)
        self._say(f"{system.name} at {games} games is run as {best}")
        tried = [{**asdict(way), "agent_steps_per_s": round(speed, 1)} for way, speed in speeds.items()]
        return Row(system.name, games, system.seats, best.threads, best.variant, tried=tried)

    def _sample(self, system: System, row: Row, weights: Path) -> None:
        way = Way(row.threads, row.variant)
        try:
            answer = self._ask(system.command(row.games, way, weights), system.variables(way))
            add(row, answer, first_counts=system.peer is None)
        except PeerError as error:
            row.error = str(error)
            self._say(f"  {row.system}: {error}")
            return
        self._say(f"  {row.system}, {row.seats} seats: {row.agent_steps_per_s[-1]:,.0f}")


def add(row: Row, answer: Answer, *, first_counts: bool) -> None:
    """Put a sample into a row; our own program has left its first iteration out already."""
    total = answer.total if first_counts else answer.total[1:]
    if not total:
        raise PeerError(f"{row.system} ended before its second iteration")
    row.version = answer.version
    row.agent_steps_per_s.append(row.games * row.seats * ROLLOUT * len(total) / sum(total))
    if answer.rollout:
        row.rollout_share.append(sum(answer.rollout[-len(total) :]) / sum(total))


def row_document(row: Row) -> dict[str, Any]:
    """JSON-able, figures rounded."""
    values = asdict(row)
    values["agent_steps_per_s"] = [round(rate, 1) for rate in row.agent_steps_per_s]
    values["rollout_share"] = [round(share, 3) for share in row.rollout_share]
    return values
