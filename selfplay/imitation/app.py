"""Runs one training: folder, games, signals, and the final report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from selfplay.checkpoint import RunDir, create_run, load_latest_learner
from selfplay.checkpoint.policies import BEST
from selfplay.config.options import listed
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.imitation.data import Games
from selfplay.imitation.export import LATEST, exported, owner_of_best
from selfplay.imitation.folders import NAME, find_imitation, write_settings
from selfplay.imitation.hook import imitation_of
from selfplay.imitation.report import Reports, table
from selfplay.imitation.train import resumed_imitation
from selfplay.imitation.training import Training
from selfplay.imitation.training_state import TrainingProgress, saved_action_counts, saved_progress
from selfplay.machine import pick_device, processor, update_threads, usable_cores
from selfplay.policy.heads import Heads
from selfplay.policy.network import check_network
from selfplay.report import header
from selfplay.report.ticker import Ticker
from selfplay.run.lifecycle import doubled_past, stop_signal
from selfplay.verbs import quoted, respelled

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.imitation.recordings import Recordings
    from selfplay.imitation.settings import ImitationConfig, LearnConfig
    from selfplay.learner.imitation_metrics import ActionCounts

HIDDEN: Final = ("data.game", "data.replays", "run.seed", "run.device", "run.checkpoint")
"""Settings that have a line of their own in the header."""


def resume(folder: Path, explicit: Mapping[str, Any], preset: str | None, stream: TextIO) -> int:
    """Go on with the training in a folder; arguments and errors as of ``selfplay.imitation.train.train``."""
    run = find_imitation(folder)
    with run.lock():
        state = load_latest_learner(run)
        config = resumed_imitation(state, explicit)
        device, library = pick_device(config.run.device), open_library(config, run.path.parent, stream)
        return _start(library, Games.of(library, config), run, device, state, preset, stream)


def start(config: ImitationConfig, preset: str | None, stream: TextIO) -> int:
    """Train to the end in a new folder; arguments and errors as of ``selfplay.imitation.train.train``."""
    check_network(config.net.spec(find_game(config.data.game).obs_width))
    device, parent = pick_device(config.run.device), Path(config.run.checkpoint)
    library = open_library(config, parent, stream)
    games = Games.of(library, config)  # before the folder is made, so that an error leaves none
    run = create_run(parent / NAME, is_default=True)
    with run.lock():
        return _start(library, games, run, device, None, preset, stream)


def open_library(config: ImitationConfig, parent: Path, stream: TextIO) -> Recordings:
    """The recorded games of the settings, at least one, for policies in the folder ``parent``."""
    library = imitation_of(find_game(config.data.game)).open(config, parent)
    with Ticker(stream, "Reading games") as ticker:
        library.scan(ticker.at)
    return library


def _start(
    library: Recordings,
    games: Games,
    run: RunDir,
    device: str,
    state: LearnerState | None,
    preset: str | None,
    stream: TextIO,
) -> int:
    config = games.config
    threads = update_threads(config.run.threads)
    progress, replays = (TrainingProgress(), None) if state is None else saved_progress(state)
    if replays not in (None, games.description()["hash"]):
        raise ConfigError(f"--replays {config.data.replays}: not the games that {run.path} began with")
    write_settings(run, {"started": datetime.now(UTC).isoformat(), "config": config.model_dump(mode="json")})
    with closing(Reports(run.path, stream, (progress.epoch, progress.rows) if state else None)) as reports:
        reports.header(header.lines("Imitation Learning", _header(config, run, progress, device, preset)))
        for line in (*(state.skipped if state else ()), *_findings(library, games)):
            reports.notice(line)
        if (other := owner_of_best(run)) is not None:
            reports.notice(other)
        reports.bad_files(library.bad)
        with stop_signal() as stopped:
            action_counts = _action_counts(games, state, stream)
            made = Training(run, games, action_counts, reports, device, threads, lambda: bool(stopped))
            with closing(made) as training:
                if state is not None:
                    training.resume(state, progress)
                training.run()
        _finish(training, games, run, reports)
        return 128 + stopped[0] if stopped and not training.progress.ended else 0


def _action_counts(games: Games, state: LearnerState | None, stream: TextIO) -> ActionCounts:
    actions = find_game(games.config.data.game).actions
    heads = Heads(actions.binary, actions.sizes)
    if state is not None:
        return saved_action_counts(state, heads)
    with Ticker(stream, "Counting", games.rows) as ticker:
        return games.action_counts(heads, ticker.at)


def _findings(library: Recordings, games: Games) -> Iterator[str]:
    config = games.config
    if config.temporal and not config.learn.temporal:
        yield f"{config.net.backbone} remembers, so that it learns from windows, as with --temporal"
    rows = games.description()["rows"]
    yield (
        f"{len(games.train)} games with {rows['train']:,} decisions to learn from, "
        f"{len(games.validation)} with {rows['validation']:,} to judge by"
    )
    if not games.validation:
        yield "No game is left to judge by: the losses are those on the games learned from, and the latest is best"
    if library.duplicates:
        yield f"Left out {library.duplicates} files that are copies of others"
    if library.unwanted:
        yield f"Left out {library.unwanted} games without a player that is asked for"
    if library.cache_trouble:
        yield f"Without a cache: {library.cache_trouble}"


def _finish(training: Training, games: Games, run: RunDir, reports: Reports) -> None:
    """Report the results, and commands to continue with."""
    progress = training.progress
    for which, found in ((BEST, training.best), (LATEST, training.last)):
        if found is not None:
            rates = imitation_of(find_game(games.config.data.game)).rates(found)
            reports.leaderboard(table(found, which, rates, validated=bool(games.validation)))
            break
    word = f"Finished, {progress.ended}," if progress.ended else "Stopped, and saved,"
    reports.notice(
        f"{word} after {progress.epoch} epochs, {progress.rows:,} decisions, {progress.elapsed_s:.0f} s; "
        f"the training is in {run.path}"
    )
    parent = run.path.parent
    best = exported(parent, BEST if progress.best is not None else LATEST)
    home = games.home
    more = _more(training, games.config.learn, games.config.run.max_minutes)
    for line in (
        "What next:",
        f"  selfplay train --pretrained {quoted(best)}{home.played}",
        f"  selfplay evaluate {quoted(best)} random --games 100{home.named}",
        f"  selfplay imitate --resume --checkpoint {quoted(run.path)}{more}{home.named}",
        f"  tensorboard --logdir {quoted(parent)}",
    ):
        reports.notice(respelled(line))


def _more(training: Training, learn: LearnConfig, minutes: float | None) -> str:
    """Flags without which a resumed training would end at once for the same reason."""
    progress, more = training.progress, ""
    if progress.epoch >= learn.epochs:
        more += f" --epochs {doubled_past(learn.epochs, progress.epoch)}"
    if training.is_stale(progress):
        more += f" --patience {doubled_past(learn.patience, progress.stale)}"
    if minutes is not None and training.time_is_up:
        more += f" --max-minutes {doubled_past(minutes, training.elapsed_s / 60):g}"
    return more


def _header(
    config: ImitationConfig, run: RunDir, progress: TrainingProgress, device: str, preset: str | None
) -> list[tuple[str, object]]:
    return [
        ("Game type", config.data.game),
        ("Replays", config.data.replays),
        ("Preset", preset),
        ("Seed", str(config.run.seed)),
        ("Device", f"{device} ({processor()}, {usable_cores()} cores)"),
        ("Folder", run.path),
        ("Resumed at", f"epoch {progress.epoch}, minibatch {progress.minibatches}" if progress.minibatches else None),
        *listed(config, HIDDEN),
    ]
