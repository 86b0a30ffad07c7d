"""The child of the process host: one block of games, no torch. Run as ``python -m selfplay.runner.game_process``.

Standard input carries one command per line: a number and JSON. Standard output carries one answer per command: a line
with the same number and JSON. Arrays go through the shared file. The process ends when its standard input does, so it
never outlives the trainer; on Linux not even where it hangs.
"""

from __future__ import annotations

import ctypes
import json
import logging
import mmap
import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr
from numpy.typing import NDArray

from selfplay.errors import out_of_memory
from selfplay.games.errors import GameError
from selfplay.games.plugins import allow
from selfplay.games.registry import make_game
from selfplay.games.snapshots import put_back

if TYPE_CHECKING:
    from selfplay.games.api import ActionSpec, ScriptedGame, StepBatch

STEP, STEP_SOME, DONE = b"S\n", b"A\n", b"{}\n"  # a step of all seats, a step of those in ``acts``, and an empty answer
Fields = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]  # name -> (shape, type)
ALIGN = 64
PREFIX = "snapshot "


def layout(
    seats: tuple[int, int],
    obs_width: int,
    actions: ActionSpec,
    stats: np.dtype[Any],
    masked: bool = False,
    snapshot: Fields | None = None,
) -> Fields:
    """Shapes and types of everything that is exchanged by games with ``seats`` [B, P]; ``masked`` if they have a mask.

    The arrays of a ``snapshot`` have its prefix (``snapshot_of``).
    """
    b = seats[0]
    mask: Fields = {"legal": ((*seats, actions.logits), np.dtype(np.bool_))} if masked else {}
    return {
        "seeds": ((b,), np.dtype(np.uint64)),
        "bots": (seats, np.dtype(np.int8)),
        "actions": ((*seats, actions.width), actions.dtype),
        "acts": (seats, np.dtype(np.bool_)),
        "obs": ((*seats, obs_width), np.dtype(np.float32)),
        "reward": (seats, np.dtype(np.float32)),
        "terminated": ((b,), np.dtype(np.bool_)),
        "truncated": ((b,), np.dtype(np.bool_)),
        "final_obs": ((*seats, obs_width), np.dtype(np.float32)),
        "score": (seats, np.dtype(np.float32)),
        "stats": (seats, stats),
        **mask,
        **{PREFIX + name: field for name, field in (snapshot or {}).items()},
    }


def snapshot_of(shared: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of a snapshot among the shared ones."""
    return {name.removeprefix(PREFIX): array for name, array in shared.items() if name.startswith(PREFIX)}


def size_of(fields: Fields) -> int:
    return sum(_padded(shape, dtype) for shape, dtype in fields.values())


def _padded(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    size = int(np.prod(shape)) * dtype.itemsize
    return -(-size // ALIGN) * ALIGN


def map_arrays(file: int, fields: Fields) -> dict[str, NDArray[Any]]:
    """Map an open file (its descriptor) and give a writable array for each field; they keep the mapping alive."""
    memory = mmap.mmap(file, size_of(fields))
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, (shape, dtype) in fields.items():
        arrays[name] = np.ndarray(shape, dtype, memory, offset)
        offset += _padded(shape, dtype)
    return arrays


def parse_dtype(description: Any) -> np.dtype[Any]:  # noqa: ANN401
    """The type that ``numpy.lib.format.dtype_to_descr`` described, in JSON."""
    try:
        dtype: np.dtype[Any] = descr_to_dtype(description)
    except (SyntaxError, RecursionError) as error:
        raise ValueError(f"no type of an array: {error}") from error
    if dtype.hasobject:
        raise ValueError(f"{dtype} holds references")
    return dtype


def _die_with_parent() -> None:
    """Ask the kernel for a kill when the parent's thread that started this process ends."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def _die_first() -> None:
    """Ask the OOM killer to pick this process and its children first: supervision replaces them."""
    if sys.platform == "linux":
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _limit_memory(megabytes: int) -> None:
    """Let this process allocate so much; what it shares does not count. 0: as much as there is.

    The hard limit stays, so that an emulator can be started without this one: it reserves far more than it uses.
    """
    if sys.platform == "linux" and megabytes:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        least = min(limit for limit in (megabytes << 20, soft, hard) if limit != resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_DATA, (least, hard))


class Pipe:
    """The two pipes to the parent. Every command is a line with a number, which the answer repeats."""

    def __init__(self) -> None:
        self._commands = sys.stdin.buffer
        self._answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", 0)
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not enter the protocol
        self._number = b""

    def __iter__(self) -> Iterator[bytes]:
        for line in self._commands:
            self._number, _, command = line.partition(b" ")
            yield command

    def done(self) -> None:
        """Answer that there is nothing to say."""
        self._answers.write(self._number + b" " + DONE)

    def answer(self, document: dict[str, Any]) -> None:
        self._answers.write(self._number + b" " + json.dumps(document).encode() + b"\n")


def main() -> None:
    """Serve one block until the parent closes the pipe."""
    _die_with_parent()
    _die_first()
    os.register_at_fork(after_in_child=_die_with_parent)  # processes forked by a game end with it
    logging.basicConfig(handlers=[logging.NullHandler()])  # log output of libraries would break the trainer's screen
    pipe = Pipe()
    try:
        _serve(pipe)
    except MemoryError as error:
        pipe.answer({"failed": f"out of memory: {out_of_memory(error)}", "out_of_memory": True})
        sys.exit(1)


def _serve(pipe: Pipe) -> None:
    commands = iter(pipe)
    request = json.loads(next(commands))
    _limit_memory(request["process_mb"])
    allow(request["game"], request["folder"])  # the trainer was told to
    try:
        game = make_game(request["game"], **request["options"])
    except GameError as error:
        pipe.answer({"error": str(error)})
        return
    server = _GameServer(game, request["file"])
    os.close(request["file"])
    pipe.answer({"hello": server.hello})
    for command in commands:
        try:
            server.run(command)
        except GameError as error:
            pipe.answer({"error": str(error)})
        else:
            server.answer(pipe)


class _GameServer:
    """Runs commands on a game; arrays go through the shared file."""

    def __init__(self, game: ScriptedGame, file: int) -> None:
        spec = game.actions
        masked = game.legal is not None
        parts = {name: (array.shape, array.dtype) for name, array in game.snapshot().items()}
        seats = (game.num_games, game.num_seats)
        fields = layout(seats, game.obs_width, spec, game.stats_dtype, masked, parts)
        os.ftruncate(file, size_of(fields))
        self._game = game
        self._shared = map_arrays(file, fields)
        self._kept = snapshot_of(self._shared)
        self.hello = {
            "stats": dtype_to_descr(game.stats_dtype),
            "seats": game.num_seats,
            "obs_width": game.obs_width,
            "actions": [spec.binary, spec.sizes, spec.rest],
            "masked": masked,
            "bots": list(game.bot_names),
            "outsider": game.outsider,
            "snapshot": {name: [shape, dtype_to_descr(dtype)] for name, (shape, dtype) in parts.items()},
        }

    def run(self, line: bytes) -> None:
        """Run one command; GameError if the game refuses it."""
        self._game.bots[:] = self._shared["bots"]  # the parent may have seated others since the last command
        if line in (STEP, STEP_SOME):
            self._step(line)
            return
        command = json.loads(line)["do"]
        if command == "reset":
            self._shared["obs"][...] = self._game.reset(self._shared["seeds"])
            self._show_legal()
        elif command == "snapshot":
            put_back(self._kept, self._game.snapshot())
        elif command == "restore":
            self._shared["obs"][...] = self._game.restore(self._kept)
            self._shared["bots"][...] = self._game.bots
            self._show_legal()

    def answer(self, pipe: Pipe) -> None:
        """Answer a command that succeeded, with the game's notes."""
        if not self._game.notes:
            pipe.done()
            return
        pipe.answer({"notes": self._game.notes})
        self._game.notes.clear()

    def _step(self, line: bytes) -> None:
        batch = self._game.step(self._shared["actions"], self._shared["acts"] if line == STEP_SOME else None)
        self._show(batch, ("obs", "reward", "terminated", "truncated"))
        if batch.ended.any():
            self._show(batch, ("final_obs", "score", "stats"))
        self._show_legal()

    def _show(self, batch: StepBatch, names: tuple[str, ...]) -> None:
        for name in names:
            self._shared[name][...] = getattr(batch, name)

    def _show_legal(self) -> None:
        if self._game.legal is not None:
            self._shared["legal"][...] = self._game.legal


if __name__ == "__main__":
    main()
