"""Best replies against players whose exploitability is known."""

import numpy as np
import pytest

from selfplay.games.solved import SOLVED
from selfplay.games.solved.enumeration import find_tree
from selfplay.games.solved.exact import best_replies, mean_length, nash_conv, payoffs
from selfplay.games.solved.kuhn import BET, PASS, Hand, Kuhn
from selfplay.games.solved.tree import SeatTree

ONE = np.ones(1)
NASH = {"rps": (0.25, 0.5, 0.25), "pennies": (0.5, 0.5)}


def uniform(name):
    return find_tree(name).players["random"][None]


def everywhere(name, shares):
    """The same mixture of actions in every information set and seat."""
    one, other = (np.broadcast_to(np.asarray(shares, float), seat.legal.shape) for seat in find_tree(name).seats)
    return find_tree(name).strategy((one, other))[None]


def pure(name):
    """Every action, as a strategy that always takes it."""
    return np.concatenate([everywhere(name, row) for row in np.eye(find_tree(name).seats[0].legal.shape[1])])


def kuhn_equilibrium(alpha):
    """Kuhn's own solution: bluff with the jack at ``alpha``, bet the king three times as often."""
    betting = {
        "": (alpha, 0.0, 3 * alpha),
        "pb": (0.0, alpha + 1 / 3, 1.0),
        "p": (1 / 3, 0.0, 1.0),
        "b": (0.0, 1 / 3, 1.0),
    }
    tree = find_tree("kuhn")
    shares = [np.zeros(seat.legal.shape) for seat in tree.seats]
    for done, bets in betting.items():
        for card, bet in enumerate(bets):
            seat = len(done) % 2
            seen = np.float32(Kuhn().observe(Hand((card, card), done), seat))
            shares[seat][np.ix_((tree.seats[seat].obs == seen).all(-1), [PASS, BET])] = 1 - bet, bet
    return tree.strategy(shares)[None]


@pytest.mark.parametrize(
    ("name", "value"), [("kuhn", 11 / 12), ("leduc", 4.747222), ("rps", 2 / 3), ("pennies", 0.0), ("mixup", 5 / 9)]
)
def test_uniform_play(name, value):
    assert nash_conv(find_tree(name), uniform(name), ONE) == pytest.approx(value, abs=1e-6)


def test_kuhn_is_that_of_open_spiel():
    tree = find_tree("kuhn")
    found = payoffs(tree, np.stack([tree.players["always_bet"], tree.players["random"]]))
    assert (found[0, 1, 0], found[1, 0, 1]) == pytest.approx((0.5, 0.25))
    assert nash_conv(tree, tree.players["always_bet"][None], ONE) == pytest.approx(2 / 3)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_equilibria_of_kuhn_cannot_be_exploited(alpha):
    strategy = kuhn_equilibrium(alpha)
    assert nash_conv(find_tree("kuhn"), strategy, ONE) == pytest.approx(0.0, abs=1e-9)
    assert payoffs(find_tree("kuhn"), strategy)[0, 0] == pytest.approx([-1 / 18, 1 / 18])
    assert best_replies(find_tree("kuhn"), strategy, ONE) == pytest.approx((-1 / 18, 1 / 18))


@pytest.mark.parametrize(("name", "steps"), [("kuhn", 2.25), ("rps", 1.0), ("pennies", 1.0)])
def test_the_length_of_random_play(name, steps):
    assert mean_length(find_tree(name), uniform(name)[0]) == pytest.approx(steps)


def test_a_worse_kuhn_player_is_exploited():
    assert nash_conv(find_tree("kuhn"), kuhn_equilibrium(0.5 / 3) * 0.5 + uniform("kuhn") * 0.5, ONE) > 0.1


@pytest.mark.parametrize("name", NASH)
def test_equilibria_of_matrices(name):
    assert nash_conv(find_tree(name), everywhere(name, NASH[name]), ONE) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", NASH)
def test_a_mixture_may_be_in_equilibrium_though_no_component_is(name):
    each = pure(name)
    assert nash_conv(find_tree(name), each, np.array(NASH[name])) == pytest.approx(0.0, abs=1e-9)
    assert min(nash_conv(find_tree(name), one[None], ONE) for one in each) > 0.9


def test_who_replies_learns_from_the_play_whom_it_met():
    """Always the same choice, drawn once, is found out after one exchange; the same shares drawn anew are not."""
    shares = np.full(3, 1 / 3)
    once = nash_conv(find_tree("mixup"), pure("mixup"), shares)
    anew = nash_conv(find_tree("mixup"), everywhere("mixup", shares), ONE)
    assert once > anew + 0.1


def test_who_replies_sees_no_more_than_its_seat():
    """In Kuhn a reply that saw both cards would win more than one that sees its own."""
    assert nash_conv(find_tree("kuhn"), kuhn_equilibrium(0.0), ONE) < 1e-9


@pytest.mark.parametrize("name", SOLVED)
def test_payoffs_of_two_strategies_are_what_playing_gives(name):
    both = np.concatenate([uniform(name), uniform(name)])
    assert np.ptp(payoffs(find_tree(name), both), (0, 1)).tolist() == [0.0, 0.0]
    value = 0.125 if name == "kuhn" else 0.0
    assert payoffs(find_tree(name), uniform(name))[0, 0] == pytest.approx([value, -value], abs=1e-6)


def test_a_seat_has_an_information_set_for_each_card_and_what_was_done():
    assert [len(seat.obs) for seat in find_tree("kuhn").seats] == [6, 6]


def test_shares_of_a_policy_are_read_by_information_set_and_action():
    seat = SeatTree(
        obs=np.zeros((2, 1), np.float32),
        legal=np.ones((2, 4), bool),
        before=np.array([0, 1]),
        first=np.array([1, 3]),
        info=np.array([0, 0, 1, 1]),
        logits=np.array([[0, 2], [0, 3], [1, 2], [1, 3]]),  # two parts of two values; the first part is forced
        slices=((0, 1), (1, 2)),
    )
    plan = seat.plan(np.float32([[1, 0, 0.25, 0.75], [0, 1, 0.5, 0.5]]))
    np.testing.assert_allclose(plan, [1, 0.25, 0.75, 0.5, 0.5])
