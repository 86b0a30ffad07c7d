"""One run from its first line to its last: documents, event loop, summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from selfplay import supervision
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.ledger import read_games
from selfplay.league.render import terminal_width, to_text
from selfplay.machine import processor, usable_cores
from selfplay.report.reporter import Feed
from selfplay.runner.worker import Worker
from selfplay.train.disk import SUMMARY
from selfplay.train.lifecycle import Stop, run_tree
from selfplay.train.monitoring.secrets import without_secrets
from selfplay.train.tree import Tree
from selfplay.verbs import respelled

if TYPE_CHECKING:
    from selfplay.config.base import SelfPlaySettings
    from selfplay.report.reporter import Reporter
    from selfplay.runner.ray_cluster import Cluster
    from selfplay.train.family import Family, RunSession
    from selfplay.train.progress import Progress

FORMAT: Final = 1

MakeFamily = Callable[[Feed, Stop], "Family[Any, Any]"]


@contextmanager
def cluster_for(run: SelfPlaySettings, actors: int) -> Iterator[Cluster | None]:
    """The cluster of a run that wants one, with room for so many actors; None for others. Blocks.

    Raises:
        ConfigError: see ``ray_cluster.connected``.
    """
    if run.host != "ray":
        yield None
        return
    from selfplay.runner.ray_cluster import connected

    with connected(run.ray_address, actors) as cluster:
        yield cluster


def run_to_end(
    session: RunSession, make: MakeFamily, reporter: Reporter, header: Iterable[str], notices: Iterable[str] = ()
) -> int:
    """Run the event loop, in which ``make`` is called, until the run has ended; the exit code.

    Raises:
        SelfPlayError: the run failed; names the first cause.
    """
    session.run.write_run(_run_document(session))
    feed = Feed(reporter)
    feed.header(tuple(map(without_secrets, header)))
    for line in (*notices, *(session.resumed.skipped if session.resumed else ())):
        feed.notice(line)
    return supervision.run(_run(session, make, feed))


async def _run(session: RunSession, make: MakeFamily, feed: Feed) -> int:
    try:
        return await run_tree(
            lambda stop: Tree(make(feed, stop), stop), feed, _finish, session.run, session.config.guard
        )
    finally:
        await feed.finish()


def _run_document(session: RunSession) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "started": datetime.now(UTC).isoformat(),
        "config": session.config.model_dump(mode="json"),
        "device": session.device,
        "processor": processor(),
        "cores": usable_cores(),
        "versions": {name: version(name) for name in session.packages},
        **session.document,
    }


def _finish(tree: Tree, seconds: float) -> None:
    """The leaderboard, the summary, and what to do next; DiskError where something is not saved."""
    family, disk = tree.family, tree.loop.disk
    run, feed, progress = family.run, family.feed, family.progress
    board: Leaderboard | None = None
    if tree.rater is not None and run.ledger.exists():
        board = build(read_games(run.ledger), run=run.path)
    found = family.summary()
    with disk.tolerate(SUMMARY, ""):
        run.write_summary(
            {
                "finished": progress.finished and not disk.missing,
                "iteration": progress.iteration,
                "total_steps": progress.total_steps,
                "elapsed_s": round(progress.elapsed_s, 3),
                "session_s": round(seconds, 3),
                "newest": progress.newest,
                "restarts": progress.restarts,
                "abandoned": Worker.abandoned,
                "chaos": progress.chaos.document() or None,
                "ended": datetime.now(UTC).isoformat(),
                "health": [asdict(finding) for finding in (*progress.health.findings(), *disk.findings())],
                "leaderboard": board.model_dump(mode="json") if board else None,
                **found,
            }
        )
    if board is not None:
        feed.leaderboard(to_text(board, width=terminal_width()))
    feed.notice(
        f"{progress.how_it_ended(whole=not disk.missing)} after {progress.iteration} iterations, {family.played()}, "
        f"{progress.elapsed_s:.0f} s; the run is in {run.path}"
    )
    steps = [respelled(line) for line in family.next_steps()]
    for line in (*progress.chaos.lines(), *(["What next:", *steps] if steps else [])):
        feed.notice(line)
    if family.failure is not None:
        raise family.failure
    disk.refuse_to_end(progress.saved)


def flags_to_continue(run: SelfPlaySettings, progress: Progress) -> str:
    """Flags for a run to continue: none where its planned end is ahead, else an end further away."""
    if not progress.finished:
        return ""
    steps, minutes, flags = run.timesteps, run.max_minutes, ""
    if steps is not None:
        flags += f" --timesteps {2 * steps if progress.total_steps >= steps else steps}"
    if minutes is not None:
        while 60 * minutes <= progress.elapsed_s:
            minutes *= 2
        flags += f" --max-minutes {minutes:g}"
    return flags
