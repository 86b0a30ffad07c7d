"""The trainings: how games of a kind are learned. Each is an entry point of the group ``selfplay.trainings``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.distribution import entry_points
from selfplay.games.registry import games_of

if TYPE_CHECKING:
    import argparse

    from selfplay.checkpoint import RunDir
    from selfplay.config.options import Option
    from selfplay.report.leaderboard_page.page import TrainingView

GROUP: Final = "selfplay.trainings"


@dataclass(frozen=True, slots=True)
class TrainingVerbs:
    """What the verbs call for games of a training."""

    train: Callable[[Sequence[str]], int]  # with the arguments of the command line; the exit code
    rate: Callable[[RunDir, argparse.Namespace], None]
    about: str  # its games, in messages
    options: Callable[[], Sequence[Option]]
    view: Callable[[Path, str], TrainingView]  # of the run in a folder, of a game, for its page
    call: (
        Callable[..., int] | None
    )  # what ``selfplay.train`` calls if it is not PPO, see ``selfplay.dialogue.train.call``
    # what the verbs of these names do
    check_game: Callable[[argparse.Namespace], int]  # the exit code
    play: Callable[[Path, argparse.Namespace], None]  # with the folder of a run or policy
    exploit: Callable[[argparse.Namespace], None]


def find_training(name: str) -> TrainingVerbs:
    """The training of that name, see ``AnyKind.training``."""
    found: TrainingVerbs = entry_points(GROUP)[name].load()
    return found


def flags_elsewhere(name: str) -> dict[str, str]:
    """Flags of all other trainings, each with the end of the message about it."""
    found: dict[str, str] = {}
    for other in entry_points(GROUP):
        if other != name:
            training = find_training(other)
            whose = f"is a flag of {training.about}: --game-type {' or '.join(games_of(other))}"
            found |= {option.flag: whose for option in training.options()}
    return found
