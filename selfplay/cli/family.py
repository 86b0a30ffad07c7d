"""The training of games whose players choose numbered actions, as the verbs find it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.games.columns import NONE
from selfplay.games.errors import GameError
from selfplay.games.kind import later
from selfplay.games.registry import find_game
from selfplay.run.trainings import TrainingVerbs

if TYPE_CHECKING:
    from selfplay.config.options import Option
    from selfplay.report.leaderboard_page.page import TrainingView


def _train(arguments: Sequence[str]) -> int:
    from selfplay.cli.ppo import parse
    from selfplay.ppo.train import train

    return train(parse(arguments))


def _options() -> Sequence[Option]:
    from selfplay.config.ppo import options_of
    from selfplay.games.registry import games_of

    return [option for game in games_of("ppo") for option in options_of(game)]


def _view(_: Path, game: str) -> TrainingView:
    from selfplay.report.health import Health
    from selfplay.report.leaderboard_page.page import TrainingView

    try:
        kind = find_game(game)
    except GameError:  # what plays its games again says why
        return TrainingView(NONE, Health())
    return TrainingView(kind.columns, Health(kind.health()))


PPO: Final = TrainingVerbs(
    _train,
    later("selfplay.commands.cli.rate", "rate_games"),
    "the other games",
    _options,
    _view,
    None,
    later("selfplay.commands.cli.check_game", "check"),
    later("selfplay.commands.cli.play", "play_policy"),
    later("selfplay.commands.cli.exploit", "exploit_policy"),
)
