"""``selfplay train`` with a preset, in a process of its own with one thread, and its generations."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import selfplay
from scripts.studies import ROOT, TRAINER
from scripts.studies.equilibrium.names import MARKS
from selfplay.errors import SelfPlayError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from scripts.studies.equilibrium.games import F64, Tree
    from scripts.studies.equilibrium.meter import Meter
    from selfplay.policy.policy import Policy

POLL_S: Final = 0.1
STOP_S: Final = 120.0  # for the last save
STOPPED: Final = 128 + signal.SIGTERM  # exit code of a training that was ended before its last step
ENDLESS: Final = 2_000_000_000  # steps; the processor time ends the training
TRIAL_S: Final = 30.0  # processor time of a training that shows how many steps fit
SHARE: Final = 0.95  # of the steps that fit, so that a learning rate that falls over the run reaches its end
SETTINGS: Final[dict[str, Any]] = {"run.threads": 1, "run.runners": 1}

Saved = tuple[float, Path]
"""Processor seconds after which a generation was there, and its folder."""


def train(tree: Tree, preset: str, seed: int, meter: Meter) -> None:
    """Train for as many steps as fit into the time, then measure the newest generation of each mark.

    A short training before it, which does not count, says how many fit: settings that fall over a run need its length.

    Raises:
        SelfPlayError: the training failed.
    """
    name = f"openspiel:{tree.spiel}"
    selfplay.allow(name)
    with tempfile.TemporaryDirectory() as folder:
        often = [*arguments(name, preset, seed), "--save-interval", "5"]
        tried = _trained(often, Path(folder) / "trial", TRIAL_S)
        steps = _fitting(tried, meter.budget_s)
        saved = _trained(arguments(name, preset, seed, steps), Path(folder) / "run", meter.budget_s)
        for seconds, path in dict.fromkeys(newest(saved, mark * meter.budget_s) for mark in MARKS):
            policy = selfplay.load_policy(path)
            meter.add(policy.meta.total_steps, partial(_table, policy, tree), at_s=seconds)


def _fitting(tried: Sequence[Saved], budget_s: float) -> int:
    """How many steps a training makes in a time, by the first and the last generation of another one."""
    (begun_s, first), (end_s, last) = tried[0], tried[-1]
    done = selfplay.load_policy(last).meta.total_steps - selfplay.load_policy(first).meta.total_steps
    if not done:
        raise SelfPlayError(f"selfplay train: only one generation in {TRIAL_S:g} s")
    return round(SHARE * done / (end_s - begun_s) * (budget_s - begun_s))


def _table(policy: Policy, tree: Tree) -> F64:
    return policy.probabilities(seen(tree), tree.legal).astype(np.float64)


def seen(tree: Tree) -> NDArray[np.float32]:
    """What our games show in each information state, [N, W + 2]: its tensor, and which seat acts."""
    return np.concatenate([tree.tensors, np.eye(2, dtype=np.float32)[tree.seats]], axis=1)


def arguments(name: str, preset: str, seed: int, steps: int = ENDLESS) -> list[str]:
    """Of ``selfplay train``, without the folder of the run."""
    words = ["--preset", preset, "--game-type", name, "--seed", str(seed), "--timesteps", str(steps)]
    for setting, value in SETTINGS.items():
        words += ["--set", f"{setting}={value}"]
    return [*words, "--no-track-elo"]


def newest(saved: Sequence[Saved], seconds: float) -> Saved:
    """The newest generation that was there after so many seconds; the first one, if none was."""
    return max((each for each in saved if each[0] <= seconds), default=saved[0])


def _trained(words: Sequence[str], folder: Path, budget_s: float) -> list[Saved]:
    """Run a training for a processor time; its generations in their order."""
    folder.mkdir()
    run, log = folder / "run", folder / "log"
    with log.open("wb") as out:
        child = subprocess.Popen(
            [*TRAINER, *words, "--checkpoint", str(run)],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        saved = [*_generations(child, run, budget_s)]
    finally:
        child.terminate()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if child.returncode not in (0, STOPPED) or not saved:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise SelfPlayError(f"selfplay train: error, exit code {child.returncode}: {lines[-1] if lines else ''}")
    return saved


def _generations(child: subprocess.Popen[bytes], run: Path, budget_s: float) -> Iterator[Saved]:
    found: set[Path] = set()
    seconds, ended = 0.0, False
    while not ended and seconds < budget_s:
        ended = child.poll() is not None
        seconds = seconds if ended else processor_seconds(child.pid)
        for path in sorted({*run.glob("generations/gen_*")} - found, key=lambda path: path.stat().st_mtime):
            found.add(path)
            yield seconds, path
        time.sleep(POLL_S)


def processor_seconds(pid: int) -> float:
    """Of all threads of a process; on Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
