"""Errors of the trainer and everything around it.

SelfPlayError             root; the message says what happened, where, and what to do about it
├── ConfigError           a flag, a config value or a path that cannot be used (exit code 2)
│   ├── RunExistsError    the folder already holds a run, which is never overwritten
│   └── RunLockedError    another trainer works in this run folder
├── CheckpointError       a saved file could not be written or read
│   ├── NotARunError      no run, policy or learner state is where one was asked for (exit code 2)
│   ├── CorruptError      a file is missing, torn, altered or hostile; names the file and the reason
│   ├── DiskError         the disk is full or refuses; what was there before is as it was
│   ├── IncompatibleError intact, but of a format or content that this version cannot use
│   └── ImmutableError    a generation of this name exists with other weights
├── LeagueError           a match, a rating or the ledger is inconsistent
├── RunnerError           a game runner or its host failed
│   ├── ServerError       a server that writes replies cannot be started, or fails too often
│   └── HangingError      more threads and children hang than may (exit code 4)
└── LearnerError          an update cannot be made or gave numbers that are not finite

The games have a tree of their own, ``envs.errors.GameError``. Errors of other libraries are converted once, where
they enter, by ``boundary``; nothing else catches them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator


class SelfPlayError(Exception):
    """Root of everything that selfplay raises on purpose; ``exit_code`` is what a script ends with."""

    exit_code: ClassVar[int] = 1


class ConfigError(SelfPlayError):
    """A value of the user that cannot be used; the message is one clear line."""

    exit_code: ClassVar[int] = 2


class RunExistsError(ConfigError):
    """The folder already holds a run."""


class RunLockedError(ConfigError):
    """Another process trains in this run folder."""


class CheckpointError(SelfPlayError):
    """A saved file could not be written or read."""


class NotARunError(CheckpointError):
    """Nothing of the wanted kind lies at this path."""

    exit_code: ClassVar[int] = 2


class CorruptError(CheckpointError):
    """A file is missing, torn, altered or hostile."""


class DiskError(CheckpointError):
    """The disk is full or refuses to take something; what was there before is as it was."""


class IncompatibleError(CheckpointError):
    """An intact file that this version cannot use."""


class ImmutableError(CheckpointError):
    """A saved generation would be changed."""


class LeagueError(SelfPlayError):
    """A match, a rating or the ledger is inconsistent."""


class RunnerError(SelfPlayError):
    """A game runner or its host failed."""


class ServerError(RunnerError):
    """A server that writes replies cannot be started, or has failed so often that the run should end."""


class HangingError(RunnerError):
    """More threads and children hang than the run may leave behind: another process, with none, can go on."""

    exit_code: ClassVar[int] = 4


class LearnerError(SelfPlayError):
    """An update cannot be made or gave numbers that are not finite."""


@contextmanager
def boundary(kind: type[SelfPlayError], what: str) -> Iterator[None]:
    """Convert a foreign exception to ``kind``, once; ``what`` says what was tried, the cause is kept.

    Errors of our own tree pass unchanged, and so do ``KeyboardInterrupt``, ``SystemExit`` and cancellation.
    """
    try:
        yield
    except SelfPlayError:
        raise
    except Exception as error:
        raise kind(f"{what}: {describe(error)}") from error


def describe(error: BaseException) -> str:
    """One line: the name of the error and its message."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
