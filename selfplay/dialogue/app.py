"""The part of a run of dialogue self-play that needs torch, up to its last line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from selfplay.checkpoint import create_run
from selfplay.config.options import listed
from selfplay.dialogue.following import check_follows, rank_of
from selfplay.dialogue.memory import Need, fitting
from selfplay.dialogue.opponents import find_models, find_servers, install_models, roster_of, scripted_opponents
from selfplay.dialogue.players import (
    check_opening,
    endpoint_of,
    open_model,
    reopen,
    sampling_of,
    server_of,
    url_server_of,
)
from selfplay.dialogue.programs import find_program
from selfplay.dialogue.report.plain import DialogueDashboard, DialogueLines
from selfplay.dialogue.rules import game_of, with_embedded_folder
from selfplay.dialogue.session import DialogueSession, runners
from selfplay.dialogue.training import DialogueTraining
from selfplay.errors import IncompatibleError
from selfplay.machine import pick_device, processor, usable_cores
from selfplay.report import header
from selfplay.report.outputs import reporters
from selfplay.report.plain import PlainReporter, StreamSink
from selfplay.report.reporter import Tee
from selfplay.run.lifecycle import run_to_end
from selfplay.run.progress import resumed_at
from selfplay.run.saved_state import check_ratings
from selfplay.runner.ray_cluster import cluster_for

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.dialogue.language.endpoint import Endpoint
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.settings import DialogueConfig
    from selfplay.runner.ray_cluster import Cluster

HIDDEN: Final = ("game.type", "model.name", "run.num_games", "run.seed", "run.device", "run.host", "run.checkpoint")
"""Settings that have a line of their own in the header."""


def resume(config: DialogueConfig, run: RunDir, state: LearnerState, preset: str | None, stream: TextIO) -> int:
    """Go on with a run from its last state; arguments and errors as of ``selfplay.dialogue.train.train``."""
    base = state.meta.extra.get("base")
    if not state.meta.generations or not isinstance(base, str):
        raise IncompatibleError(f"{state.path}: does not say which model the run goes on with")
    newest = run.generations / state.meta.generations[-1]
    config = with_embedded_folder(config, newest)
    device = pick_device(config.run.device)
    config, need = fitting(config, device, str(newest))
    if config.league.track_elo:
        check_ratings(run)
    model, servers = reopen(config, str(newest), device), find_servers(config)
    _check_server(config, model)
    with cluster_for(config.run.host, config.run.ray_address, runners(config, device)) as cluster:
        return _start(config, run, device, (model, base), state, servers, preset, stream, cluster, need)


def start(
    config: DialogueConfig,
    is_default: bool,
    preset: str | None,
    stream: TextIO,
    on_run: Callable[[RunDir], object] = lambda _: None,
) -> int:
    """Make the folder of a new run and train it; ``is_default``: the user did not name the folder."""
    if config.server.program is not None:
        find_program(config.server.program)
    device, lines = pick_device(config.run.device), PlainReporter(StreamSink(stream))
    config, need = fitting(config, device)
    # Before the folder is made: a mistake leaves none.
    threads = config.run.threads or usable_cores()
    opened = open_model(config, device, threads, lines.notice, show_header=lines.header)
    scripted_opponents(config, game_of(config)[0])
    models = find_models(config, device)
    servers = find_servers(config)
    _check_server(config, opened[0])
    with cluster_for(config.run.host, config.run.ray_address, runners(config, device)) as cluster:
        run = create_run(Path(config.run.checkpoint), is_default=is_default)
        on_run(run)
        with run.lock():
            install_models(run, models)
            return _start(config, run, device, opened, None, servers, preset, stream, cluster, need)


def _check_server(config: DialogueConfig, model: LanguageModel) -> None:
    """Refuse a server of a URL with too short a context, or one that does not take the weights."""
    endpoint = endpoint_of(config, model.chat)
    if endpoint is None:
        return
    if endpoint.context is not None:
        check_opening(config, model, endpoint.context)
    if not config.server.frozen:
        check_follows(endpoint, rank_of(model), config.server.timeout)


def _start(
    config: DialogueConfig,
    run: RunDir,
    device: str,
    opened: tuple[LanguageModel, str],
    resumed: LearnerState | None,
    servers: Mapping[str, Endpoint],
    preset: str | None,
    stream: TextIO,
    cluster: Cluster | None,
    need: Need,
) -> int:
    """Run the event loop with a model and its name."""
    place = (resumed.meta.iteration, resumed.meta.total_steps) if resumed else None
    at = resumed_at(run, resumed) if resumed else None
    files = config.run.report_to
    made = reporters(run.path, stream, resumed=place, report_to=files, lines=DialogueLines, view=DialogueDashboard)
    entry, rules = game_of(config)
    model, base = opened
    folder = Path(base) if resumed is None else run.generations / resumed.meta.generations[-1]
    started = server_of(config, model, folder, run.path)
    endpoint = endpoint_of(config, model.chat, started)
    server = started if endpoint is None or started else url_server_of(config, model, endpoint, run.path)
    endpoint = endpoint if server is None else server.endpoint
    session = DialogueSession(
        config, run, device, entry, rules, model, base, sampling_of(config), resumed, server, endpoint, cluster,
        roster_of(run, servers),
    )  # fmt: skip
    lines = header.lines("Dialogue Self-Play", _header(config, run, device, preset, at, need))
    notices = () if endpoint is None else (endpoint.wire.description,)
    return run_to_end(session, partial(DialogueTraining, session), Tee(list(made.values())), lines, notices)


def _header(
    config: DialogueConfig, run: RunDir, device: str, preset: str | None, at: str | None, need: Need
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
        ("Memory", f"{need}"),
        ("Host", f"ray, {runners(config, device)} actors" if config.run.host == "ray" else None),
        ("Run folder", run.path),
        ("Resumed at", at),
        *listed(config, HIDDEN),
    ]
