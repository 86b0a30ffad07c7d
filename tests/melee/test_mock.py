import numpy as np
import pytest

from selfplay.games.errors import ActionError, GameError, UnknownNameError
from selfplay.games.registry import make_game
from selfplay_melee import bots
from selfplay_melee.actions import REBIRTH_WAIT
from selfplay_melee.controller import CENTRE, MAIN_X, NEUTRAL
from selfplay_melee.limits import FINISHED
from selfplay_melee.mock import ENDED_BY, MockMelee, neutral_actions
from selfplay_melee.physics.actions.death import TIMER
from selfplay_melee.state import CONTROLLER, records
from tests.games.play import equal, hands_off, make, same_state, seeds, some_actions, throw_out

# ---------------------------------------------------------------- ends


def test_a_cap_truncates():
    game = make(2, max_episode_frames=10, frame_skip=4)
    for step in range(1, 7):
        batch = hands_off(game)
        assert not batch.terminated.any()
        assert batch.truncated.all() == (step in (3, 6))
    assert (batch.stats["frames"] == 10).all()
    assert (batch.stats["ended"] == ENDED_BY.index("cap")).all()
    assert (batch.score == 0.5).all()


@pytest.mark.parametrize("cap", [TIMER, TIMER + 1])
def test_the_timer_terminates_even_where_the_cap_falls_on_it(cap):
    game = make(1, max_episode_frames=cap)
    game._games.episode["frames"] = game.state.game["frame"] = TIMER - 2
    game.state.players["percent"] = 10.0, 5.0
    assert not hands_off(game).ended.any()
    batch = hands_off(game)
    assert (batch.terminated.item(), batch.truncated.item()) == (True, False)
    assert (batch.stats["ended"] == ENDED_BY.index("timer")).all()
    assert batch.score.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("loser", [0, 1])
def test_the_last_stock_terminates(loser):
    game = make(1)
    game.state.players["stocks"][0, loser] = 1
    throw_out(game, loser)
    batch = hands_off(game)
    assert (batch.terminated.item(), batch.truncated.item()) == (True, False)
    assert batch.score[0, loser] == 0.0
    assert batch.score[0, 1 - loser] == 1.0
    assert batch.stats["stocks"][0, loser] == 0
    assert batch.stats["stocks_lost"][0].tolist() == [4 if seat == loser else 0 for seat in range(2)]
    assert (batch.stats["ended"] == FINISHED).all()
    assert ENDED_BY[FINISHED] == "stocks"
    assert (game.state.players["stocks"] == 4).all()  # the next episode


@pytest.mark.parametrize(
    ("stocks", "percent", "score"),
    [((2, 1), (99.0, 0.0), 1.0), ((1, 2), (0.0, 99.0), 0.0), ((3, 3), (1.0, 2.0), 1.0), ((3, 3), (2.0, 2.0), 0.5)],
)
def test_a_capped_game_is_decided_by_stocks_then_percent(stocks, percent, score):
    game = make(1, max_episode_frames=1)
    game.state.players["stocks"], game.state.players["percent"] = stocks, percent
    batch = hands_off(game)
    assert batch.score.tolist() == [[score, 1.0 - score]]
    assert batch.stats["stocks"].tolist() == [list(stocks)]
    assert batch.stats["percent"].tolist() == [list(percent)]


def test_a_self_destruct_is_counted():
    game = make(1, max_episode_frames=2)
    throw_out(game, 0)
    hands_off(game)
    stats = hands_off(game).stats[0]
    assert stats["self_destructs"].tolist() == [1, 0]
    assert stats["stocks_taken"].tolist() == [0, 1]


def test_damage_is_counted_on_both_sides():
    game = make(8, max_episode_frames=900)
    damage = 0.0
    for actions in np.repeat(some_actions(300, 8), 3, axis=0):
        batch = game.step(actions)
        ended = batch.ended
        assert np.array_equal(batch.stats["damage"][ended], batch.stats["damage_taken"][ended, ::-1])
        damage += batch.stats["damage"][ended].sum()
    assert damage > 0


def test_nobody_hits_where_nobody_moves_and_each_episode_counts_anew():
    game = make(3, max_episode_frames=50, frame_skip=5)
    for _ in range(2):
        for _ in range(10):
            batch = hands_off(game)
        assert batch.truncated.all()
        assert (batch.stats["frames_without_hit"] == 50).all()


def test_the_longest_time_without_a_hit_is_counted_while_both_are_in_play():
    game = make(8, max_episode_frames=900)
    game.bots[:] = bots.NAMES.index("rusher"), bots.NAMES.index("walker")
    damage, longest, since = game.memory["damage_dealt"].sum(1), np.zeros(8, int), np.zeros(8, int)
    for _ in range(899):
        hands_off(game)
        dealt = game.memory["damage_dealt"].sum(1)
        since = np.where(dealt > damage, 0, since + (game.state.players["action"] > REBIRTH_WAIT).all(1))
        longest, damage = np.maximum(longest, since), dealt
    batch = hands_off(game)
    assert batch.truncated.all()
    found = batch.stats["frames_without_hit"]
    assert np.array_equal(found[:, 0], found[:, 1])
    assert np.isin(found[:, 0] - longest, (0, 1)).all()  # of the last frame nothing is known here
    assert 0 < found.min() <= found.max() < 899
    assert np.array_equal(batch.stats["stocks_lost"], batch.stats["stocks_taken"][:, ::-1])


def test_final_observations_are_what_a_longer_episode_would_have_shown():
    options = {"frame_skip": 3, "delay": 2}
    short, long = make(4, max_episode_frames=60, **options), make(4, max_episode_frames=6000, **options)
    for t, actions in enumerate(some_actions(20, 4)):
        batch, other = short.step(actions), long.step(actions)
        assert batch.truncated.all() == (t == 19)
    assert np.array_equal(batch.final_obs, other.obs)
    assert (batch.obs != other.obs).any(axis=(1, 2)).all()


def test_counts_begin_anew_with_each_episode():
    game = make(4, max_episode_frames=300)
    for actions in np.repeat(some_actions(150, 4), 2, axis=0):
        game.step(actions)
    for _ in range(300):
        batch = hands_off(game)
    assert batch.truncated.all()
    for name in ("damage", "self_destructs", "stocks_taken", "reward_damage", "reward_stock"):
        assert not batch.stats[name].any()


# ---------------------------------------------------------------- seeds


def test_the_next_episode_is_another_game_that_the_seed_fixes():
    starts = []
    for _ in range(2):
        game = make(1, max_episode_frames=3)
        starts.append([game.state.players["x"].copy() for _ in range(9) if hands_off(game).ended.any()])
    assert np.array_equal(*starts)
    assert len(np.unique(np.array(starts[0])[:, 0, 0])) == 3


def test_big_seeds_are_seeds():
    game = MockMelee(2)
    obs = game.reset(np.array([1, 2**64 - 1], np.uint64))
    assert (obs[0] != obs[1]).any()


def test_stagger_spreads_first_episodes_only():
    game = make(64, max_episode_frames=100, stagger=True)
    first, last = np.zeros(64, int), np.zeros(64, int)
    for frame in range(1, 301):
        ended = hands_off(game).truncated
        gap = frame - last
        assert (gap[ended & (first > 0)] == 100).all()
        first[ended & (first == 0)] = frame
        last[ended] = frame
    assert first.min() >= 1
    assert first.max() <= 100
    assert len(np.unique(first)) > 30


@pytest.mark.parametrize("bad", [np.zeros(3, np.uint64), np.zeros((2, 1), np.uint64), np.zeros(2), 7])
def test_bad_seeds_are_refused(bad):
    with pytest.raises(GameError, match="seeds must be 2 whole numbers"):
        MockMelee(2).reset(bad)


# ---------------------------------------------------------------- scripted players


def bot_game(games=2, *, seed=0, kind="random", **options):
    game = make(games, seed=seed, **options)
    game.bots[:, 1] = bots.NAMES.index(kind)
    return game


def trace(game, steps=200):
    return [hands_off(game).obs.copy() for _ in range(steps)]


@pytest.mark.parametrize("kind", bots.NAMES)
def test_scripted_players_repeat_themselves(kind):
    assert np.array_equal(trace(bot_game(kind=kind)), trace(bot_game(kind=kind)))


def test_random_players_of_other_seeds_and_episodes_differ():
    game = bot_game(2, max_episode_frames=20)
    pads = []
    for _ in range(60):
        hands_off(game)
        pads.append(game.state.controllers["main_x"][:, 1].copy())
    pads = np.array(pads)
    assert (pads[:, 0] != pads[:, 1]).any()
    assert (pads[1:19] != pads[21:39]).any()


def test_the_actions_of_a_scripted_seat_do_not_matter():
    game, other = bot_game(), bot_game()
    for actions in some_actions(100):
        quiet = actions.copy()
        quiet[:, 1] = NEUTRAL
        assert np.array_equal(game.step(actions).obs, other.step(quiet).obs)


def test_idle_does_nothing():
    game = bot_game(kind="idle")
    game.step(some_actions(1)[0])
    assert equal(game.state.controllers[:, 1], records(CONTROLLER, 2))


def test_a_scripted_player_decides_every_few_frames():
    game = bot_game(1)
    game.bot_skip = 4
    sticks = []
    for _ in range(40):
        hands_off(game)
        sticks.append(game.state.controllers["main_x"][0, 1])
    held = np.array(sticks).reshape(10, 4)
    assert (held == held[:, :1]).all()
    assert len(np.unique(held[:, 0])) > 3


def test_a_scripted_player_may_be_as_slow_as_a_policy():
    quick, slow = bot_game(1), bot_game(1, delay=(0, 6))
    for frame in range(30):
        hands_off(quick), hands_off(slow)
        if frame < 6:
            assert equal(slow.state.controllers[:, 1], records(CONTROLLER, 1))
    assert not equal(slow.state.controllers[:, 1], quick.state.controllers[:, 1])


# ---------------------------------------------------------------- snapshots and errors


def test_a_snapshot_keeps_what_is_held_and_what_is_on_its_way():
    """Taken between two decisions of a scripted player and of a slow seat."""
    game, other = bot_game(delay=(5, 2)), bot_game(seed=77, delay=(5, 2))
    game.bot_skip = other.bot_skip = 4
    nobody = np.zeros((2, 2), bool)
    game.step(some_actions(1)[0])
    game.step(neutral_actions(2), nobody)
    assert np.array_equal(other.restore(game.snapshot()), game.observations())
    for _ in range(20):
        batch, again = game.step(neutral_actions(2), nobody), other.step(neutral_actions(2), nobody)
        assert np.array_equal(batch.obs, again.obs)


def test_a_snapshot_is_a_copy():
    game = make()
    taken = game.snapshot()
    before = {name: array.copy() for name, array in taken.items()}
    hands_off(game)
    assert all(np.array_equal(taken[name], before[name]) for name in taken)


@pytest.mark.parametrize("other", [{"num_games": 3}, {"delay": 4}, {"frame_skip": 2}])
def test_a_snapshot_of_another_block_is_refused(other):
    taken = make(**{"num_games": 2} | other).snapshot()
    with pytest.raises(GameError, match="another block"):
        make(2).restore(taken)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"characters": ("mewtoo", "fox")}, "mewtoo.*did you mean 'mewtwo'"),
        ({"stage": "battle_field"}, "did you mean 'battlefield'"),
    ],
)
def test_unknown_names_show_the_nearest(options, message):
    with pytest.raises(UnknownNameError, match=message):
        MockMelee(1, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"num_games": 0}, {"frame_skip": 0}, {"max_episode_frames": 0}, {"delay": -1}, {"delay": 0.5},
        {"characters": ("fox",)}, {"characters": [("fox", "fox")] * 3},
    ],
)  # fmt: skip
def test_impossible_options_are_refused(options):
    with pytest.raises(GameError):
        MockMelee(**{"num_games": 2} | options)


def test_games_of_a_block_may_have_different_characters():
    pairs = [("fox", "mewtwo"), ("mewtwo", "mewtwo")]
    game, alone = make(2, characters=pairs), make(1, characters=("fox", "mewtwo"))
    for actions in some_actions(100):
        assert np.array_equal(game.step(actions).obs[:1], alone.step(actions[:1]).obs)


def test_a_refused_action_names_its_place_and_changes_nothing():
    game, twin = make(), make()
    actions = neutral_actions(2)
    actions[1, 0, MAIN_X] = 17
    with pytest.raises(ActionError, match=f"game 1, seat 0: main_x is 17.*from 0 to {2 * CENTRE}"):
        game.step(actions)
    hands_off(game), hands_off(twin)
    assert same_state(game, twin)


def test_unknown_games_show_the_valid_ones():
    with pytest.raises(UnknownNameError, match=r"valid: .*mock"):
        make_game("chess")
    assert make_game("mock", num_games=3).reset(seeds(3)).shape[0] == 3
