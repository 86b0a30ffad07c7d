"""What division by a group's standard deviation does where cards are hidden, on Kuhn poker without any sampling.

In an equilibrium a seat that mixes two actions is indifferent between them: the gradient of what it wins is 0. A group
is the games of one deal, and here it holds every course of the deal as often as the equilibrium plays it, so that a
group's mean and deviation are exact, and so is the sum of advantage times gradient of log-probability.
"""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from selfplay.games.solved.enumeration import find_tree
from selfplay.games.solved.exact import nash_conv
from selfplay.games.solved.kuhn import BET, MOVES, PASS, Hand, Kuhn
from selfplay.learner.advantages import group_advantages

GAMES = 18  # of a deal: as many as make every course of it a whole number of games
THIRD, HALF = Fraction(1, 3), Fraction(1, 2)
BETS = {  # how often each seat bets, by its card and what was done: the equilibrium with a = 1/6
    (0, ""): Fraction(1, 6), (1, ""): Fraction(0), (2, ""): HALF,
    (0, "pb"): Fraction(0), (1, "pb"): HALF, (2, "pb"): Fraction(1),
    (0, "p"): THIRD, (1, "p"): Fraction(0), (2, "p"): Fraction(1),
    (0, "b"): Fraction(0), (1, "b"): THIRD, (2, "b"): Fraction(1),
}  # fmt: skip
MIXED = {spot for spot, chance in BETS.items() if 0 < chance < 1}


def courses(hand, chance=Fraction(1), taken=()):
    """(chance, payoff to seat 0, ((seat, card, done, bet), ...)) of all that can follow."""
    payoff = Kuhn().payoff(hand)
    if payoff is not None:
        return [(chance, payoff, taken)]
    seat = MOVES[hand.done]
    bets = BETS[hand.cards[seat], hand.done]
    found = []
    for action, likely in ((PASS, 1 - bets), (BET, bets)):
        if likely:
            pair = (action, 0) if seat == 0 else (0, action)
            decision = (seat, hand.cards[seat], hand.done, action == BET)
            found += courses(Kuhn().after(hand, pair), chance * likely, (*taken, decision))
    return found


def pull(kind):
    """Sum over all deals of advantage times gradient of log-probability, by spot: how an update moves its logit."""
    total = dict.fromkeys(MIXED, 0.0)
    for cards in permutations(range(3), 2):
        games = []
        for chance, payoff, taken in courses(Hand(cards, "")):
            count = chance * GAMES
            assert count.denominator == 1
            games += [(payoff, taken)] * int(count)
        assert len(games) == GAMES
        for seat in range(2):
            rewards = np.array([payoff if seat == 0 else -payoff for payoff, _ in games])
            for advantage, (_, taken) in zip(group_advantages(rewards, kind), games, strict=True):
                for mover, card, done, bet in taken:
                    if mover == seat and (card, done) in MIXED:
                        total[card, done] += advantage * (bet - float(BETS[card, done])) / (6 * GAMES)
    return total


def test_it_is_an_equilibrium():
    tree = find_tree("kuhn")
    shares = [np.zeros(seat.legal.shape) for seat in tree.seats]
    for hand in all_hands():
        if (seat := MOVES.get(hand.done)) is not None:
            bet = float(BETS[hand.cards[seat], hand.done])
            seen = (tree.seats[seat].obs == np.float32(Kuhn().observe(hand, seat))).all(-1)
            shares[seat][np.ix_(seen, [PASS, BET])] = 1 - bet, bet
    assert nash_conv(tree, tree.strategy(shares)[None], np.ones(1)) == pytest.approx(0, abs=1e-9)


def all_hands():
    """Every hand that can be reached."""
    hands = list(Kuhn().starts())
    for hand in hands:  # grows meanwhile
        if Kuhn().payoff(hand) is None:
            seat = MOVES[hand.done]
            hands += [Kuhn().after(hand, (action, 0) if seat == 0 else (0, action)) for action in (PASS, BET)]
    return hands


@pytest.mark.parametrize("kind", ["dr_grpo", "rloo"])
def test_differences_leave_an_equilibrium_alone(kind):
    assert list(pull(kind).values()) == pytest.approx([0.0] * len(MIXED), abs=1e-12)


def test_division_by_the_deviation_leads_away_from_an_equilibrium():
    """Deals of small stakes count for more: bluffs and the queen's calls get rarer."""
    found = pull("grpo")
    jack, queen = 0, 1
    assert all(found[spot] < -0.02 for spot in ((jack, ""), (jack, "p"), (queen, "b"), (queen, "pb")))
