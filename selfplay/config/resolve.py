"""From what the user asked for to the one configuration that a call of a trainer works with, before torch is loaded.

Values come first, later ones win: defaults, ``--preset``, ``--config FILE.toml``, ``--set group.name=value``, flags
(``program.invoke``). Then the steps below apply in their order. The trainers do the rest, which needs torch: networks,
memory, and the device itself. The folder of a new run is made after all of them, so that a mistake leaves none behind.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import resolve_policy
from selfplay.config.options import flag_of
from selfplay.config.ppo import OPTIONS, SCRIPTED
from selfplay.config.resume import resumed_ppo
from selfplay.errors import ConfigError
from selfplay.league.modes import turns
from selfplay.machine import THREADS, check_device, usable_cores
from selfplay.report.trackers.find import check_trackers
from selfplay.runner.chaos import check_plan

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.config.ppo import Config

BLOCK_S: Final = 1e-3  # from so many seconds a step on, blocks of games in Python gain by processes of their own
BLOCK_GAMES: Final = 16  # of a block at least, unless fewer take so long
FIXED_CORES: Final = 4  # for a deterministic run: numbers of blocks and threads change its weights


def resolve_ppo(
    config: Config,
    explicit: Mapping[str, Any],
    resumed: LearnerState | None = None,
    notice: Callable[[str], object] = lambda _: None,
) -> Config:
    """The configuration of a run of games with actions by number. Blocks.

    Args:
        config: What the user asked for, of a new run.
        explicit: The values that the user gave, by dotted name; of a resumed run only they count.
        resumed: State of the run that is resumed.
        notice: Called with notices for the user, to be shown below the header.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """
    if resumed is not None:
        config = resumed_ppo(resumed, explicit)
    check_device(config.run.device)
    check_trackers(config.run.report_to)
    check_applicable(config, explicit)
    check_agreement(config, explicit)
    config = config.game.own_settings.complete(config, notice)
    if resumed is not None:
        return config
    for policy in (*config.league.opponents, config.run.pretrained):
        if policy not in (None, SCRIPTED):
            resolve_policy(Path(policy))
    return with_defaults(config)


def check_applicable(config: Config, explicit: Mapping[str, Any]) -> None:
    """Refuse what the game cannot do, with ``explicit``, the user's values by dotted name (ConfigError)."""
    config.game.own_settings.check_given(config, explicit)
    if config.game.kind.table is not None and config.net.remembers:
        raise ConfigError(
            f"--backbone {config.net.backbone}: --game-type {config.game.type} is judged exactly, state by state, "
            "which only a policy without memory can be (mlp)"
        )


def check_agreement(config: Config, explicit: Mapping[str, Any]) -> None:
    """Refuse settings that have no effect beside others, or contradict each other."""
    league = config.league
    if config.net.is_own and (given := {"net.hidden", "net.activation", "net.window"} & explicit.keys()):
        flag = flag_of(OPTIONS, min(given))
        raise ConfigError(f"{flag} has no effect: --backbone {config.net.backbone} makes its own layers")
    if league.gate != "none" and not league.track_elo:
        raise ConfigError("--gate decides by rating games: add --track-elo")
    if league.gate != "none" and config.game.kind.objective.kind == "shared":
        raise ConfigError(
            f"--gate: players of --game-type {config.game.type} share a reward, so no game shows which of two is better"
        )
    if config.run.keep_best and not league.track_elo:
        raise ConfigError("--set run.keep_best=true keeps the best by rating games: add --track-elo")
    league.check_share(explicit)
    check_host(config.run.host, explicit.get("run.ray_address"))
    check_plan(config.run.chaos, processes=config.run.host not in ("auto", "thread") or config.game.kind.real_time)
    if config.run.chaos is not None and config.run.deterministic:
        raise ConfigError("--chaos cannot be combined with --deterministic")


def check_host(host: str, ray_address: object) -> None:
    """Refuse the address of a cluster that the user gave without ``--host ray``."""
    if host != "ray" and ray_address:
        raise ConfigError("--ray-address is about actors of Ray: add --host ray")


def runners(config: Config) -> int:
    """Number of blocks that share the games; a multiple of ``len(turns)`` if the user sets no number.

    Games in real time have a block each. Never more than the number of games.
    """
    run, each = config.run, len(turns(config.league.mode))
    if config.game.kind.real_time:
        return run.num_games
    if run.runners:
        return min(run.runners, run.num_games)
    step_s = 0.0 if run.deterministic else config.game.kind.step_s
    cores = FIXED_CORES if run.deterministic else usable_cores()
    games = min(math.ceil(BLOCK_S / step_s), BLOCK_GAMES) if step_s else BLOCK_GAMES
    by_cores = -(-max(1, min(cores, run.num_games // games, 8)) // each) * each
    if step_s and run.host == "auto" and not _gains_by_processes(config, by_cores):
        by_cores = each  # threads that step games in Python only wait for each other
    return min(by_cores, run.num_games)


def _gains_by_processes(config: Config, blocks: int) -> bool:
    """Whether threads that step so many blocks of games in Python would wait for each other for long."""
    if blocks == 1 or min(blocks, usable_cores()) == 1 or os.name != "posix":
        return False
    return config.game.kind.step_s * config.run.num_games / blocks >= BLOCK_S


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
    count = runners(config)
    host = config.run.host
    if real_time and host != "ray":
        host = "process"
    elif host == "auto":
        host = "process" if _gains_by_processes(config, count) else "thread"
    values: dict[str, object] = {"runners": count, "host": host}
    if count % each:
        rule = f"--runners must be a multiple of {each}, and --num-games no less than that"
        raise ConfigError(
            f"--mode {config.league.mode} trains {len(set(roles))} learners, each with blocks of games of its "
            f"own: {f'--num-games must be a multiple of {each}' if real_time else rule}; "
            f"with {config.run.num_games} games it is {count}"
        )
    if config.run.deterministic:
        values["threads"] = config.run.threads or min(FIXED_CORES, THREADS)
    update = {
        "run": config.run.model_copy(update=values),
        "league": config.league.model_copy(update={"held_out": held_out(config)}),
    }
    drawn: Config = config.game.own_settings.draw(config.model_copy(update=update))
    return drawn
