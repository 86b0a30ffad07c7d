"""A ``TextGame`` written down whole: its information sets as texts, and the exact NashConv of strategies for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import numpy as np

from selfplay.dialogue.contract import InformationSet
from selfplay.games.errors import EnumerationError, GameError
from selfplay.games.game import Game
from selfplay.games.solved import exact
from selfplay.games.solved.enumeration import Limits, enumerate_game

if TYPE_CHECKING:
    from selfplay.dialogue.contract import Chances
    from selfplay.games.game import Action
    from selfplay.games.solved.tree import GameTree
    from selfplay.games.text_game import TextGame

_Text = tuple[str, tuple[str, ...]]  # that a seat reads, and its legal replies
LIMITS: Final = Limits(nodes=20_000, seconds=10.0)
MOST_REPLIES: Final = 256  # legal at once


@dataclass(frozen=True, slots=True)
class TextTree:
    """A game of which everything is known."""

    information_sets: tuple[InformationSet, ...]  # by the step in which they are first met, then by seat
    tree: GameTree
    _places: tuple[tuple[int, int], ...]  # seat, and number there, of each information set

    def nash_conv(self, players: Sequence[Chances], weights: Sequence[float]) -> float:
        """NashConv of a mixture of strategies, see ``selfplay.games.solved.exact``.

        Args:
            players: For each strategy and each of ``information_sets``, the probabilities of its ``replies``.
            weights: Of the strategies.

        Raises:
            GameError: these are no probabilities.
        """
        strategies = np.stack([self.strategy(chances) for chances in players])
        return exact.nash_conv(self.tree, strategies, np.asarray(weights, float))

    def strategy(self, chances: Chances) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A strategy in the form of ``selfplay.games.solved.exact``, [2, E]; arguments and errors as above."""
        shares = np.zeros(self.tree.seats[0].legal.shape), np.zeros(self.tree.seats[1].legal.shape)
        for each, (seat, number), given in zip(self.information_sets, self._places, chances, strict=True):
            chance = np.asarray(given, float)
            if chance.shape != (len(each.replies),) or not (chance >= 0).all() or abs(chance.sum() - 1) > 1e-6:
                raise GameError(f"{each.texts} has no probabilities of {', '.join(each.replies)}")
            shares[seat][number, : len(chance)] = chance
        return self.tree.strategy(shares)


def text_tree(make: Callable[[], TextGame], max_turns: int, *, told: bool, limits: Limits = LIMITS) -> TextTree:
    """The tree of a game that lists its legal replies.

    Args:
        make: Makes the game.
        max_turns: Turns after which it ends with rewards 0.
        told: Whether the seats read the rules.
        limits: Of the search.

    Raises:
        EnumerationError: it is too large, or its chance is not known.
        GameError: it fails.
    """
    kind: Any = type("Numbered", (_Numbered,), {"__module__": make().__module__, "texts": [], "numbers": {}})
    kind.max_steps = max_turns
    tree = enumerate_game(lambda: kind(make()), limits)
    order = sorted(
        (int(text), seat, number) for seat in range(2) for number, (text,) in enumerate(tree.seats[seat].obs)
    )  # texts are numbered as they are first met
    game = make()
    game.reset(0)
    rules = [game.rules(seat) if told else "" for seat in range(2)]
    found = [
        InformationSet(seat, rules[seat], _read(tree, kind.texts, seat, number), kind.texts[text][1])
        for text, seat, number in order
    ]
    return TextTree(tuple(found), tree, tuple((seat, number) for _, seat, number in order))


def _read(tree: GameTree, texts: Sequence[_Text], seat: int, number: int) -> tuple[str, ...]:
    """What a seat has read and written at an information set, an observation first and last."""
    own = tree.seats[seat]
    text, _ = texts[int(own.obs[number, 0])]
    sequence = int(own.before[number])
    if not sequence:
        return (text,)
    before, reply = int(own.info[sequence - 1]), int(own.logits[sequence - 1, 0])
    _, legal = texts[int(own.obs[before, 0])]
    return *_read(tree, texts, seat, before), legal[reply], text


class _Numbered(Game):
    """A text game as a ``Game``: an observation is the number of a text with its legal replies, an action a reply."""

    num_actions = MOST_REPLIES
    obs_width = 1
    texts: ClassVar[list[_Text]]
    numbers: ClassVar[dict[_Text, int]]

    def __init__(self, game: TextGame) -> None:
        self.game = game

    def reset(self, seed: int) -> None:
        self.game.reset(seed)

    def to_act(self) -> Sequence[int]:
        return (self.game.mover,)

    def observe(self, seat: int) -> tuple[int]:
        text = self.game.observe(seat), self._legal()
        if text not in self.numbers:
            self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return (self.numbers[text],)

    def legal(self, seat: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.arange(MOST_REPLIES) < len(self._legal())

    def _legal(self) -> tuple[str, ...]:
        replies = tuple(self.game.legal(self.game.mover) or ())
        if not 0 < len(replies) <= MOST_REPLIES:
            raise EnumerationError(f"{len(replies)} replies are legal; 1 to {MOST_REPLIES} are possible")
        return replies

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        reply = self._legal()[cast("int", actions[self.game.mover])]
        result = self.game.act(reply)
        if isinstance(result, str):
            raise GameError(f"legal lists {reply!r}, which act refuses: {result}")
        return ((0.0, 0.0), False, False) if result is None else (cast("Any", result[:2]), True, False)
