"""Every information set of Kuhn poker as text, and the exact NashConv of a model's probabilities of legal replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from envs.dialogue.contract import InformationSet
from envs.dialogue.kuhn import KUHN, KuhnRules, KuhnText
from envs.errors import GameError
from envs.solved import exact
from envs.solved.kuhn import Hand
from envs.solved.table import enumerate_states

if TYPE_CHECKING:
    from envs.dialogue.contract import Chances
    from envs.solved.exact import Floats
    from envs.solved.table import Table


@dataclass(frozen=True, slots=True)
class Decision(InformationSet):
    """An information set."""

    card: int
    done: str  # as in ``Hand``


@cache
def decisions(rules: KuhnRules) -> tuple[Decision, ...]:
    found: dict[tuple[int, str], Decision] = {}
    plays: list[tuple[Hand, tuple[str, ...]]] = [(hand, ()) for hand in KUHN.starts()]
    for hand, replies in plays:  # grows meanwhile
        game = KuhnText(rules, hand)
        read: tuple[list[str], list[str]] = ([], [])
        for reply in replies:
            seat = game.mover
            read[seat].extend((game.observe(seat), reply))
            game.act(reply)
        if game.outcome is not None:
            continue
        seat = game.mover
        legal = tuple(f"[{KUHN.actions[action]}]" for action in KUHN.legal(game.hand, seat))
        texts = (*read[seat], game.observe(seat))
        decision = Decision(seat, game.system(seat), texts, legal, hand.cards[seat], game.hand.done)
        found.setdefault((decision.card, decision.done), decision)
        plays += [(hand, (*replies, reply)) for reply in legal]
    return tuple(found.values())


def strategy(table: Table, chances: Chances) -> Floats:
    """A strategy in the form of ``envs.solved.exact``, [N, 2, M], without the axis of strategies.

    Args:
        table: Of the game, ``envs.registry.GAMES["kuhn"].table()``.
        chances: For each of ``decisions`` the probabilities of its ``replies``, which sum to one.

    Raises:
        GameError: these are no probabilities.
    """
    legal = table.legal.astype(float)
    filled = np.asarray(legal / legal.sum(-1, keepdims=True))
    for decision, given in zip(decisions(KuhnRules()), chances, strict=True):
        chance = np.asarray(given, float)
        if chance.shape != (len(decision.replies),) or not (chance >= 0).all() or abs(chance.sum() - 1) > 1e-6:
            raise GameError(f"kuhn_text: {decision.texts} has no probabilities of {', '.join(decision.replies)}")
        actions = [KUHN.actions.index(reply.strip("[]")) for reply in decision.replies]
        cards = (decision.card, decision.card)  # the other one is not seen
        seen = np.asarray(KUHN.observe(Hand(cards, decision.done), decision.seat), np.float32)
        for state in np.flatnonzero((table.obs[:, decision.seat] == seen).all(-1) & ~table.over):
            filled[state, decision.seat] = 0.0
            filled[state, decision.seat, actions] = chance
    return filled


def nash_conv(players: Sequence[Chances], weights: Sequence[float]) -> float:
    """NashConv of a mixture of strategies, see ``envs.solved.exact``; chances are in the order of ``decisions``.

    Raises:
        GameError: see ``strategy``.
    """
    table = enumerate_states(KUHN)
    strategies = np.stack([strategy(table, chances) for chances in players])
    return exact.nash_conv(table, strategies, np.asarray(weights, float))
