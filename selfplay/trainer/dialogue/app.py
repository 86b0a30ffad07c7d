"""One run of self-play in words, from a configuration to its last line."""

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

from selfplay.checkpoint import create_run, load_latest_learner, resolve_run
from selfplay.checkpoint.models import is_model, read_model, read_model_meta
from selfplay.errors import IncompatibleError, boundary
from selfplay.league.leaderboard import build
from selfplay.league.ledger import read_games
from selfplay.league.render import to_text
from selfplay.learner.advantages import refuse_single_games
from selfplay.report import header
from selfplay.report.dialogue import dialogue_reporters
from selfplay.report.plain import PlainReporter, StreamSink
from selfplay.report.reporter import Feed
from selfplay.runner.serving import find_program
from selfplay.trainer.dialogue.config import OPTIONS, TINY, LanguageConfig
from selfplay.trainer.dialogue.evaluation import anchors, compare, held_out, judge_model
from selfplay.trainer.dialogue.exact import ask, judged
from selfplay.trainer.dialogue.players import (
    endpoint_of,
    game_of,
    is_embedded,
    open_model,
    reopen,
    sampling_of,
    server_of,
)
from selfplay.trainer.dialogue.session import WordsSession, runners
from selfplay.trainer.dialogue.tree import WordsTree
from selfplay.trainer.disk import SUMMARY
from selfplay.trainer.hosting import check_host, cluster_for
from selfplay.trainer.machine import pick_device, processor, usable_cores
from selfplay.trainer.resume import CLUSTER, change, leave_cluster, refuse_unnamed
from selfplay.trainer.running import run_tree

if TYPE_CHECKING:
    from pydantic import JsonValue

    from envs.dialogue.contract import Exact
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.policy.language.model import LanguageModel
    from selfplay.runner.ray_cluster import Cluster

FORMAT: Final = 1
MAY_CHANGE: Final = frozenset(
    {
        "run.games", "run.timesteps", "run.max_minutes", "run.save_interval",
        "run.keep_checkpoints", "run.keep_every", "run.keep_best",
        "run.checkpoint", "run.device", "run.host", "run.ray_address", "run.workers",
        "run.threads", "run.evaluation_states", "run.chaos", "guard.loop_timeout", "guard.max_abandoned",
    }
)  # fmt: skip


STARTED: Final = ("server.program", "server.arguments", "server.url", *CLUSTER)
"""Settings that start a program or send what is said to a server; see ``resume.STARTED``."""


def train(
    config: LanguageConfig,
    *,
    resume: bool = False,
    explicit: Mapping[str, Any] | None = None,
    preset: str | None = None,
    stream: TextIO | None = None,
) -> int:
    """Train a run to its end; the exit code. Arguments and errors as of ``selfplay.trainer.app.train``."""
    explicit = explicit or {}
    stream = stream or sys.stdout
    if resume:
        named = "run.checkpoint" in explicit
        run = resolve_run(Path(config.run.checkpoint) if named else None)
        with run.lock():
            state = load_latest_learner(run)
            base = state.meta.extra.get("base")
            if not state.meta.generations or not isinstance(base, str):
                raise IncompatibleError(f"{state.path}: does not say which model the run goes on with")
            newest = run.generations / state.meta.generations[-1]
            config = _at_home(_continued(state, explicit), newest)
            check_host(config.run, config.states_per_iteration, explicit)
            device = pick_device(config.run.device)
            model = reopen(config, str(newest), device)
            with cluster_for(config.run, runners(config, device)) as cluster:
                return _start(config, run, (model, base), state, preset, stream, cluster)
    check_host(config.run, config.states_per_iteration, explicit)
    refuse_single_games(config.grpo.games_per_state, config.grpo.baseline)
    game_of(config)
    lines = PlainReporter(StreamSink(stream))
    # Before the folder is made: a mistake leaves none.
    if config.server.program is not None:
        find_program(config.server.program)
    device = pick_device(config.run.device)
    opened = open_model(config, device, config.run.threads or usable_cores(), lines.notice)
    endpoint_of(config, opened[0].chat)
    with cluster_for(config.run, runners(config, device)) as cluster:
        run = create_run(Path(config.run.checkpoint), is_default="run.checkpoint" not in explicit)
        with run.lock():
            return _start(config, run, opened, None, preset, stream, cluster)


def _continued(state: LearnerState, explicit: Mapping[str, Any]) -> LanguageConfig:
    with boundary(IncompatibleError, f"{state.path}: its configuration cannot be used"):
        values = LanguageConfig.model_validate(state.meta.config).model_dump()
    change(values, explicit, MAY_CHANGE, OPTIONS)
    leave_cluster(values["run"], explicit)
    config = LanguageConfig.model_validate(values)
    refuse_unnamed(config, explicit, STARTED, OPTIONS)
    return config


def _at_home(config: LanguageConfig, newest: Path) -> LanguageConfig:
    """The settings of a run whose embedded model came from a folder that is gone: its own newest one stands for it.

    What is usual for an embedded model (rules, rates) follows from what lies there, and must not change meanwhile.
    """
    if is_embedded(config) or read_model_meta(newest).base != TINY:
        return config
    return config.model_copy(update={"model": config.model.model_copy(update={"name": str(newest)})})


def _start(
    config: LanguageConfig,
    run: RunDir,
    opened: tuple[LanguageModel, str],
    resumed: LearnerState | None,
    preset: str | None,
    stream: TextIO,
    cluster: Cluster | None,
) -> int:
    """Run the event loop with a model and its name."""
    device = pick_device(config.run.device)
    place = (resumed.meta.iteration, resumed.meta.total_steps) if resumed else None
    run.write_run(_run_document(config, device))
    reporters = dialogue_reporters(run.path, stream, place)
    reporters.header(header.lines("Self-Play in Words", _header(config, run, device, preset, resumed)))
    for line in resumed.skipped if resumed else ():
        reporters.notice(line)
    entry, rules = game_of(config)
    model, base = opened
    folder = Path(base) if resumed is None else run.generations / resumed.meta.generations[-1]
    server = server_of(config, folder, run.path)
    endpoint = endpoint_of(config, model.chat, server)
    if endpoint is not None:
        reporters.notice(endpoint.wire.told)
    session = WordsSession(
        config, run, device, entry, rules, model, base, sampling_of(config), resumed, server, endpoint, cluster
    )
    return asyncio.run(_run(session, Feed(reporters)))


async def _run(session: WordsSession, feed: Feed) -> int:
    try:
        return await run_tree(
            lambda stop: WordsTree(session, feed, stop),
            feed,
            lambda tree, seconds: _finish(tree, feed, session, seconds),
            session.run,
            session.config.guard,
        )
    finally:
        await feed.finish()


def _finish(tree: WordsTree, feed: Feed, session: WordsSession, seconds: float) -> None:
    """How well the model does now, the summary, and what to do next."""
    loop, run = tree.loop, session.run
    progress, disk = loop.progress, loop.disk
    found = _judgement(session, feed) if progress.finished and session.config.run.evaluation_states else {}
    if progress.finished and session.entry.exact is not None:
        found["nash_conv"] = _exact(session, session.entry.exact, progress.generations, feed)
    board = build(read_games(run.ledger), run=run.path) if tree.rater is not None and run.ledger.exists() else None
    with disk.tolerate(SUMMARY, ""):
        run.write_summary(
            {
                "finished": progress.finished and not disk.missing,
                "iteration": progress.iteration,
                "total_steps": progress.total_steps,
                "games": progress.games,
                "lost": progress.lost,
                "elapsed_s": round(progress.elapsed_s, 3),
                "session_s": round(seconds, 3),
                "games_per_s_median": round(median(progress.speeds), 1) if progress.speeds else None,
                "newest": progress.newest,
                "restarts": progress.restarts,
                "chaos": progress.chaos.document() or None,
                "ended": datetime.now(UTC).isoformat(),
                "processor": processor(),
                "cores": usable_cores(),
                "teaching": _teaching(Path(session.base)),
                "health": [asdict(finding) for finding in (*loop.health.findings(), *disk.findings())],
                "leaderboard": board.model_dump(mode="json") if board else None,
                **found,
            }
        )
    if board is not None:
        feed.leaderboard(to_text(board))
    feed.notice(
        f"{progress.fate(whole=not disk.missing)} "
        f"after {progress.iteration} iterations, {progress.games:,} games, {progress.total_steps:,} turns, "
        f"{progress.elapsed_s:.0f} s; the run is in {run.path}"
    )
    for line in progress.chaos.lines():
        feed.notice(line)
    if loop.failure is not None:
        raise loop.failure
    disk.refuse_to_end(progress.saved)


def _teaching(base: Path) -> dict[str, JsonValue] | None:
    """How the model was made that the run began with, where that was done here."""
    if not is_model(base):
        return None
    config = read_model(base).config
    return {name: config[name] for name in ("seconds", "looks") if name in config} or None


def _judgement(session: WordsSession, feed: Feed) -> dict[str, Any]:
    """The model as it is now and as it began, on states that it was not trained on, beside scripted players."""
    seeds = held_out(session.config.run.evaluation_states)
    entry, rules, sampling = session.entry, session.rules, session.sampling
    feed.notice(f"Judging on {len(seeds)} states that were not trained on ...")
    after = judge_model(entry, rules, session.model, sampling, seeds)
    first = reopen(session.config, str(session.run.generations / "gen_0"), session.device)
    before = judge_model(entry, rules, first, sampling, seeds)
    document = after.document
    found = {
        **{name: document[name] for name in ("reward", "agreement", "format_errors")},
        **compare(after, before),
        "anchors": anchors(entry, rules, seeds),
    }
    for line in _table(found):
        feed.notice(line)
    return found


def _exact(session: WordsSession, exact: Exact, generations: Sequence[str], feed: Feed) -> dict[str, JsonValue]:
    """How far the start, the newest generation and a mixture of all of them are from an equilibrium."""
    folder = session.run.generations
    models = (reopen(session.config, str(folder / name), session.device) for name in generations)
    found = judged([ask(model, exact, session.rules) for model in models], exact)
    mass: Any = found["illegal_mass"]
    feed.notice(
        f"  NashConv {found['average']:.3f} for a mixture of all {found['generations']} generations, "
        f"{found['newest']:.3f} for the newest, {found['start']:.3f} at the start; "
        f"illegal replies {mass['average']:.2%} on average"
    )
    return found


def _table(found: Mapping[str, Any]) -> list[str]:
    lines = [f"  {'player, with itself':<22}{'reward':>8}{'agreed':>9}{'where agreed':>14}{'turns':>7}"]
    rows = [("this run", found["evaluation"]), ("its start", found["start"])]
    rows += [(name, anchor) for name, anchor in found["anchors"].items() if isinstance(anchor, dict)]
    for name, row in rows:
        only = "" if row["agreed_only"] is None else f"{row['agreed_only']:.3f}"
        lines.append(f"  {name:<22}{row['reward']:>8.3f}{row['agreement']:>9.1%}{only:>14}{row['turns']:>7.1f}")
    known = [
        f"{name.removeprefix('known_')} {value:.3f}"
        for name, value in found["anchors"].items()
        if isinstance(value, float)
    ]
    if known:
        lines.append(f"  known without playing: {', '.join(known)}")
    gains = found["paired_gain"], found["paired_gain_agreed"]
    lines += [
        f"  gain over its start on {where}: {each['gain']:+.3f} ± {each['interval']:.3f} ({each['states']} states)"
        for each, where in zip(gains, ("the same states", "those where both agreed"), strict=True)
        if each["gain"] is not None
    ]
    return lines


def _run_document(config: LanguageConfig, device: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "family": "dialogue",
        "started": datetime.now(UTC).isoformat(),
        "config": config.model_dump(mode="json"),
        "device": device,
        "processor": processor(),
        "cores": usable_cores(),
        "versions": {name: version(name) for name in ("torch", "numpy", "transformers", "tokenizers", "scipy")},
    }


def _header(
    config: LanguageConfig, run: RunDir, device: str, preset: str | None, resumed: LearnerState | None
) -> Sequence[tuple[str, object]]:
    grpo, sampling = config.grpo, sampling_of(config)
    _, rules = game_of(config)
    return [
        ("Game type", config.game.type),
        ("Rules", ", ".join(f"{name} {value}" for name, value in asdict(rules).items())),
        ("Model", config.model.name),
        ("Preset", preset),
        ("Num games", config.run.num_games),
        ("Games per state", grpo.games_per_state),
        ("Games", config.run.games),
        ("Timesteps", config.run.timesteps),
        ("Max minutes", config.run.max_minutes),
        ("Replies", f"temperature {sampling.temperature:g}, top-p {sampling.top_p:g}, "
                    f"{sampling.max_new_tokens} tokens"),
        ("GRPO", f"{grpo.advantage}, baseline {grpo.baseline}, {grpo.loss_agg}, {grpo.epochs} epochs of "
                 f"{grpo.batch_rows} rows, clip {grpo.clip_low:g} and {grpo.clip_high:g}"),
        ("Track Elo", f"yes, {config.league.rating_share:.0%} of the time" if config.league.track_elo else None),
        ("Seed", str(config.run.seed)),
        ("Chaos", config.run.chaos),
        ("Host", f"ray, {runners(config, device)} actors" if config.run.host == "ray" else None),
        ("Device", f"{device} ({processor()}, {usable_cores()} cores)"),
        ("Run folder", run.path),
        ("Resumed at", f"iteration {resumed.meta.iteration}" if resumed else None),
    ]  # fmt: skip
