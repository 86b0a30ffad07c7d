"""Kuhn poker as text: a view of ``selfplay.games.solved.kuhn``, which has the rules.

A reply is `[pass]` or `[bet]`. Rewards are winnings in antes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, final

import numpy as np

from selfplay.dialogue.replies import ERROR, is_refusal, parse_reply
from selfplay.dialogue.text_dialogue import TextDialogue
from selfplay.dialogue.text_tree import TextTree, text_tree
from selfplay.games.errors import GameError
from selfplay.games.solved.kuhn import BET, BETS, CARDS, MOVES, PASS, WAIT, Hand, Kuhn
from selfplay.games.text_game import TextGame

if TYPE_CHECKING:
    from selfplay.dialogue.contract import JsonObject

FOLD, SHOWDOWN = "fold", "showdown"  # ends by the rules
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
class KuhnText(TextGame):
    """One game; ``start`` makes it for the trainer."""

    tags = KINDS

    def __init__(self, rules: KuhnRules = KuhnRules()) -> None:
        self._rules = rules

    def reset(self, seed: int) -> None:
        self.begin(deal(self._rules, [seed])[0])

    def begin(self, hand: Hand) -> None:
        self.hand, self.mover, self._moved = hand, 0, ""

    def rules(self, seat: int) -> str:
        return "" if self._rules.told == "nothing" else _system(self._rules)

    def observe(self, seat: int) -> str:
        opening = [_opening(self._rules, self.hand.cards[seat])] if len(self.hand.done) < 2 else []
        moved = [_as_read(self._rules, self._moved)] if self._moved and seat == self.mover else []
        return "\n".join(opening + moved)

    def legal(self, seat: int) -> list[str]:
        return [f"[{KUHN.actions[action]}]" for action in KUHN.legal(self.hand, seat)]

    def act(self, text: str) -> str | tuple[float, float, str] | None:
        kind = parse_reply(text, KINDS).kind
        if not kind:
            return _NO_MOVE
        actions = [WAIT, WAIT]
        actions[self.mover] = KUHN.actions.index(kind)
        self.hand, self._moved = KUHN.after(self.hand, (actions[0], actions[1])), kind
        payoff = KUHN.payoff(self.hand)
        if payoff is None:
            self.mover = 1 - self.mover
            return None
        swapped = self.hand._replace(cards=self.hand.cards[::-1])  # a fold does not depend on the cards
        return payoff, -payoff, FOLD if KUHN.payoff(swapped) == payoff else SHOWDOWN


def start(rules: KuhnRules, hand: Hand) -> TextDialogue:
    game = KuhnText(rules)
    game.begin(hand)
    return TextDialogue(
        game, "kuhn_text", retries=rules.retries, error_penalty=rules.error_penalty, shared=False,
        record=partial(_record, hand),
    )  # fmt: skip


def _record(hand: Hand, game: TextDialogue) -> JsonObject:
    log = [{"type": turn.kind, "player": turn.seat} for turn in game.turns if turn.error is None]
    return {"cards": [CARDS[card] for card in hand.cards], "action_log": log}


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


@cache
def solved(rules: KuhnRules) -> TextTree:
    return text_tree(partial(KuhnText, rules), max_turns=len(max(MOVES, key=len)) + 1, told=rules.told != "nothing")
