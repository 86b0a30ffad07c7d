"""Where the time of the training loop goes: shares of one iteration on one thread, collecting and learning apart.

torch's profiler times the operations of torch, and the compiled functions are named to it. ``rest`` is Python and all
that is not named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from scripts.studies.bench.loop import make_blocks, make_session
from scripts.studies.bench.speed import ROLLOUT, seconds_of
from selfplay.learner import ppo_kernel
from selfplay.policy import compiled_activations, compiled_heads
from selfplay.ppo.learner import Learner
from selfplay.runner.segment import SegmentOrder
from selfplay_melee.mock import MockMelee

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.studies.pages import Figures

PARTS: Final = {  # names to the profiler, by part
    "products": ("aten::addmm", "aten::mm", "aten::mv"),
    "activation": ("activation", "aten::tanh_backward"),
    "loss": ("loss",),
    "copies": ("aten::index_select", "aten::copy_", "aten::cat"),
    "optimizer": ("aten::_fused_adam_", "aten::_foreach_norm", "aten::_foreach_mul_"),
    "game": ("game",),
    "draw": ("draw",),
}
COMPILED: Final = (  # functions that the profiler does not see, and their names
    (compiled_activations, "_tanh", "activation"),
    (compiled_heads, "_distributions", "loss"),
    (compiled_heads, "_gradient", "loss"),
    (ppo_kernel, "_surrogate", "loss"),
    (compiled_heads, "_draw", "draw"),
    (MockMelee, "step", "game"),
)
REPEATS: Final = 3  # of which the fastest counts


def where_time_goes(collect_s: float, update_s: float, threads: int) -> Figures:
    """Shares of the seconds of one thread, and the share of all threads' time in which they wait.

    Args:
        collect_s: Of an iteration of the loop.
        update_s: Of the same.
        threads: Of the loop.
    """
    session = make_session()
    learner = Learner(session, threads=1)
    blocks = make_blocks(session)

    def collect() -> Sequence[Any]:
        order = SegmentOrder(0, ROLLOUT, 0, learner.snapshot(), {}, ())
        return [block.collect(order) for block in blocks]

    rollouts = [part.rollout for part in collect()]

    def update() -> None:
        learner.update(rollouts, 0, 0.0)

    try:
        update()  # allocates
        found: Figures = {"blas": blas()}
        for name, function, seconds in (("collect", collect, collect_s), ("update", update, update_s)):
            alone = min(seconds_of(function) for _ in range(REPEATS))
            found |= {f"{name}_{part}": share for part, share in shares(function).items()}
            found[f"{name}_waiting"] = max(0.0, 1.0 - alone / (threads * seconds))
        return found
    finally:
        learner.close()


def shares(function: Callable[[], object]) -> dict[str, float]:
    """Shares of the seconds of a call by the parts that it has, and billions of operations a second of its products."""
    with named(), profile(activities=[ProfilerActivity.CPU], with_flops=True, acc_events=True) as found:
        seconds = seconds_of(function)
    averages = {event.key: event for event in found.key_averages()}

    def total(names: Iterable[str]) -> float:
        return sum(float(averages[name].self_cpu_time_total) for name in names if name in averages) / 1e6

    spent: Mapping[str, float] = {part: total(names) for part, names in PARTS.items()}
    flops = sum(averages[name].flops for name in PARTS["products"] if name in averages)
    kept = {part: of / seconds for part, of in spent.items() if of}
    return {**kept, "rest": 1.0 - sum(kept.values()), "products_gflops": flops / spent["products"] / 1e9}


@contextmanager
def named() -> Iterator[None]:
    """Within it the profiler knows the compiled functions."""
    with ExitStack() as stack:
        for home, attribute, name in COMPILED:
            stack.enter_context(patch.object(home, attribute, _told(getattr(home, attribute), name)))
        yield


def _told(function: Callable[..., object], name: str) -> Callable[..., object]:
    @wraps(function)
    def told(*arguments: object) -> object:
        with record_function(name):
            return function(*arguments)

    return told


def blas() -> str:
    """The library that multiplies matrices, and the instructions that torch itself takes."""
    library = re.search(r"Math Kernel Library Version (\S+)-|OpenBLAS", torch.__config__.show())
    named = "another" if library is None else f"MKL {library[1]}" if library[1] else library[0]
    return f"{named}; {torch.backends.cpu.get_cpu_capability()}"
