"""Plays the games of a file: a model with itself, each state several times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.checkpoint.store import make_folder, remove_folder
from selfplay.commands.dialogue_files.games import GAMES, GameLine, line_of, write_games
from selfplay.commands.dialogue_files.plan import games_on_states
from selfplay.commands.dialogue_files.rows import TRAIN, VAL
from selfplay.commands.dialogue_files.settings import (
    SETTINGS,
    FileSettings,
    read_settings,
    refuse_other,
    write_settings,
)
from selfplay.config.dialogue_rules import game_of
from selfplay.errors import ConfigError, RunnerError, boundary
from selfplay.machine import pick_device, usable_cores
from selfplay.policy.language.writer import LocalWriter
from selfplay.runner.dialogue import GameSpec, Lost, play_games
from selfplay.seeding import derive
from selfplay.train.dialogue.players import open_model, sampling_of

if TYPE_CHECKING:
    from selfplay.policy.language.model import LanguageModel

IN_PLAY: Final = 256  # games at once
PREVIOUS: Final = "previous"
Tell = Callable[[str], object]


def generate(folder: Path, settings: FileSettings, device: str, resume: bool, tell: Tell) -> None:
    """Play the games and leave them in the folder; files of earlier ones move to ``previous/``. Blocks.

    Args:
        folder: is made where it is not there.
        settings: of the games.
        device: `cpu`, `cuda:N` or `auto`.
        resume: leave games alone that were made with the same settings, and refuse others.
        tell: is told how far it is.

    Raises:
        ConfigError: the settings cannot be played, or the folder cannot be made or was made with others.
        RunnerError: no game came to its end.
        CheckpointError: the model is damaged, or the files cannot be written.
    """
    counts = games_on_states(settings.games, settings.games_per_state)
    if resume and (folder / SETTINGS).exists() and (folder / GAMES).exists():
        refuse_other(folder, read_settings(folder).model_dump(), settings.model_dump())
        tell(f"{folder}: its {settings.games} games are there")
        return
    with boundary(ConfigError, f"cannot write to {folder}"):
        make_folder(folder)
    device = pick_device(device)
    torch.set_num_threads(usable_cores())
    model, _ = open_model(settings.config, device, usable_cores(), tell)
    states = ", ".join(f"{counts.count(size)} states x {size}" for size in sorted(set(counts), reverse=True))
    tell(f"Playing {settings.games} games of {settings.game}: {states}")
    games = play(settings, counts, model, tell)
    if not resume:
        set_aside(folder)
    write_games(folder / GAMES, games)
    write_settings(folder, settings)
    tell(f"{folder / GAMES}: {len(games)} games")


def play(settings: FileSettings, counts: Sequence[int], model: LanguageModel, tell: Tell) -> list[GameLine]:
    """The games on states 0, 1, .. as many on each as it says; those that raised are left out, and told.

    A state depends on seed, iteration and its number alone, and a game on its state and its number on it.

    Raises:
        RunnerError: none came to its end.
    """
    writer = LocalWriter(model, sampling_of(settings.config))
    wanted = [(index, replica) for index, count in enumerate(counts) for replica in range(count)]
    began, lost, games = time.monotonic(), [], list[GameLine]()
    for first in range(0, len(wanted), IN_PLAY):
        part = wanted[first : first + IN_PLAY]
        for (_, replica), game in zip(part, play_games(_fixtures(settings, part, writer)), strict=True):
            if isinstance(game, Lost):
                lost.append(game)
            else:
                games.append(line_of(game, replica, settings, model.chat))
        tell(_progress(games, first + len(part), len(wanted), time.monotonic() - began))
    if lost:
        told = (
            f"{len(lost)} of {len(wanted)} games raised and are left out; the first, {lost[0].game_id}: {lost[0].why}"
        )
        if not games:
            raise RunnerError(told)
        tell(told)
    return games


def _fixtures(settings: FileSettings, part: Sequence[tuple[int, int]], writer: LocalWriter) -> list[GameSpec]:
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


def _progress(games: Sequence[GameLine], done: int, wanted: int, seconds: float) -> str:
    reward = sum(sum(game.outcome.rewards) for game in games) / max(2 * len(games), 1)
    agreed = sum(game.outcome.agreed for game in games) / max(len(games), 1)
    return (
        f"{done} of {wanted} games, reward {reward:.3f}, agreed {agreed:.0%}, {done / max(seconds, 1e-9):.1f} games/s"
    )


def set_aside(folder: Path) -> None:
    """Move files of earlier games to ``previous/``, in place of those that are there; settings first.

    Raises:
        ConfigError: they cannot be moved.
    """
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
