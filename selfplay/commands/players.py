"""Players as a person names them: a policy folder, a run, a generation of a run, or a scripted player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envs.errors import UnknownNameError
from envs.melee import bots
from selfplay.errors import ConfigError
from selfplay.policy.policy import load_fighter
from selfplay.runner.match import Contender, Rules

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir

DEFAULT_CHARACTERS = ("mewtwo", "mewtwo")


def contender(name: str, run: RunDir | None = None) -> Contender:
    """The player called ``name``.

    Args:
        name: ``gen_N`` of ``run``, a folder, or a scripted player's name.
        run: Where generations are looked for.

    Raises:
        ConfigError: nobody of that name; lists the scripted players. Or a policy of a game that is no fight.
        CheckpointError: a folder that holds no policy, or a damaged one.
    """
    if name in bots.NAMES:
        return Contender(name)
    if run is not None and (run.generations / name).is_dir():
        return Contender(name, load_fighter(run.generations / name))
    path = Path(name)
    if path.exists() or "/" in name or path.suffix:
        return Contender(name, load_fighter(path))
    raise ConfigError(f"{UnknownNameError('player', name, bots.NAMES)}; or name the folder of a policy")


def home_rules(players: Sequence[Contender], *, greedy: bool = False) -> tuple[tuple[str, str], Rules]:
    """Characters and rules that the first policy among them was trained for; the defaults where there is none."""
    for player in players:
        if player.policy is not None:
            meta = player.policy.meta
            game = meta.config.get("game")
            cap = game.get("max_episode_frames") if isinstance(game, dict) else None
            frames = cap if isinstance(cap, int) else Rules().max_episode_frames
            return (meta.characters[0], meta.characters[-1]), Rules(meta.stage, frames, greedy)
    return DEFAULT_CHARACTERS, Rules(greedy=greedy)


def chosen_rules(
    players: Sequence[Contender],
    character: str | None = None,
    opponent_character: str | None = None,
    stage: str | None = None,
    max_episode_frames: int | None = None,
    *,
    greedy: bool = False,
) -> tuple[tuple[str, str], Rules]:
    """``home_rules`` with what a person chose in its place; who chooses one character chooses it for both.

    Raises:
        ConfigError: a cap of no frame.
    """
    if max_episode_frames is not None and max_episode_frames < 1:
        raise ConfigError(f"--max-episode-frames {max_episode_frames}: at least 1 is needed")
    characters, rules = home_rules(players, greedy=greedy)
    other = opponent_character or character or characters[1]
    cap = rules.max_episode_frames if max_episode_frames is None else max_episode_frames
    return (character or characters[0], other), replace(rules, stage=stage or rules.stage, max_episode_frames=cap)
