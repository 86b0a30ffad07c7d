"""How far a language model is from an equilibrium, exactly: in games that are small enough to be written down.

A model is asked for the probability of every legal reply in every situation, at temperature 1 and from the whole
distribution, the token that ends the reply included. What it gives to other texts is reported beside it; as a player
it is judged by the legal replies alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from selfplay.learner.dialogue_batch import padded, row_of
from selfplay.policy.language.lessons import lesson

if TYPE_CHECKING:
    from pydantic import JsonValue

    from envs.dialogue.contract import Chances, Exact
    from selfplay.policy.language.model import LanguageModel
    from selfplay.rollout.dialogue import Instance


@dataclass(frozen=True, slots=True)
class Asked:
    """A model in every situation of a game."""

    chances: Chances
    illegal: tuple[float, ...]  # probability of everything that is no legal reply, in each situation


@torch.inference_mode()
def ask(model: LanguageModel, exact: Exact, rules: Any) -> Asked:  # noqa: ANN401
    """What a model would reply, and how likely. Blocks."""
    situations = exact.information_sets(rules)
    lessons = [
        lesson(model.chat, each.system, each.texts[0::2], [*each.texts[1::2], reply], taught=1)
        for each in situations
        for reply in each.replies
    ]
    found = iter(np.exp(_log_likelihoods(model, lessons)).tolist())
    chances, illegal = [], []
    for each in situations:
        legal = [next(found) for _ in each.replies]
        total = sum(legal)
        chances.append([chance / total for chance in legal] if total > 0 else [1 / len(legal)] * len(legal))
        illegal.append(max(0.0, 1.0 - total))
    return Asked(chances, tuple(illegal))


def _log_likelihoods(model: LanguageModel, lessons: Sequence[Instance]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """[N] of the marked tokens of each, together."""
    rows = [row_of(each) for each in lessons]
    device = next(model.module.parameters()).device
    batch = padded(rows, [1.0] * len(rows), device)
    logprobs = torch.log_softmax(model.logits(batch.ids, batch.where).float(), -1)
    taken = logprobs.gather(1, batch.taken[:, None])[:, 0].double().cpu().numpy()
    starts = np.cumsum([0, *(row.tokens for row in rows)])[:-1]
    return np.asarray(np.add.reduceat(taken, starts))


def judged(asked: Sequence[Asked], exact: Exact) -> dict[str, JsonValue]:
    """As JSON: NashConv of the first, of the last and of a mixture of all, each as likely, and the mass of the rest.

    Whoever replies to the mixture knows it, but not which player was drawn for the game.
    """
    share = 1.0 / len(asked)
    mass = [sum(each.illegal) / len(each.illegal) for each in asked]
    return {
        "start": round(exact.nash_conv([asked[0].chances], [1.0]), 4),
        "newest": round(exact.nash_conv([asked[-1].chances], [1.0]), 4),
        "average": round(exact.nash_conv([each.chances for each in asked], [share] * len(asked)), 4),
        "generations": len(asked),
        "illegal_mass": {
            "start": round(mass[0], 6),
            "newest": round(mass[-1], 6),
            "average": round(sum(mass) / len(mass), 6),
            "largest": round(max(max(each.illegal) for each in asked), 6),
        },
    }
