"""Best replies against players whose exploitability is known."""

from itertools import product

import numpy as np
import pytest

from selfplay.games.registry import find_game
from selfplay.games.solved import SOLVED
from selfplay.games.solved.exact import mean_length, nash_conv, payoffs
from selfplay.games.solved.kuhn import BET, PASS, Hand, Kuhn
from selfplay.games.solved.mixup import MixUp

ONE = np.ones(1)
NASH = {"rps": (0.25, 0.5, 0.25), "pennies": (0.5, 0.5)}


def table(name):
    return find_game(name).table()


def uniform(name):
    legal = table(name).legal
    return (legal / legal.sum(-1, keepdims=True))[None]


def everywhere(name, shares):
    """The same mixture of actions in every state and seat."""
    return np.broadcast_to(np.asarray(shares, float), table(name).legal.shape)[None]


def pure(name):
    """Every action, as a strategy that always takes it."""
    return np.concatenate([everywhere(name, row) for row in np.eye(len(table(name).actions))])


def numbers(rules):
    """States in the order of the table."""
    states = list(rules.starts())
    for state in states:
        if rules.payoff(state) is None:
            pairs = product(rules.legal(state, 0), rules.legal(state, 1))
            states += [s for s in dict.fromkeys(rules.after(state, pair) for pair in pairs) if s not in states]
    return {state: number for number, state in enumerate(states)}


def kuhn_equilibrium(alpha):
    """Kuhn's own solution: bluff with the jack at ``alpha``, bet the king three times as often."""
    betting = {
        "": (alpha, 0.0, 3 * alpha),
        "pb": (0.0, alpha + 1 / 3, 1.0),
        "p": (1 / 3, 0.0, 1.0),
        "b": (0.0, 1 / 3, 1.0),
    }
    strategy = uniform("kuhn").copy()
    for state, number in numbers(Kuhn()).items():
        if state.done in betting:
            seat = len(state.done) % 2
            bet = betting[state.done][state.cards[seat]]
            strategy[0, number, seat, [PASS, BET]] = 1 - bet, bet
    return strategy


@pytest.mark.parametrize(("name", "value"), [("kuhn", 11 / 12), ("rps", 2 / 3), ("pennies", 0.0), ("mixup", 5 / 9)])
def test_uniform_play(name, value):
    assert nash_conv(table(name), uniform(name), ONE) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_equilibria_of_kuhn_cannot_be_exploited(alpha):
    strategy = kuhn_equilibrium(alpha)
    assert nash_conv(table("kuhn"), strategy, ONE) == pytest.approx(0.0, abs=1e-9)
    assert payoffs(table("kuhn"), strategy)[0, 0] == pytest.approx(-1 / 18)


@pytest.mark.parametrize(("name", "steps"), [("kuhn", 2.25), ("rps", 1.0), ("pennies", 1.0)])
def test_the_length_of_random_play(name, steps):
    assert mean_length(table(name), uniform(name)[0]) == pytest.approx(steps)


def test_a_worse_kuhn_player_is_exploited():
    assert nash_conv(table("kuhn"), kuhn_equilibrium(0.5 / 3) * 0.5 + uniform("kuhn") * 0.5, ONE) > 0.1


@pytest.mark.parametrize("name", NASH)
def test_equilibria_of_matrices(name):
    assert nash_conv(table(name), everywhere(name, NASH[name]), ONE) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", NASH)
def test_a_mixture_may_be_in_equilibrium_though_no_component_is(name):
    each = pure(name)
    assert nash_conv(table(name), each, np.array(NASH[name])) == pytest.approx(0.0, abs=1e-9)
    assert min(nash_conv(table(name), one[None], ONE) for one in each) > 0.9


def test_who_replies_learns_from_the_play_whom_it_met():
    """Always the same choice, drawn once, is found out after one exchange; the same shares drawn anew are not."""
    shares = np.full(3, 1 / 3)
    once = nash_conv(table("mixup"), pure("mixup"), shares)
    anew = nash_conv(table("mixup"), everywhere("mixup", shares), ONE)
    assert once > anew + 0.1


def test_who_replies_sees_no_more_than_its_seat():
    """In Kuhn a reply that saw both cards would win more than one that sees its own."""
    assert nash_conv(table("kuhn"), kuhn_equilibrium(0.0), ONE) < 1e-9
    state = numbers(Kuhn())[Hand((0, 2), "")]
    assert table("kuhn").obs[state, 0].tolist() == Kuhn().observe(Hand((0, 1), ""), 0)


@pytest.mark.parametrize("name", SOLVED)
def test_payoffs_of_two_strategies_are_what_playing_gives(name):
    both = np.concatenate([uniform(name), uniform(name)])
    assert np.ptp(payoffs(table(name), both)) == 0.0
    assert payoffs(table(name), uniform(name))[0, 0] == pytest.approx(0.125 if name == "kuhn" else 0.0, abs=1e-6)


def test_the_table_is_the_rules():
    rules = MixUp()
    for state, number in numbers(rules).items():
        assert table("mixup").over[number] == (rules.payoff(state) is not None)
        assert table("mixup").payoff[number] == pytest.approx(rules.payoff(state) or 0.0)
