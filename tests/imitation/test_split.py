from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.errors import ConfigError
from selfplay.imitation.recordings import Game, split


def games_of(hashes, folder="a"):
    return [Game(Path(folder) / f"{i}", text, ()) for i, text in enumerate(hashes)]


HASHES = st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), min_size=0, max_size=40, unique=True)


@given(HASHES, st.integers(0, 2**32), st.integers(2, 12), st.data())
def test_every_game_is_on_one_side_whatever_its_path_and_place(hashes, seed, folds, data):
    fold = data.draw(st.integers(0, folds - 1))
    train, validation = split(games_of(hashes), seed, folds, fold)
    names = [[game.hash for game in side] for side in (train, validation)]
    assert sorted(names[0] + names[1]) == sorted(hashes)
    moved = split(games_of(data.draw(st.permutations(hashes)), "b"), seed, folds, fold)
    assert [[game.hash for game in side] for side in moved] == names


@given(HASHES.filter(lambda hashes: len(hashes) > 1), st.integers(2, 12))
def test_over_all_folds_every_game_validates_once(hashes, folds):
    games = games_of(hashes)
    validated = [game.hash for fold in range(folds) for game in split(games, 3, folds, fold)[1]]
    assert sorted(validated) == sorted(hashes)


def test_a_tenth_validates_and_seeds_differ():
    games = games_of([f"{i:064x}" for i in range(200)])
    sides = [split(games, seed) for seed in (0, 1)]
    assert all(len(validation) == 20 for _, validation in sides)
    assert set(sides[0][1]) != set(sides[1][1])


def test_a_game_that_is_alone_trains():
    (game,) = games_of(["a" * 64])
    assert split([game], 5) == ((game,), ())


def test_two_games_train_and_validate():
    train, validation = split(games_of(["a" * 64, "b" * 64]), 5)
    assert (len(train), len(validation)) == (1, 1)


@pytest.mark.parametrize(("folds", "fold"), [(1, 0), (10, 10), (10, -1)])
def test_folds_that_are_none_are_refused(folds, fold):
    with pytest.raises(ConfigError, match="folds must be at least 2"):
        split([], 0, folds, fold)
