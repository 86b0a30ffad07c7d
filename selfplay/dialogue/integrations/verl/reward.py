"""Reward function for verl: looks up the reward of a played game.

Use ``reward.custom_reward_function.path=pkg://selfplay.integrations.verl.reward``. Other rows get verl's own scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from selfplay.dialogue.integrations.initial_states import game_of, is_ours
from selfplay.errors import ConfigError

REWARD: Final = "normalized_reward"  # field in which the agent loop stores the reward of a game


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,  # noqa: ANN401
    extra_info: Mapping[str, Any] | None = None,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """The normalized reward of a game, from the agent loop or else from the dataset row.

    Args:
        data_source: source of the row.
        solution_str: the response; not used for games.
        ground_truth: the reward, in rows of finished games.
        extra_info: fields of the row and of the agent loop.
        options: options of verl's own scores.

    Raises:
        ConfigError: no reward, or the seats do not share it.
    """
    if not is_ours(data_source):
        from verl.utils.reward_score import default_compute_score

        return default_compute_score(data_source, solution_str, ground_truth, extra_info, **options)
    game_of(data_source)
    return given_reward(data_source, (extra_info or {}).get(REWARD), ground_truth)


def given_reward(data_source: str, *given: object) -> float:
    """The first finite number among the candidates; ConfigError without any."""
    for reward in given:
        try:
            number = float(str(reward))
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    raise ConfigError(
        f"data_source {data_source}: no reward in the row; play it with the agent loop dialop_selfplay, or give rows "
        "of written games"
    )
