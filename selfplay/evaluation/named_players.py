"""Players as a person names them, and what is chosen for them, checked before torch is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint import RunDir, is_policy, list_generations, read_policy_meta, resolve_policy, shipped_policies
from selfplay.checkpoint.documents import GENERATION_ID
from selfplay.checkpoint.policies import generations_of
from selfplay.config.resume import game_of_run
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.kind import GameKind
from selfplay.games.registry import DEFAULT, find_game, find_kind, games_of, shares_policies
from selfplay.policy.onnx_extra import check_onnx
from selfplay.policy.played_game import can_play, check_plays, game_of
from selfplay.report.saving import check_writable

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta

STARTS: Final = ("scratch", "victim")  # of exploiters


def policy_folder(name: str, run: RunDir | None = None, game: str = DEFAULT) -> Path | None:
    """The policy folder of ``gen_N`` of ``run``, a folder or a shipped policy; None for a scripted player of ``game``.

    The name of a shipped policy is that policy, as that of a scripted player is that player.
    ConfigError names those that there are; CheckpointError for a folder without a policy, or a damaged one.
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
    check_plays(meta, game, name)
    return folder


def game_for(names: Sequence[str], game: str | None = None) -> str:
    """The game of these players: ``game``, by default that of the first policy, else ``DEFAULT``. Each is checked.

    Errors as of ``policy_folder``; GameError for an unknown ``game``, ConfigError for one that is compared in another.
    """
    if game is None:
        folders = (folder for name in names if name not in _scripted() and (folder := _folder(name)) is not None)
        first = next(folders, None)
        game = DEFAULT if first is None else home_game(read_policy_meta(resolve_policy(first)))
    elif other := find_game(game).compared_in:
        raise ConfigError(f"--game-type {game}: its policies are compared in the {other}, not in real time")
    for name in names:
        policy_folder(name, game=game)
    return game


def game_among(arguments: Sequence[str]) -> str | None:
    """The game of the first argument of a command line that names a policy; None where none does."""
    for word in arguments:
        with suppress(SelfPlayError, GameError, OSError):
            if word not in _scripted() and (folder := _folder(word)) is not None:
                return home_game(read_policy_meta(resolve_policy(folder)))
    return None


def check_game_type(name: str, own: str, given: str | None) -> None:
    """Refuse a ``--game-type`` that is not the game of a run, policy or file, or unknown (GameError).

    A game that shares its policies is valid, too, but not one that is compared in another.
    """
    if given is None or given == own:
        return
    if not isinstance(find_kind(given), GameKind) or find_game(given).compared_in or not shares_policies(own, given):
        raise ConfigError(f"{name} plays {own}, not {given}")


def game_in(folder: Path) -> str:
    """The game of a policy or of the newest generation of a run, by folder; ``DEFAULT`` if there is none."""
    run = RunDir(folder.parents[1] if folder.parent.name == "generations" else folder)
    generations = [] if is_policy(folder) else list_generations(run)
    if generations and not is_policy(generations[-1].path):  # a language model
        return game_of_run(run)
    policies = [folder] if is_policy(folder) else [generation.path for generation in generations]
    return game_of(read_policy_meta(policies[-1])) if policies else DEFAULT


def check_games(games: int) -> None:
    """Refuse to judge a player by fewer than two games."""
    if games < 2:
        raise ConfigError(f"--games {games}: at least 2 are needed, one from each seat")


def home_game(meta: PolicyMeta) -> str:
    """The game in which a policy is compared with others: its own, or the one that stands for it."""
    game = game_of(meta)
    return find_game(game).compared_in or game


def _scripted() -> set[str]:
    """Scripted players of all games of this project."""
    return {player for name in games_of("ppo") for player in find_game(name).rated.players}


def _folder(name: str, run: RunDir | None = None) -> Path | None:
    """The folder that a name stands for; None where it can only be the name of a scripted player."""
    if run is not None and (run.generations / name).is_dir():
        return run.generations / name
    path = shipped_policies().get(name, Path(name))
    return path if path.exists() or "/" in name or path.suffix else None


def check_exploit(
    victim: Path, steps: int, starts: Sequence[str], seeds: Sequence[int], games: int, game: str | None = None
) -> Path:
    """The folder of the victim's policy; see ``exploit``, and for ``game`` ``check_game_type``."""
    if unknown := [start for start in starts if start not in STARTS]:
        raise ConfigError(f"--starts {unknown[0]}: unknown (valid: {', '.join(STARTS)})")
    if not starts or not seeds or steps < 1 or games < 2:
        raise ConfigError("an exploiter needs a start, a seed, at least 1 step and 2 games")
    folder = resolve_policy(victim)
    own = game_in(folder)
    check_game_type(str(victim), own, game)
    if find_game(own).objective.kind == "shared":
        raise ConfigError(f"{own} gives both players equal rewards: no player of it can be exploited")
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
