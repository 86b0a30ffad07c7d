"""Kill a process that saves without pause, many times; end with an error if anything that it saved is lost.

    python tests/checkpoint/kill_loop.py RUN KILLS

Each child tells through a pipe of every operation on the disk that it begins and of every state that it has saved.
The parent kills it after a random number of operations, takes the lock that the child held, and looks at what is left.
Prints the number of kills, how many hit a save in progress, and the last iteration.
"""

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from selfplay.checkpoint import (
    RunDir,
    list_generations,
    load_generation,
    load_latest_learner,
    save_learner,
    set_aside_newer,
)
from tests.checkpoint.samples import (
    OPERATIONS,
    learner_arrays,
    learner_meta,
    params,
    policy_meta,
    same,
    save_generation,
)

BEGUN, SAVED = b".", b"!"


def save_for_ever(run: RunDir, iteration: int, pipe: int) -> None:
    """The child: a state and a generation for every iteration."""
    real_write = os.write

    def telling(real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            real_write(pipe, BEGUN)
            return real(*args, **kwargs)

        return operation

    for name in OPERATIONS:
        setattr(os, name, telling(getattr(os, name)))
    with run.lock():
        while True:
            iteration += 1
            save_learner(run, learner_meta(iteration), learner_arrays(iteration))
            real_write(pipe, SAVED)
            save_generation(run, policy_meta(iteration), params(iteration))


def start_and_kill(run: RunDir, iteration: int, operations: int) -> int:
    """The newest iteration that a child, killed after so many operations, said it had saved."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        save_for_ever(run, iteration, writer)
    os.close(writer)
    told = b""
    while len(told) < operations:
        told += os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while rest := os.read(reader, 4096):
        told += rest
    os.close(reader)
    return iteration + told.count(SAVED)


def check(run: RunDir, saved: int) -> int:
    """The iteration to resume from, after everything was found whole."""
    state = load_latest_learner(run)
    iteration = state.meta.iteration
    if state.skipped or iteration not in (saved, saved + 1) or not same(state.arrays, learner_arrays(iteration)):
        raise SystemExit(f"saved {saved}, found {iteration}, skipped {state.skipped}")
    set_aside_newer(run, iteration)
    for generation in list_generations(run)[-2:]:
        if not same(load_generation(generation.path)[1], params(generation.iteration)):
            raise SystemExit(f"{generation.id} changed")
    hidden = [path for folder in (run.learner, run.generations) for path in folder.glob(".tmp-*")]
    if hidden:
        raise SystemExit(f"left behind: {hidden}")
    return iteration


def main(path: str, kills: int) -> None:
    run, rng = RunDir(Path(path)), random.Random(0)
    run.path.mkdir()
    save_learner(run, learner_meta(0), learner_arrays(0))
    iteration = midway = 0
    for _ in range(kills):
        saved = start_and_kill(run, iteration, rng.randrange(1, 150))
        midway += any(next(folder.glob(".*-*"), None) is not None for folder in (run.learner, run.generations))
        with run.lock():  # ended with the child; entering it clears what the kill left behind
            iteration = check(run, saved)
    sys.stdout.write(f"{kills} {midway} {iteration}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
