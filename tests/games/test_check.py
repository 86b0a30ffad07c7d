import itertools
from dataclasses import replace

import numpy as np
import pytest

from selfplay.games.api import ActionSpec
from selfplay.games.check import check_game, random_actions
from selfplay.games.errors import ActionError, ContractError
from selfplay.games.registry import find_game, games_of, make_game
from selfplay.games.solved.block import TableGame
from selfplay.games.solved.table import enumerate_states
from selfplay_melee.mock import MockMelee

# Options of every registered game with episodes short enough to end; a new game needs an entry.
OPTIONS = {
    "mock": [
        {"characters": pair, "stage": stage, "frame_skip": skip, "delay": delay, "max_episode_frames": 61}
        for pair, stage, skip, delay in itertools.product(
            [("mewtwo", "mewtwo"), ("fox", "fox"), ("mewtwo", "fox")],
            ["final_destination", "battlefield"],
            [1, 4],
            [0, 3],
        )
    ]
    + [{"delay": (2, 5), "frame_skip": 3, "max_episode_frames": 100, "stagger": True}],
    "rps": [{}],
    "pennies": [{}],
    "kuhn": [{}],
    "leduc": [{}],
    "mixup": [{}],
}
ALIKE = {"rps", "pennies", "mixup"}  # no chance in them: games of different seeds are the same
CASES = [(name, options) for name, entry in OPTIONS.items() for options in entry]


def test_every_registered_game_is_checked():
    assert set(OPTIONS) == {name for name in games_of("ppo") if not find_game(name).real_time}  # those need an emulator


@pytest.mark.parametrize(("name", "options"), CASES)
def test_contract(name, options):
    check_game(
        lambda num_games: make_game(name, num_games=num_games, **options),
        num_games=2,
        steps=130,
        chance=name not in ALIKE,
    )


class MoreWithAHighCard:
    """Rules of one decision, in which both seats have as many actions as their card says."""

    actions = ("first", "second")

    def starts(self):
        return [(0, False), (1, False)]

    def legal(self, state, seat):
        return range(1 + state[0])

    def after(self, state, actions):
        return state[0], True

    def payoff(self, state):
        return 0.0 if state[1] else None

    def observe(self, state, seat):
        return [float(state[0])]


def test_chance_may_decide_what_is_legal():
    table = enumerate_states(MoreWithAHighCard())
    check_game(lambda num_games: TableGame(table, num_games), steps=40)


class Broken(MockMelee):
    """The mock with one promise broken."""

    def __init__(self, num_games):
        super().__init__(num_games, max_episode_frames=20)


class LosesZeroSum(Broken):
    def step(self, actions, acts=None):
        batch = super().step(actions, acts)
        batch.reward[:, 0] += 1.0
        return batch


class DrawsUnseeded(Broken):
    def reset(self, seeds):
        return super().reset(seeds + np.uint64(np.random.default_rng().integers(1, 2**32)))


class IgnoresSeeds(Broken):
    def reset(self, seeds):
        return super().reset(np.zeros_like(seeds))


class RepeatsEpisodes(Broken):
    def step(self, actions, acts=None):
        self._games.episode["number"] = 0
        return super().step(actions, acts)


class MixesGames(Broken):
    def step(self, actions, acts=None):
        return super().step(np.roll(actions, 1, axis=0), acts)


class SeesNothing(Broken):
    def step(self, actions, acts=None):
        batch = super().step(actions, acts)
        batch.obs[0, 0, 0] = np.nan
        return batch


class EndsTwice(Broken):
    def step(self, actions, acts=None):
        batch = super().step(actions, acts)
        batch.terminated |= batch.truncated
        return batch


class ScoresOddly(Broken):
    def step(self, actions, acts=None):
        batch = super().step(actions, acts)
        batch.score[:] = 0.25, 0.75
        return batch


class BothWin(Broken):
    def step(self, actions, acts=None):
        batch = super().step(actions, acts)
        batch.score[:] = 1.0
        return batch


class WrongType(Broken):
    def step(self, actions, acts=None):
        batch = super().step(actions, acts)
        return replace(batch, reward=batch.reward.astype(np.float64))


class EndsSomewhere(Broken):
    def step(self, actions, acts=None):
        batch = super().step(actions, acts)
        return replace(batch, final_obs=np.random.default_rng().random(batch.obs.shape, np.float32))


class Forgets(Broken):
    def restore(self, arrays):
        super().restore(arrays)
        self.state.players["percent"] += 1.0
        return self._observe()


class TakesAnything(Broken):
    def step(self, actions, acts=None):
        return super().step(np.zeros((self.num_games, 2, 14), np.int8) if actions.dtype != np.int8 else actions, acts)


class EverybodyActs(Broken):
    def step(self, actions, acts=None):
        return super().step(actions)


class NamesNothing(Broken):
    def step(self, actions, acts=None):
        if actions.dtype != np.int8:
            raise ActionError("no")
        return super().step(actions, acts)


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (LosesZeroSum, "step 0: rewards of the seats do not sum to zero"),
        (DrawsUnseeded, "same seeds"),
        (IgnoresSeeds, "different seeds"),
        (RepeatsEpisodes, "every episode begins alike"),
        (MixesGames, "in a block of its own"),
        (SeesNothing, "step 0: obs are not finite"),
        (EndsTwice, "both terminated and truncated"),
        (ScoresOddly, "scores must be of"),
        (BothWin, "half of the seats"),
        (WrongType, r"step 0: reward must be float32 of shape \(3, 2\)"),
        (EndsSomewhere, "step 19: final_obs differs"),
        (Forgets, "a snapshot restored"),
        (TakesAnything, "played instead of refused"),
        (NamesNothing, "must name seat 1"),
        (EverybodyActs, "differs with the actions of seats that do not act"),
    ],
)
def test_a_broken_promise_is_named(game, message):
    with pytest.raises(ContractError, match=message):
        check_game(game, steps=60)


def test_a_game_without_chance_may_say_so():
    check_game(IgnoresSeeds, steps=60, chance=False)


def test_a_check_that_saw_no_end_is_no_check():
    with pytest.raises(ContractError, match="no episode ended within 10 steps"):
        check_game(MockMelee, steps=10)


@pytest.mark.parametrize("most", [1, 127, 128, 129, 1 << 15])
def test_random_actions_have_every_value_that_fits(most):
    spec = ActionSpec(binary=1, sizes=(most,), rest=(-1,))
    actions = random_actions(np.random.default_rng(0), spec, 1000 * most // 100 + 50, 4, 2)
    assert actions.dtype == spec.dtype
    assert (actions.min(), actions[..., 1].max()) == (0, most - 1)
