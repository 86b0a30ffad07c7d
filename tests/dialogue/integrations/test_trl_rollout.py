"""The rollout for TRL, with no TRL: groups, masks, rewards."""

from types import SimpleNamespace

import pytest

from selfplay.dialogue.integrations.trl import SelfPlayRollout, shared_reward
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.errors import ConfigError, RunnerError, ServerError
from selfplay.learner.sampling import Sampling
from tests.dialogue.integrations.states import rows_of
from tests.dialogue.models import untaught

TRAINER = SimpleNamespace(
    args=SimpleNamespace(temperature=1.0, top_p=1.0), accelerator=SimpleNamespace(process_index=0)
)


@pytest.fixture(scope="module")
def model():
    return untaught("matching")


def test_a_group_is_the_seats_of_games_on_one_state(model):
    rollout = SelfPlayRollout(rows_of(), model, max_new_tokens=12)
    names = [row["prompt"] for row in rollout.prompts for _ in range(6)]
    columns = rollout(names, TRAINER)
    assert {len(column) for column in columns.values()} == {12}
    rewards = columns["game_reward"]
    assert rewards[::2] == rewards[1::2]
    assert shared_reward(columns["completion_ids"], game_reward=rewards) == rewards
    for ids, mask, logprobs in zip(columns["completion_ids"], columns["env_mask"], columns["logprobs"], strict=True):
        assert len(ids) == len(mask) == len(logprobs)
        assert all((logprob < 0) == bool(one) for logprob, one in zip(logprobs, mask, strict=True))
    opened = [tuple(ids) for ids in columns["prompt_ids"][::2]]
    assert [len(set(opened[:3])), len(set(opened[3:])), len(set(opened))] == [1, 1, 2]


def test_a_batch_that_comes_again_is_played_anew_and_the_same_run_again_alike(model):
    names = ["train-0-0"] * 8
    rollouts = [SelfPlayRollout(rows_of(), model, max_new_tokens=12) for _ in range(2)]
    first, second = ([rollout(names, TRAINER)["completion_ids"] for _ in range(2)] for rollout in rollouts)
    assert first == second
    assert first[0] != first[1]


def test_a_seat_that_never_spoke_trains_nothing(model):
    columns = SelfPlayRollout(rows_of(), model, max_new_tokens=2)(["train-0-0"] * 2, TRAINER)
    assert columns["game_reward"] == [0.0, 0.0]
    assert [sum(mask) for mask in columns["env_mask"]] == [2, 0]  # cut off, so that the partner is never asked
    assert len(columns["prompt_ids"][1]) > 0


@pytest.mark.parametrize(
    ("names", "told"),
    [(["train-0-0"] * 3, "an odd number of rows"), (["nowhere", "nowhere"], "prompt nowhere: no such state")],
)
def test_prompts_that_are_no_games_are_refused(model, names, told):
    with pytest.raises(ConfigError, match=told):
        SelfPlayRollout(rows_of(), model)(names, TRAINER)


def test_states_that_cannot_be_told_apart_or_shared_are_refused(model):
    with pytest.raises(ConfigError, match="same game_id"):
        SelfPlayRollout(rows_of(states=1) * 2, model)
    with pytest.raises(ConfigError, match="separate rewards"):
        SelfPlayRollout(rows_of("kuhn_text"), model)


class Failing:
    """A writer that has no replies for the conversations that it is told of."""

    def __init__(self, model, lost):
        self._writer = LocalWriter(model, Sampling(max_new_tokens=12))
        self._lost = lost
        self._opened = 0

    def open(self, seed, system, observation):
        self._opened += 1
        if self._opened in self._lost:
            raise ServerError("gone")
        return self._writer.open(seed, system, observation)

    def __getattr__(self, name):
        return getattr(self._writer, name)


def test_a_game_that_is_lost_is_left_out_and_counted(model):
    rollout = SelfPlayRollout(rows_of(), model, writer=Failing(model, {2}))
    columns = rollout(["train-0-0"] * 6, TRAINER)
    assert [reward is None for reward in columns["game_reward"]] == [False, False, True, True, False, False]
    assert [sum(mask) for mask in columns["env_mask"]][2:4] == [0, 0]
    assert rollout.lost == 1


def test_a_batch_of_which_every_game_is_lost_ends_training(model):
    with pytest.raises(RunnerError, match="all 3 games are lost; game train-0-0/0: ServerError: gone"):
        SelfPlayRollout(rows_of(), model, writer=Failing(model, {1, 2, 3}))(["train-0-0"] * 6, TRAINER)


def test_rewards_of_other_rows_are_refused():
    with pytest.raises(ConfigError, match="2 rewards for 1 completions"):
        shared_reward(["a"], game_reward=[0.1, 0.2])
