import numpy as np
import pytest

from selfplay.games.check import check_game
from selfplay.games.columns import Column
from selfplay.games.errors import ActionError, GameError
from selfplay.games.plain import kind_of
from selfplay.games.vector import SyncVectorGame, action_spec, repeats_itself
from tests.games.games import Bids, Duel, Endless, Nim, Uncounted

SEEDS = np.arange(3, dtype=np.uint64)


def first(game, seat, rng):
    return 0


def actions_of(*pairs):
    return np.array(pairs, np.int8).reshape(len(pairs), 2, -1)


@pytest.mark.parametrize(("make", "zero_sum"), [(Nim, True), (Duel, False), (Bids, True)])
def test_contract(make, zero_sum):
    check_game(lambda num_games: SyncVectorGame(make, num_games), num_games=3, steps=80, zero_sum=zero_sum)


def test_a_seat_that_waits_sees_nothing_and_has_one_action():
    game = SyncVectorGame(Nim, 1)
    obs = game.reset(SEEDS[:1])
    assert obs[0, 0].sum() == 1
    assert not obs[0, 1].any()
    assert game.legal[0].tolist() == [[True, True, True], [True, False, False]]
    batch = game.step(actions_of((2, 0)))
    assert not batch.obs[0, 0].any()
    assert batch.obs[0, 1].sum() == 1


def test_a_mask_of_several_parts_has_one_class_of_each_where_a_seat_waits():
    class Turns(Duel):
        def to_act(self):
            return (self.steps % 2,)

    game = SyncVectorGame(Turns, 1)
    game.reset(SEEDS[:1])
    assert game.legal[0, 1].tolist() == [True, False, False, True, False]
    assert game.actions.choices(game.legal)[0].tolist() == [True, False]


def test_the_score_is_that_of_the_sums_of_rewards():
    game = SyncVectorGame(Duel, 1)
    game.reset(SEEDS[:1])
    for pair in (((2, 0), (0, 0)), ((0, 0), (2, 1))):
        game.step(actions_of(pair))
    batch = game.step(actions_of(((1, 0), (1, 1))))
    # 2.25 + -2 + 0 against -2 + 2 + 0
    assert batch.ended.all()
    assert batch.score.tolist() == [[1.0, 0.0]]
    assert batch.stats["reward_payoff"].tolist() == [[0.25, 0.0]]
    assert batch.stats["frames"].tolist() == [[3, 3]]


def test_figures_are_of_the_episode_that_ended():
    class Counted(Nim):
        figures = {"taken": lambda game, seat: game.taken[seat]}  # noqa: RUF012

        def reset(self, seed):
            super().reset(seed)
            self.taken = [0, 0]

        def step(self, actions):
            self.taken[self.seat] += actions[self.seat] + 1
            return super().step(actions)

    game, ended = SyncVectorGame(Counted, 1), False
    game.reset(np.full(1, 5, np.uint64))
    stones = game.games[0].left
    while not ended:
        batch = game.step(actions_of((0, 0)))
        ended = batch.ended.all()
    assert batch.stats["taken"].tolist() == [[-(-stones // 2), stones // 2]]
    assert kind_of(Counted).columns.means == (Column("taken", "taken", chart="Taken"),)

    class Twice(Nim):
        figures = {"frames": lambda game, seat: 0}  # noqa: RUF012

    with pytest.raises(GameError, match="figures has 'frames': the name is taken"):
        SyncVectorGame(Twice, 1)


def test_an_episode_of_max_steps_is_truncated():
    game = SyncVectorGame(Endless, 2)
    game.reset(SEEDS[:2])
    for step in range(6):
        batch = game.step(actions_of((0, 0), (0, 0)))
        assert batch.truncated.all() == (step == 5)
        assert not batch.terminated.any()
    assert batch.final_obs.any((1, 2)).all()
    assert batch.final_obs[0, 0].any()  # both seats are asked for the last observation
    assert batch.final_obs[0, 1].any()


def test_a_snapshot_continues_games_in_the_middle():
    game, other = (SyncVectorGame(Nim, 3) for _ in range(2))
    game.reset(SEEDS)
    game.step(actions_of((0, 0), (1, 0), (2, 0)))
    obs = other.restore(game.snapshot())
    assert [each.left for each in other.games] == [each.left for each in game.games]
    np.testing.assert_array_equal(obs, game._obs)
    assert other.notes == []


def test_games_that_do_not_repeat_themselves_begin_anew():
    assert repeats_itself(Nim)
    assert repeats_itself(Duel)
    assert not repeats_itself(Uncounted)
    game, other = (SyncVectorGame(Uncounted, 2) for _ in range(2))
    game.reset(SEEDS[:2])
    game.step(np.zeros((2, 2, 2), np.int8))
    other.restore(game.snapshot())
    assert other._steps.tolist() == [0, 0]
    assert other._episode.tolist() == [1, 1]
    assert len(other.notes) == 1


def test_a_game_that_fails_at_its_end_is_refused_before_it_is_trained():
    class Unfinished(Nim):
        max_steps = 300

        def reset(self, seed):
            super().reset(seed)
            self.left += 200

        def observe(self, seat):
            return np.zeros(13)

        def step(self, actions):
            ended = super().step(actions)
            assert not ended[1], "not written yet"
            return ended

    with pytest.raises(GameError, match="game 0, step: AssertionError: not written yet"):
        repeats_itself(Unfinished)


def test_scripted_players_play_their_seats_alike_in_any_block():
    def drawn(game, seat, rng):
        return int(rng.integers(min(3, game.left)))

    games = [SyncVectorGame(nim_with(players={"drawn": drawn}), n) for n in (3, 1)]
    assert games[0].bot_names == ("random", "drawn")
    for block, seeds in zip(games, (SEEDS, SEEDS[1:2]), strict=True):
        block.bots[:] = (0, 1)
        block.reset(seeds)
    for _ in range(20):
        whole, alone = (block.step(np.full((block.num_games, 2, 1), 77, np.int8)) for block in games)
        np.testing.assert_array_equal(whole.obs[1:2], alone.obs)
        np.testing.assert_array_equal(whole.reward[1:2], alone.reward)


@pytest.mark.parametrize("wrong", [7, -1, 1.5, [0, 0]])
def test_a_scripted_player_that_plays_no_legal_action_is_named(wrong):
    game = SyncVectorGame(nim_with(players={"cheat": lambda game, seat, rng: wrong}), 1)
    game.bots[:] = 1
    game.reset(SEEDS[:1])
    with pytest.raises(GameError, match="game 0, player cheat"):
        game.step(np.zeros((1, 2, 1), np.int8))


def test_an_illegal_action_names_seat_and_what_is_legal():
    game = SyncVectorGame(Nim, 1)
    game.reset(SEEDS[:1])
    with pytest.raises(ActionError, match=r"game 0, seat 1: 2 in part 0 .*\(valid: 0\)"):
        game.step(actions_of((0, 2)))


def nim_with(**methods):
    return type("NimWith", (Nim,), methods)


def play_a_step(make):
    game = SyncVectorGame(make, 1)
    game.reset(SEEDS[:1])
    game.step(np.zeros((1, 2, 1), np.int8))


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"reset": lambda self, seed: 1 / 0}, "game 0, reset: ZeroDivisionError"),
        (
            {"step": lambda self, actions: 1 / 0},
            r"game 0, step: ZeroDivisionError: division by zero \(.*test_vector\.py:\d+\)$",
        ),
        (
            {"step": lambda self, actions: np.zeros(2).reshape(3)},
            r"game 0, step: ValueError: .* \(.*test_vector\.py:\d+\)$",
        ),
        (
            {"step": lambda self, actions: None},
            r"^game 0: step returned NoneType \(valid: \(rewards, over, truncated\), the reward of each seat and two",
        ),
        ({"step": lambda self, actions: (1.0, False, False)}, "^game 0: step returned the rewards 1.0 "),
        ({"step": lambda self, actions: ((1.0,), False, False)}, r"^game 0: step returned the rewards \(1.0,\) "),
        ({"step": lambda self, actions: ({"a": 1.0}, False, False)}, "^game 0: step returned the rewards {'a': 1.0} "),
        ({"step": lambda self, actions: ((1, 2), np.ones(2), False)}, "step returned what is no boolean as over or"),
        ({"step": lambda self, actions: ([0], 1.0, False, False, {})}, "^game 0: step returned 5 values "),
        ({"step": lambda self, actions: ((float("nan"), 0.0), False, False)}, "step 0 gave the rewards"),
        (
            {"step": lambda self, actions: ((1e39, 0.0), False, False)},
            r"\[1e\+39, 0.0\] \(valid: finite numbers up to 3.4",
        ),
        (
            {"observe": lambda self, seat: [1.0, 2.0]},
            r"game 0, observations: observe\(0\) returned 2 numbers \(valid: 13 numbers, its obs_width\)$",
        ),
        ({"observe": lambda self, seat: {"board": 1}}, r"observe\(0\) returned no array of numbers \(valid: 13 "),
        (
            {"legal": lambda self, seat: [True]},
            r"game 0, legal actions: legal\(0\) returned 1 numbers \(valid: 3 booleans, one for each action\)$",
        ),
        ({"to_act": lambda self: ()}, "nobody is to act"),
        (
            {"to_act": lambda self: 0},
            r"game 0, to_act: it returned 0 \(valid: the seats that act, as \(0,\) or \(0, 1\)",
        ),
        ({"to_act": lambda self: (2,)}, r"game 0, to_act: it returned \(2,\) "),
        ({"num_actions": 32769}, "1 to 32768"),
        ({"num_actions": ()}, "1 to 32768"),
        ({"num_actions": "seven"}, "1 to 32768"),
    ],
)
def test_a_game_that_fails_is_told_with_the_place(methods, message):
    with pytest.raises(GameError, match=message):
        play_a_step(nim_with(**methods))


@pytest.mark.parametrize(("method", "what"), [("observe", "observations"), ("legal", "legal actions")])
def test_of_games_that_are_asked_together_the_one_that_fails_is_named(method, what):
    made = iter([Nim, nim_with(**{method: lambda self, seat: 1 / 0}), Nim])
    with pytest.raises(GameError, match=f"^game 1, {what}: ZeroDivisionError"):
        SyncVectorGame(lambda: next(made)(), 3).reset(SEEDS)


def test_games_with_and_without_a_mask_side_by_side():
    masks = (None, [True, False, True])
    made = iter([nim_with(legal=lambda self, seat, mask=mask: mask) for mask in masks])
    game = SyncVectorGame(lambda: next(made)(), 2)
    game.reset(SEEDS[:2])
    assert game.legal[:, 0].tolist() == [[True, True, True], [True, False, True]]


def test_actions_of_many_values_do_not_wrap_around():
    game = SyncVectorGame(Bids, 2)
    game.reset(np.zeros(2, np.uint64))
    before = [each.sums[0] for each in game.games]
    game.step(game.actions.first_highest(game.legal))
    assert [each.sums for each in game.games] == [[150 + first, 0] for first in before]


def test_the_parts_of_an_action():
    assert action_spec(Duel.num_actions).sizes == (3, 2)
    assert action_spec(Nim.num_actions).sizes == (3,)


class Clouded(Duel):
    """A seat sees nothing but what a test says."""

    shown = 0.0

    def observe(self, seat):
        return [0.0, self.shown if (seat, self.steps) == (1, 2) else 0.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_observations_that_are_not_finite_are_refused_by_game_seat_and_step(bad):
    game = SyncVectorGame(Clouded, 3)
    game.reset(SEEDS)
    game.games[1].shown = bad
    still = np.zeros((3, 2, 2), np.int8)
    game.step(still)
    with pytest.raises(GameError, match=f"^game 1, seat 1: after 2 steps the observation has {bad:g} as feature 1$"):
        game.step(still)


def test_the_last_observation_is_finite_too():
    class Ends(Clouded):
        def step(self, actions):
            rewards, _, _ = super().step(actions)
            return rewards, self.steps == 2, False

    game = SyncVectorGame(Ends, 1)
    game.reset(SEEDS[:1])
    game.games[0].shown = np.nan
    game.step(actions_of((0, 0), (0, 0)).reshape(1, 2, 2))
    with pytest.raises(GameError, match="game 0, seat 1: after 2 steps the observation has nan"):
        game.step(actions_of((0, 0), (0, 0)).reshape(1, 2, 2))


def test_observations_whose_squares_are_too_large_are_finite():
    game = SyncVectorGame(Clouded, 1)
    game.reset(SEEDS[:1])
    game.games[0].shown = -3e38
    still = np.zeros((1, 2, 2), np.int8)
    game.step(still)
    assert game.step(still).obs[0, 1, 1] == np.float32(-3e38)


def test_no_player_of_a_game_takes_the_name_of_the_random_one():
    class Taken(Nim):
        players = {"random": first}  # noqa: RUF012

    with pytest.raises(GameError, match="players has 'random': the name is taken"):
        SyncVectorGame(Taken, 1)
