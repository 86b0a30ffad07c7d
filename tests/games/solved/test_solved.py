"""Rules of the small games, and the block that plays them."""

import numpy as np
import pytest

from selfplay.games.check import legal_actions
from selfplay.games.errors import ActionError, ContractError, GameError
from selfplay.games.registry import find_game, make_game
from selfplay.games.solved import SOLVED, kuhn, matrix, mixup
from selfplay.games.solved.enumeration import find_tree
from selfplay.games.solved.exact import nash_conv
from selfplay.games.solved.table import enumerate_states

SEEDS = np.arange(5, dtype=np.uint64)


def play(game, *steps):
    """Rewards of seat 0 after each step; the game has one block row."""
    return [float(game.step(np.array([[[a], [b]]], np.int8)).reward[0, 0]) for a, b in steps]


@pytest.mark.parametrize(
    ("rules", "pays"),
    [
        (matrix.ROCK_PAPER_SCISSORS, {(0, 1): -1, (0, 2): 2, (1, 0): 1, (1, 1): 0, (2, 0): -2}),
        (matrix.MATCHING_PENNIES, {(0, 0): 1, (0, 1): -1, (1, 0): -1, (1, 1): 1}),
    ],
)
def test_matrices_pay_the_rows_player(rules, pays):
    for pair, pay in pays.items():
        assert rules.payoff(rules.after(None, pair)) == pay


def test_roles_are_shown_where_they_differ_only():
    assert matrix.ROCK_PAPER_SCISSORS.observe(None, 0) == matrix.ROCK_PAPER_SCISSORS.observe(None, 1)
    assert matrix.MATCHING_PENNIES.observe(None, 0) != matrix.MATCHING_PENNIES.observe(None, 1)


@pytest.mark.parametrize(
    ("done", "higher", "lower"),
    [("pp", 1, -1), ("bp", 1, 1), ("pbp", -1, -1), ("bb", 2, -2), ("pbb", 2, -2)],
)
def test_kuhn_pays_antes_bets_and_folds(done, higher, lower):
    rules = kuhn.Kuhn()
    assert rules.payoff(kuhn.Hand((2, 0), done)) == higher
    assert rules.payoff(kuhn.Hand((0, 1), done)) == lower


def test_in_kuhn_seats_take_turns_and_see_their_own_card():
    rules, start = kuhn.Kuhn(), kuhn.Hand((0, 2), "")
    assert (rules.legal(start, 0), rules.legal(start, 1)) == ((kuhn.PASS, kuhn.BET), (kuhn.WAIT,))
    passed = rules.after(start, (kuhn.PASS, kuhn.WAIT))
    assert (rules.legal(passed, 0), rules.legal(passed, 1)) == ((kuhn.WAIT,), (kuhn.PASS, kuhn.BET))
    bet = rules.after(passed, (kuhn.WAIT, kuhn.BET))
    assert (bet.done, rules.legal(bet, 0)) == ("pb", (kuhn.PASS, kuhn.BET))
    assert rules.observe(start, 0) == rules.observe(kuhn.Hand((0, 1), ""), 0)  # the other card makes no difference
    assert rules.observe(start, 0) != rules.observe(kuhn.Hand((1, 2), ""), 0)
    assert len({tuple(rules.observe(hand, s)) for hand in rules.starts() for s in (0, 1)}) == 6


def test_a_mix_up_is_won_by_the_ring_with_damage_of_its_own():
    rules = mixup.MixUp()
    (start,) = rules.starts()
    for pair, points in {(0, 2): (4, 1), (2, 1): (4, 2), (1, 0): (4, 3), (2, 0): (1, 4), (0, 0): (4, 4)}.items():
        assert rules.after(start, pair).points == points
    assert rules.payoff(start) is None
    assert rules.payoff(mixup.Fight((4, 0), 1)) == 1.0  # nothing left: over early
    assert rules.payoff(mixup.Fight((1, 3), 0)) == -0.5
    ahead, behind = (rules.observe(mixup.Fight((4, 1), 1), seat) for seat in (0, 1))
    assert ahead != behind
    assert behind == rules.observe(mixup.Fight((1, 4), 1), 0)  # a view of its own, whichever the seat


@pytest.mark.parametrize("name", SOLVED)
def test_rewards_scores_and_counts_agree(name):
    game = make_game(name, num_games=5)
    actions = legal_actions(game, np.random.default_rng(0), SEEDS, 40)
    game.reset(SEEDS)
    for step in actions:
        batch = game.step(step)
        assert not batch.truncated.any()
        assert not batch.reward[~batch.terminated].any()
        np.testing.assert_array_equal(batch.reward[:, 0], -batch.reward[:, 1])
        np.testing.assert_array_equal(batch.score, (np.sign(batch.reward) + 1) / 2)
        np.testing.assert_array_equal(batch.stats["reward_payoff"][batch.ended], batch.reward[batch.ended])


def test_a_hand_of_kuhn_from_deal_to_showdown():
    game = make_game("kuhn", num_games=1)
    game.reset(SEEDS[:1])
    assert game.legal[0].tolist() == [[False, True, True], [True, False, False]]
    assert abs(play(game, (kuhn.BET, kuhn.WAIT), (kuhn.WAIT, kuhn.BET))[-1]) == 2
    assert play(game, (kuhn.BET, kuhn.WAIT), (kuhn.WAIT, kuhn.PASS)) == [0, 1]


def test_all_deals_come_up_and_follow_from_the_seed():
    game = make_game("kuhn", num_games=600)
    first = game.reset(np.arange(600, dtype=np.uint64)).copy()
    _, counts = np.unique(first.reshape(600, -1), axis=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 60
    np.testing.assert_array_equal(game.reset(np.arange(600, dtype=np.uint64)), first)


def test_what_is_not_legal_is_refused_by_name():
    game = make_game("kuhn", num_games=2)
    game.reset(SEEDS[:2])
    wrong = np.array([[[1], [0]], [[1], [2]]], np.int8)
    with pytest.raises(ActionError, match=r"game 1, seat 1: action 2 is not one .* \(valid: 0 wait\)"):
        game.step(wrong)
    with pytest.raises(GameError, match="another block"):
        make_game("kuhn", num_games=3).restore(game.snapshot())
    with pytest.raises(GameError, match="at least 1"):
        make_game("rps", num_games=0)


@pytest.mark.parametrize("name", SOLVED)
def test_the_entry_says_what_the_game_is(name):
    entry, game = find_game(name), make_game(name, num_games=1)
    assert (entry.obs_width, entry.actions) == (game.obs_width, game.actions)
    assert entry.ladder == game.bot_names == tuple(entry.rated.players)
    assert entry.starts_at_once()


def test_rules_that_come_back_to_a_state_are_refused():
    class Circle:
        actions = ("on",)

        def starts(self):
            return (0,)

        def legal(self, state, seat):
            return (0,)

        def after(self, state, actions):
            return 1 - state

        def payoff(self, state):
            return None

        def observe(self, state, seat):
            return (float(state),)

    with pytest.raises(ContractError, match="count steps"):
        enumerate_states(Circle())


def test_the_equilibrium_of_kuhn_is_one():
    tree = find_tree("kuhn")
    assert nash_conv(tree, tree.players["equilibrium"][None], np.ones(1)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", SOLVED)
def test_scripted_players_play_legal_actions_and_depend_on_their_game_alone(name):
    def payoffs(seeds, players):
        game = make_game(name, num_games=len(seeds))
        game.bots[:] = players
        game.reset(seeds)
        nothing = np.zeros((len(seeds), 2, 1), np.int8)
        return np.stack([game.step(nothing).reward for _ in range(12)])

    assert make_game(name, num_games=1).bot_names == tuple(find_game(name).rated.players)
    for first in range(len(find_game(name).rated.players)):
        together = payoffs(SEEDS, (first, 0))
        np.testing.assert_array_equal(together[:, 2:3], payoffs(SEEDS[2:3], (first, 0)))
