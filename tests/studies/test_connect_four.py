"""Connect Four: the player of a few plies beside a search without any tricks, and the network."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch

import selfplay
from scripts.studies.connect_four import alpha_beta
from scripts.studies.connect_four.network import LINES, LineNetwork
from scripts.studies.connect_four.search import BOARD, COLUMNS, FLOOR, FULL, ILLEGAL, ROWS, SQUARES, STRIDE
from selfplay.checkpoint import RunDir, list_generations

X = ILLEGAL


class Position(NamedTuple):
    """The rules without any tricks; ``own`` has the stones of the side to move."""

    own: int = 0
    taken: int = 0

    @property
    def stones(self):
        return self.taken.bit_count()

    @property
    def planes(self):
        """What the side to move observes in PettingZoo, [6, 7, 2]: its own stones, and those of the other side."""
        sides = self.own, self.taken ^ self.own
        rows, columns = range(ROWS - 1, -1, -1), range(COLUMNS)
        return np.array([[[side >> STRIDE * c + r & 1 for side in sides] for c in columns] for r in rows], np.int8)

    @property
    def lost(self):
        """Whether the side that has just moved has four in a row."""
        other = self.taken ^ self.own
        steps = 1, STRIDE - 1, STRIDE, STRIDE + 1
        return any(other & other >> step & other >> 2 * step & other >> 3 * step for step in steps)

    @property
    def over(self):
        return self.taken == BOARD or self.lost

    @property
    def legal(self):
        return [column for column in range(COLUMNS) if self.square(column)]

    def after(self, column):
        return Position(self.taken ^ self.own, self.taken | self.square(column))

    def square(self, column):
        return (self.taken + FLOOR) & BOARD & FULL << STRIDE * column


def after(moves):
    position = Position()
    for column in moves:
        position = position.after(int(column))
    return position


def random_position(rng, stones):
    """Of a game that is not over."""
    while True:
        position = Position()
        while position.stones < stones and not position.over:
            position = position.after(int(rng.choice(position.legal)))
        if not position.over:
            return position


def plain_values(position, depth):
    """Of every move, within some plies, by the rules alone."""

    def value(position, left):
        if position.lost:
            return -(left + 1)
        if left == 0 or position.over:
            return 0
        return max(-value(position.after(column), left - 1) for column in position.legal)

    return [-value(position.after(c), depth - 1) if c in position.legal else X for c in range(COLUMNS)]


def random_player(rng):
    return lambda position: int(rng.choice(position.legal))


def searching_player(depth, rng):
    return lambda position: alpha_beta.choose(*position, depth, rng)


def play(first, second):
    """The last position of a game between two players."""
    position = Position()
    while not position.over:
        position = position.after((first, second)[position.stones % 2](position))
    return position


class TestBoard:
    def test_is_that_of_pettingzoo(self):
        pytest.importorskip("pygame")
        connect_four_v3 = pytest.importorskip("pettingzoo.classic.connect_four_v3")
        rng = np.random.default_rng(0)
        for _ in range(20):
            env = connect_four_v3.env()
            env.reset()
            position = Position()
            for agent in env.agent_iter():
                seen, _, over, _, _ = env.last()
                assert over == position.over
                if over:
                    break
                assert position == alpha_beta.bits(env.unwrapped.board, env.possible_agents.index(agent))
                assert np.array_equal(position.planes, seen["observation"])
                assert position.legal == list(np.flatnonzero(seen["action_mask"]))
                column = int(rng.choice(position.legal))
                env.step(column)
                position = position.after(column)


class TestNetwork:
    def test_lines_are_those_of_the_board(self):
        assert len(LINES) == len({frozenset(line) for line in LINES}) == 69
        for line in LINES:
            board = [int(square in line) for square in range(SQUARES)]
            assert Position(taken=alpha_beta.bits(board, seat=0)[1]).lost  # all are of the side that has moved
        three = [int(square in LINES[0][:3]) for square in range(SQUARES)]
        assert not Position(taken=alpha_beta.bits(three, seat=0)[1]).lost

    def test_adds_up_on_the_squares_of_the_lines(self):
        network, rng = LineNetwork(2 * SQUARES), np.random.default_rng(0)
        for position in (random_position(rng, stones) for stones in (0, 7, 20, 36)):
            taken = position.planes.sum(-1).reshape(-1)
            landing = [not taken[i] and (i + COLUMNS >= SQUARES or taken[i + COLUMNS]) for i in range(SQUARES)]
            board = torch.tensor([[*position.planes.reshape(-1, 2)[i], landing[i]] for i in range(SQUARES)]).float()
            added = network.from_square(board)
            for line in LINES:
                parts = network.from_line(torch.relu(network.line(board[line].flatten()))).view(4, -1)
                for square, part in zip(line, parts, strict=True):
                    added[square] = added[square] + part
            squares = torch.relu(added)
            columns = torch.zeros(2, COLUMNS, squares.shape[1])
            for square in np.flatnonzero(landing).tolist():
                columns[0, square % COLUMNS] = squares[square]
                if square >= COLUMNS:
                    columns[1, square % COLUMNS] = squares[square - COLUMNS]
            seen = torch.from_numpy(position.planes.astype(np.float32)).view(1, -1)
            expected = torch.cat([torch.relu(network.hidden(squares.flatten())), columns.flatten()])
            assert torch.allclose(network(seen)[0], expected, atol=1e-6)


class TestAlphaBeta:
    @pytest.mark.parametrize("depth", [1, 2, 3, 4])
    def test_values_equal_those_of_a_plain_search(self, depth):
        rng = np.random.default_rng(depth)
        for stones in (*range(4, 28, 3), 38, 40, 41):
            position = random_position(rng, stones)
            assert list(alpha_beta.values(*position, depth)) == plain_values(position, depth)

    def test_nearer_wins_and_later_losses_are_better(self):
        assert list(alpha_beta.values(*after("3323"), 4)) == [0, 2, 0, 0, 2, 0, 0]
        assert alpha_beta.values(*after("010101"), 4)[0] == 4
        assert list(alpha_beta.values(*after("33234"), 4)) == [-3] * 7
        assert not alpha_beta.values(*after("3323"), 2).any()

    def test_ties_are_drawn_uniformly(self):
        rng = np.random.default_rng(0)
        drawn = [alpha_beta.choose(*Position(), 4, rng) for _ in range(7000)]
        assert np.bincount(drawn, minlength=COLUMNS) == pytest.approx(np.full(COLUMNS, 1000), abs=120)
        assert {alpha_beta.choose(*after("3323"), 4, rng) for _ in range(50)} == {1, 4}

    def test_beats_random(self):
        rng = np.random.default_rng(0)
        strong, weak = searching_player(4, rng), random_player(rng)
        ends = [play(strong, weak) for _ in range(20)]
        assert sum(end.lost and end.stones % 2 == 1 for end in ends) >= 19
        ends = [play(weak, strong) for _ in range(20)]
        assert sum(end.lost and end.stones % 2 == 0 for end in ends) >= 19

    def test_plays_in_pettingzoo(self):
        pytest.importorskip("pygame")
        env = pytest.importorskip("pettingzoo.classic.connect_four_v3").env()
        env.reset()
        for column in (3, 0, 3, 0, 3):
            env.step(column)
        act = alpha_beta.player(2)
        rng = np.random.default_rng(0)
        assert act(SimpleNamespace(env=env), 1, rng) == 3
        env.step(0)
        assert act(SimpleNamespace(env=env), 0, rng) == 3


@pytest.mark.full
def test_trains_and_meets_the_player_as_documented(tmp_path):
    pytest.importorskip("pygame")
    pytest.importorskip("pettingzoo")
    game, network = "scripts.studies.connect_four.game:make", "scripts.studies.connect_four.network:LineNetwork"
    selfplay.allow(game)
    selfplay.allow(network)
    settings = {"run": {"seed": 0, "max_minutes": 0.02}}
    selfplay.train(settings, game=game, network=network, preset="board", checkpoint=tmp_path / "run")
    newest = list_generations(RunDir(tmp_path / "run"))[-1]
    found = selfplay.evaluate(newest.path, "alpha_beta", games=4, game=game, seed=0, greedy=True)
    assert newest.iteration > 0
    assert found.wins + found.draws + found.losses == 4
