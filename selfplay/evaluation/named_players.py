"""Players as a person names them, and what is chosen for them, checked before torch is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint import (
    RunDir,
    is_policy,
    list_generations,
    read_policy_meta,
    resolve_policy,
    shipped_policies,
)
from selfplay.checkpoint.documents import GENERATION_ID
from selfplay.checkpoint.policies import generations_of
from selfplay.config.applicable import check_settings
from selfplay.config.ppo import OPTIONS, GameConfig
from selfplay.errors import ConfigError
from selfplay.games.errors import UnknownNameError
from selfplay.games.registry import find_game, games_of, shares_policies
from selfplay.policy.onnx_extra import check_onnx
from selfplay.policy.played_game import can_play, game_of
from selfplay.report.saving import check_writable
from selfplay_melee.kinds import find_character, find_stage

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta

MOCK = GameConfig().type
"""Game of scripted players for which no game is named, and of policies that were trained in real time."""
STARTS: Final = ("scratch", "victim")  # of exploiters


def policy_folder(name: str, run: RunDir | None = None, game: str = MOCK) -> Path | None:
    """The policy folder of ``gen_N`` of ``run``, a folder or a shipped policy; None for a scripted player of ``game``.

    The name of a shipped policy is that policy, as that of a scripted player is that player.

    Raises:
        ConfigError: no player of that name (lists the scripted players, or the generations of the run), or a policy of
            another game.
        CheckpointError: a folder that holds no policy, or a damaged one.
    """
    players = find_game(game).rated.players
    if name in players:
        return None
    folder = _folder(name, run)
    if folder is None and GENERATION_ID.fullmatch(name):
        if run is None:
            raise ConfigError(f"{name} is a generation of a run: name its folder, such as RUN/generations/{name}")
        raise ConfigError(f"{run.path} has no {name}; {generations_of(run)}; scripted players: {', '.join(players)}")
    if folder is None:
        shipped = [policy for policy, path in shipped_policies().items() if can_play(read_policy_meta(path), game)]
        raise ConfigError(f"{UnknownNameError('player', name, (*players, *shipped))}; or name the folder of a policy")
    folder = resolve_policy(folder)
    meta = read_policy_meta(folder)
    if not can_play(meta, game):
        raise ConfigError(f"{name} plays {game_of(meta)}, not {game}")
    return folder


def game_for(names: Sequence[str], game: str | None = None) -> str:
    """The game of these players: ``game``, by default that of the first policy, else the mock. Each is checked.

    Errors as of ``policy_folder``; GameError for an unknown ``game``, ConfigError for one in real time.
    """
    scripted = {player for name in games_of("ppo") for player in find_game(name).rated.players}
    folders = [folder for name in names if name not in scripted and (folder := _folder(name)) is not None]
    if game is None:
        game = home_game(read_policy_meta(resolve_policy(folders[0]))) if folders else MOCK
    elif find_game(game).real_time:
        raise ConfigError(f"--game-type {game}: its policies are compared in the {MOCK}, not in real time")
    for name in names:
        policy_folder(name, game=game)
    return game


def check_game_type(name: str, own: str, given: str | None) -> None:
    """Refuse a ``--game-type`` that is not the game of a run, policy or file, or unknown (GameError).

    The mock is valid for policies of any fight.
    """
    if given is None or given == own:
        return
    if find_game(given).real_time or not shares_policies(own, given):
        raise ConfigError(f"{name} plays {own}, not {given}")


def game_in(folder: Path) -> str:
    """The game of a policy or of the newest generation of a run, by folder; the mock for a run without generations."""
    generations = [] if is_policy(folder) else list_generations(RunDir(folder))
    policies = [folder] if is_policy(folder) else [generation.path for generation in generations]
    return game_of(read_policy_meta(policies[-1])) if policies else MOCK


def check_games(games: int) -> None:
    """Refuse to judge a player by fewer than two games."""
    if games < 2:
        raise ConfigError(f"--games {games}: at least 2 are needed, one from each seat")


def check_scripted(name: str) -> None:
    """Refuse a name that is no scripted player of the mock; lists all."""
    players = find_game(MOCK).rated.players
    if name not in players:
        raise ConfigError(f"--bot {name}: {UnknownNameError('scripted player', name, players)}")


def home_game(meta: PolicyMeta) -> str:
    """The game in which a policy is compared with others: its own, or the mock where its own runs in real time."""
    game = game_of(meta)
    return MOCK if find_game(game).real_time else game


def _folder(name: str, run: RunDir | None = None) -> Path | None:
    """The folder that a name stands for; None where it can only be the name of a scripted player."""
    if run is not None and (run.generations / name).is_dir():
        return run.generations / name
    path = shipped_policies().get(name, Path(name))
    return path if path.exists() or "/" in name or path.suffix else None


@dataclass(frozen=True, slots=True)
class Choices:
    """Characters, stage and length that a person chose for a fight, by full names; None: as in training."""

    character: str | None
    opponent_character: str | None
    stage: str | None
    max_episode_frames: int | None


def choices(
    character: str | None = None,
    opponent_character: str | None = None,
    stage: str | None = None,
    max_episode_frames: int | None = None,
    *,
    game: str = MOCK,
) -> Choices:
    """Check what was chosen; short names of characters and stages are valid.

    Raises:
        ConfigError: a cap of no frame, or a setting of fights for another game.
        GameError: an unknown character or stage.
    """
    given = {
        "character": character,
        "opponent_character": opponent_character,
        "stage": stage,
        "max_episode_frames": max_episode_frames,
    }
    check_settings(game, [f"game.{name}" for name, value in given.items() if value is not None], OPTIONS)
    entry = find_game(game)
    if max_episode_frames is not None and max_episode_frames < 1:
        raise ConfigError(f"--max-episode-frames {max_episode_frames}: at least 1 is needed")
    return Choices(
        character and find_character(entry, character),
        opponent_character and find_character(entry, opponent_character),
        stage and find_stage(entry, stage),
        max_episode_frames,
    )


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


def check_exploit(
    victim: Path, steps: int, starts: Sequence[str], seeds: Sequence[int], games: int, game: str | None = None
) -> Path:
    """The folder of the victim's policy; see ``exploit``, and for ``game`` ``check_game_type``."""
    if unknown := [start for start in starts if start not in STARTS]:
        raise ConfigError(f"--starts {unknown[0]}: unknown (valid: {', '.join(STARTS)})")
    if not starts or not seeds or steps < 1 or games < 2:
        raise ConfigError("an exploiter needs a start, a seed, at least 1 step and 2 games")
    folder = resolve_policy(victim)
    check_game_type(str(victim), game_in(folder), game)
    return folder


def check_export(path: str | Path, kind: str, out: Path, observations: int, game: str | None = None) -> None:
    """Check that a policy can be exported; see ``export``, and for ``game`` ``check_game_type``."""
    if observations < 1:
        raise ConfigError(f"--check {observations}: at least 1 observation is needed")
    check_writable(out)
    own = game_in(resolve_policy(Path(path)))
    check_game_type(str(path), own, game)
    find_game(own)
    if kind == "onnx":
        check_onnx()
