"""The tokens of a seat as other trainers expect them: a prompt, and a response with a mask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from selfplay.dialogue.instances import Instance


@dataclass(frozen=True, slots=True)
class SeatTokens:
    """Tokens of one seat. The response begins and ends with a sampled token."""

    seat: int
    prompt: list[int]  # everything before the first reply
    response: list[int]
    mask: list[int]  # of the response: 1 sampled, 0 read
    logprobs: list[float] | None  # of the response, 0 for read tokens; None if unknown
    reward: float  # for the last token


def seat_tokens(instance: Instance) -> SeatTokens | None:
    """The tokens of an instance up to its last reply; None if it sampled nothing."""
    places = np.flatnonzero(instance.sampled)
    if not len(places):
        return None
    first, end = int(places[0]), int(places[-1]) + 1
    return SeatTokens(
        seat=instance.seat,
        prompt=instance.ids[:first].tolist(),
        response=instance.ids[first:end].tolist(),
        mask=instance.sampled[first:end].astype(int).tolist(),
        logprobs=instance.logprob[first:end].tolist() if instance.known else None,
        reward=instance.reward,
    )


def seat_rows(instances: Iterable[Instance]) -> list[SeatTokens]:
    return [row for instance in instances if (row := seat_tokens(instance)) is not None]
