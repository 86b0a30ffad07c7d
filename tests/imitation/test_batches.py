from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.imitation.batches import NO_GAME, Examples, frames, windows
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.observation import OBS_WIDTH
from tests.melee.replays.replay_folders import library, write_game

LENGTHS = st.lists(st.lists(st.integers(1, 23), min_size=1, max_size=2), min_size=0, max_size=6)


class FakeLibrary:
    """Games of streams of these lengths; feature 0 is the game, 1 the seat, 2 the row; some rows begin anew."""

    def __init__(self, lengths):
        self.lengths = lengths
        self.games = [SimpleNamespace(path=Path(str(i)), index=i, seats=seats) for i, seats in enumerate(lengths)]
        self.loaded = []

    def load(self, game):
        self.loaded.append(game.index)
        return [self.stream(game.index, seat, count) for seat, count in enumerate(game.seats)]

    @staticmethod
    def stream(game, seat, count):
        obs = np.zeros((count, OBS_WIDTH), np.float32)
        obs[:, 0], obs[:, 1], obs[:, 2] = game, seat, np.arange(count)
        action = np.full((count, ACTION_SPEC.width), seat, np.int8)
        action[:, 0] = np.arange(count)
        fresh = np.arange(count) % 7 == 0
        return Examples(obs, action, action + 1, np.arange(count, dtype=np.int32), fresh)

    def rows(self):
        return sorted((g, s, t) for g, seats in enumerate(self.lengths) for s, n in enumerate(seats) for t in range(n))


def names_of(obs):
    return [tuple(int(n) for n in row[:3]) for row in obs]


@given(LENGTHS, st.integers(1, 9), st.integers(1, 40), st.integers(0, 5))
def test_frames_give_every_row_once(lengths, rows, buffer_rows, epoch):
    made = FakeLibrary(lengths)
    batches = list(frames(made, made.games, rows, 1, epoch, buffer_rows))
    assert sorted(name for batch in batches for name in names_of(batch.obs)) == made.rows()
    assert all(len(batch.obs) == rows for batch in batches[:-1])
    assert all(0 < len(batch.obs) <= rows for batch in batches)
    for batch in batches:
        assert batch.action[:, 0].tolist() == batch.obs[:, 2].tolist()
        assert (batch.last == batch.action + 1).all()
    assert sorted(made.loaded) == list(range(len(lengths)))


def test_frames_are_shuffled_anew_each_epoch_and_the_same_for_the_same_seed():
    made = FakeLibrary([[20, 20]] * 6)
    orders = {}
    for seed, epoch in ((1, 0), (1, 1), (2, 0)):
        runs = [
            [name for batch in frames(made, made.games, 8, seed, epoch, 64) for name in names_of(batch.obs)]
            for _ in range(2)
        ]
        assert runs[0] == runs[1]
        orders[seed, epoch] = runs[0]
    assert len({tuple(order) for order in orders.values()}) == 3
    first = orders[1, 0][:64]
    assert len({game for game, _, _ in first}) > 1, "games are mixed"
    assert first != sorted(first)


def test_the_buffer_is_bounded():
    made = FakeLibrary([[20, 20]] * 9)
    next(frames(made, made.games, 8, 1, 0, 50))
    assert len(made.loaded) == 2, "no more games than fill the buffer"


@given(LENGTHS, st.integers(1, 5), st.integers(1, 9), st.integers(0, 3), st.booleans())
def test_windows_give_every_row_once_and_never_cross_a_stream(lengths, lanes, length, epoch, shuffle):
    made = FakeLibrary(lengths)
    seen = []
    follows = [None] * lanes  # the row that a lane has to go on with; None: a stream begins
    for batch in windows(made, made.games, lanes, length, 1, epoch, shuffle):
        assert batch.mask.shape == batch.fresh.shape == batch.action.shape[:2] == (lanes, length)
        assert batch.mask.any()
        for lane in range(lanes):
            mask = batch.mask[lane]
            rows = names_of(batch.obs[lane][mask])
            assert mask.tolist() == [True] * len(rows) + [False] * (length - len(rows))
            assert not batch.fresh[lane][~mask].any()
            assert not batch.obs[lane][~mask].any()
            if not rows:
                assert batch.game[lane] == NO_GAME
                assert follows[lane] is None
                continue
            game, seat, first = rows[0]
            assert rows == [(game, seat, first + i) for i in range(len(rows))]
            assert follows[lane] in (None, rows[0])
            assert (first == 0) == (follows[lane] is None)
            assert batch.game[lane] == game
            assert batch.fresh[lane][mask].tolist() == [t % 7 == 0 for _, _, t in rows]
            assert batch.action[lane][mask][:, 0].tolist() == [t for _, _, t in rows]
            assert batch.last[lane][mask][:, 0].tolist() == [t + 1 for _, _, t in rows]
            behind = first + len(rows)
            ends = behind == lengths[game][seat]
            assert ends or mask.all()
            follows[lane] = None if ends else (game, seat, behind)
            seen.extend(rows)
    assert follows == [None] * lanes
    assert sorted(seen) == made.rows()


def test_windows_in_order_take_streams_in_order():
    made = FakeLibrary([[3], [5, 2], [4]])
    batches = list(windows(made, made.games, 1, 4, 0, 0, shuffle=False))
    assert [(*names_of(batch.obs[0])[0], int(batch.mask.sum())) for batch in batches] == [
        (0, 0, 0, 3),
        (1, 0, 0, 4),
        (1, 0, 4, 1),
        (1, 1, 0, 2),
        (2, 0, 0, 4),
    ]


def test_windows_are_shuffled_anew_each_epoch_and_the_same_for_the_same_seed():
    made = FakeLibrary([[4, 4]] * 8)

    def order(seed, epoch):
        return [names_of(batch.obs[0])[0] for batch in windows(made, made.games, 1, 4, seed, epoch)]

    assert order(1, 0) == order(1, 0)
    assert len({tuple(order(*pair)) for pair in ((1, 0), (1, 1), (2, 0))}) == 3


@pytest.mark.parametrize("make", [frames, windows])
def test_batches_do_not_depend_on_the_cache(tmp_path, make):
    for i in range(4):
        write_game(tmp_path / "games" / f"{i}.slp", 50 + i, seed=i, gap=20)
    options = {"rows": 16} if make is frames else {"lanes": 3, "length": 5}
    runs = []
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        made = library(tmp_path / "games", cache)
        games = made.scan()
        runs.append(list(make(made, games, seed=3, epoch=2, **options)))
    for other in runs[1:]:
        for a, b in zip(runs[0], other, strict=True):
            assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.__slots__)
