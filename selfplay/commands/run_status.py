"""Status of a run: its saved supervision tree and crashes, and whether a trainer is running."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.documents import MAX_JSON_BYTES, decode_json, parse
from selfplay.errors import CheckpointError, CorruptError, NotARunError
from selfplay.files import read_file
from selfplay.report.tree_status import RunStatus, TreeStatus
from selfplay.run.monitoring.crash_file import read_crashes

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.report.tree_status import Crash

NEWEST: Final = 5  # crashes that are shown in a line each


def examine(run: RunDir, count: int) -> RunStatus:
    """The tree of a run, live or afterwards, and the newest ``count`` crashes. Trusts no file."""
    trainer = run.trainer()  # before the files: one that ends meanwhile has written its end
    if not run.tree_json.exists():
        raise NotARunError(f"{run.path} has no {run.tree_json.name}: it has only begun")
    what = str(run.tree_json)
    standing = parse(TreeStatus, decode_json(read_file(run.tree_json, MAX_JSON_BYTES), what), what, CorruptError)
    crashes, unreadable = read_crashes(run.crashes, max(count, 1))
    return RunStatus(
        run=str(run.path),
        trainer=trainer,
        fate=_fate(run, trainer, standing, crashes[0] if crashes else None),
        standing=standing,
        crashes=tuple(crashes[:count]),
        unreadable=unreadable,
    )


def _fate(run: RunDir, trainer: str | None, standing: TreeStatus, last: Crash | None) -> str:
    of = f"{standing.written.astimezone():%Y-%m-%d %H:%M:%S}"
    if trainer is not None and trainer == str(standing.pid):
        return f"a trainer (process {trainer}) is at work; the state is of {of}"
    if trainer is not None:
        return f"a trainer (process {trainer}) has only begun; the state is of the session before it, of {of}"
    if standing.ended is not None:
        return f"{standing.ended}{_iterations(run)}; it ended at {of}"
    if last is not None and last.kind == "blocked" and last.time >= standing.began:
        return f"{last.message}; it ended at {last.time.astimezone():%Y-%m-%d %H:%M:%S}"
    return f"the trainer was killed; the last state is of {of}"


def _iterations(run: RunDir) -> str:
    """Number of iterations from the summary, as text; empty if there is no summary, as after a failure."""
    with suppress(CheckpointError):
        iteration = run.read_summary().get("iteration")
        if isinstance(iteration, int):
            return f" after {iteration} iterations"
    return ""
