"""What a person chooses for a fight: players, characters, stage and length, checked before torch is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint import RunDir, is_policy
from selfplay.errors import ConfigError
from selfplay.evaluation.named_players import policy_folder
from selfplay.games.errors import UnknownNameError
from selfplay_melee import bot_names
from selfplay_melee.conditions import FightConditions, as_fight
from selfplay_melee.kinds import find_character, find_stage

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from selfplay.games.rated import Conditions
    from selfplay_melee.conditions import ResultRule

MOCK: Final = "mock"
"""The game of films, recordings and play pages."""


class FightFlags:
    """Flags of the conditions of fights, see ``MatchFlags``."""

    def add(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--character", metavar="NAME", help="character of A (default: as in training)")
        parser.add_argument("--opponent-character", metavar="NAME", help="character of B; each player plays both")
        parser.add_argument("--stage", metavar="NAME", help="stage (default: as in training of A)")
        parser.add_argument(
            "--max-episode-frames", type=int, metavar="N", help="cap of a game (default: as in training)"
        )
        parser.add_argument("--result-rule", choices=("stocks_percent", "stocks"), default="stocks_percent")

    def chosen(self, options: argparse.Namespace) -> Callable[[Conditions], Conditions]:
        return choices(
            options.character,
            options.opponent_character,
            options.stage,
            options.max_episode_frames,
            options.result_rule,
        )


def choices(
    character: str | None = None,
    opponent_character: str | None = None,
    stage: str | None = None,
    max_episode_frames: int | None = None,
    result_rule: ResultRule = "stocks_percent",
) -> Callable[[Conditions], FightConditions]:
    """Check what was chosen (None: as in training); short names of characters and stages are valid.

    Returns what puts it in the place of the conditions of training; one character is then that of both players.

    Raises:
        ConfigError: a cap of no frame.
        GameError: an unknown character or stage.
    """
    if max_episode_frames is not None and max_episode_frames < 1:
        raise ConfigError(f"--max-episode-frames {max_episode_frames}: at least 1 is needed")
    mine = character and find_character(character)
    other = opponent_character and find_character(opponent_character)
    place = stage and find_stage(stage)

    def instead(trained: Conditions) -> FightConditions:
        home = as_fight(trained)
        return replace(
            home,
            characters=(mine or home.characters[0], other or mine or home.characters[1]),
            stage=place or home.stage,
            max_episode_frames=max_episode_frames or home.max_episode_frames,
            result_rule=result_rule,
        )

    return instead


def check_scripted(name: str) -> None:
    """Refuse a name that is no scripted player of the mock; lists all."""
    if name not in bot_names.NAMES:
        raise ConfigError(f"--bot {name}: {UnknownNameError('scripted player', name, bot_names.NAMES)}")


def check_fight(folder: Path, named: Sequence[str]) -> None:
    """Refuse too many players, of a run or a policy, and unknown ones; arguments as of ``watch.fixture``.

    Errors as of ``policy_folder``.
    """
    if len(named) > 2:
        raise ConfigError(f"two players fight, {len(named)} are named")
    if len(named) == 2 and is_policy(folder):
        raise ConfigError(f"two players fight, of which {folder.name} is one; {len(named)} others are named")
    for name in named:
        policy_folder(name, RunDir(folder))
