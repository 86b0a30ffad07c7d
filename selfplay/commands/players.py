"""Players as a person names them: a policy folder, a run, a generation of a run, or a scripted player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envs.errors import UnknownNameError
from envs.registry import GAMES, find_game
from selfplay.checkpoint import resolve_policy
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.config.defaults import with_defaults
from selfplay.config.fighting import Config, GameConfig
from selfplay.errors import ConfigError
from selfplay.policy.policy import can_play, game_of, load_policy
from selfplay.runner.match import Contender, Rules

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta, RunDir

MOCK = GameConfig().type
"""Game of scripted players for which no game is named, and of policies that were trained in real time."""


def contender(name: str, run: RunDir | None = None, game: str = MOCK) -> Contender:
    """The player called ``name``.

    Args:
        name: ``gen_N`` of ``run``, a folder, or a scripted player's name.
        run: Where generations are looked for.
        game: Name of the game to be played.

    Raises:
        ConfigError: no player of that name (lists the scripted players), or a policy of another game.
        CheckpointError: a folder that holds no policy, or a damaged one.
    """
    players = find_game(game).rated.players
    if name in players:
        return Contender(name)
    folder = _folder(name, run)
    if folder is None:
        raise ConfigError(f"{UnknownNameError('player', name, players)}; or name the folder of a policy")
    policy = load_policy(folder)
    if not can_play(policy.meta, game):
        raise ConfigError(f"{name} plays {game_of(policy.meta)}, not {game}")
    return Contender(name, policy)


def contenders(names: Sequence[str], game: str | None = None) -> tuple[list[Contender], str]:
    """Players of one game, and the name of that game: by default that of the first policy, else the mock.

    Raises:
        ConfigError: as of ``contender``, or ``game`` is played in real time.
        CheckpointError: as of ``contender``.
        GameError: ``game`` is not known.
    """
    scripted = {name for entry in GAMES.values() for name in entry.rated.players}
    folders = [folder for name in names if name not in scripted and (folder := _folder(name)) is not None]
    if game is None:
        game = home_game(read_policy_meta(resolve_policy(folders[0]))) if folders else MOCK
    elif find_game(game).live:
        raise ConfigError(f"--game-type {game}: its policies are compared in the {MOCK}, not in real time")
    return [contender(name, game=game) for name in names], game


def home_game(meta: PolicyMeta) -> str:
    """The game in which a policy is compared with others: its own, or the mock where its own runs in real time."""
    game = game_of(meta)
    return MOCK if find_game(game).live else game


def _folder(name: str, run: RunDir | None = None) -> Path | None:
    """The folder that a name stands for; None where it can only be the name of a scripted player."""
    if run is not None and (run.generations / name).is_dir():
        return run.generations / name
    path = Path(name)
    return path if path.exists() or "/" in name or path.suffix else None


def home_rules(
    players: Sequence[Contender], game: str = MOCK, *, greedy: bool = False
) -> tuple[tuple[str, str], Rules]:
    """Characters and rules that the first policy among them was trained for; else the defaults of the game."""
    home = with_defaults(Config(game=GameConfig(type=game))).game
    for player in players:
        if player.policy is not None:
            meta = player.policy.meta
            theirs = meta.config.get("game")
            given = theirs if isinstance(theirs, dict) else {}
            frames, grabs = (
                value if isinstance(value := given.get(name), int) else getattr(home, name)
                for name in ("max_episode_frames", "ledge_grab_limit")
            )
            return (meta.characters[0], meta.characters[-1]), Rules(meta.stage, frames, greedy, game, grabs)
    return home.characters, Rules(home.stage, home.max_episode_frames, greedy, game, home.ledge_grab_limit)


def chosen_rules(
    players: Sequence[Contender],
    character: str | None = None,
    opponent_character: str | None = None,
    stage: str | None = None,
    max_episode_frames: int | None = None,
    *,
    game: str = MOCK,
    greedy: bool = False,
) -> tuple[tuple[str, str], Rules]:
    """``home_rules`` with what a person chose in its place; who chooses one character chooses it for both.

    Raises:
        ConfigError: a cap of no frame, or a setting of fights for another game.
    """
    given = {
        "--character": character,
        "--opponent-character": opponent_character,
        "--stage": stage,
        "--max-episode-frames": max_episode_frames,
    }
    unused = [flag for flag, value in given.items() if value is not None and not find_game(game).fighter]
    if unused:
        raise ConfigError(f"{unused[0]} is a setting of fights; {game} has no use for it")
    if max_episode_frames is not None and max_episode_frames < 1:
        raise ConfigError(f"--max-episode-frames {max_episode_frames}: at least 1 is needed")
    characters, rules = home_rules(players, game, greedy=greedy)
    other = opponent_character or character or characters[1]
    cap = rules.max_episode_frames if max_episode_frames is None else max_episode_frames
    return (character or characters[0], other), replace(rules, stage=stage or rules.stage, max_episode_frames=cap)
