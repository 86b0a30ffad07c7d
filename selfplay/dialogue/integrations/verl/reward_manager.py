"""verl's reward manager for games: puts the reward of the game on the last sampled token of each seat.

Use ``reward.reward_manager.source=importlib`` with the path of this module. verl calls it only for rows of other agent
loops, since ours sets the reward itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

from selfplay.dialogue.integrations.initial_states import game_of, is_ours
from selfplay.dialogue.integrations.verl.reward import REWARD, given_reward


class DialogueRewardManager(NaiveRewardManager):
    """Looks up rewards of games; other rows use verl's naive manager."""

    async def run_single(self, data: Any) -> dict[str, Any]:  # noqa: ANN401
        """The reward of a session.

        Raises:
            ConfigError: no reward, or the seats do not share it.
        """
        columns = data[-1].non_tensor_batch
        source = columns["data_source"]
        if not is_ours(source):
            scored: dict[str, Any] = await super().run_single(data)
            return scored
        game_of(source)
        left, row = columns.get("tool_extra_fields") or {}, columns.get("reward_model") or {}
        reward = given_reward(source, left.get(REWARD), row.get(REWARD), row.get("ground_truth"))
        return {"reward_score": reward, "reward_extra_info": {"acc": reward}}

    @classmethod
    def assemble_rm_scores(cls, data: Any, scores: Sequence[float]) -> torch.Tensor:  # noqa: ANN401
        """[B, T] scores, each on the last sampled token of its response."""
        masks = data.batch.get("response_mask", None)
        if masks is None:
            assembled: torch.Tensor = super().assemble_rm_scores(data, list(scores))
            return assembled
        places = torch.arange(masks.shape[1], device=masks.device).expand_as(masks)
        last = torch.where(masks.bool(), places, 0).amax(1, keepdim=True)
        found = torch.zeros(masks.shape, dtype=torch.float32, device=masks.device)
        return found.scatter(1, last, found.new_tensor(list(scores))[:, None])
