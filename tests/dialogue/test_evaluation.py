from functools import partial

import numpy as np
import pytest

from selfplay.dialogue.contract import FAILED
from selfplay.dialogue.evaluation import evaluate, gain, held_out
from selfplay.dialogue.find import find_dialogue
from selfplay.games.solved.exact import payoffs
from selfplay.games.solved.kuhn import MOVES
from selfplay_dialogue.kuhn import PLAYERS
from tests.dialogue.games.test_kuhn import card_of, done_at

GAME = find_dialogue("matching")
RULES = GAME.configure(True, {})
POKER = find_dialogue("kuhn_text")


class Raises:
    """A player that raises in every other game."""

    def __init__(self, seed):
        self.seed, self.inner = seed, GAME.players["teacher"](RULES, seed)

    def reply(self, observation):
        if self.seed % 2:
            raise RuntimeError("no idea")
        return self.inner.reply(observation)


def test_a_game_that_raises_counts_as_failed_in_its_place():
    """Rewards stay in the order of the states, so that players can be compared state by state."""
    seeds = held_out(32)
    whole = evaluate(GAME, RULES, lambda seed: GAME.players["teacher"](RULES, seed), seeds)
    broken = evaluate(GAME, RULES, Raises, seeds)
    assert len(broken.rewards) == len(whole.rewards) == 32
    lost = broken.endings[FAILED]
    assert 0 < lost < 32
    assert (broken.rewards == 0).sum() == lost
    np.testing.assert_array_equal(broken.rewards[broken.rewards > 0], whole.rewards[broken.rewards > 0])
    assert broken.failed.sum() == lost


def test_the_judged_states_are_the_same_for_every_run():
    assert held_out(3) == held_out(5)[:3]


def test_a_gain_has_an_interval_around_it():
    rng = np.random.default_rng(0)
    before = rng.random(400)
    found = gain(before + 0.1 + 0.01 * rng.normal(size=400), before)
    assert abs(found["gain"] - 0.1) < found["interval"] * 2
    assert found["interval"] < 0.002
    assert gain(np.ones(1), np.ones(1))["gain"] is None


class Passes:
    """A player of poker that never bets, and so loses every hand in which it is bet into."""

    def __init__(self, seed):
        pass

    def reply(self, observation):
        return "[pass]"


def expected(mine, other):
    """What a player of poker wins of another on average, in seat 0 and in seat 1."""
    solved = POKER.exact(POKER.configure(False, {}))
    places = [(done_at(each), card_of(each)) for each in solved.information_sets]
    chances = [[(1 - bets[done][card], bets[done][card]) for done, card in places] for bets in (mine, other)]
    wins = payoffs(solved.tree, np.stack([solved.strategy(each) for each in chances]))
    return wins[0, 1, 0], wins[1, 0, 1]


def test_a_player_of_poker_is_not_judged_by_what_it_wins_of_itself():
    """Or each is worth what the deals are worth to seat 0: one that never bets no less than an equilibrium."""
    rules, seeds = POKER.configure(True, {}), held_out(400)
    best, worst = (
        evaluate(POKER, rules, make, seeds) for make in (partial(POKER.players["equilibrium"], rules), Passes)
    )
    assert worst.rewards.mean() < best.rewards.mean() - 0.1
    never = dict.fromkeys(MOVES, (0.0, 0.0, 0.0))
    for name, bets in PLAYERS.items():
        assert worst.against[name] == pytest.approx(expected(never, bets), abs=0.15)
        assert best.against[name] == pytest.approx(expected(PLAYERS["equilibrium"], bets), abs=0.15)
    assert worst.document["reward"] == worst.document["against"]["equilibrium"]["reward"]
    assert set(worst.endings) == {"fold", "showdown"}
    assert sum(worst.endings.values()) == 400 * 6


def test_a_seat_that_is_worth_less_makes_no_player_worse():
    rules = POKER.configure(True, {})
    found = evaluate(POKER, rules, partial(POKER.players["honest"], rules), held_out(100))
    first, second = found.against["honest"]  # it draws no luck
    assert first == -second != 0
    assert found.document["against"]["honest"] == {"reward": 0.0, "seat_0": round(first, 4), "seat_1": round(second, 4)}
