"""Values of a run that follow from its settings, the machine, the game and the seed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from selfplay.config.game_settings import game_settings
from selfplay.config.ppo import Config
from selfplay.errors import ConfigError, IncompatibleError, boundary
from selfplay.league.modes import EXPLOITERS, MAIN
from selfplay.machine import usable_cores
from selfplay.policy.played_game import body_of, game_of

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta

THREADS: Final = 4  # of the update at most: a minibatch cut finer than that only waits
FIXED_CORES: Final = 4  # for a deterministic run: numbers of blocks and threads change its weights


def trained_on(meta: PolicyMeta) -> Any:  # noqa: ANN401
    """Settings of the games that a policy was trained on; errors as of ``body_of``."""
    body = asdict(body_of(meta))
    with boundary(IncompatibleError, f"{meta.id}: its file has settings that games cannot have"):
        return Config.model_validate({"game": {"type": game_of(meta), **body}}).game


def runners(config: Config) -> int:
    """Number of blocks that share the games; a multiple of ``len(turns)`` if the user sets no number.

    Games in real time have a block each. Never more than the number of games.
    """
    run, each = config.run, len(turns(config.league.mode))
    if config.game.kind.real_time:
        return run.num_games
    cores = FIXED_CORES if run.deterministic else usable_cores()
    by_cores = -(-max(1, min(cores, run.num_games // 16, 8)) // each) * each
    return min(run.runners or by_cores, run.num_games)


def turns(mode: str) -> tuple[str, ...]:
    """Whose games blocks are, in turn: in a league the main agent has half of them."""
    return (MAIN, MAIN, *EXPLOITERS) if mode == "league" else (MAIN,)


def held_out(config: Config) -> tuple[str, ...]:
    """Scripted players never met in training: by ``--held-out``, or the game's own choice."""
    given = config.league.held_out
    return config.game.kind.held_out if given is None else given


def with_defaults(config: Config) -> Config:
    """The configuration of a new run with all values that follow from others; a resumed run keeps them.

    ConfigError if the blocks cannot be shared out to the learners of a league.
    """
    game = config.game.kind
    real_time, roles = game.real_time, turns(config.league.mode)
    each = len(roles)
    host = "process" if real_time and config.run.host == "thread" else config.run.host
    values: dict[str, object] = {"runners": runners(config), "host": host}
    if runners(config) % each:
        rule = f"--runners must be a multiple of {each}, and --num-games no less than that"
        raise ConfigError(
            f"--mode {config.league.mode} trains {len(set(roles))} learners, each with blocks of games of its "
            f"own: {f'--num-games must be a multiple of {each}' if real_time else rule}; "
            f"with {config.run.num_games} games it is {runners(config)}"
        )
    if config.run.deterministic:
        values["threads"] = config.run.threads or min(FIXED_CORES, THREADS)
    update = {
        "run": config.run.model_copy(update=values),
        "league": config.league.model_copy(update={"held_out": held_out(config)}),
    }
    drawn: Config = game_settings(config.game.type).draw(config.model_copy(update=update))
    return drawn


def update_threads(threads: int) -> int:
    """Threads of the learner's update, with ``run.threads`` or by cores."""
    return threads or min(usable_cores(), THREADS)


def game_options(config: Config, num_games: int) -> dict[str, object]:
    """Options of the training games, the same for every host; can be encoded as JSON."""
    return {"num_games": num_games, **game_settings(config.game.type).options(config)}
