"""Games of one's own, written down whole."""

import threading
from itertools import product

import numpy as np
import pytest

from selfplay.examples.tic_tac_toe import TicTacToe
from selfplay.games import Game
from selfplay.games.errors import EnumerationError, GameError
from selfplay.games.solved.enumeration import Limits, enumerate_game, find_tree
from selfplay.games.solved.exact import best_replies, nash_conv, payoffs
from tests.support.leduc import Leduc

ONE = np.ones(1)


@pytest.fixture(scope="module")
def leduc():
    return enumerate_game(Leduc)


def test_leduc_has_the_known_information_sets(leduc):
    assert [len(seat.obs) for seat in leduc.seats] == [144, 144]
    assert leduc.levels[0].end == 24  # deals of two cards and the board, of 720 orders of the deck


@pytest.mark.parametrize(
    ("player", "value"),
    [
        ("random", 4.747222222222222),
        ("caller", 2.9333333333333336),
        ("raiser", 4.733333333333333),
        ("mixer", 3.733333333333333),
    ],
)
def test_nash_conv_in_leduc_is_that_of_open_spiel(leduc, player, value):
    assert nash_conv(leduc, leduc.players[player][None], ONE) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("mine", "other", "values"),
    [
        ("random", "random", (-0.078125, 0.078125)),
        ("random", "raiser", (-2.5763888888888884, -1.2222222222222223)),
        ("random", "mixer", (-0.6766493055555554, -0.6630588107638891)),
        ("raiser", "mixer", (0.0, 0.0)),
    ],
)
def test_payoffs_in_leduc_are_those_of_open_spiel(leduc, mine, other, values):
    found = payoffs(leduc, np.stack([leduc.players[mine], leduc.players[other]]))
    assert (found[0, 1, 0], found[1, 0, 1]) == pytest.approx(values, abs=1e-9)


# ---------------------------------------------------------------- any game, against brute force
class Random(Game):
    """Cards, a choice of both at once, a weighted coin, and a choice of one seat, which does not see its card again."""

    num_actions, obs_width = 2, 4

    def __init__(self, number=0, zero_sum=True):
        rng = np.random.default_rng(number)
        self.paid = rng.integers(-3, 4, (2, 2, 2, 2, 2, 2, 2)).astype(float)
        if zero_sum:
            self.paid[..., 1] = -self.paid[..., 0]

    def reset(self, seed):
        rng = np.random.default_rng(seed)
        self.rng, self.cards = rng, rng.choice(2, size=2, p=[0.3, 0.7]).tolist()
        self.done, self.mover = (), None

    def to_act(self):
        return (0, 1) if self.mover is None else (self.mover,)

    def observe(self, seat):
        return [seat, -1, self.cards[seat], 0] if self.mover is None else [seat, self.mover, -1, 1]

    def step(self, actions):
        if self.mover is None:
            self.done = tuple(actions)
            self.mover = int(self.rng.random() < (0.2, 0.6)[actions[0] ^ actions[1]])
            return (1.0, -1.0), False, False
        return self.paid[(*self.cards, *self.done, self.mover, actions[self.mover])].tolist(), True, False


def brute_force(game, shares):
    """Values of the best replies to a policy, by trying all that remember everything, and of the policy itself."""

    def value(play):
        total = np.zeros(2)
        for cards in product(range(2), repeat=2):
            deal = np.prod([(0.3, 0.7)[card] for card in cards])
            for done in product(range(2), repeat=2):
                first = np.prod([play[s]((s, -1, cards[s], 0), ())[done[s]] for s in range(2)])
                for mover, last in product(range(2), repeat=2):
                    share = (0.2, 0.6)[done[0] ^ done[1]]
                    coin = share if mover else 1 - share
                    then = play[mover]((mover, mover, -1, 1), (cards[mover], done[mover]))[last]
                    total += deal * first * coin * then * (game.paid[(*cards, *done, mover, last)] + [1, -1])
        return total

    policy = [lambda seen, before: shares[seen]] * 2
    best = []
    for seat in range(2):
        sets = [((seat, -1, card, 0), ()) for card in range(2)]
        sets += [((seat, seat, -1, 1), before) for before in product(range(2), repeat=2)]
        found = []
        for actions in product(range(2), repeat=len(sets)):
            reply = dict(zip(sets, actions, strict=True))
            play = list(policy)
            play[seat] = lambda seen, before, reply=reply: np.eye(2)[reply[seen, before]]
            found.append(value(play)[seat])
        best.append(max(found))
    return best, value(policy)


@pytest.mark.parametrize("zero_sum", [True, False])
@pytest.mark.parametrize("number", range(3))
def test_best_replies_are_those_of_brute_force(number, zero_sum):
    tree, rng = enumerate_game(lambda: Random(number, zero_sum)), np.random.default_rng(number)
    shares = {}
    for seat in tree.seats:
        for seen in seat.obs:
            chance = rng.random()
            shares.setdefault(tuple(seen.tolist()), (chance, 1 - chance))
    own = tree.strategy([np.array([shares[tuple(seen.tolist())] for seen in seat.obs]) for seat in tree.seats])
    best, value = brute_force(Random(number, zero_sum), shares)
    assert best_replies(tree, own[None], ONE) == pytest.approx(best)
    assert payoffs(tree, own[None])[0, 0] == pytest.approx(value)
    assert nash_conv(tree, own[None], ONE) == pytest.approx(sum(best) - sum(value))


class Throws(Game):
    """Rock-paper-scissors twice; the throws of the first round are shown. An own reward counts more than winning."""

    num_actions, obs_width = 3, 3
    max_steps = 2
    players = {"copier": lambda game, seat, rng: game.shown[1 - seat] if game.shown else 0}  # noqa: RUF012

    def reset(self, seed):
        self.shown = ()

    def observe(self, seat):
        return [bool(self.shown), *self.shown] if self.shown else [0, 0, 0]

    def step(self, actions):
        won = ((actions[0] - actions[1] + 1) % 3 - 1) * (10.0 if self.shown else 1.0)
        self.shown = tuple(actions)
        return (won, -won), False, False


def test_both_seats_may_act_at_once_and_max_steps_ends_an_episode():
    tree = enumerate_game(Throws)
    assert nash_conv(tree, tree.players["random"][None], ONE) == pytest.approx(0)
    assert best_replies(tree, tree.players["copier"][None], ONE) == pytest.approx((11, 11))


def test_where_only_the_winner_counts_the_size_of_rewards_does_not():
    tree = enumerate_game(Throws, by_score=True)
    assert set(tree.payoff[:, 0]) == {-1.0, 0.0, 1.0}
    assert best_replies(tree, tree.players["copier"][None], ONE) == pytest.approx((1, 1))


class Parts(Game):
    """An action of two parts; the sum pays the first seat, and the second seat has no choice."""

    num_actions, obs_width, max_steps = (2, 3), 1, 1

    def reset(self, seed):
        pass

    def to_act(self):
        return (0,)

    def observe(self, seat):
        return [1.0]

    def legal(self, seat):
        return [1, 1, 1, 0, 1]

    def step(self, actions):
        won = float(actions[0][0] + actions[0][1])
        return (won, -won), True, False


def test_actions_of_several_parts():
    tree = enumerate_game(Parts)
    assert best_replies(tree, tree.players["random"][None], ONE) == pytest.approx((3.0, -1.5))


# ---------------------------------------------------------------- refused
class Normal(Throws):
    def reset(self, seed):
        self.shown = (np.random.default_rng(seed).normal(),)


class BySeed(Throws):
    def reset(self, seed):
        self.shown = (seed % 3, 0)


class OldRandom(Throws):
    def reset(self, seed):
        self.shown = (np.random.Generator(np.random.PCG64(seed)).integers(3), 0)


class Locked(Throws):
    def __init__(self):
        self.lock = threading.Lock()


class Forgets(Throws):
    """As environments of PettingZoo: a copy is made anew."""

    def __getstate__(self):
        return {"made": "anew"}

    def __setstate__(self, state):
        self.shown = None


@pytest.mark.parametrize(
    ("game", "why"),
    [
        (Forgets, "cannot be copied: a copy is in another state"),
        (Normal, r"normal\(\) of NumPy's generator has no list of outcomes"),
        (BySeed, r"in the episode of the seed \d+ seat [01] sees what no outcome of the draws gives"),
        (OldRandom, r"in the episode of the seed \d+ seat [01] sees what no outcome of the draws gives"),
        (Locked, "cannot be copied: TypeError"),
    ],
)
def test_a_game_whose_chance_is_not_known_is_refused(game, why):
    with pytest.raises(EnumerationError, match=why):
        enumerate_game(game)


def test_a_game_that_is_too_large_is_refused_with_the_size_reached():
    with pytest.raises(EnumerationError, match=r"more than [\d,]+ states were reached after [2-4] steps"):
        enumerate_game(TicTacToe, Limits(nodes=500))

    class Deck(Throws):
        def reset(self, seed):
            self.shown = tuple(np.random.default_rng(seed).choice(52, 4, replace=False))

    with pytest.raises(EnumerationError, match="more than 500 states were reached after 0 steps"):
        enumerate_game(Deck, Limits(nodes=500))
    with pytest.raises(EnumerationError, match=r"states were reached within 0 seconds after 0 steps"):
        enumerate_game(TicTacToe, Limits(seconds=0.0))


def test_a_game_that_fails_says_where():
    class Fails(Throws):
        def step(self, actions):
            raise ValueError("broken")

    with pytest.raises(GameError, match="step: ValueError: broken") as caught:
        enumerate_game(Fails)
    assert not isinstance(caught.value, EnumerationError)

    class Cheats(Throws):
        players = {"cheat": lambda game, seat, rng: 5}  # noqa: RUF012

    with pytest.raises(GameError, match=r"player cheat: \[5\] is not legal"):
        enumerate_game(Cheats)


def test_a_player_whose_chances_are_not_known_is_left_out():
    class Guesses(Throws):
        players = {"guesser": lambda game, seat, rng: int(rng.normal() > 0)}  # noqa: RUF012

    tree = enumerate_game(Guesses)
    assert [*tree.players] == ["random"]
    assert "normal" in tree.left_out["guesser"]


def test_a_game_that_is_stepped_in_blocks_is_refused():
    with pytest.raises(EnumerationError, match="mock steps many games at once"):
        find_tree("mock")
