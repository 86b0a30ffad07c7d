"""Errors of the package.

SelfPlayError             base class
├── ConfigError           invalid flag, configuration value or path (exit code 2)
│   ├── RunExistsError    the folder already holds a run
│   └── RunLockedError    another trainer uses this run folder
├── CheckpointError       a file cannot be written or read
│   ├── NotARunError      no run, policy or learner state at this path (exit code 2)
│   ├── CorruptError      a file is missing, incomplete or invalid (exit code 2)
│   ├── DiskError         the disk is full or failed; existing files are unchanged
│   ├── IncompatibleError a valid file of a format or content that this version does not support (exit code 2)
│   └── ImmutableError    a generation of this name has other weights
├── LeagueError           a match, a rating or the ledger is invalid (exit code 2)
├── RunnerError           a game runner or its host failed
│   ├── ActorLostError    an actor of a cluster is gone, or has no node
│   ├── InjectedFaultError a fault on purpose (--chaos) that fails the whole runner
│   ├── ServerError       an inference server cannot start, or fails too often
│   └── HangingError      too many abandoned threads and children (exit code 4)
└── LearnerError          an update failed or is not finite

Games have their own tree, ``selfplay.games.errors.GameError``. ``boundary`` converts errors of other libraries at the
call.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from selfplay.games.errors import shortened

if TYPE_CHECKING:
    from pydantic import ValidationError

LESS_MEMORY: Final = (
    "a smaller --batch-size needs less, with language models a smaller --set grpo.micro_tokens or --lora-rank 16"
)


class SelfPlayError(Exception):
    """Base of all errors of selfplay; ``exit_code`` is the exit code of a script. What it says is ``shortened``."""

    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        return shortened(super().__str__())


class ConfigError(SelfPlayError):
    """Invalid user input; the message is one line."""

    exit_code: ClassVar[int] = 2


class RunExistsError(ConfigError):
    """The folder already holds a run."""


class RunLockedError(ConfigError):
    """Another process uses this run folder."""


class CheckpointError(SelfPlayError):
    """A file cannot be written or read."""


class NotARunError(CheckpointError):
    """No run, policy or state at this path."""

    exit_code: ClassVar[int] = 2


class CorruptError(CheckpointError):
    """A file is missing, incomplete or invalid."""

    exit_code: ClassVar[int] = 2


class DiskError(CheckpointError):
    """The disk is full or failed; existing files are unchanged."""


class IncompatibleError(CheckpointError):
    """A valid file that this version does not support."""

    exit_code: ClassVar[int] = 2


class ImmutableError(CheckpointError):
    """A saved generation would be changed."""


class LeagueError(SelfPlayError):
    """A match, a rating or the ledger is inconsistent."""

    exit_code: ClassVar[int] = 2


class RunnerError(SelfPlayError):
    """A game runner or its host failed."""


class ActorLostError(RunnerError):
    """An actor of a cluster is gone, or no node has room for it."""


class InjectedFaultError(RunnerError):
    """A fault on purpose (``--chaos``) that fails the whole runner."""


class ServerError(RunnerError):
    """An inference server cannot start, or has failed too often."""


class HangingError(RunnerError):
    """Too many threads and children are abandoned; a new process can resume the run."""

    exit_code: ClassVar[int] = 4


class LearnerError(SelfPlayError):
    """An update cannot be made or gave numbers that are not finite."""


@contextmanager
def boundary(kind: type[SelfPlayError], what: str) -> Iterator[None]:
    """Convert exceptions to ``kind``, with the message prefix ``what`` and the original as cause.

    ``SelfPlayError``, ``KeyboardInterrupt``, ``SystemExit`` and cancellation pass unchanged.
    """
    try:
        yield
    except SelfPlayError:
        raise
    except Exception as error:
        raise kind(f"{what}: {describe(error)}") from error


def says_full(text: str) -> bool:
    """Whether an error, or a line about one, says that a disk is full."""
    return os.strerror(errno.ENOSPC) in text


def out_of_memory(error: BaseException) -> MemoryError | None:
    """Convert an allocation error of numpy or torch to a MemoryError with a one-line message; None for other errors.

    The message for a CUDA device names settings that need less of its memory.

    The message of numpy quotes the whole dtype, which is pages long for the state of a game.
    """
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return MemoryError(text.partition(" and data type ")[0]).with_traceback(error.__traceback__)
    if isinstance(error, RuntimeError) and text.startswith("CUDA out of memory"):
        size = text.removeprefix("CUDA out of memory. ").partition(". ")[0]
        return MemoryError(f"{size} on the CUDA device; {LESS_MEMORY}").with_traceback(error.__traceback__)
    _, found, after = text.partition("DefaultCPUAllocator: ")
    if isinstance(error, RuntimeError) and found and "allocate" in after:
        return MemoryError(after.partition(". ")[0]).with_traceback(error.__traceback__)
    return None


def first_problem(error: ValidationError, whole: str = "") -> str:
    """The first field that is invalid, and why, in one line; ``whole`` names the document if no field does."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(map(str, problem["loc"])) or whole
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{field + ': ' if field else ''}{problem['msg']}{more}"


def describe(error: BaseException) -> str:
    invalid: Any = error
    if isinstance(error, ValueError) and hasattr(error, "error_count"):  # of pydantic, which some commands do without
        return first_problem(invalid)
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
