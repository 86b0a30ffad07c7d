"""The exact NashConv of language models, in games that are small enough to enumerate.

A model gives the probability of every legal reply in every information set, at temperature 1, without a nucleus, and
including the end-of-turn token. The probability of other texts is reported separately; NashConv uses the legal replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from selfplay.dialogue.language.conversation import demonstration
from selfplay.dialogue.packing import row_of
from selfplay.learner.token_batch import padded

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.dialogue.contract import Chances, Exact
    from selfplay.dialogue.instances import Instance
    from selfplay.dialogue.language.model import LanguageModel


ROWS: Final = 256  # at once


@dataclass(frozen=True, slots=True)
class LegalReplies:
    """Probabilities of a model in every information set of a game."""

    chances: Chances
    illegal: tuple[float, ...]  # probability of all other texts, by information set


@torch.inference_mode()
def legal_replies(model: LanguageModel, exact: Exact) -> LegalReplies:
    """The probabilities of a model. Blocks."""
    information_sets = exact.information_sets
    rows = [
        demonstration(model.chat, each.system, each.texts[0::2], [*each.texts[1::2], reply], targets=1)
        for each in information_sets
        for reply in each.replies
    ]
    found = iter(np.exp(_log_likelihoods(model, rows)).tolist())
    chances, illegal = [], []
    for each in information_sets:
        legal = [next(found) for _ in each.replies]
        total = sum(legal)
        chances.append([chance / total for chance in legal] if total > 0 else [1 / len(legal)] * len(legal))
        illegal.append(max(0.0, 1.0 - total))
    return LegalReplies(chances, tuple(illegal))


def _log_likelihoods(model: LanguageModel, instances: Sequence[Instance]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """[N] sum over the sampled tokens of each instance."""
    return np.concatenate([_of_rows(model, instances[i : i + ROWS]) for i in range(0, len(instances), ROWS)])


def _of_rows(model: LanguageModel, instances: Sequence[Instance]) -> np.ndarray[Any, np.dtype[np.float64]]:
    rows = [row_of(each) for each in instances]
    device = next(model.module.parameters()).device
    batch = padded(rows, [1.0] * len(rows), device)
    logprobs = torch.log_softmax(model.logits(batch.ids, batch.where).float(), -1)
    taken = logprobs.gather(1, batch.targets.taken[:, None])[:, 0].double().cpu().numpy()
    starts = np.cumsum([0, *(row.tokens for row in rows)])[:-1]
    return np.asarray(np.add.reduceat(taken, starts))


def exact_summary(models: Sequence[LegalReplies], exact: Exact) -> dict[str, JsonValue]:
    """As JSON: NashConv of the first model, the last and the uniform mixture, and the mass of other texts.

    The best reply knows the mixture, but not which model was drawn for a game.
    """
    share = 1.0 / len(models)
    mass = [sum(each.illegal) / len(each.illegal) for each in models]
    return {
        "start": round(exact.nash_conv([models[0].chances], [1.0]), 4),
        "newest": round(exact.nash_conv([models[-1].chances], [1.0]), 4),
        "average": round(exact.nash_conv([each.chances for each in models], [share] * len(models)), 4),
        "generations": len(models),
        "illegal_mass": {
            "start": round(mass[0], 6),
            "newest": round(mass[-1], 6),
            "average": round(sum(mass) / len(mass), 6),
            "largest": round(max(max(each.illegal) for each in models), 6),
        },
    }
