"""One run from a configuration to its last line: folder, tree, signals, summary."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, TextIO

import torch

from envs.registry import find_game
from selfplay.checkpoint import create_run, load_latest_learner, resolve_run
from selfplay.config import OPTIONS
from selfplay.errors import ConfigError
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.ledger import read_games
from selfplay.league.render import to_text
from selfplay.report import header
from selfplay.report.outputs import reporters
from selfplay.report.reporter import Feed, Tee
from selfplay.runner.chaos import check_plan
from selfplay.runner.worker import Worker
from selfplay.trainer.disk import SUMMARY
from selfplay.trainer.fitting import check_fit
from selfplay.trainer.guests import invited, seat
from selfplay.trainer.hosting import check_host, cluster_for
from selfplay.trainer.installation import located
from selfplay.trainer.machine import pick_device, processor, usable_cores
from selfplay.trainer.pretrained import adopt
from selfplay.trainer.rater import prepare_best
from selfplay.trainer.resume import CLUSTER, STARTED, continued, spelled
from selfplay.trainer.running import run_tree
from selfplay.trainer.session import Session, check_network, runners, settled
from selfplay.trainer.tree import Tree

if TYPE_CHECKING:
    from selfplay.config import Config, PPOConfig

FORMAT: Final = 1
OF_FIGHTS: Final = ("Character", "Stage", "Frame skip", "Delay", "Max episode frames", "Track Elo")  # in the header


def train(
    config: Config,
    *,
    resume: bool = False,
    explicit: Mapping[str, Any] | None = None,
    preset: str | None = None,
    stream: TextIO | None = None,
) -> int:
    """Train a run to its end; the exit code.

    Args:
        config: Of a new run; of a resumed one only what ``explicit`` names.
        resume: Continue the run of ``--checkpoint``, or the newest.
        explicit: Values that the user gave, by dotted name.
        preset: Its name, for the header.
        stream: Where a person looks; by default standard output.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """
    explicit = explicit or {}
    stream = stream or sys.stdout
    notes: list[str] = []
    if not resume:
        check_fit(config, explicit)
    if resume:
        named = "run.checkpoint" in explicit
        run = resolve_run(Path(config.run.checkpoint) if named else None)
        with run.lock():
            resumed = load_latest_learner(run)
            config = continued(resumed, explicit)
            check_fit(config, explicit)
            _check_agreement(config, explicit)
            config = located(config, notes.append)
            device = pick_device(config.run.device)
            with cluster_for(config.run, runners(config)) as cluster:
                return _start(Session(config, run, device, resumed, cluster), preset, stream, notes)
    _check_agreement(config, explicit)
    config = settled(adopt(located(config, notes.append), explicit, notes.append))
    check_network(config.net)
    device, guests = pick_device(config.run.device), invited(config)  # before the folder is made: a mistake leaves none
    with cluster_for(config.run, runners(config)) as cluster:
        run = create_run(Path(config.run.checkpoint), is_default="run.checkpoint" not in explicit)
        with run.lock():
            seat(run, guests)
            return _start(Session(config, run, device, cluster=cluster), preset, stream, notes)


def _check_agreement(config: Config, explicit: Mapping[str, Any]) -> None:
    """Options that would have no effect, or take one from another."""
    league = config.league
    if league.gate != "none" and not league.track_elo:
        raise ConfigError("--gate decides by rating games: add --track-elo")
    if config.run.keep_best and not league.track_elo:
        raise ConfigError("--keep-best keeps the best by rating games: add --track-elo")
    if "league.opponent_share" in explicit and not league.opponents:
        raise ConfigError("--opponent-share is the share of the policies of --opponent: name at least one")
    if "league.opponent_share" in explicit and league.mode == "opponents":
        raise ConfigError("--opponent-share has no effect with --mode opponents, which plays against nobody else")
    check_host(config.run, config.run.num_games, explicit)
    check_plan(config.run.chaos, processes=config.run.host != "thread" or find_game(config.game.type).live)
    if config.run.chaos is not None and config.run.deterministic:
        raise ConfigError("--chaos: --deterministic promises equal runs, and faults by chance are against it")


def _start(session: Session, preset: str | None, stream: TextIO, notes: Sequence[str] = ()) -> int:
    """Open what blocks, then run the event loop."""
    resumed = session.resumed
    if session.config.run.deterministic:
        torch.use_deterministic_algorithms(mode=True)
    prepare_best(session)
    session.run.write_run(_run_document(session.config, session.device))
    place = (resumed.meta.iteration, resumed.meta.total_steps) if resumed else None
    feed = Feed(Tee(list(reporters(session.run.path, stream, resumed=place).values())))
    feed.header(header.lines("Self-Play Training", _header(session, preset)))
    for line in (*notes, *(resumed.skipped if resumed else ())):
        feed.notice(line)
    return asyncio.run(_run(session, feed))


async def _run(session: Session, feed: Feed) -> int:
    try:
        return await run_tree(
            lambda stop: Tree(session, feed, stop),
            feed,
            lambda tree, seconds: _finish(tree, feed, session, seconds),
            session.run,
            session.config.guard,
        )
    finally:
        await feed.finish()


def _finish(tree: Tree, feed: Feed, session: Session, seconds: float) -> None:
    """The leaderboard, the summary, and what to do next; DiskError where something is not saved."""
    progress, disk = tree.loop.progress, tree.loop.disk
    run = session.run
    board: Leaderboard | None = None
    if tree.rater is not None and run.ledger.exists():
        board = build(read_games(run.ledger), run=run.path)
    with disk.tolerate(SUMMARY, ""):
        run.write_summary(
            {
                "finished": progress.finished and not disk.missing,
                "iteration": progress.iteration,
                "total_steps": progress.total_steps,
                "elapsed_s": round(progress.elapsed_s, 3),
                "session_s": round(seconds, 3),
                "steps_per_s_median": round(median(progress.speeds), 1) if progress.speeds else None,
                "newest": progress.newest,
                "restarts": progress.restarts,
                "abandoned": Worker.abandoned,
                "chaos": progress.chaos.document() or None,
                "ended": datetime.now(UTC).isoformat(),
                "health": [asdict(finding) for finding in (*progress.health.findings(), *disk.findings())],
                "leaderboard": board.model_dump(mode="json") if board else None,
            }
        )
    if board is not None:
        feed.leaderboard(to_text(board))
    feed.notice(
        f"{progress.fate(whole=not disk.missing)} "
        f"after {progress.iteration} iterations, {progress.total_steps:,} steps, "
        f"{progress.elapsed_s:.0f} s; the run is in {run.path}"
    )
    newest = run.generations / progress.newest
    started = spelled(session.config, (*(STARTED if session.game.live else ()), *CLUSTER), OPTIONS)
    fights = (
        f"  python scripts/evaluate.py {newest} random --games 100",
        f"  python scripts/watch.py {run.path}",
    )
    for line in (
        *progress.chaos.lines(),
        "What next:",
        *(fights if session.game.fighter else ()),
        f"  python scripts/train_self_play.py --resume --checkpoint {run.path} --timesteps "
        f"{max(2 * progress.total_steps, 1)}{started}",
        f"  tensorboard --logdir {run.path.parent}",
    ):
        feed.notice(line)
    disk.refuse_to_end(progress.saved)


def _run_document(config: Config, device: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "started": datetime.now(UTC).isoformat(),
        "config": config.model_dump(mode="json"),
        "device": device,
        "processor": processor(),
        "cores": usable_cores(),
        "versions": {name: version(name) for name in ("torch", "numpy", "numba", "gymnasium")},
    }


def _beside_teacher(ppo: PPOConfig) -> str:
    return (
        f"KL {ppo.teacher_kl or 0:g} forward, {ppo.teacher_kl_reverse or 0:g} reverse; "
        f"the critic alone for {ppo.critic_burn_in or 0} iterations"
    )


def _header(session: Session, preset: str | None) -> list[tuple[str, object]]:
    config = session.config
    game, ppo, run, league = config.game, config.ppo, config.run, config.league
    mine, other = game.characters
    emulator = config.emulator
    ways = [word for word in ("headless", "fast_forward", "save_replays") if getattr(emulator, word)]
    gate = "{} between {:g} and {:g} Elo".format(league.gate, *league.gate_bounds)
    mix = {k: getattr(league, k) for k in ("current", "recent", "scripted", "any_past")}
    lines = [
        ("Mode", None if emulator.outsider else league.mode),
        ("Opponents", emulator.outsider or (mix if league.mode == "simple_mix" else None)),
        ("Guests", ", ".join(league.opponents) or None),
        ("Game type", game.type),
        ("Dolphin", game.dolphin),
        ("Disc", game.iso),
        ("Emulators", ways or None),
        ("Preset", preset),
        ("Num games", run.num_games),
        ("Timesteps", run.timesteps),
        ("Max minutes", run.max_minutes),
        ("Iterations", session.iterations),
        ("Rollout length", ppo.rollout_length),
        ("Batch size", ppo.batch_size),
        ("PPO", f"{ppo.epochs} epochs, clip {ppo.clip:g}, learning rate {ppo.learning_rate:g}, "
                f"gamma {ppo.gamma:g}, lambda {ppo.gae_lambda:g}, entropy {ppo.entropy_coefficient:g}"),
        ("Network", f"{config.net.backbone} {config.net.activation} {'x'.join(map(str, config.net.hidden))}"),
        ("Character", mine if other == mine else f"{mine} against {other}"),
        ("Stage", game.stage),
        ("Frame skip", game.frame_skip),
        ("Delay", game.delay),
        ("Max episode frames", game.max_episode_frames),
        ("Pretrained", run.pretrained),
        ("Teacher", _beside_teacher(ppo) if run.pretrained else None),
        ("Track Elo", f"yes, {league.rating_share:.0%} of the time" if league.track_elo else False),
        ("Gate", None if league.gate == "none" else gate),
        ("Seed", str(run.seed)),
        ("Deterministic", run.deterministic or None),
        ("Chaos", run.chaos),
        ("Device", f"{session.device} ({processor()}, {usable_cores()} cores)"),
        ("Host", f"{run.host}, {len(session.blocks)} runners"),
        ("Run folder", session.run.path),
        ("Resumed at", f"iteration {session.resumed.meta.iteration}" if session.resumed else None),
    ]  # fmt: skip
    return [line for line in lines if session.game.fighter or line[0] not in OF_FIGHTS]
