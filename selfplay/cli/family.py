"""The training of games whose players choose numbered actions, as the verbs find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from selfplay.games.kind import later
from selfplay.run.trainings import TrainingVerbs

if TYPE_CHECKING:
    from selfplay.config.options import Option


def _train(arguments: Sequence[str]) -> int:
    from selfplay.cli.ppo import parse
    from selfplay.ppo.train import train

    return train(parse(arguments))


def _options() -> Sequence[Option]:
    from selfplay.config.ppo import options_of
    from selfplay.games.registry import games_of

    return [option for game in games_of("ppo") for option in options_of(game)]


PPO: Final = TrainingVerbs(_train, later("selfplay.commands.cli.rate", "rate_games"), "the other games", _options)
