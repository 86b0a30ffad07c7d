"""Players as a person names them: a policy folder, a run, a generation of a run, or a scripted player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from selfplay.config.defaults import trained_on
from selfplay.config.ppo import default_game
from selfplay.evaluation.named_players import MOCK, game_for, policy_folder
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender, Rules

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.evaluation.named_players import Choices


def contender(name: str, run: RunDir | None = None, game: str = MOCK) -> Contender:
    """The player called ``name``; arguments and errors as of ``policy_folder``."""
    folder = policy_folder(name, run, game)
    return Contender(name, None if folder is None else load_policy(folder))


def contenders(names: Sequence[str], game: str | None = None) -> tuple[list[Contender], str]:
    """Players of one game, and the name of that game; arguments and errors as of ``game_for``."""
    game = game_for(names, game)
    return [contender(name, game=game) for name in names], game


def home_rules(
    players: Sequence[Contender], game: str = MOCK, *, greedy: bool = False
) -> tuple[tuple[str, str], Rules]:
    """Characters and rules that the first policy among them was trained for; else the defaults of the game."""
    trained = (trained_on(player.policy.meta) for player in players if player.policy is not None)
    home = next(trained, default_game(game))
    return home.characters, Rules(home.stage, home.max_episode_frames, greedy, game, home.ledge_grab_limit)


def chosen_rules(
    players: Sequence[Contender], chosen: Choices, game: str = MOCK, *, greedy: bool = False
) -> tuple[tuple[str, str], Rules]:
    """``home_rules`` with what a person chose in its place; who chooses one character chooses it for both."""
    characters, rules = home_rules(players, game, greedy=greedy)
    mine = chosen.character or characters[0]
    other = chosen.opponent_character or chosen.character or characters[1]
    cap = chosen.max_episode_frames or rules.max_episode_frames
    return (mine, other), replace(rules, stage=chosen.stage or rules.stage, max_episode_frames=cap)
