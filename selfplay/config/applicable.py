"""Settings that the game, or others beside them, leave without effect: given explicitly they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfplay.config.game_settings import game_settings
from selfplay.config.options import flag_of
from selfplay.config.ppo import OPTIONS, Config
from selfplay.errors import ConfigError
from selfplay.runner.chaos import check_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from selfplay.config.base import SelfPlaySettings


def check_applicable(config: Config, explicit: Mapping[str, object]) -> None:
    """Refuse what the game cannot do, with ``explicit``, the user's values by dotted name (ConfigError)."""
    game_settings(config.game.type).check_given(config, explicit)
    if config.game.kind.table is not None and config.net.remembers:
        raise ConfigError(
            f"--backbone {config.net.backbone}: --game-type {config.game.type} is judged exactly, state by state, "
            "which only a policy without memory can be (mlp)"
        )


def check_agreement(config: Config, explicit: Mapping[str, object]) -> None:
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
    if "league.opponent_share" in explicit and not league.opponents:
        raise ConfigError("--set league.opponent_share is the share of the policies of --opponent: name at least one")
    if "league.opponent_share" in explicit and league.mode == "opponents":
        raise ConfigError(
            "--set league.opponent_share has no effect with --mode opponents, which plays against nobody else"
        )
    check_host(config.run, explicit)
    check_plan(config.run.chaos, processes=config.run.host != "thread" or config.game.kind.real_time)
    if config.run.chaos is not None and config.run.deterministic:
        raise ConfigError("--chaos cannot be combined with --deterministic")


def check_host(run: SelfPlaySettings, explicit: Mapping[str, object]) -> None:
    """Refuse settings of Ray among ``explicit``, the user's values by dotted name, without ``--host ray``."""
    if run.host != "ray" and explicit.get("run.ray_address"):
        raise ConfigError("--ray-address is about actors of Ray: add --host ray")
