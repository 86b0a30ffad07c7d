"""The part of a run that needs torch: its last checks, folder, tree, signals and summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from selfplay.checkpoint import (
    create_run,
    list_generations,
    read_policy_meta,
)
from selfplay.compilation.progress import compile_rules
from selfplay.config.options import listed
from selfplay.config.ppo import SCRIPTED
from selfplay.errors import CheckpointError, ConfigError, IncompatibleError
from selfplay.machine import be_deterministic, pick_device, processor, usable_cores
from selfplay.policy.network import check_network
from selfplay.policy.policy import load_policy
from selfplay.ppo.external_opponents import install_opponents, load_opponents
from selfplay.ppo.memory import check_memory
from selfplay.ppo.population import OWN_CHOICE
from selfplay.ppo.pretrained import start_of, with_pretrained
from selfplay.ppo.session import Hooks, Session
from selfplay.ppo.training import PPOTraining
from selfplay.report import header
from selfplay.report.dashboard import DashboardReporter
from selfplay.report.outputs import reporters
from selfplay.report.plain import PlainReporter, StreamSink
from selfplay.report.reporter import Tee
from selfplay.run.lifecycle import run_to_end, stop_signal
from selfplay.run.progress import resumed_at
from selfplay.run.rating_games import prepare_best
from selfplay.run.saved_state import check_ratings
from selfplay.runner.ray_cluster import cluster_for

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.config.ppo import Config
    from selfplay.config.program import Invocation
    from selfplay.policy.policy import Policy

HIDDEN: Final[tuple[str, ...]] = (
    "game.type", "league.mode", "run.num_games", "run.seed", "run.device", "run.host", "run.runners", "run.checkpoint",
)  # fmt: skip
"""Settings that have a line of their own in the header."""


def resume(
    call: Invocation[Config],
    run: RunDir,
    state: LearnerState,
    stream: TextIO,
    hooks: Hooks | None,
    notices: list[str],
) -> int:
    """Go on with a run from its last state; arguments and errors as of ``selfplay.ppo.train.train``."""
    config, hooks = call.config, hooks or Hooks()
    device = _checked_device(config, resumed=True)
    if config.league.track_elo:
        check_ratings(run, state.meta.ledger_position if config.run.deterministic else 0)
    _check_encoder(run, config)
    if config.net.is_own:  # its code may have changed
        load_policy(list_generations(run)[-1].path)
    if hooks.opponents is None and state.meta.extra.get(OWN_CHOICE):
        raise ConfigError(f"{run.path}: a function chooses its opponents; give train() opponents= again")
    compile_rules(config.game.kind, PlainReporter(StreamSink(stream)).notice)
    with cluster_for(config.run.host, config.run.ray_address, config.run.runners) as cluster:
        return _start(Session(config, run, device, state, cluster, hooks=hooks), call.preset, stream, notices)


def start(call: Invocation[Config], stream: TextIO, hooks: Hooks | None, notices: list[str]) -> int:
    """Make the folder of a new run and train it; arguments and errors as of ``selfplay.ppo.train.train``."""
    lines, folder = PlainReporter(StreamSink(stream)), Path(call.config.run.checkpoint)
    config = with_pretrained(call.config, call.explicit, notices.append)
    device = _checked_device(config, resumed=False)
    # Before the folder is made: a mistake leaves none.
    pretrained = config.run.pretrained
    external_opponents = load_opponents(
        config.league.opponents, config.game, None if pretrained == SCRIPTED else pretrained
    )
    below = [call.notice] if call.notice is not None and call.preset is None else []
    if call.notice is not None and not below:
        lines.notice(call.notice)
    compile_rules(config.game.kind, lines.notice)
    if config.run.host == "process" and call.explicit.get("run.host", "auto") == "auto" and config.game.kind.step_s:
        notices.append(
            f"a step of a game takes {1000 * config.game.kind.step_s:.2g} ms, so blocks of games run in processes of "
            "their own; --host thread runs them in this one"
        )
    if pretrained == SCRIPTED and (made := start_of(config)) is not None:
        made.prepare(lines.notice)
    with cluster_for(config.run.host, config.run.ray_address, config.run.runners) as cluster:
        with stop_signal() as stopped:
            policy = _start_policy(config, folder.parent, lines.notice, lambda: bool(stopped))
        if stopped:
            return 128 + stopped[0]
        run = create_run(folder, is_default="run.checkpoint" not in call.explicit)
        with run.lock():
            install_opponents(run, external_opponents)
            session = Session(config, run, device, cluster=cluster, start=policy, hooks=hooks or Hooks())
            return _start(session, call.preset, stream, [*below, *notices])


def _checked_device(config: Config, *, resumed: bool) -> str:
    """The device of torch, after the checks of network and memory."""
    check_network(config.net.spec(config.game.kind.obs_width))
    check_memory(config, resumed=resumed)
    device = pick_device(config.run.device)
    if config.run.deterministic:
        be_deterministic(device)
    return device


def _start_policy(
    config: Config, parent: Path, notice: Callable[[str], object], stop: Callable[[], bool]
) -> Policy | None:
    """The policy that a new run in a folder of ``parent`` starts from; None for a fresh network. Blocks.

    ``stop`` ends the imitation of scripted players, and None is returned.
    """
    pretrained = config.run.pretrained
    if pretrained != SCRIPTED:
        return None if pretrained is None else load_policy(pretrained)
    made = start_of(config)
    return None if made is None else made.make(config, parent, notice, stop)


def _check_encoder(run: RunDir, config: Config) -> None:
    """Refuse to resume with policies for observations of another version; the IncompatibleError names both."""
    here = config.game.kind.encoder_version
    for generation in list_generations(run):
        try:
            made = read_policy_meta(generation.path).encoder_version
        except CheckpointError:  # damaged: another one of the run says the same
            continue
        if made != here:
            raise IncompatibleError(f"{run.path} was made for observations of version {made}, here is {here}")
        return


def _start(session: Session, preset: str | None, stream: TextIO, notices: Sequence[str]) -> int:
    resumed, outsider = session.resumed, session.outsider
    if session.hooks.opponents is not None and outsider is not None:
        raise ConfigError(f"opponents: {outsider} has the other seat in every game")
    session.hooks.opened(session.run)
    if session.config.league.gate != "none":
        prepare_best(session.run, resumed)
    place = (resumed.meta.iteration, resumed.meta.total_steps) if resumed else None
    at = resumed_at(session.run, resumed) if resumed else None
    columns = session.game.columns
    lines_of = partial(PlainReporter, verbose=session.config.run.verbose, columns=columns)
    view = partial(DashboardReporter, columns=columns)
    files = session.config.run.report_to
    made = reporters(session.run.path, stream, resumed=place, report_to=files, lines=lines_of, view=view)
    reporter = Tee(list(made.values()))
    lines = header.lines("Self-Play Training", _header(session, preset, at))
    judged = session.game.objective.advice()
    told = [*notices, *([] if judged is None else [judged])]
    return run_to_end(session, partial(PPOTraining, session), reporter, lines, told)


def _header(session: Session, preset: str | None, at: str | None) -> list[tuple[str, object]]:
    config = session.config
    hidden = HIDDEN
    if not config.ppo.teacher_kl_reverse:  # without an effect, as by default
        hidden = (*hidden, "ppo.teacher_kl_reverse")
    outsider = session.outsider or (session.hooks.opponents and "chosen by a function")
    return [
        ("Mode", None if outsider else config.league.mode),
        ("Opponents", outsider),
        ("Game type", config.game.type),
        ("Num games", config.run.num_games),
        ("Preset", preset),
        ("Iterations", config.iterations),
        ("Seed", str(config.run.seed)),
        ("Device", f"{session.device} ({processor()}, {usable_cores()} cores)"),
        ("Host", f"{config.run.host}, {len(session.blocks)} runner{'' if len(session.blocks) == 1 else 's'}"),
        ("Run folder", session.run.path),
        ("Resume", None if session.game.repeats else "games in progress begin anew: this game does not repeat itself"),
        ("Resumed at", at),
        *listed(config, hidden),
    ]
