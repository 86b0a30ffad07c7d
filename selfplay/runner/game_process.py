"""The child of the process host: one block of games, no torch. Run as ``python -m selfplay.runner.game_process``.

It is told on standard input what to do, one line of JSON a command, and answers on standard output, one line of
JSON each; arrays go through the shared file. It ends when its standard input does, so it never outlives the trainer;
on Linux not even where it hangs.
"""

from __future__ import annotations

import base64
import ctypes
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from envs.errors import GameError
from envs.melee.fight import Fight
from envs.registry import make_game
from selfplay.runner.shared_block import layout, map_arrays, size_of

if TYPE_CHECKING:
    from envs.api import StepBatch

STEP, STEP_SOME, DONE = b"S\n", b"A\n", b"{}\n"
"""A step of every seat, one of those in ``acts``, and the answer where there is nothing to say."""


def pack(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Arrays as a JSON document; structured types keep their field names."""
    return {
        name: [
            describe_dtype(array.dtype),
            array.shape,
            base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
        ]
        for name, array in arrays.items()
    }


def unpack(document: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of ``pack``."""
    result: dict[str, NDArray[Any]] = {}
    for name, (dtype, shape, text) in document.items():
        raw = np.frombuffer(base64.b64decode(text), np.dtype(parse_dtype(dtype)))
        result[name] = raw.reshape(shape).copy()
    return result


def describe_dtype(dtype: np.dtype[Any]) -> Any:  # noqa: ANN401
    """A type as JSON; structured ones with their layout."""
    if dtype.names is None:
        return dtype.str
    fields: Mapping[str, Any] = dtype.fields or {}
    return {
        "names": list(dtype.names),
        "formats": [describe_dtype(fields[n][0]) for n in dtype.names],
        "offsets": [fields[n][1] for n in dtype.names],
        "itemsize": dtype.itemsize,
    }


def parse_dtype(description: Any) -> Any:  # noqa: ANN401
    """What ``numpy.dtype`` takes, from ``describe_dtype``."""
    if isinstance(description, str):
        return description
    return {**description, "formats": [parse_dtype(f) for f in description["formats"]]}


def _die_with_parent() -> None:
    """Ask the kernel for a kill when the parent's thread that started this process ends."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def main() -> None:
    """Serve one block until the parent closes the pipe."""
    _die_with_parent()
    os.register_at_fork(after_in_child=_die_with_parent)  # what a game forks dies with it, too
    logging.basicConfig(handlers=[logging.NullHandler()])  # what libraries log would tear the trainer's screen
    commands = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", 0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not enter the protocol

    def answer(document: dict[str, Any]) -> None:
        answers.write(json.dumps(document).encode() + b"\n")

    request = json.loads(commands.readline())
    try:
        game = make_game(request["game"], **request["options"])
    except GameError as error:
        answer({"error": str(error)})
        return
    spec = game.actions
    mask_width = 0 if game.legal is None else spec.logits
    fields = layout(game.num_games, game.obs_width, spec.width, game.stats_dtype, mask_width)
    os.ftruncate(request["file"], size_of(fields))
    shared = map_arrays(request["file"], fields)
    os.close(request["file"])
    answer(
        {
            "stats": describe_dtype(game.stats_dtype),
            "obs_width": game.obs_width,
            "actions": [spec.binary, spec.sizes, spec.rest],
            "mask_width": mask_width,
            "bots": list(game.bot_names),
            "outsider": game.outsider,
        }
    )

    def show_legal() -> None:
        if game.legal is not None:
            shared["legal"][...] = game.legal

    def step(line: bytes) -> StepBatch:
        if line == STEP_SOME and isinstance(game, Fight):
            return game.step(shared["actions"], shared["acts"])
        return game.step(shared["actions"])

    def show(batch: StepBatch, names: tuple[str, ...]) -> None:
        for name in names:
            shared[name][...] = getattr(batch, name)

    for line in commands:
        game.bots[:] = shared["bots"]  # the parent may have seated others since the last command
        try:
            if line in (STEP, STEP_SOME):
                batch = step(line)
                show(batch, ("obs", "reward", "terminated", "truncated"))
                if batch.ended.any():
                    show(batch, ("final_obs", "score", "stats"))
                show_legal()
                if game.notes:
                    answer({"notes": game.notes})
                    game.notes.clear()
                else:
                    answers.write(DONE)
                continue
            command = json.loads(line)
            if command["do"] == "reset":
                shared["obs"][...] = game.reset(shared["seeds"])
                show_legal()
                answer({})
            elif command["do"] == "snapshot":
                answer({"arrays": pack(game.snapshot())})
            elif command["do"] == "restore":
                shared["obs"][...] = game.restore(unpack(command["arrays"]))
                shared["bots"][...] = game.bots
                show_legal()
                answer({})
        except GameError as error:
            answer({"error": str(error)})


if __name__ == "__main__":
    main()
