"""Rewards of games for verl: they were given when the game was played, and are looked up here.

``reward.custom_reward_function.path=pkg://selfplay.integrations.verl.reward``; rows of other sources are scored as
verl scores them by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from selfplay.errors import ConfigError
from selfplay.integrations.beginnings import game_of, is_ours

REWARD: Final = "normalized_reward"
"""Under this name the agent loop leaves a game's reward."""


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,  # noqa: ANN401
    extra_info: Mapping[str, Any] | None = None,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """The reward of a game as a share of the best one: of the game just played, else of the row of a written one.

    Args:
        data_source: Of the row.
        solution_str: The response; of a game it says nothing that the reward does not.
        ground_truth: In rows of written games, the reward.
        extra_info: Of the row, and what the agent loop left.
        options: For verl's own scores.

    Raises:
        ConfigError: nobody has given the game a reward, or its seats do not share it.
    """
    if not is_ours(data_source):
        from verl.utils.reward_score import default_compute_score

        return default_compute_score(data_source, solution_str, ground_truth, extra_info, **options)
    game_of(data_source)
    return given_reward(data_source, (extra_info or {}).get(REWARD), ground_truth)


def given_reward(data_source: str, *given: object) -> float:
    """The first reward of those that there are.

    Raises:
        ConfigError: none is one.
    """
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
