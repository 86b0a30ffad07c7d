"""What hosts cost and give on one machine: threads, processes, actors of one cluster, actors on two nodes.

A cell is one run of the trainer; its figures are a JSON file, and only what is missing is made.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from envs.registry import find_game
from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.errors import SelfPlayError
from selfplay.runner.process_game import ROOT
from selfplay.trainer.cluster_plan import Rates, Shape, plan, segment_bytes, table
from selfplay.trainer.local_nodes import LocalNodes
from selfplay.trainer.machine import processor, usable_cores
from selfplay.trainer.pages import put_between

BLOCKS: Final = 2
GAMES: Final = 256
STEPS: Final = 32
REAL_STEPS: Final = 128  # of a segment of real games: the default
EPISODE_STEPS: Final = 3600  # about, of the preset: 14,400 frames at the most
LEARNED: Final = GAMES * STEPS * 60  # steps of the cells that compare what is learned
MEASURED: Final = GAMES * STEPS * 100
PARAMETERS: Final = 49_746  # of the preset's network: 176 to 128 to 128, 81 logits and a value
MEDIANS: Final = ("steps_per_s", "segments_per_s", "collect_s", "update_s", "seconds")
SPARE: Final = 20  # iterations at the beginning that do not count: whatever is slow only once


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of the trainer on a host."""

    name: str
    arguments: tuple[str, ...]
    nodes: tuple[int, ...] = ()  # CPUs of the nodes that it is to run on


SPEED: Final = (
    Cell("thread", ("--runners", str(BLOCKS))),
    Cell("process", ("--host", "process", "--runners", str(BLOCKS))),
    Cell("ray", ("--host", "ray", "--workers", str(BLOCKS))),
    Cell("two_nodes", ("--host", "ray", "--workers", str(BLOCKS)), (1, 1)),
)
SAME: Final = (SPEED[0], SPEED[3])
LINK_BYTES_PER_S: Final = 1.0e9  # 10 Gbit/s, of which some is lost
CALL_S, CALLS_PER_S = 6e-4, 3_200.0  # of Ray 2.60 on two shared cores: a call, and calls in a row at the least


class ClusterStudy:
    """A study of hosts.

    Args:
        out: Folder of the figures.
        tell: Is told how it goes.
    """

    def __init__(self, out: Path, tell: Callable[[str], None]) -> None:
        self._out, self._tell = out, tell
        out.mkdir(parents=True, exist_ok=True)

    def speed(self, rounds: int) -> None:
        """Measure the hosts in turns, so many times, unless that is done. Blocks."""
        for number in range(rounds):
            for cell in SPEED:
                self._make(f"speed_{cell.name}_{number}", cell, _figures, "--timesteps", str(MEASURED))

    def learning(self, seeds: tuple[int, ...]) -> None:
        """Train on threads and on two nodes, unless that is done; what is learned is kept as a hash. Blocks."""
        for seed in seeds:
            for cell in SAME:
                more = ("--timesteps", str(LEARNED), "--seed", str(seed), "--deterministic", "--mode", "simple_mix")
                self._make(f"learned_{cell.name}_{seed}", cell, _hashes, *more)

    def page(self, docs: Path) -> None:
        """Write the tables of ``cluster.md``."""
        speeds = self.speeds()
        put_between(docs / "cluster.md", "hosts", _speed_table(speeds))
        learned = sorted(path.stem for path in self._out.glob("learned_*.json"))
        put_between(docs / "cluster.md", "learned", _learned_table({name: self._read(name) for name in learned}))
        put_between(docs / "cluster.md", "plan", plans(rates_of(speeds["ray"])))

    def speeds(self) -> dict[str, dict[str, Any]]:
        """What was measured, by host: medians of the rounds."""
        found = {}
        for cell in SPEED:
            rounds = [self._read(path.stem) for path in sorted(self._out.glob(f"speed_{cell.name}_[0-9]*.json"))]
            middle = {name: median(row[name] for row in rounds) for name in MEDIANS}
            found[cell.name] = {**rounds[0], **middle, "rounds": len(rounds)}
        return found

    def _read(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self._out / f"{name}.json").read_text(encoding="utf-8"))
        return document

    def _make(self, name: str, cell: Cell, figures: Callable[[Path], Mapping[str, Any]], *more: str) -> None:
        file = self._out / f"{name}.json"
        if file.is_file():
            return
        self._tell(f"{name} ...")
        with tempfile.TemporaryDirectory() as scratch, _nodes(cell, Path(scratch)) as (environment, place):
            run = Path(scratch) / "run"
            common = ("--game-type", "mock", "--preset", "laptop", "--checkpoint", str(run), "--threads", "2")
            began = time.monotonic()
            done = subprocess.run(
                [sys.executable, str(ROOT / "scripts" / "train_self_play.py"), *common, *cell.arguments, *place, *more],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise SelfPlayError(f"{name}: the run failed: {done.stderr[-500:]}")
            seconds = time.monotonic() - began
            about = {"processor": processor(), "cores": usable_cores(), "seconds": round(seconds, 1)}
            file.write_text(json.dumps({**about, **figures(run)}, indent=1) + "\n", encoding="utf-8")


@contextmanager
def _nodes(cell: Cell, scratch: Path) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
    """The environment of a trainer and where its cluster is."""
    plain = {**os.environ, "PYTHONPATH": str(ROOT)}
    if not cell.nodes:
        yield plain, ()
        return
    with tempfile.TemporaryDirectory(prefix="sp-") as short:
        nodes = LocalNodes(scratch, Path(short) / "r", cell.nodes, plain)
        try:
            yield nodes.environment, ("--ray-address", nodes.address)
        finally:
            nodes.stop()


def _figures(run: Path) -> dict[str, Any]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[SPARE:]
    rows = [json.loads(line) for line in lines]
    middle = {name: median(row[name] for row in rows) for name in ("time/collect_s", "time/update_s")}
    whole = sum(middle.values())
    shape = shape_of_mock()
    return {
        "games": GAMES,
        "blocks": BLOCKS,
        "steps_per_s": GAMES * STEPS / whole,
        "segments_per_s": BLOCKS / whole,
        "collect_s": middle["time/collect_s"],
        "update_s": middle["time/update_s"],
        "segment_bytes": segment_bytes(shape, GAMES // BLOCKS),
        "weights_bytes": 4 * shape.parameters,
    }


def _hashes(run: Path) -> dict[str, Any]:
    state = load_latest_learner(RunDir(run))
    arrays = state.arrays
    digest = hashlib.sha256(json.dumps([state.meta.opponents, state.meta.matchmaker], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return {"steps": LEARNED, "arrays": len(arrays), "sha256": digest.hexdigest()}


def shape_of_mock() -> Shape:
    """Of the mock with the preset's network."""
    game = find_game("mock")
    return Shape(game.obs_width, game.actions.width, STEPS, PARAMETERS, EPISODE_STEPS)


def rates_of(measured: Mapping[str, Any]) -> Rates:
    """What the figures of actors on one machine say of one actor, and of a learner, on such a machine."""
    steps = GAMES * STEPS
    return Rates(
        actor_steps_per_s=steps / BLOCKS / measured["collect_s"],
        update_rows_per_s=2 * steps / measured["update_s"],
        link_bytes_per_s=LINK_BYTES_PER_S,
        call_s=CALL_S,
        calls_per_s=CALLS_PER_S,
    )


def plans(rates: Rates) -> str:
    """Both tables of the calculated plan: the mock in blocks, and the real game with one a block, in real time."""
    mock = [plan(games, 128, 16, shape_of_mock(), rates) for games in (256, 1024, 4096, 10_000)]
    real_time = Shape(shape_of_mock().obs, shape_of_mock().parts, REAL_STEPS, PARAMETERS, EPISODE_STEPS, 4 / 60)
    real = [plan(games, 1, 16, real_time, rates) for games in (16, 256, 1024, 10_000)]
    return (
        f"The mock, 128 games an actor, T = {STEPS}:\n\n{table(mock)}\n\n"
        f"Dolphin in real time, a game an actor, T = {REAL_STEPS}:\n\n{table(real)}"
    )


def _speed_table(speeds: Mapping[str, Mapping[str, Any]]) -> str:
    first = next(iter(speeds.values()))
    head = (
        f"{first['processor']}, {first['cores']} cores; {GAMES} games in {BLOCKS} blocks, segments of {STEPS} steps, "
        f"{first['segment_bytes'] / 1e6:.2f} MB each; weights {first['weights_bytes'] / 1e6:.2f} MB, put once an "
        f"iteration. Medians of {first['rounds']} rounds in turn.\n\n"
        "| host | game steps/s | segments/s | collect | update | whole run |\n|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(
        f"| {name.replace('_', ' ')} | {row['steps_per_s']:,.0f} | {row['segments_per_s']:.1f} "
        f"| {1000 * row['collect_s']:.0f} ms | {1000 * row['update_s']:.0f} ms | {row['seconds']:.0f} s |"
        for name, row in speeds.items()
    )


def _learned_table(cells: Mapping[str, Mapping[str, Any]]) -> str:
    head = "| run | steps | learner state, opponents and games in progress, SHA-256 |\n|---|---|---|\n"
    return head + "\n".join(
        f"| {name.removeprefix('learned_').replace('_', ' ')} | {row['steps']:,} | `{row['sha256'][:16]}` |"
        for name, row in cells.items()
    )
