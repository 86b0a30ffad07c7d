"""One run of dialogue self-play, from a configuration to its last line."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from selfplay.checkpoint import create_run, load_latest_learner, resolve_run
from selfplay.config.dialogue_rules import game_of
from selfplay.config.options import listed
from selfplay.config.resolve import resolve_dialogue
from selfplay.dialogue.players import check_opening, endpoint_of, open_model, reopen, sampling_of, server_of
from selfplay.dialogue.session import DialogueSession, runners
from selfplay.dialogue.training import DialogueTraining
from selfplay.errors import IncompatibleError
from selfplay.machine import pick_device, processor, usable_cores
from selfplay.report import header
from selfplay.report.dialogue import DialogueDashboard, DialogueLines
from selfplay.report.outputs import reporters
from selfplay.report.plain import PlainReporter, StreamSink
from selfplay.report.reporter import Tee
from selfplay.run.lifecycle import cluster_for, run_to_end
from selfplay.run.progress import resumed_at
from selfplay.run.saved_state import DialogueState, check_ratings, check_state

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.config.dialogue import DialogueConfig
    from selfplay.policy.language.model import LanguageModel
    from selfplay.runner.ray_cluster import Cluster

HIDDEN: Final = ("game.type", "model.name", "run.num_games", "run.seed", "run.device", "run.host", "run.checkpoint")
"""Settings that have a line of their own in the header."""


def train(
    config: DialogueConfig,
    *,
    resume: bool = False,
    explicit: Mapping[str, Any] | None = None,
    preset: str | None = None,
    stream: TextIO | None = None,
) -> int:
    """Train a run to its end; the exit code. Arguments and errors as of ``selfplay.ppo.app.train``."""
    explicit = explicit or {}
    stream = stream or sys.stdout
    if resume:
        named = "run.checkpoint" in explicit
        run = resolve_run(Path(config.run.checkpoint) if named else None)
        with run.lock():
            state = load_latest_learner(run)
            check_state(state, DialogueState)
            base = state.meta.extra.get("base")
            if not state.meta.generations or not isinstance(base, str):
                raise IncompatibleError(f"{state.path}: does not say which model the run goes on with")
            newest = run.generations / state.meta.generations[-1]
            resolved = resolve_dialogue(config, explicit, state, newest)
            config, device = resolved.config, resolved.device
            if config.league.track_elo:
                check_ratings(run)
            model = reopen(config, str(newest), device)
            with cluster_for(config.run, runners(config, device)) as cluster:
                return _start(config, run, (model, base), state, preset, stream, cluster)
    resolved = resolve_dialogue(config, explicit)
    config, device = resolved.config, resolved.device
    lines = PlainReporter(StreamSink(stream))
    # Before the folder is made: a mistake leaves none.
    threads = config.run.threads or usable_cores()
    opened = open_model(config, device, threads, lines.notice, show_header=lines.header)
    endpoint = endpoint_of(config, opened[0].chat)
    if endpoint is not None and endpoint.context is not None:
        check_opening(config, opened[0], endpoint.context)
    with cluster_for(config.run, runners(config, device)) as cluster:
        run = create_run(Path(config.run.checkpoint), is_default="run.checkpoint" not in explicit)
        with run.lock():
            return _start(config, run, opened, None, preset, stream, cluster)


def _start(
    config: DialogueConfig,
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
    at = resumed_at(run, resumed) if resumed else None
    made = reporters(run.path, stream, resumed=place, lines=DialogueLines, view=DialogueDashboard)
    entry, rules = game_of(config)
    model, base = opened
    folder = Path(base) if resumed is None else run.generations / resumed.meta.generations[-1]
    server = server_of(config, model, folder, run.path)
    endpoint = endpoint_of(config, model.chat, server)
    session = DialogueSession(
        config, run, device, entry, rules, model, base, sampling_of(config), resumed, server, endpoint, cluster
    )
    lines = header.lines("Dialogue Self-Play", _header(config, run, device, preset, at))
    notices = () if endpoint is None else (endpoint.wire.description,)
    return run_to_end(session, partial(DialogueTraining, session), Tee(list(made.values())), lines, notices)


def _header(
    config: DialogueConfig, run: RunDir, device: str, preset: str | None, at: str | None
) -> Sequence[tuple[str, object]]:
    _, rules = game_of(config)
    return [
        ("Game type", config.game.type),
        ("Rules", ", ".join(f"{name} {value}" for name, value in asdict(rules).items())),
        ("Model", config.model.name),
        ("Num games", config.run.num_games),
        ("Preset", preset),
        ("Seed", str(config.run.seed)),
        ("Device", f"{device} ({processor()}, {usable_cores()} cores)"),
        ("Host", f"ray, {runners(config, device)} actors" if config.run.host == "ray" else None),
        ("Run folder", run.path),
        ("Resumed at", at),
        *listed(config, HIDDEN),
    ]
