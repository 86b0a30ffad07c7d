"""Measure this project's training loop beside Stable-Baselines3, CleanRL's PPO, PufferLib, Sample Factory and RLlib.

All train the same game, network and settings; each trainer has a virtual environment of its own, made on first use. A
sample is a fresh process; its first iteration is not counted. First the fastest number of threads and variant of each
trainer is chosen. Then each round runs every trainer once, so that the load of the machine affects all of them.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.studies import ROOT
from scripts.studies.bench.speed import ROLLOUT
from scripts.studies.command_line import Command, exit_on_signals, tell_error
from scripts.studies.pages import measured_here
from scripts.studies.rivals.jobs import session_of, write_first_weights
from scripts.studies.rivals.page import table, write
from scripts.studies.rivals.running import Answer, System, Way, ask
from scripts.studies.rivals.venvs import PEERS, PeerError, chosen, default_folder, prepared
from selfplay.errors import ConfigError
from selfplay.machine import usable_cores

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from scripts.studies.rivals.venvs import Peer

    Infer = Callable[[list[str], dict[str, str]], Answer]
    Notify = Callable[[str], None]

GAMES = (256, 4)  # at once


@dataclass(slots=True)
class TrainerSpeed:
    """One trainer at one number of games."""

    system: str
    games: int
    seats: int
    threads: int
    variant: str = ""
    version: str = ""
    agent_steps_per_s: list[float] = field(default_factory=list)  # of each round
    error: str | None = None


class Bench:
    """Measures the trainers; an error of one is part of the figures, and the others go on.

    Args:
        peers: The other trainers.
        venvs: Folder of their environments.
        notify: Prints progress.
        ask: Runs a sample.
    """

    def __init__(self, peers: Sequence[Peer], venvs: Path, notify: Notify, ask: Infer = ask) -> None:
        self._peers, self._venvs, self._notify, self._ask = peers, venvs, notify, ask
        self.failed: dict[str, str] = {}  # trainers that do not install, and why

    def measure(self, games: Sequence[int], rounds: int) -> dict[str, Any]:
        """All figures, JSON-able."""
        systems = [System(None, Path(sys.executable)), *self._installed()]
        rows: list[TrainerSpeed] = []
        for count in games:
            rows += self._at(count, systems, rounds)
        return {
            **measured_here(),
            "rounds": rounds,
            "not_installed": self.failed,
            "rows": [asdict(row) for row in rows],
        }

    def _installed(self) -> list[System]:
        found = []
        for peer in self._peers:
            self._notify(f"environment of {peer.name}")
            try:
                python = prepared(peer, self._venvs)
            except PeerError as error:
                self.failed[peer.name] = str(error)
                self._notify(f"{peer.name} does not install: {error}")
            else:
                found += [System(peer, python, seats) for seats in (2, 1)]
        return found

    def _at(self, games: int, systems: Sequence[System], rounds: int) -> list[TrainerSpeed]:
        with tempfile.TemporaryDirectory() as folder:
            weights = Path(folder) / "first.npz"
            write_first_weights(session_of(games), weights)
            rows: list[TrainerSpeed] = []
            for system in systems:
                rows.append(self._row(games, system, weights, rows))
            for i in range(rounds):
                self._notify(f"{games} games, round {i + 1} of {rounds}")
                for system, row in zip(systems, rows, strict=True):
                    if row.error is None:
                        self._sample(system, row, weights)
        return rows

    def _row(self, games: int, system: System, weights: Path, rows: Sequence[TrainerSpeed]) -> TrainerSpeed:
        """An empty row with the fastest way of a trainer on both seats; our loop uses all cores."""
        if system.peer is None:
            return TrainerSpeed(system.name, games, system.seats, usable_cores())
        for row in rows:
            if row.system == system.name:
                return TrainerSpeed(system.name, games, system.seats, row.threads, row.variant)
        choices = [Way(threads, v) for v in system.peer.variants for threads in sorted({1, usable_cores()})]
        speeds: dict[Way, float] = {}
        for way in choices:
            row = TrainerSpeed(system.name, games, system.seats, way.threads, way.variant)
            self._sample(system, row, weights)
            speeds[way] = sum(row.agent_steps_per_s)  # of one sample, or none
        best = max(choices, key=speeds.__getitem__)
        self._notify(f"{system.name} at {games} games is run as {best}")
        return TrainerSpeed(system.name, games, system.seats, best.threads, best.variant)

    def _sample(self, system: System, row: TrainerSpeed, weights: Path) -> None:
        way = Way(row.threads, row.variant)
        try:
            answer = self._ask(system.command(row.games, way, weights), system.variables(way))
            add(row, answer, first_counts=system.peer is None)
        except PeerError as error:
            row.error = str(error)
            self._notify(f"  {row.system}: {error}")
            return
        self._notify(f"  {row.system}, {row.seats} seats: {row.agent_steps_per_s[-1]:,.0f}")


def add(row: TrainerSpeed, answer: Answer, *, first_counts: bool) -> None:
    """Add a sample to a row; our own program leaves its first iteration out itself."""
    seconds = answer.seconds if first_counts else answer.seconds[1:]
    if not seconds:
        raise PeerError(f"{row.system} ended before its second iteration")
    row.version = answer.version
    row.agent_steps_per_s.append(round(row.games * row.seats * ROLLOUT * len(seconds) / sum(seconds), 1))


def main() -> int:
    command = Command("rivals.bench", __doc__)
    command.add_argument("--rounds", type=int, default=5, metavar="N", help="samples of each (default: %(default)s)")
    command.add_argument("--peers", default=",".join(PEERS), metavar="NAME,NAME", help="(default: %(default)s)")
    command.add_argument(
        "--venvs", type=Path, default=default_folder(), metavar="DIR", help="their environments (default: %(default)s)"
    )
    command.add_argument("--write", action="store_true", help="put the figures into docs/")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    if options.rounds < 1:
        raise ConfigError("--rounds must be at least 1")
    peers = chosen(options.peers)
    if options.write and len(peers) != len(PEERS):
        raise ConfigError("--write replaces the whole table: leave --peers as it is")
    exit_on_signals()  # ends the running trainer with this process
    figures = Bench(peers, options.venvs.absolute(), tell_error).measure(GAMES, options.rounds)
    print(table(figures))
    if options.write:
        write(ROOT / "docs", figures)


if __name__ == "__main__":
    sys.exit(main())
