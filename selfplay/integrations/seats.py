"""What a seat of a game lived, in the form that trainers of others take: a prompt, and a response with a mask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from selfplay.rollout.dialogue import Instance


@dataclass(frozen=True, slots=True)
class SeatRow:
    """One seat. Its response begins and ends with a token that the model has sampled."""

    seat: int
    prompt: list[int]  # all that it read before its first reply
    response: list[int]
    mask: list[int]  # of the response: 1 where sampled, 0 where the seat read
    logprobs: list[float] | None  # of the response, 0 where it read; None where who sampled does not tell
    reward: float  # belongs to the last token


def seat_row(instance: Instance) -> SeatRow | None:
    """The row of an instance; None of one that wrote nothing. What it read after its last reply is left out."""
    places = np.flatnonzero(instance.sampled)
    if not len(places):
        return None
    first, end = int(places[0]), int(places[-1]) + 1
    return SeatRow(
        seat=instance.seat,
        prompt=instance.ids[:first].tolist(),
        response=instance.ids[first:end].tolist(),
        mask=instance.sampled[first:end].astype(int).tolist(),
        logprobs=instance.logprob[first:end].tolist() if instance.known else None,
        reward=instance.reward,
    )


def seat_rows(instances: Iterable[Instance]) -> list[SeatRow]:
    """Rows of the seats that wrote something."""
    return [row for instance in instances if (row := seat_row(instance)) is not None]
