"""Players as a person names them: a policy folder, a run, a generation of a run, or a scripted player."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from selfplay.config.ppo import default_game
from selfplay.config.resume import trained_on
from selfplay.evaluation.named_players import game_for, policy_folder
from selfplay.games.registry import DEFAULT
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender, Rules

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir


def contender(name: str, run: RunDir | None = None, game: str = DEFAULT) -> Contender:
    """The player called ``name``; arguments and errors as of ``policy_folder``."""
    folder = policy_folder(name, run, game)
    return Contender(name, None if folder is None else load_policy(folder))


def contenders(names: Sequence[str], game: str | None = None) -> tuple[list[Contender], str]:
    """Players of one game, and the name of that game; arguments and errors as of ``game_for``."""
    game = game_for(names, game)
    return [contender(name, game=game) for name in names], game


def home_rules(players: Sequence[Contender], game: str = DEFAULT, *, greedy: bool = False) -> Rules:
    """The rules that the first policy among them was trained for; else the defaults of the game."""
    trained = (trained_on(player.policy.meta) for player in players if player.policy is not None)
    return Rules(game, next(trained, default_game(game)).body.conditions, greedy)
