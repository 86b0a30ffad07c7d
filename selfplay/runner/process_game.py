"""Parent side of a game in a child process, which can be killed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, JsonValue, NonNegativeInt, ValidationError

from selfplay.distribution import python_path
from selfplay.errors import RunnerError, boundary, first_problem
from selfplay.games.api import F32, Actions, ActionSpec, Bool, Seeds, StepBatch
from selfplay.games.errors import GameError
from selfplay.games.snapshots import copied, put_back
from selfplay.runner import PROCESS_MB
from selfplay.runner.game_process import DONE, STEP, STEP_SOME, layout, map_arrays, parse_dtype, snapshot_of
from selfplay.runner.process_reaper import ProcessReaper, kill_group

ROOT = Path(__file__).resolve().parents[2]
LINE_BYTES: Final = 1 << 20
"""Maximum size of an answer. Arrays are in shared memory, so the longest answers are messages: one may quote the last
16 KiB of an emulator's log, up to 96 KiB as JSON, and a step has only a few of them."""
SHOWN: Final = 80  # bytes of a wrong answer, in an error


class Strict(BaseModel, strict=True, extra="forbid", frozen=True):
    """A part of an answer: exactly these fields, of these types."""


class Hello(Strict):
    """Description of the games, in the first answer."""

    stats: JsonValue  # see ``parse_dtype``
    seats: NonNegativeInt
    obs_width: NonNegativeInt
    actions: tuple[NonNegativeInt, tuple[int, ...], tuple[int, ...]]
    masked: bool
    bots: tuple[str, ...]
    outsider: int | None
    snapshot: dict[str, tuple[tuple[NonNegativeInt, ...], JsonValue]]


class Answer(Strict):
    """Answer of the child to a command."""

    hello: Hello | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None  # error raised by the game, such as an invalid action
    failed: str | None = None  # why the child ends
    out_of_memory: bool = False  # which is why


NOTHING: Final = Answer()


class ProcessGame:
    """A block of games in a child process (``ScriptedGame``).

    Every call raises RunnerError when the child is gone. ``kill`` may be called from any thread and makes a call in
    progress fail at once. The child lives no longer than the thread that made it, and leads a process group of its
    own: what it starts ends with it, and what it writes into the folder for temporary files is removed.
    """

    def __init__(
        self, name: str, options: dict[str, Any], start_timeout_s: float | None = None, process_mb: int = PROCESS_MB
    ) -> None:
        """Start the child and wait until its games exist.

        ``options`` of the game are JSON-able. The child may allocate ``process_mb`` megabytes (Linux); 0: no limit.
        GameError if the game refuses the options, MemoryError if the games do not fit into ``process_mb`` or the
        machine, RunnerError if the child has ended, says what makes no sense, or took too long.
        """
        self.num_games: int = options["num_games"]
        self.notes: list[str] = []
        self._number = 0  # of the last command
        self._reaper = ProcessReaper()
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # None: the usual folder for temporary files
        with tempfile.TemporaryFile(dir=memory) as file:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "selfplay.runner.game_process"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=ROOT,
                    env=self._reaper.environment
                    | {"PYTHONPATH": python_path(), "OPENBLAS_NUM_THREADS": "1"},  # each of them allocates 40 MB
                    start_new_session=True,
                    pass_fds=[file.fileno()],  # it has no name, so that nothing is left of it however this ends
                )
            except BaseException:
                self._reaper.close()
                raise
            self._reaper.watch(self.pid)
            try:
                with self._deadline(start_timeout_s):
                    hello = self._ask(
                        {
                            "game": name, "options": options, "file": file.fileno(), "process_mb": process_mb,
                            "folder": str(Path.cwd()),
                        }
                    ).hello  # fmt: skip
                with boundary(RunnerError, f"game process {self.pid} has games that cannot be"):
                    self._meet(hello, file.fileno())
            except BaseException:
                self.close()
                raise
        self.bots: NDArray[np.int8] = self._shared["bots"]
        self.bots[:] = -1

    def _meet(self, hello: Hello | None, file: int) -> None:
        """Map the arrays of such games."""
        if hello is None:
            raise ValueError("it did not say what they are")
        self.stats_dtype = parse_dtype(hello.stats)
        self.actions = ActionSpec(*hello.actions)
        self.num_seats = hello.seats
        self.obs_width = hello.obs_width
        self.bot_names = hello.bots
        self.outsider = hello.outsider
        parts = {name: (shape, parse_dtype(dtype)) for name, (shape, dtype) in hello.snapshot.items()}
        seats = (self.num_games, self.num_seats)
        places = layout(seats, self.obs_width, self.actions, self.stats_dtype, hello.masked, parts)
        self._shared = map_arrays(file, places)
        self._kept = snapshot_of(self._shared)
        self.legal: NDArray[np.bool_] | None = self._shared["legal"] if hello.masked else None

    @property
    def pid(self) -> int:
        return self._process.pid

    def reset(self, seeds: Seeds) -> F32:
        self._shared["seeds"][:] = seeds
        self._ask({"do": "reset"})
        return self._shared["obs"]

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        shared = self._shared
        shared["actions"][...] = actions
        if acts is not None:
            shared["acts"][...] = acts
        self._exchange(STEP if acts is None else STEP_SOME)
        return StepBatch(**{field.name: shared[field.name] for field in fields(StepBatch)})

    def snapshot(self) -> dict[str, NDArray[Any]]:
        self._ask({"do": "snapshot"})
        return copied(self._kept)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        put_back(self._kept, arrays)
        self._ask({"do": "restore"})
        return self._shared["obs"]

    def close(self) -> None:
        """End the child and everything that it has started."""
        kill_group(self.pid)
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()
        self._reaper.close()
        if self._process.stdout:
            self._process.stdout.close()

    def kill(self) -> bool:
        """Kill the child; a call that waits for its answer fails at once."""
        kill_group(self.pid)
        return True

    @contextlib.contextmanager
    def _deadline(self, seconds: float | None) -> Iterator[None]:
        """Kill the child where what is done here takes longer; RunnerError says so."""
        late = threading.Event()

        def end() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(seconds or 0.0, end)
        if seconds is not None:
            timer.start()
        try:
            yield
        except RunnerError as error:
            if late.is_set():
                raise RunnerError(f"game process {self.pid} was not ready within {seconds:g} s") from error
            raise
        finally:
            timer.cancel()

    def _ask(self, command: dict[str, Any]) -> Answer:
        return self._exchange(json.dumps(command).encode() + b"\n")

    def _exchange(self, command: bytes) -> Answer:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RunnerError("a game process was started without pipes")
        self._number += 1
        number = b"%d " % self._number
        line = b""
        with contextlib.suppress(OSError, ValueError):  # its end of a pipe is closed, or ours is
            stdin.write(number + command)
            stdin.flush()
            line = stdout.readline(LINE_BYTES)
        if line == number + DONE:
            return NOTHING
        if not line.endswith(b"\n") and len(line) < LINE_BYTES:
            code = self._process.wait()
            raise RunnerError(f"game process {self.pid} ended with exit code {code} in the middle of a segment")
        answer = self._understand(line, number)
        self.notes += answer.notes
        if answer.failed is not None:
            message = f"game process {self.pid} failed: {answer.failed}"
            # A restart helps if the process has grown, but not if it could not allocate its games in the first place.
            raise MemoryError(message) if answer.out_of_memory and self._number == 1 else RunnerError(message)
        if answer.error is not None:
            raise GameError(answer.error)
        return answer

    def _understand(self, line: bytes, number: bytes) -> Answer:
        """The answer in a line; RunnerError where there is none, or not to this command."""
        said = f"game process {self.pid} was expected to answer command {self._number}, but said {line[:SHOWN]!r}"
        if not line.startswith(number):
            raise RunnerError(said)
        if not line.endswith(b"\n"):
            raise RunnerError(f"{said} and more: an answer has {LINE_BYTES:,} bytes at most")
        try:
            return Answer.model_validate_json(line[len(number) :])
        except ValidationError as error:
            raise RunnerError(f"{said}: {first_problem(error, 'the answer')}") from error
