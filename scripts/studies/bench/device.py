"""Where the time of the training loop goes on a CUDA device, beside the same loop on the CPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.profiler import ProfilerActivity, profile

from scripts.studies.bench.loop import Times, make_blocks, make_session, with_tree
from scripts.studies.bench.speed import GAMES, ROLLOUT, fastest_quarter, rate, seconds_of
from scripts.studies.pages import Figures, measured_here
from selfplay.ppo.learner import Learner
from selfplay.runner.block import Block
from selfplay.runner.segment import SegmentOrder

if TYPE_CHECKING:
    from collections.abc import Callable


def measure_device(device: str, rounds: int, games: int = GAMES) -> Figures:
    """Speed of the loop on the device and on the CPU in turn, seconds of its phases, and shares of an update.

    Args:
        device: Of torch.
        rounds: Samples of each.
        games: Played at once.
    """
    times = {"device": Times(), "cpu": Times()}
    for number in range(rounds + 1):
        for name, place in (("device", device), ("cpu", "cpu")):
            sample = with_tree(games, device=place)
            if number:  # the first warms up
                times[name].extend(sample)
    rows, here = 2 * games * ROLLOUT, times["device"]
    return {
        **measured_here(),
        "device": torch.cuda.get_device_name(device) if device != "cpu" else "cpu",
        "games": games,
        "train_agent_steps_per_s": rate(rows, here.total),
        "train_agent_steps_per_s_cpu": rate(rows, times["cpu"].total),
        "collect_s": fastest_quarter(here.collect),
        "update_s": fastest_quarter(here.update),
        **_profile_of_an_update(device, games),
    }


def _profile_of_an_update(device: str, games: int) -> dict[str, float]:
    """Shares of the seconds of an update: copies to and from the device, its kernels, and the rest, which is Python."""
    session = make_session(games=games, device=device)
    learner = Learner(session, threads=len(session.blocks))
    blocks = make_blocks(session)
    with ThreadPoolExecutor(len(blocks)) as pool:
        order = SegmentOrder(0, ROLLOUT, 0, learner.snapshot(), {}, ())
        collected = [part.rollout for part in pool.map(partial(Block.collect, order=order), blocks)]

    def update() -> None:
        learner.update(collected, 0, 0.0)
        if device != "cpu":
            torch.cuda.synchronize(device)

    update()  # allocates
    try:
        return _shares(update)
    finally:
        learner.close()


def _shares(update: Callable[[], None]) -> dict[str, float]:
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
    with profile(activities=activities, acc_events=True) as found:
        seconds = seconds_of(update)
    shares = {"copies": 0.0, "kernels": 0.0}
    for event in found.events():
        if event.device_type.name == "CUDA":
            shares["copies" if event.name.startswith("Mem") else "kernels"] += event.device_time_total / 1e6 / seconds
    shares["rest"] = max(0.0, 1.0 - sum(shares.values()))
    return {f"update_{name}": share for name, share in shares.items()}
