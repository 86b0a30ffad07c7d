"""The arguments of training games that a configuration stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.config.fighting import Config


def game_options(config: Config, num_games: int) -> dict[str, object]:
    """Options of the training games, the same for every host; can be encoded as JSON."""
    if not config.game.entry.fighter:
        return {"num_games": num_games}
    game, reward = config.game, config.reward
    return {
        "num_games": num_games,
        "characters": list(game.characters),
        "stage": game.stage,
        "frame_skip": game.frame_skip,
        "delay": game.delay,
        "max_episode_frames": game.max_episode_frames,
        "ledge_grab_limit": game.ledge_grab_limit,
        "stagger": True,
        "reward_stock": reward.stock,
        "reward_damage": reward.damage,
        "stalling": reward.stalling,
        "stalling_after": reward.stalling_after,
        "self_destruct": reward.self_destruct,
        "lingering": reward.lingering,
        "lingering_from": reward.lingering_from,
    }
