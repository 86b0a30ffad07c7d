import numpy as np

from envs.dialogue.contract import FAILED
from envs.registry import find_dialogue
from selfplay.trainer.dialogue.evaluation import gain, held_out, judge

GAME = find_dialogue("matching")
RULES = GAME.configure(True, {})


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
    whole = judge(GAME, RULES, lambda seed: GAME.players["teacher"](RULES, seed), seeds)
    broken = judge(GAME, RULES, Raises, seeds)
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
