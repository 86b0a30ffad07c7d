import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.errors import RunnerError
from selfplay.games.solved.kinds import KUHN
from selfplay.league.modes import Opponent
from selfplay.policy.heads import logprob_entropy
from selfplay.policy.recurrent_state import infer_directly
from selfplay.runner.block import MIRROR, Block
from selfplay.runner.process_game import ProcessGame
from selfplay.runner.segment import SegmentOrder
from selfplay_melee.mock import MockMelee
from tests.policy.networks import network, stubborn
from tests.support.cases import first_alone
from tests.support.fakes import CountingGame
from tests.support.processes import LIMIT_S

GAME, SEAT, EPISODE, STEP = range(4)  # features of CountingGame
LEARNER, OLD, OLDER = (0, 0, 0, 0, 0), (1, 0, 1, 1, 1), (1, 1, 2, 2, 0)  # what stubborn networks always play
RUSHER = Opponent("scripted", "rusher", "scripted")
GEN_1 = Opponent("generation", "gen_1", "recent")
GEN_2 = Opponent("generation", "gen_2", "any_past")
FROZEN = {"gen_1": stubborn(OLD), "gen_2": stubborn(OLDER)}
PLAYS = {"current": LEARNER, "gen_1": OLD, "gen_2": OLDER}


def order(opponents=(MIRROR,), steps=12, net=None, version=1):
    return SegmentOrder(1, steps, version, net or stubborn(LEARNER), FROZEN, opponents)


def same(a, b):
    """Whether two rollouts are equal bit for bit."""
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.__slots__)


def spans(rollouts, b):
    """Episodes of game b over following segments: (episode, its steps' rows of actions and of learner flags)."""
    obs, action, learner = (np.concatenate([getattr(r, n) for r in rollouts]) for n in ("obs", "action", "learner"))
    episode = obs[:, 2 * b, EPISODE].astype(int)
    for e in np.unique(episode).tolist():
        rows = episode == e
        yield e, action[rows, 2 * b : 2 * b + 2], learner[rows, 2 * b : 2 * b + 2]


def test_time_indices():
    game = CountingGame(3)
    collected = Block(game, 0).collect(order(net=network(), version=7))
    rollout = collected.rollout
    assert rollout.version == 7
    assert rollout.obs.shape == (12, 6, 4)
    for t in range(12):
        np.testing.assert_array_equal(rollout.obs[t, :, GAME], [0, 0, 1, 1, 2, 2])
        np.testing.assert_array_equal(rollout.obs[t, :, SEAT], [0, 1, 0, 1, 0, 1])
    following = np.concatenate([rollout.obs[1:], rollout.last_obs[None]])
    np.testing.assert_array_equal(rollout.boundary, following[..., EPISODE] > rollout.obs[..., EPISODE])
    t, column = rollout.ended_at.T
    np.testing.assert_array_equal(np.argwhere(rollout.boundary), rollout.ended_at)
    np.testing.assert_array_equal(rollout.final_obs[:, :STEP], rollout.obs[t, column, :STEP])
    np.testing.assert_array_equal(rollout.final_obs[:, STEP], rollout.obs[t, column, STEP] + 1)
    pressed = rollout.action.sum(-1).reshape(12, 3, 2)
    np.testing.assert_allclose(rollout.reward[:, 0::2], (pressed[..., 0] - pressed[..., 1]) / 10, atol=1e-6)
    np.testing.assert_array_equal(rollout.reward[:, 0::2], -rollout.reward[:, 1::2])


def test_which_value_stands_for_the_next_state():
    net = network()
    rollout = Block(CountingGame(3), 0).collect(order((MIRROR, RUSHER, GEN_1), net=net)).rollout
    states = rollout.obs.reshape(-1, 4), rollout.last_obs, rollout.final_obs
    with torch.inference_mode():
        value, last, final = (net(torch.from_numpy(array))[1].numpy() for array in states)
    mine = rollout.learner
    np.testing.assert_allclose(rollout.value[mine], value.reshape(mine.shape)[mine], atol=1e-5)
    expected = np.concatenate([value.reshape(mine.shape)[1:], last[None]])
    for (t, column), v, dead in zip(rollout.ended_at, final, rollout.terminated, strict=True):
        expected[t, column] = 0.0 if dead else v
    np.testing.assert_allclose(rollout.next_value[mine], expected[mine], atol=1e-5)
    assert 0 < rollout.terminated.sum() < len(rollout.terminated)
    assert (rollout.next_value[rollout.boundary] == 0).sum() == rollout.terminated.sum()


def test_logprobs_are_those_of_the_actions_played_and_only_the_learner_has_any():
    net = network()
    rollout = Block(CountingGame(4), 0).collect(order((MIRROR, RUSHER, GEN_1), net=net)).rollout
    mine = rollout.learner
    with torch.inference_mode():
        logits, _ = net(torch.from_numpy(rollout.obs[mine]))
        expected, _ = logprob_entropy(net.heads, logits, torch.from_numpy(rollout.action[mine]))
    np.testing.assert_allclose(rollout.logprob[mine], expected.numpy(), atol=1e-5)
    assert not rollout.logprob[~mine].any()
    assert not rollout.value[~mine].any()


def test_a_mirror_game_gives_two_experiences_a_step_and_another_one():
    assert Block(CountingGame(3), 0).collect(order()).rollout.experiences == 12 * 3 * 2
    assert Block(CountingGame(3), 0).collect(order((RUSHER,))).rollout.experiences == 12 * 3


def test_the_learner_changes_seats_with_every_episode():
    rollout = Block(CountingGame(4), 0).collect(order((RUSHER, GEN_1))).rollout
    game, seat, episode, _ = np.moveaxis(rollout.obs, -1, 0)
    np.testing.assert_array_equal(rollout.learner, (game + episode) % 2 == seat)


def test_whose_a_column_is_changes_at_boundaries_only():
    rollout = Block(CountingGame(4), 0).collect(order((MIRROR, RUSHER, GEN_1), steps=20)).rollout
    changes = rollout.learner[1:] != rollout.learner[:-1]
    assert changes.any()
    assert rollout.boundary[:-1][changes].all()


def test_opponents_change_at_episode_ends_only_and_play_their_own_weights():
    block = Block(CountingGame(4), 0)
    first = block.collect(order((GEN_1, MIRROR), steps=8))
    second = block.collect(order((GEN_2,), steps=9))
    names = set()
    for b in range(4):
        for _, action, learner in spans([first.rollout, second.rollout], b):
            assert (learner == learner[0]).all()
            assert (action[learner] == LEARNER).all()
            if learner.all():
                names.add("current")
                continue
            theirs = action[~learner]
            names.add(next(name for name, plays in PLAYS.items() if (theirs == plays).all()))
    assert names == {"current", "gen_1", "gen_2"}


def test_an_episode_that_spans_two_segments_keeps_its_opponent():
    block = Block(CountingGame(1, episodes=((10, True),)), 0)
    first = block.collect(order((GEN_1,), steps=6))
    assert (first.episodes, first.in_play) == ([], {"gen_1"})
    second = block.collect(order((GEN_2,), steps=6))
    (_, action, _), (_, after, _) = spans([first.rollout, second.rollout], 0)
    assert (action[:, 1] == OLD).all()
    assert (after[:, 0] == OLDER).all()
    assert [episode.opponent for episode in second.episodes] == ["gen_1"]
    assert (first.met, second.met, second.in_play) == ({"gen_1": 1}, {"gen_2": 1}, {"gen_2"})


def test_a_block_keeps_the_opponents_of_its_episodes_in_progress():
    block = Block(CountingGame(1, episodes=((9, True),)), 0)
    block.collect(order((GEN_1,), steps=6))
    later = SegmentOrder(2, 6, 2, stubborn(LEARNER), {"gen_2": FROZEN["gen_2"]}, (GEN_2,))  # made without knowing them
    rollout = block.collect(later).rollout
    assert (rollout.action[:3, 1] == OLD).all()
    assert (rollout.action[3:, 0] == OLDER).all()
    assert block._frozen.keys() == {"gen_2"}


def test_scripted_players_sit_where_the_learner_does_not():
    game = CountingGame(4)
    rollout = Block(game, 0).collect(order((RUSHER, MIRROR, GEN_1), steps=20)).rollout
    seated = np.array(game.seated).reshape(20, 8)
    scripted = seated >= 0
    assert set(seated[scripted].tolist()) == {game.bot_names.index("rusher")}
    assert not (scripted & rollout.learner).any()
    theirs = rollout.action[~scripted & ~rollout.learner]
    assert len(theirs)
    assert (theirs == OLD).all()


@pytest.mark.parametrize("taken", [0, 1])
def test_where_an_outsider_has_a_seat_the_learner_has_the_other_one(taken):
    game = CountingGame(3)
    game.outsider = taken
    collected = Block(game, 0).collect(order((Opponent("outsider", "cpu_5", "outsider"),), steps=20))
    learner = collected.rollout.learner.reshape(20, 3, 2)
    assert learner[..., 1 - taken].all()
    assert not learner[..., taken].any()
    assert not collected.rollout.action.reshape(20, 3, 2, -1)[:, :, taken].any()  # nobody plays for it
    assert (np.array(game.seated) == -1).all()
    assert {(episode.opponent, episode.mirror) for episode in collected.episodes} == {("cpu_5", False)}
    assert {episode.stats["seat"] for episode in collected.episodes} == {1 - taken}
    assert collected.in_play == set()


def test_a_game_of_three_seats_has_one_learner_and_the_opponent_in_the_others():
    class ThreeSeats(CountingGame):
        num_seats = 3

    game = ThreeSeats(2)
    rollout = Block(game, 0).collect(order((GEN_1, RUSHER), steps=40)).rollout
    assert rollout.obs.shape[1] == 6
    learner = rollout.learner.reshape(-1, 2, 3)
    assert (learner.sum(-1) == 1).all()
    assert learner.any((0, 1)).all()  # every seat in turn
    scripted = np.array(game.seated) >= 0
    assert set(np.unique(scripted.sum(-1))) == {0, 2}
    action = rollout.action.reshape(40, 2, 3, -1)
    assert (action[learner] == LEARNER).all()
    assert (action[~learner & ~scripted] == OLD).all()
    assert not (learner & scripted).any()


def test_opponents_are_taken_in_turn_and_counted_when_they_sit_down():
    collected = Block(CountingGame(2, episodes=((5, True),)), 0).collect(order((MIRROR, RUSHER, GEN_1), steps=10))
    # two games start with the first two; they end together, twice
    assert [episode.opponent for episode in collected.episodes] == ["current", "rusher", "gen_1", "current"]
    assert collected.met == {"current": 2, "rusher": 2, "gen_1": 2}
    assert collected.in_play == {"gen_1"}
    assert sum(collected.met.values()) == 2 + len(collected.episodes)


def test_without_opponents_all_games_are_mirrors():
    collected = Block(CountingGame(2), 0).collect(order(()))
    assert collected.met.keys() == {"current"}
    assert collected.rollout.learner.all()


def test_episodes_are_told_from_the_seat_of_the_learner():
    collected = Block(CountingGame(2, episodes=((2, True), (3, False))), 0).collect(order((RUSHER, MIRROR), steps=30))
    played = {0: 0, 1: 0}
    for episode in collected.episodes:
        assert episode.terminated == (episode.stats["frames"] == 2)
        assert episode.mirror == (episode.opponent == "current")
        played[int(episode.stats["seat"])] += not episode.mirror
        assert not episode.mirror or episode.stats["seat"] == 0
    assert min(played.values()) > 0


def test_leads_are_the_learners():
    """In Kuhn poker the opponent is paid what the learner loses."""
    opponents = (Opponent("scripted", "always_bet", "scripted"),)
    spec, heads = NetworkSpec(obs_width=KUHN.obs_width, hidden=(8, 8)), ActionHeads(binary=0, sizes=KUHN.actions.sizes)
    policy = network(1, spec=spec, heads=heads)
    collected = Block(KUHN.make(num_games=4), 0).collect(SegmentOrder(1, 20, 1, policy, {}, opponents))
    paid = [(episode.lead, episode.stats["reward_payoff"]) for episode in collected.episodes]
    assert all(lead == payoff for lead, payoff in paid)
    assert {abs(lead) for lead, _ in paid} == {1.0, 2.0}


def test_scores_are_the_learners():
    collected = Block(CountingGame(1, episodes=((1, True),)), 0).collect(order((RUSHER,), steps=6))
    # seat 0 scores 0, 0.5, 1 in turn; the learner sits in 0, 1, 0, 1, 0, 1
    assert [episode.score for episode in collected.episodes] == [0, 0.5, 1, 1, 0.5, 0]


def test_blocks_with_one_seed_play_alike():
    mixed = order((MIRROR, RUSHER, GEN_1), net=network())
    rollouts = [Block(CountingGame(3), seed).collect(mixed).rollout for seed in (1, 1, 2)]
    assert same(rollouts[0], rollouts[1])
    assert not np.array_equal(rollouts[0].action, rollouts[2].action)


def test_a_released_segment_gives_its_array_to_the_next():
    block, ordered = Block(CountingGame(2), 0), order((MIRROR,))
    first, second = block.collect(ordered), block.collect(ordered)
    assert not np.shares_memory(first.rollout.obs, second.rollout.obs)
    first.release()
    assert np.shares_memory(block.collect(ordered).rollout.obs, first.rollout.obs)
    assert not np.shares_memory(block.collect(ordered).rollout.obs, second.rollout.obs)


def test_networks_are_asked_as_the_block_is_told():
    mixed = order((MIRROR, GEN_1), net=network())
    asked = []

    def infer(net, obs, memory):
        asked.append((net, len(obs)))
        return infer_directly(net, obs, memory)

    mixed = replace(mixed, teacher=network(3))
    rollouts = [
        Block(CountingGame(3), 1, infer).collect(mixed).rollout,
        Block(CountingGame(3), 1).collect(mixed).rollout,
    ]
    assert same(*rollouts)
    assert {net for net, _ in asked} == {mixed.network, mixed.teacher, FROZEN["gen_1"]}
    assert sum(rows for net, rows in asked if net is mixed.teacher) == rollouts[0].learner.sum()


def test_games_that_began_before_the_first_segment_are_the_same_games():
    blocks = [Block(CountingGame(3), 0) for _ in range(2)]
    blocks[0].begin()
    assert blocks[0].snapshot() == ({}, {})
    assert same(*(block.collect(order((RUSHER, GEN_1), net=network())).rollout for block in blocks))


def test_warming_up_leaves_no_trace():
    blocks = [Block(CountingGame(3), 0) for _ in range(2)]
    blocks[0].warm_up()
    assert same(*(block.collect(order(net=network())).rollout for block in blocks))


@pytest.mark.parametrize("cut", [1, 5, 8])
def test_a_restored_block_goes_on_bit_for_bit(cut):
    mixed = order((MIRROR, RUSHER, GEN_1, GEN_2), steps=cut, net=network())
    block = Block(CountingGame(4), 0)
    block.collect(mixed)
    arrays, document = block.snapshot()
    kept = {name: array.copy() for name, array in arrays.items()}
    expected = [block.collect(mixed) for _ in range(2)]
    assert all(np.array_equal(arrays[name], kept[name]) for name in kept)  # copies
    other = Block(CountingGame(4), 99)
    other.restore(arrays, document)
    for one in expected:
        found = other.collect(mixed)
        assert same(found.rollout, one.rollout)
        assert (found.episodes, found.met, found.in_play) == (one.episodes, one.met, one.in_play)


def test_a_block_that_has_not_begun_has_an_empty_snapshot():
    blocks = [Block(CountingGame(2), 0) for _ in range(2)]
    assert blocks[0].snapshot() == ({}, {})
    blocks[0].restore({}, {})
    assert same(*(block.collect(order(net=network())).rollout for block in blocks))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("field", ["reward", "obs", "final_obs"])
def test_numbers_that_are_not_finite_end_the_segment(field, bad):
    game = CountingGame(2, episodes=((3, False),))

    def poison(batch):
        if len(game.seated) == 6:
            getattr(batch, field)[1, 0] = bad

    game.on_step = poison
    with pytest.raises(RunnerError, match="not finite"):
        Block(game, 0).collect(order(net=network()))


def test_a_cancelled_block_stops_at_its_next_step():
    game = CountingGame(1)
    block = Block(game, 0)
    stepped, cancelled = threading.Event(), threading.Event()

    def wait_once(batch):
        stepped.set()
        cancelled.wait(LIMIT_S)

    game.on_step = wait_once
    errors = []

    def play():
        try:
            block.collect(order(steps=10**6))
        except RunnerError as error:
            errors.append(str(error))

    thread = threading.Thread(target=play)
    thread.start()
    assert stepped.wait(LIMIT_S)
    block.cancel()
    cancelled.set()
    thread.join(LIMIT_S)
    assert errors == ["the segment was cancelled"]
    assert len(game.seated) == 1


def test_killing_and_closing_reach_the_game():
    game = CountingGame(1)
    block = Block(game, 0)
    assert block.kill()
    assert game.killed
    with pytest.raises(RunnerError, match="cancelled"):
        block.collect(order())
    block.close()
    assert game.closed


@pytest.mark.parametrize("host", first_alone(["thread", "process"]))
def test_real_games_go_on_bit_for_bit_after_a_restore(host):
    # all games end with the segment: who sits down then has not played a step when the snapshot is taken
    options = {"num_games": 3, "max_episode_frames": 12, "frame_skip": 3, "delay": 1}
    game = MockMelee(1)
    heads = ActionHeads(binary=game.actions.binary, sizes=game.actions.sizes)
    net, old = (network(seed, spec=NetworkSpec(obs_width=game.obs_width, hidden=(8,)), heads=heads) for seed in (0, 1))
    mixed = SegmentOrder(1, 8, 1, net, {"gen_1": old}, (MIRROR, RUSHER, GEN_1, RUSHER))
    games = [MockMelee(**options) if host == "thread" else ProcessGame("mock", options) for _ in range(2)]
    one, other = Block(games[0], 0), Block(games[1], 5)
    with closing(one), closing(other):
        assert len(one.collect(mixed).episodes) == 6
        other.restore(*one.snapshot())
        expected, found = one.collect(mixed), other.collect(mixed)
    assert same(found.rollout, expected.rollout)
    assert (found.episodes, found.met) == (expected.episodes, expected.met)
    reward = expected.rollout.reward
    np.testing.assert_allclose(reward[:, 0::2], -reward[:, 1::2], atol=1e-6)
