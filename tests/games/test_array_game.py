"""Games as NumPy arrays: the contract, and that one by itself plays as one of a block."""

import itertools
from typing import ClassVar

import numpy as np
import pytest

from selfplay.examples.connect_four import ConnectFour
from selfplay.games.array_game import ArrayGame, SingleGame
from selfplay.games.check import check_game, random_step
from selfplay.games.errors import GameError
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game
from selfplay.games.vector import SyncVectorGame

SEEDS = np.arange(5, dtype=np.uint64)


class Race(ArrayGame):
    """Both seats choose 1 to 3 steps, or to rest; the track is drawn from the seed, and its end wins."""

    num_actions, obs_width, max_steps, version = (3, 2), 3, 6, 4
    state: ClassVar = {"track": ((), np.int64), "places": ((2,), np.int64)}
    players: ClassVar = {"hasty": lambda games, b, seat, rng: (2, 0)}
    held_out = ("hasty",)
    objective, payoff_unit = "reward", "metres"

    def begin(self, games, seeds):
        self.track[games] = 5 + seeds % np.uint64(4)

    def observe(self, games):
        places = self.places[games]
        return np.stack([places, places[:, ::-1], np.repeat(self.track[games, None], 2, 1)], -1)

    def play(self, actions):
        self.places += np.where(actions[..., 1] == 0, 1 + actions[..., 0], 0)
        over = (self.places >= self.track[:, None]).any(1)
        ahead = np.sign(self.places[:, 0] - self.places[:, 1])
        return np.stack([ahead, -ahead], 1) * over[:, None], over, np.zeros(self.num_games, bool)


@pytest.mark.parametrize(("game", "chance"), [(Race, True), (ConnectFour, False)])
def test_contract(game, chance):
    check_game(game, num_games=3, steps=100, chance=chance)


@pytest.mark.parametrize("game", [Race, ConnectFour])
def test_one_by_itself_plays_as_one_of_a_block(game):
    block, singles = game(5), SyncVectorGame(lambda: SingleGame(game), 5)
    for each in (block, singles):
        each.bots[0, 1], each.bots[1, 0] = 0, len(block.bot_names) - 1
    seen = [each.reset(SEEDS) for each in (block, singles)]
    ended, rng = 0, np.random.default_rng(1)
    for _ in range(120):
        assert np.array_equal(*seen)
        assert np.array_equal(block.legal, singles.legal)
        actions = block.actions.first_highest(block.legal * rng.random(block.legal.shape))
        first, second = block.step(actions), singles.step(actions)
        seen = [first.obs, second.obs]
        for name in ("reward", "terminated", "truncated"):
            assert np.array_equal(getattr(first, name), getattr(second, name)), name
        for name in ("final_obs", "score", "stats"):
            assert np.array_equal(getattr(first, name)[first.ended], getattr(second, name)[first.ended]), name
        ended += int(first.ended.sum())
    assert ended > 10


def columns(*played):
    game = ConnectFour(1)
    game.reset(SEEDS[:1])
    for number, column in enumerate(played):
        actions = np.zeros((1, 2, 1), np.int8)
        actions[0, number % 2] = column
        batch = game.step(actions)
    return batch


@pytest.mark.parametrize(
    ("played", "reward"),
    [
        ((0, 1, 0, 1, 0, 1, 0), [1, -1]),  # upwards
        ((0, 6, 1, 6, 2, 5, 3), [1, -1]),  # along the floor
        ((0, 1, 2, 2, 3, 3, 4, 3, 4, 4, 6, 4), [-1, 1]),  # up to the right from the second column on
        ((6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3), [1, -1]),  # up to the left
        ((0, 1, 0, 1, 0, 1, 2), [0, 0]),
    ],
)
def test_four_in_a_line_win(played, reward):
    batch = columns(*played)
    assert batch.reward[0].tolist() == reward
    assert bool(batch.terminated[0]) == any(reward)


def test_a_full_column_is_not_legal_and_a_full_board_is_a_draw():
    order = [*(0, 1) * 3, *(1, 0) * 3, *(2, 3) * 3, *(3, 2) * 3, *(4, 5) * 3, *(5, 4) * 3, *(6,) * 6]
    batch = columns(*order)
    assert batch.terminated[0]
    assert batch.score[0].tolist() == [0.5, 0.5]
    game = ConnectFour(1)
    game.reset(SEEDS[:1])
    for _ in range(6):
        game.step(np.zeros((1, 2, 1), np.int8))
    assert game.legal[0, 0].tolist() == [False] + [True] * 6


def test_the_attributes_reach_the_description():
    name = f"{__name__}:Race"
    allow(name)
    kind = find_game(name)
    assert (kind.encoder_version, kind.held_out, kind.ladder) == (4, ("hasty",), ("random", "hasty"))
    assert kind.repeats
    assert kind.single is not None
    assert (kind.objective.kind, kind.objective.unit) == ("reward", "metres")


def wrong(**methods):
    game = Race(2)
    for name, value in methods.items():
        setattr(game, name, lambda *_, value=value: value)
    return game


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"observe": np.zeros((2, 3))}, r"observe has the shape \(2, 3\) \(valid: \(2, 2, 3\)\)"),
        ({"observe": "nothing"}, "observe is no array of float32"),
        ({"legal_actions": np.zeros((2, 2, 5), bool)}, "game 0: seat 0 is to act, but nothing is legal"),
        ({"to_act": np.array([[True, False], [False, False]])}, "game 1: nobody is to act"),
        ({"play": np.zeros((2, 2))}, "play returned something else than three arrays"),
        ({"play": (np.zeros(2), np.zeros(2), np.zeros(2))}, r"play, rewards has the shape \(2,\)"),
        ({"play": (np.full((2, 2), np.nan), np.zeros(2), np.zeros(2))}, "gave the rewards"),
    ],
)
def test_a_method_that_gives_something_else_is_named(methods, message):
    game = wrong(**methods)
    with pytest.raises(GameError, match=message):
        list(itertools.islice(play(game), 3))


def play(game):
    game.reset(SEEDS[:2])
    rng = np.random.default_rng(0)
    while True:
        yield game.step(random_step(game, rng))


def test_no_games_are_refused():
    with pytest.raises(GameError, match="num_games must be at least 1"):
        Race(0)
