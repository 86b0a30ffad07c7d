"""Kuhn poker as text: a view of ``selfplay.games.solved.kuhn``, which has the rules.

A reply is `[pass]` or `[bet]`. Rewards are winnings in antes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, final

import numpy as np

from selfplay.dialogue.contract import CONTEXT, CUT_OFF, REFUSED, InformationSet, JsonObject, Turn
from selfplay.games.errors import GameError
from selfplay.games.solved import exact
from selfplay.games.solved.enumeration import find_tree
from selfplay.games.solved.kuhn import BET, BETS, CARDS, MOVES, PASS, WAIT, Hand, Kuhn
from selfplay_dialogue.turns import ERROR, TurnGame, is_refusal, parse_reply

if TYPE_CHECKING:
    from selfplay.dialogue.contract import Chances
    from selfplay.games.solved.tree import Floats, GameTree

FOLD, SHOWDOWN = "fold", "showdown"  # ends by the rules
BY_MOVER: Final = (CUT_OFF, CONTEXT)  # ends caused by the mover; they cost as much as a refused reply
KUHN: Final = Kuhn()
KINDS: Final = tuple(KUHN.actions[action] for action in (PASS, BET))
_NO_MOVE: Final = f"Write {' or '.join(f'[{kind}]' for kind in KINDS)}."


@dataclass(frozen=True, slots=True)
class KuhnRules:
    """Settings of the game."""

    retries: int = 0  # maximum number of refused replies per turn; one more ends the game
    error_penalty: float = 2.0  # per refused reply; the most that a hand can lose, so that errors never pay
    told: str = "full"  # text before the first turn: `full`, the rules; or `nothing`

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            GameError: names the setting.
        """
        for name, fine, valid in (
            ("retries", self.retries >= 0, "at least 0"),
            ("error_penalty", 0 <= self.error_penalty <= 100, "0 to 100"),
            ("told", self.told in ("full", "nothing"), "full or nothing"),
        ):
            if not fine:
                raise GameError(f"kuhn_text: {name} is {getattr(self, name)!r} (valid: {valid})")


def deal(rules: KuhnRules, seeds: Sequence[int]) -> list[Hand]:
    """A hand for each seed, on which alone it depends."""
    starts = KUHN.starts()
    return [starts[int(np.random.default_rng(seed).integers(len(starts)))] for seed in seeds]


def hand_from_json(document: object) -> Hand:
    """The deal of a game that was saved as JSON.

    Raises:
        GameError: it is none.
    """
    match document:
        case {"cards": [str(first), str(second)]} if first in CARDS and second in CARDS and first != second:
            return Hand((CARDS.index(first), CARDS.index(second)), "")
    raise GameError(f"kuhn_text: cards must be two different ones of {', '.join(CARDS)}")


@final
class KuhnText(TurnGame):
    """One game (``DialogueGame``)."""

    name = "kuhn_text"

    def __init__(self, rules: KuhnRules, hand: Hand) -> None:
        super().__init__(rules.retries, rules.error_penalty, [_opening(rules, card) for card in hand.cards])
        self.rules = rules
        self.hand = hand

    @property
    def mover(self) -> int:
        """See ``DialogueGame``; of a finished game, the seat that moved last."""
        if self.hand.done not in MOVES:
            return self.turns[-1].seat
        return next(seat for seat in range(2) if tuple(KUHN.legal(self.hand, seat)) != (WAIT,))

    def system(self, seat: int) -> str:
        return "" if self.rules.told == "nothing" else _system(self.rules)

    def act(self, text: str) -> Turn:
        self._check_running()
        reply = parse_reply(text, KINDS)
        turn = Turn(self.mover, text, reply.private, reply.kind, None if reply.kind else _NO_MOVE)
        self.turns.append(turn)
        if turn.error is None:
            self._take(turn)
        elif self._refuse(turn.seat, turn.error):
            self._finish(0.0, REFUSED)
        return turn

    def fail(self, reason: str) -> None:
        self._check_running()
        if reason in BY_MOVER:  # otherwise the seat with the worse card gains by never ending the game
            self._refused[self.mover] += 1
        self._finish(0.0, reason)

    def record(self) -> JsonObject:
        log = [{"type": turn.kind, "player": turn.seat} for turn in self.turns if turn.error is None]
        return {"cards": [CARDS[card] for card in self.hand.cards], "action_log": log}

    def _take(self, turn: Turn) -> None:
        actions = [WAIT, WAIT]
        actions[turn.seat] = KUHN.actions.index(turn.kind)
        self.hand = KUHN.after(self.hand, (actions[0], actions[1]))
        self._unseen[1 - turn.seat].append(_as_read(self.rules, turn.kind))
        self._tries = 0
        payoff = KUHN.payoff(self.hand)
        if payoff is not None:
            swapped = self.hand._replace(cards=self.hand.cards[::-1])
            self._finish(
                payoff, FOLD if KUHN.payoff(swapped) == payoff else SHOWDOWN
            )  # a fold does not depend on the cards

    def _finish(self, payoff: float, reason: str) -> None:
        self._end((payoff, -payoff), reason)


def _system(rules: KuhnRules) -> str:
    again = f"you may try again, up to {rules.retries} times in a turn" if rules.retries else "the game ends"
    return (
        "You play poker with three cards, a jack, a queen and a king, against one opponent. Each of you has put 1 into "
        "the pot and holds one card; the king beats the queen, and the queen the jack. One of you begins; if your card "
        "is all that you have been told, it is you.\n"
        "A turn is [pass] or [bet]. To bet is to add 1 to the pot. After a bet the other one either passes, and so "
        "gives up the pot, or bets too, and the cards are compared. If both pass, they are compared as well. The "
        "higher card takes the pot.\n"
        "You are paid what you win, or pay what you lose. What you write before the tag is for yourself, and the last "
        f"tag counts. If you write none, {again}{f', and you pay {rules.error_penalty:g}' * bool(rules.error_penalty)}."
        "\nExample:\nYour card: king.\nYou: Nothing beats a king. [bet]\nOpponent: [pass]\nThe opponent gives up: you "
        "win 1."
    )


def _opening(rules: KuhnRules, card: int) -> str:
    return f" {CARDS[card]}" if rules.told == "nothing" else f"Your card: {CARDS[card]}."


def _as_read(rules: KuhnRules, kind: str) -> str:
    return f"[{kind}]" if rules.told == "nothing" else f"Opponent: [{kind}]"


def vocabulary(rules: KuhnRules) -> list[str]:
    """Pieces of all texts of the game without rules; the same for all rules."""
    return [f"[{kind}]" for kind in KINDS] + [f" {card}" for card in CARDS] + ["\n", ERROR + _NO_MOVE]


Bets = Mapping[str, Sequence[float]]
"""Probability of a bet after each sequence of moves: with the jack, the queen and the king."""
PLAYERS: Final[dict[str, Bets]] = {
    "random": dict.fromkeys(MOVES, (0.5, 0.5, 0.5)),
    "honest": dict.fromkeys(MOVES, (0.0, 0.0, 1.0)),
    "equilibrium": BETS,
}
"""By name, weakest first."""


@final
class KuhnPlayer:
    """Plays one seat of one game (``ScriptedPlayer``)."""

    def __init__(self, bets: Bets, seed: int) -> None:
        self._bets = bets
        self._rng = np.random.default_rng(seed)
        self._card: int | None = None
        self._done = ""

    def reply(self, observation: str) -> str:
        if not is_refusal(observation):
            if self._card is None:
                self._card = next(card for card, name in enumerate(CARDS) if name in observation)
            self._done += parse_reply(observation, KINDS).kind[:1]
        kind = "bet" if self._rng.random() < self._bets[self._done][self._card or 0] else "pass"
        self._done += kind[0]
        return f"[{kind}]"


# ---------------------------------------------------------------- decisions, and exact values


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


def strategy(tree: GameTree, chances: Chances) -> Floats:
    """A strategy in the form of ``selfplay.games.solved.exact``, [2, E], without the axis of strategies.

    Args:
        tree: Of the game, ``find_tree("kuhn")``.
        chances: For each of ``decisions`` the probabilities of its ``replies``, which sum to one.

    Raises:
        GameError: these are no probabilities.
    """
    shares = np.zeros(tree.seats[0].legal.shape), np.zeros(tree.seats[1].legal.shape)
    for decision, given in zip(decisions(KuhnRules()), chances, strict=True):
        chance = np.asarray(given, float)
        if chance.shape != (len(decision.replies),) or not (chance >= 0).all() or abs(chance.sum() - 1) > 1e-6:
            raise GameError(f"kuhn_text: {decision.texts} has no probabilities of {', '.join(decision.replies)}")
        actions = [KUHN.actions.index(reply.strip("[]")) for reply in decision.replies]
        cards = (decision.card, decision.card)  # the other one is not seen
        seen = np.asarray(KUHN.observe(Hand(cards, decision.done), decision.seat), np.float32)
        seat = tree.seats[decision.seat]
        shares[decision.seat][np.ix_((seat.obs == seen).all(-1), actions)] = chance
    return tree.strategy(shares)


def nash_conv(players: Sequence[Chances], weights: Sequence[float]) -> float:
    """NashConv of a mixture of strategies, see ``selfplay.games.solved.exact``.

    Chances are in the order of ``decisions``.

    Raises:
        GameError: see ``strategy``.
    """
    tree = find_tree("kuhn")
    strategies = np.stack([strategy(tree, chances) for chances in players])
    return exact.nash_conv(tree, strategies, np.asarray(weights, float))
