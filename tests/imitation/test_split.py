from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from selfplay.imitation.recordings import Game, split


def games_of(hashes, folder="a"):
    return [Game(Path(folder) / f"{i}", text, ()) for i, text in enumerate(hashes)]


HASHES = st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), min_size=0, max_size=40, unique=True)


@given(HASHES, st.integers(0, 2**32), st.integers(2, 12), st.data())
def test_every_game_is_on_one_side_whatever_its_path_and_place(hashes, seed, folds, data):
    train, validation = split(games_of(hashes), seed, folds)
    names = [[game.hash for game in side] for side in (train, validation)]
    assert sorted(names[0] + names[1]) == sorted(hashes)
    moved = split(games_of(data.draw(st.permutations(hashes)), "b"), seed, folds)
    assert [[game.hash for game in side] for side in moved] == names


def test_a_tenth_validates_and_seeds_differ():
    games = games_of([f"{i:064x}" for i in range(200)])
    sides = [split(games, seed, 10) for seed in (0, 1)]
    assert all(len(validation) == 20 for _, validation in sides)
    assert set(sides[0][1]) != set(sides[1][1])


def test_a_game_that_is_alone_trains():
    (game,) = games_of(["a" * 64])
    assert split([game], 5, 10) == ((game,), ())


def test_two_games_train_and_validate():
    train, validation = split(games_of(["a" * 64, "b" * 64]), 5, 10)
    assert (len(train), len(validation)) == (1, 1)
