"""The parent's end of the process host: looks like a game, lives in a child process, can really be killed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.api import F32, Actions, ActionSpec, Bool, Seeds, StepBatch
from envs.errors import GameError
from selfplay.errors import RunnerError
from selfplay.runner.game_process import DONE, STEP, STEP_SOME, pack, parse_dtype, unpack
from selfplay.runner.keeper import Keeper, kill_group
from selfplay.runner.shared_block import layout, map_arrays

ROOT = Path(__file__).resolve().parents[2]


class ProcessGame:
    """A block of games in a child process (``ScriptedGame``).

    Every call raises RunnerError when the child is gone. ``kill`` may be called from any thread and makes a call in
    progress fail at once. The child lives no longer than the thread that made it, and leads a process group of its
    own: what it starts ends with it, and what it writes into the folder for temporary files is removed.
    """

    num_seats = 2

    def __init__(self, name: str, options: dict[str, Any], start_timeout_s: float | None = None) -> None:
        """Start the child and wait until its games exist.

        Args:
            name: Of the game.
            options: Of its constructor, JSON-able.
            start_timeout_s: Seconds that this may take; by default as long as it takes.

        Raises:
            GameError: the game refuses the options.
            RunnerError: the child has ended, or was killed because it took too long.
        """
        self.num_games: int = options["num_games"]
        self.notes: list[str] = []
        self._keeper = Keeper()
        with tempfile.TemporaryFile(dir=_shared_folder()) as file:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "selfplay.runner.game_process"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=ROOT,
                    env=self._keeper.environment,
                    start_new_session=True,
                    pass_fds=[file.fileno()],  # it has no name, so that nothing is left of it however this ends
                )
            except BaseException:
                self._keeper.close()
                raise
            self._keeper.watch(self.pid)
            try:
                with self._deadline(start_timeout_s):
                    hello = self._ask({"game": name, "options": options, "file": file.fileno()})
                self.stats_dtype: np.dtype[Any] = np.dtype(parse_dtype(hello["stats"]))
                binary, sizes, rest = hello["actions"]
                self.actions = ActionSpec(binary, tuple(sizes), tuple(rest))
                self.obs_width: int = hello["obs_width"]
                self.bot_names: tuple[str, ...] = tuple(hello["bots"])
                self.outsider: int | None = hello["outsider"]
                mask_width: int = hello["mask_width"]
                fields = layout(self.num_games, self.obs_width, self.actions.width, self.stats_dtype, mask_width)
                self._shared = map_arrays(file.fileno(), fields)
                self.legal: NDArray[np.bool_] | None = self._shared["legal"] if mask_width else None
            except BaseException:
                self.close()
                raise
        self.bots: NDArray[np.int8] = self._shared["bots"]
        self.bots[:] = -1

    @property
    def pid(self) -> int:
        """Of the child."""
        return self._process.pid

    def reset(self, seeds: Seeds) -> F32:
        """See ``VectorGame.reset``."""
        self._shared["seeds"][:] = seeds
        self._ask({"do": "reset"})
        obs: F32 = self._shared["obs"]
        return obs

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``; whose action counts, [B, P], means something to fights alone."""
        shared = self._shared
        shared["actions"][...] = actions
        if acts is not None:
            shared["acts"][...] = acts
        self._exchange(STEP if acts is None else STEP_SOME)
        return StepBatch(
            shared["obs"],
            shared["reward"],
            shared["terminated"],
            shared["truncated"],
            shared["final_obs"],
            shared["score"],
            shared["stats"],
        )

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """See ``VectorGame.snapshot``."""
        return unpack(self._ask({"do": "snapshot"})["arrays"])

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``."""
        self._ask({"do": "restore", "arrays": pack(arrays)})
        obs: F32 = self._shared["obs"]
        return obs

    def close(self) -> None:
        """End the child and everything that it has started."""
        kill_group(self.pid)
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()
        self._keeper.close()
        if self._process.stdout:
            self._process.stdout.close()

    def kill(self) -> bool:
        """Kill the child without asking; whoever waits for its answer fails at once."""
        kill_group(self.pid)
        return True

    @contextlib.contextmanager
    def _deadline(self, seconds: float | None) -> Iterator[None]:
        """Kill the child where what is done here takes longer.

        Raises:
            RunnerError: it did.
        """
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

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        return self._exchange(json.dumps(command).encode() + b"\n")

    def _exchange(self, line: bytes) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RunnerError("a game process was started without pipes")
        reply = b""
        with contextlib.suppress(OSError, ValueError):  # its end of a pipe is closed, or ours is
            stdin.write(line)
            stdin.flush()
            reply = stdout.readline()
        if reply == DONE:
            return {}
        if not reply.endswith(b"\n"):
            code = self._process.wait()
            raise RunnerError(f"game process {self.pid} ended with exit code {code} in the middle of a segment")
        document: dict[str, Any] = json.loads(reply)
        self.notes += document.get("notes", ())
        if "error" in document:
            raise GameError(document["error"])
        return document


def _shared_folder() -> str | None:
    """Memory where there is a folder for it, else the usual place for temporary files."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
