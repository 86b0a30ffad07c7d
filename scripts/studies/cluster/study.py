"""Speed and results of the hosts of blocks: threads, processes, Ray actors on one node, Ray actors on two nodes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from envs.registry import find_game
from scripts.studies import ROOT, TRAINER
from scripts.studies.cells import Cell, Cells
from scripts.studies.cluster.local_nodes import LocalNodes
from scripts.studies.cluster.plan import Rates, Shape, plan, segment_bytes, table
from scripts.studies.pages import measured_here, put_between
from scripts.studies.pages import table as markdown
from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.errors import SelfPlayError

BLOCKS: Final = 2
GAMES: Final = 256
STEPS: Final = 32
REAL_STEPS: Final = 128  # steps of a segment in Dolphin: the default
EPISODE_STEPS: Final = 3600  # roughly, of the preset: at most 14,400 frames
LEARNED: Final = GAMES * STEPS * 60  # steps of the runs whose learner states are compared
MEASURED: Final = GAMES * STEPS * 100
PARAMETERS: Final = 49_746  # of the preset's network: 176 to 128 to 128, 81 logits and a value
MEDIANS: Final = ("steps_per_s", "segments_per_s", "collect_s", "update_s", "seconds")
SPARE: Final = 20  # first iterations, which are not counted


@dataclass(frozen=True, slots=True)
class Host:
    """Where the blocks of a run play."""

    name: str
    arguments: tuple[str, ...]
    nodes: tuple[int, ...] = ()  # CPUs of each node of a cluster


SPEED: Final = (
    Host("thread", ("--runners", str(BLOCKS))),
    Host("process", ("--host", "process", "--runners", str(BLOCKS))),
    Host("ray", ("--host", "ray", "--workers", str(BLOCKS))),
    Host("two_nodes", ("--host", "ray", "--workers", str(BLOCKS)), (1, 1)),
)
SAME: Final = (SPEED[0], SPEED[3])
LINK_BYTES_PER_S: Final = 1.0e9  # 10 Gbit/s less overhead
CALL_S, CALLS_PER_S = 6e-4, 3_200.0  # of Ray 2.60 on two shared cores


class ClusterStudy:
    """A study of hosts.

    Args:
        out: Folder of the figures.
        tell: Prints progress.
    """

    def __init__(self, out: Path, tell: Callable[[str], None]) -> None:
        self._cells, self._tell = Cells(out), tell

    def speed(self, rounds: int) -> None:
        """Measure the hosts in turn, so many rounds, unless finished. Blocks."""
        for number in range(rounds):
            for host in SPEED:
                self._make(f"speed_{host.name}_{number}", host, _figures, "--timesteps", str(MEASURED))

    def learning(self, seeds: Sequence[int]) -> None:
        """Train on threads and on two nodes, and hash the learner states, unless finished. Blocks."""
        for seed in seeds:
            for host in SAME:
                more = ("--timesteps", str(LEARNED), "--seed", str(seed), "--deterministic", "--mode", "simple_mix")
                self._make(f"learned_{host.name}_{seed}", host, _hashes, *more)

    def page(self, docs: Path) -> None:
        """Write the tables of ``cluster.md``."""
        speeds = self.speeds()
        put_between(docs / "cluster.md", "hosts", _speed_table(speeds))
        learned = self._cells.names("learned_*")
        cells = dict(zip(learned, self._cells.read(learned), strict=True))
        put_between(docs / "cluster.md", "learned", _learned_table(cells))
        put_between(docs / "cluster.md", "plan", plans(rates_of(speeds["ray"])))

    def speeds(self) -> dict[str, Cell]:
        """Medians of the rounds, by host."""
        found = {}
        for host in SPEED:
            rounds = self._cells.read(self._cells.names(f"speed_{host.name}_[0-9]*"))
            middle = {name: median(row[name] for row in rounds) for name in MEDIANS}
            found[host.name] = {**rounds[0], **middle, "rounds": len(rounds)}
        return found

    def _make(self, name: str, host: Host, figures: Callable[[Path], Cell], *more: str) -> None:
        def measure() -> Cell:
            self._tell(f"{name} ...")
            with tempfile.TemporaryDirectory() as scratch, _nodes(host, Path(scratch)) as (environment, place):
                run = Path(scratch) / "run"
                common = ["--game-type", "mock", "--preset", "laptop", "--checkpoint", str(run), "--threads", "2"]
                common += ["--pretrained", "none"]  # imitation would take a part of the seconds
                began = time.monotonic()
                done = subprocess.run(
                    [*TRAINER, *common, *host.arguments, *place, *more],
                    env=environment, capture_output=True, text=True, check=False,
                )  # fmt: skip
                if done.returncode:
                    raise SelfPlayError(f"{name}: the run failed: {done.stderr[-500:]}")
                return {**measured_here(), "seconds": round(time.monotonic() - began, 1), **figures(run)}

        self._cells.make(name, measure)


@contextmanager
def _nodes(host: Host, scratch: Path) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
    """The environment of a trainer, and its arguments for the cluster."""
    plain = {**os.environ, "PYTHONPATH": str(ROOT)}
    if not host.nodes:
        yield plain, ()
        return
    with tempfile.TemporaryDirectory(prefix="sp-") as short:
        nodes = LocalNodes(scratch, Path(short) / "r", host.nodes, plain)
        try:
            yield nodes.environment, ("--ray-address", nodes.address)
        finally:
            nodes.stop()


def _figures(run: Path) -> Cell:
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


def _hashes(run: Path) -> Cell:
    state = load_latest_learner(RunDir(run))
    arrays = state.arrays
    digest = hashlib.sha256(json.dumps([state.meta.opponents, state.meta.matchmaker], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return {"steps": LEARNED, "arrays": len(arrays), "sha256": digest.hexdigest()}


def shape_of_mock() -> Shape:
    """The mock game with the preset's network."""
    game = find_game("mock")
    return Shape(game.obs_width, game.actions.width, STEPS, PARAMETERS, EPISODE_STEPS)


def rates_of(measured: Mapping[str, Any]) -> Rates:
    """Rates of one actor and of a learner, from the figures of Ray actors on one machine."""
    steps = GAMES * STEPS
    return Rates(
        actor_steps_per_s=steps / BLOCKS / measured["collect_s"],
        update_rows_per_s=2 * steps / measured["update_s"],
        link_bytes_per_s=LINK_BYTES_PER_S,
        call_s=CALL_S,
        calls_per_s=CALLS_PER_S,
    )


def plans(rates: Rates) -> str:
    """Both calculated tables: blocks of mock games, and Dolphin in real time with one game a block."""
    mock = [plan(games, 128, 16, shape_of_mock(), rates) for games in (256, 1024, 4096, 10_000)]
    real_time = Shape(shape_of_mock().obs, shape_of_mock().parts, REAL_STEPS, PARAMETERS, EPISODE_STEPS, 4 / 60)
    real = [plan(games, 1, 16, real_time, rates) for games in (16, 256, 1024, 10_000)]
    return (
        f"The mock, 128 games an actor, T = {STEPS}:\n\n{table(mock)}\n\n"
        f"Dolphin in real time, a game an actor, T = {REAL_STEPS}:\n\n{table(real)}"
    )


def _speed_table(speeds: Mapping[str, Cell]) -> str:
    first = next(iter(speeds.values()))
    text = (
        f"{first['processor']}, {first['cores']} cores; {GAMES} games in {BLOCKS} blocks, segments of {STEPS} steps, "
        f"{first['segment_bytes'] / 1e6:.2f} MB each; weights {first['weights_bytes'] / 1e6:.2f} MB, put once an "
        f"iteration. Medians of {first['rounds']} rounds in turn."
    )
    rows = [
        (
            name.replace("_", " "), f"{row['steps_per_s']:,.0f}", f"{row['segments_per_s']:.1f}",
            f"{1000 * row['collect_s']:.0f} ms", f"{1000 * row['update_s']:.0f} ms", f"{row['seconds']:.0f} s",
        )
        for name, row in speeds.items()
    ]  # fmt: skip
    return f"{text}\n\n{markdown(('host', 'game steps/s', 'segments/s', 'collect', 'update', 'whole run'), rows)}"


def _learned_table(cells: Mapping[str, Cell]) -> str:
    rows = [
        (name.removeprefix("learned_").replace("_", " "), f"{row['steps']:,}", f"`{row['sha256'][:16]}`")
        for name, row in cells.items()
    ]
    return markdown(("run", "steps", "learner state, opponents and games in progress, SHA-256"), rows)
