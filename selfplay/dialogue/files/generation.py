"""Plays the games of a file: self-play of a model, several games on each state."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.checkpoint.store import make_folder, remove_folder
from selfplay.dialogue.files.games import GAMES, GameLine, line_of, write_games
from selfplay.dialogue.files.rows import TRAIN, VAL
from selfplay.dialogue.files.settings import SETTINGS, FileSettings, read_settings, refuse_other, write_settings
from selfplay.dialogue.grpo import GRPOLearner
from selfplay.dialogue.instances import scored
from selfplay.dialogue.language.remote import RemoteWriter
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.players import (
    SERVED,
    check_opening,
    endpoint_of,
    open_model,
    sampling_of,
    server_of,
    writer_of,
)
from selfplay.dialogue.rules import game_of
from selfplay.dialogue.runner import GameSpec, Lost, Played, play_games
from selfplay.errors import ConfigError, RunnerError, ServerError, boundary
from selfplay.learner.grpo_loss import GRPOSettings
from selfplay.machine import pick_device, usable_cores
from selfplay.seeding import derive
from selfplay.supervision import GaveUpError, StartError, Supervisor, SupervisorSpec, running
from selfplay.supervision import run as run_loop

if TYPE_CHECKING:
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.serving import ReplyServer

IN_PLAY: Final = 256  # concurrent games
PREVIOUS: Final = "previous"
Notice = Callable[[str], object]


def generate(folder: Path, settings: FileSettings, device: str, resume: bool, notice: Notice) -> None:
    """Play the games and write them to a folder; earlier files move to ``previous/``. Blocks.

    With ``resume`` games with the same settings are kept, and others refused.

    Raises:
        ConfigError: invalid settings, or the folder cannot be used or has other settings.
        RunnerError: no game was finished.
        ServerError: the server gave no replies.
        CheckpointError: the model is damaged, or the files cannot be written.
    """
    counts = games_on_states(settings.games, settings.games_per_state)
    if resume and (folder / SETTINGS).exists() and (folder / GAMES).exists():
        refuse_other(folder, read_settings(folder).model_dump(), settings.model_dump())
        notice(f"{folder}: its {settings.games} games exist")
        return
    with boundary(ConfigError, f"cannot write to {folder}"):
        make_folder(folder)
    served = settings.server is not None and settings.server.program is not None
    device = "cpu" if served else pick_device(device)  # the server has the GPUs
    torch.set_num_threads(usable_cores())
    plays = settings.server is None
    model, where = open_model(settings.config, device, usable_cores(), notice, plays=plays)
    states = ", ".join(f"{counts.count(size)} states x {size}" for size in sorted(set(counts), reverse=True))
    notice(f"Playing {settings.games} games of {settings.game}: {states}")
    games = _play_with_writer(folder, settings, counts, model, where, notice)
    if not resume:
        set_aside(folder)
    write_games(folder / GAMES, games)
    write_settings(folder, settings)
    notice(f"{folder / GAMES}: {len(games)} games")


def _play_with_writer(
    folder: Path, settings: FileSettings, counts: Sequence[int], model: LanguageModel, where: str, notice: Notice
) -> list[GameLine]:
    """Play with the model itself, with the server of a URL, or with one that runs until the games have ended."""
    if settings.server is None:
        return play(settings, counts, model, notice)
    config = settings.config.model_copy(update={"server": settings.server})
    server = server_of(config, model, Path(where), folder, follows=False)
    endpoint = endpoint_of(config, model.chat, server)
    assert endpoint is not None
    if endpoint.context is not None:
        check_opening(config, model, endpoint.context)
    notice(endpoint.wire.description)
    writer = writer_of(config, model, endpoint)
    assert isinstance(writer, RemoteWriter)
    try:
        if server is None:
            return play(settings, counts, model, notice, writer)
        return run_loop(_served(server, writer, lambda: play(settings, counts, model, notice, writer)))
    finally:
        writer.disconnect()
        shutil.rmtree(folder / SERVED, ignore_errors=True)


async def _served(server: ReplyServer, writer: RemoteWriter, work: Callable[[], list[GameLine]]) -> list[GameLine]:
    """Work in a thread while the server runs."""
    try:
        async with running(Supervisor(SupervisorSpec(children=(server.spec(),)))):
            try:
                return await asyncio.to_thread(work)
            finally:
                writer.cancel()  # the thread of a work that was interrupted
    except (StartError, GaveUpError) as error:
        raise ServerError(str(error)) from error


def play(
    settings: FileSettings,
    counts: Sequence[int],
    model: LanguageModel,
    notice: Notice,
    writer: LocalWriter | RemoteWriter | None = None,
) -> list[GameLine]:
    """Play ``counts[i]`` games on state i; failed games are left out, with a notice. None: the model writes itself.

    A state depends on the seed, the iteration and its number, and a game on its state and its number there. RunnerError
    if no game was finished.
    """
    writer = writer or LocalWriter(model, sampling_of(settings.config))
    wanted = [(index, replica) for index, count in enumerate(counts) for replica in range(count)]
    began, lost, games = time.monotonic(), [], list[GameLine]()
    shared = game_of(settings.config)[0].shared_reward
    for first in range(0, len(wanted), IN_PLAY):
        part = wanted[first : first + IN_PLAY]
        played = _with_logprobs(play_games(_specs(settings, part, writer)), settings, model)
        for (_, replica), game in zip(part, played, strict=True):
            if isinstance(game, Lost):
                lost.append(game)
            else:
                games.append(line_of(game, replica, settings, model.chat))
        done = first + len(part)
        notice(_progress(games, done, len(wanted), time.monotonic() - began, shared))
    if lost:
        message = f"{len(lost)} of {len(wanted)} games failed and are left out; {lost[0].game_id}: {lost[0].why}"
        if not games:
            raise RunnerError(message)
        notice(message)
    return games


def _with_logprobs(
    games: Sequence[Played | Lost], settings: FileSettings, model: LanguageModel
) -> Sequence[Played | Lost]:
    """The games; where a server gave no log-probabilities, with those of the model."""
    if all(instance.known for game in games if isinstance(game, Played) for instance in game.instances):
        return games
    learner = GRPOLearner(model, GRPOSettings(), sampling_of(settings.config))
    try:
        return [
            replace(game, instances=tuple(scored(game.instances, learner.logprobs)))
            if isinstance(game, Played)
            else game
            for game in games
        ]
    finally:
        learner.close()


def _specs(
    settings: FileSettings, part: Sequence[tuple[int, int]], writer: LocalWriter | RemoteWriter
) -> list[GameSpec]:
    entry, _ = game_of(settings.config)
    rules: Any = entry.rules(**settings.rules)
    numbers = sorted({index for index, _ in part})
    seeds = [derive(settings.seed, "files", settings.iteration, "state", index) for index in numbers]
    states = dict(zip(numbers, entry.states(rules, seeds), strict=True))
    return [
        GameSpec(
            index,
            f"{settings.seed}-{settings.iteration}-{index}-{replica}",
            entry.start(rules, states[index]),
            derive(settings.seed, "files", settings.iteration, "game", index, replica),
            (writer, writer),
        )
        for index, replica in part
    ]


def _progress(games: Sequence[GameLine], done: int, wanted: int, seconds: float, shared: bool) -> str:
    reward = sum(sum(game.outcome.rewards) for game in games) / max(2 * len(games), 1)
    agreed = sum(game.outcome.agreed for game in games) / max(len(games), 1)
    ends = f", agreed {agreed:.0%}" if shared else ""
    return f"{done} of {wanted} games, reward {reward:.3f}{ends}, {done / max(seconds, 1e-9):.1f} games/s"


def set_aside(folder: Path) -> None:
    """Replace ``previous/`` by the files of earlier games, settings first; ConfigError if they cannot be moved."""
    files = [folder / name for name in (SETTINGS, GAMES, TRAIN, VAL) if (folder / name).exists()]
    if not files:
        return
    previous = folder / PREVIOUS
    with boundary(ConfigError, f"cannot move earlier files to {previous}"):
        if previous.exists():
            remove_folder(previous)
        make_folder(previous)
        for file in files:
            file.replace(previous / file.name)


def games_on_states(games: int, per_state: int) -> list[int]:
    """Games on each state: whole groups, then the rest; ConfigError for too few games.

    A rest of one game joins the last state, since a single game has nothing to be compared with. A single state is
    split into two, one for training and one for validation.
    """
    fewest = 4 if per_state > 1 else 2
    if games < fewest:
        raise ConfigError(
            f"--num-games {games}: at least {fewest} are needed, for a state to train on and one to validate on"
        )
    groups, rest = divmod(games, per_state)
    states = [per_state] * groups
    if rest == 1 and states:
        states[-1] += 1
    elif rest:
        states.append(rest)
    return states if len(states) > 1 else [games - games // 2, games // 2]
