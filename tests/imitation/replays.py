"""Small trainings on games of the mock."""

import io
from collections.abc import Callable
from pathlib import Path

from selfplay.checkpoint import RunDir, create_run, load_generation, load_latest_learner
from selfplay.cli.imitation import parse
from selfplay.imitation.app import open_library
from selfplay.imitation.data import Games
from selfplay.imitation.folders import NAME, write_settings
from selfplay.imitation.report import Reports
from selfplay.imitation.settings import ImitationConfig
from selfplay.imitation.train import train
from selfplay.imitation.training import Training
from selfplay.learner.imitation_metrics import ActionCounts
from selfplay.policy.heads import Heads
from selfplay_melee.controller import ACTION_SPEC

SMALL = ("--hidden", "32,32", "--set", "net.window=10", "--batch-size", "80", "--set", "run.threads=1")


def trained(folder: Path, *arguments: object) -> tuple[int, str]:
    """Exit code and output of a training whose policies go to ``folder``; its cache lies beside."""
    given = [*SMALL, "--cache", folder.parent / "cache", *arguments, "--checkpoint", folder]
    return said(*given)


def said(*arguments: object) -> tuple[int, str]:
    invocation = parse(list(map(str, arguments)))
    stream = io.StringIO()
    return train(invocation, stream), stream.getvalue()


def stopped(folder: Path, stop: Callable[[Training], bool], *arguments: object) -> RunDir:
    """A training that somebody stops, as Ctrl-C does, when ``stop`` says so."""
    config = parse([*map(str, (*SMALL, "--cache", folder.parent / "cache", *arguments))]).config
    games = games_of(config, folder)
    run = create_run(folder / NAME, is_default=True)
    reports = Reports(run.path, io.StringIO())
    training: Training

    with run.lock():
        write_settings(run, {"config": config.model_dump(mode="json")})
        action_counts = games.action_counts(heads(), lambda done: None)
        training = Training(run, games, action_counts, reports, "cpu", 1, lambda: stop(training))
        training.run()
        training.close()
        reports.close()
    return run


def games_of(config: ImitationConfig, folder: Path) -> Games:
    return Games.of(open_library(config, folder, io.StringIO()), config)


def heads() -> Heads:
    return Heads(ACTION_SPEC.binary, ACTION_SPEC.sizes)


def habits_of(games: Games) -> ActionCounts:
    return games.action_counts(heads(), lambda done: None)


def end_of(run: Path) -> tuple[str | None, str | None, dict[str, bytes], dict[str, object]]:
    """Everything that two equal trainings have alike: hashes of both policies, arrays and progress of the state."""
    hashes = [load_generation(run / f"{which}_policy")[0].weights_hash for which in ("latest", "best")]
    state = load_latest_learner(RunDir(run))
    arrays = {name: array.tobytes() for name, array in state.arrays.items()}
    progress = dict(state.meta.extra["standing"])
    del progress["elapsed_s"]
    return hashes[0], hashes[1], arrays, progress
