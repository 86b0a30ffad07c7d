"""One game from one seat as columns over its tokens, for trainers that read files.

Letters in shapes: T tokens of a conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from selfplay.rollout.dialogue import Instance


@dataclass(frozen=True, slots=True, eq=False)
class TokenColumns:
    """All of them [T], without padding: every row of a file is as long as its conversation."""

    input_ids: NDArray[np.int64]
    attention_mask: NDArray[np.int8]  # 1 everywhere
    position_ids: NDArray[np.int64]  # sum of the attention mask before the token
    loss_mask: NDArray[np.int8]  # labels: 1 where this policy sampled the token, the ends of its turns included
    reward_mask: NDArray[np.int8]  # 1 at the last of those, else 0
    old_log_probs: NDArray[np.float32]  # of the sampling distribution, 0 where nothing was sampled

    def differences(self, other: TokenColumns) -> list[str]:
        names = [field.name for field in fields(self)]
        return [name for name in names if not np.array_equal(getattr(self, name), getattr(other, name))]


def columns_of(instance: Instance) -> TokenColumns:
    """The columns of an instance; of one that sampled nothing, no token has the reward."""
    tokens = len(instance.ids)
    attention = np.ones(tokens, np.int8)
    reward = np.zeros(tokens, np.int8)
    reward[np.flatnonzero(instance.sampled)[-1:]] = 1
    return TokenColumns(
        input_ids=instance.ids.astype(np.int64),
        attention_mask=attention,
        position_ids=np.cumsum(attention, dtype=np.int64) - 1,
        loss_mask=instance.sampled.astype(np.int8),
        reward_mask=reward,
        old_log_probs=np.where(instance.sampled, instance.logprob, 0).astype(np.float32),
    )
