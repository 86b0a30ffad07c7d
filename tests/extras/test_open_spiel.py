"""Exact figures beside those of OpenSpiel, of policies of random numbers."""

import numpy as np
import pytest

from selfplay.games import Game
from selfplay.games.solved.enumeration import enumerate_game, find_tree
from selfplay.games.solved.exact import nash_conv, payoffs
from tests.support.leduc import Leduc

pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
pytestmark = pytest.mark.extras
GOOFSPIEL = {"imp_info": True, "players": 2}
GAMES = {
    "kuhn_poker": {},
    "liars_dice": {"numdice": 1, "dice_sides": 3},
    "goofspiel": {**GOOFSPIEL, "num_cards": 4, "points_order": "descending"},  # both seats act at once
    "goofspiel(random)": {**GOOFSPIEL, "num_cards": 3, "points_order": "random"},
    "leduc_poker": {},
}


class Spiel(Game):
    """A game of OpenSpiel, played by its history."""

    max_steps = 200

    def __init__(self, name, params):
        self.name, self.params = name, params
        self.num_actions = self.game.num_distinct_actions()
        self.obs_width = 1 + self.game.information_state_tensor_size()

    @property
    def game(self):
        return pyspiel.load_game(self.name, self.params)

    @property
    def now(self):
        state = self.game.new_initial_state()
        for action in self.history:
            state.apply_actions(action) if isinstance(action, tuple) else state.apply_action(action)
        return state

    def chance(self):
        while (state := self.now).is_chance_node():
            outcomes = state.chance_outcomes()
            drawn = self.rng.choice(len(outcomes), p=[chance for _, chance in outcomes])
            self.history.append(int(outcomes[drawn][0]))

    def reset(self, seed):
        self.rng, self.history = np.random.default_rng(seed), []
        self.chance()

    def to_act(self):
        return (0, 1) if self.now.is_simultaneous_node() else (self.now.current_player(),)

    def observe(self, seat):
        return [seat, *self.now.information_state_tensor(seat)]

    def legal(self, seat):
        return np.isin(np.arange(self.num_actions), self.now.legal_actions(seat))

    def step(self, actions):
        state, before = self.now, self.now.returns()
        self.history.append(tuple(actions) if state.is_simultaneous_node() else actions[state.current_player()])
        self.chance()
        state = self.now
        return [late - early for early, late in zip(before, state.returns(), strict=True)], state.is_terminal(), False


def random_shares(tree):
    rng = np.random.default_rng(0)
    drawn = [rng.random(seat.legal.shape) * seat.legal for seat in tree.seats]
    return [each / each.sum(1, keepdims=True) for each in drawn]


def theirs_of(game, tree, shares, seen_by):
    """The same policy for OpenSpiel; ``seen_by`` gives what a seat of our game sees in a state of theirs."""
    from open_spiel.python.policy import TabularPolicy

    rows = [
        {seen.tobytes(): row for seen, row in zip(seat.obs, each, strict=True)}
        for seat, each in zip(tree.seats, shares, strict=True)
    ]
    table = {}
    for state in TabularPolicy(game).states:
        seat = state.current_player()
        row = rows[seat][np.float32(seen_by(state, seat)).tobytes()]
        table[state.information_state_string(seat)] = [(action, row[action]) for action in state.legal_actions()]
    return pyspiel.TabularPolicy(table)


@pytest.mark.parametrize("name", GAMES)
def test_nash_conv_and_payoffs_are_those_of_open_spiel(name):
    short, params = name.partition("(")[0], GAMES[name]
    game, tree = pyspiel.load_game(short, params), enumerate_game(lambda: Spiel(short, params))
    width, shares = game.information_state_tensor_size(), random_shares(tree)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)  # which puts numbers of its own before those of the game
    policy = theirs_of(game, tree, shares, lambda state, seat: [seat, *state.information_state_tensor(seat)[-width:]])
    own = tree.strategy(shares)[None]
    assert nash_conv(tree, own, np.ones(1)) == pytest.approx(pyspiel.nash_conv(game, policy), abs=1e-6)
    values = pyspiel.expected_returns(game.new_initial_state(), policy, -1, False)
    assert payoffs(tree, own)[0, 0] == pytest.approx(values, abs=1e-6)


def seen_in_leduc(state, seat):
    seen = np.array(state.information_state_tensor(seat))
    own, board = (seen[at : at + 6].reshape(3, 2).sum(1) for at in (2, 8))  # cards by rank, not by suit
    return np.concatenate([seen[:2], own, board, seen[14:30]])


def test_leduc_as_somebody_might_write_it_is_that_of_open_spiel():
    game, tree = pyspiel.load_game("leduc_poker"), enumerate_game(Leduc)
    shares = random_shares(tree)
    known = pyspiel.nash_conv(game, theirs_of(game, tree, shares, seen_in_leduc))
    assert nash_conv(tree, tree.strategy(shares)[None], np.ones(1)) == pytest.approx(known, abs=1e-6)


def test_kuhn_as_rules_is_that_of_open_spiel():
    game, tree = pyspiel.load_game("kuhn_poker"), find_tree("kuhn")
    uniform = pyspiel.UniformRandomPolicy(game)
    assert nash_conv(tree, tree.players["random"][None], np.ones(1)) == pytest.approx(
        pyspiel.nash_conv(game, uniform), abs=1e-6
    )
