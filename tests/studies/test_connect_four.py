"""Connect Four: the solver beside known facts and a search without any tricks, and the player of a few plies."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from envs.errors import GameError
from envs.plugins import find_single
from scripts.studies.connect_four import __main__ as study
from scripts.studies.connect_four import alpha_beta, positions
from scripts.studies.connect_four.__main__ import Study, greedy
from scripts.studies.connect_four.board import Position, play
from scripts.studies.connect_four.network import LINES, LineNetwork
from scripts.studies.connect_four.search import BOARD, COLUMNS, FULL, ILLEGAL, SQUARES, STRIDE
from scripts.studies.connect_four.solver import Solver

X = ILLEGAL


@pytest.fixture(scope="module")
def solver():
    return Solver(bits=20)


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


def mirrored(position):
    def turned(stones):
        columns = [stones >> STRIDE * c & FULL for c in range(COLUMNS)]
        return sum(column << STRIDE * c for c, column in enumerate(reversed(columns)))

    return Position(turned(position.own), turned(position.taken))


def plain_score(position):
    """Negamax by the rules alone, of the side to move."""
    if position.lost:
        return -((SQUARES + 2 - position.stones) // 2)
    if position.taken == BOARD:
        return 0
    return max(-plain_score(position.after(column)) for column in position.legal)


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
    return lambda position: alpha_beta.choose(position, depth, rng)


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
                assert position == Position.of(env.unwrapped.board, env.possible_agents.index(agent))
                assert np.array_equal(position.planes, seen["observation"])
                assert position.legal == list(np.flatnonzero(seen["action_mask"]))
                column = int(rng.choice(position.legal))
                env.step(column)
                position = position.after(column)

    @pytest.mark.parametrize("column", [3, 7, -1])
    def test_refuses_a_move_that_is_not_there(self, column):
        with pytest.raises(GameError, match=rf"column {column} is full or does not exist \(valid: 0, 1, 2, 4, 5, 6\)"):
            after("333333").after(column)


class TestNetwork:
    def test_lines_are_those_of_the_board(self):
        assert len(LINES) == len({frozenset(line) for line in LINES}) == 69
        for line in LINES:
            board = [int(square in line) for square in range(SQUARES)]
            assert Position.of(board, seat=0)._replace(own=0).lost  # all of them are of the side that has moved
        assert not Position.of([int(square in LINES[0][:3]) for square in range(SQUARES)], seat=0)._replace(own=0).lost

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


class TestSolver:
    @pytest.mark.parametrize("stones", range(34, 42))
    def test_equals_plain_negamax(self, solver, stones):
        rng = np.random.default_rng(stones)
        for _ in range(6):
            position = random_position(rng, stones)
            expected = [-plain_score(position.after(c)) if c in position.legal else X for c in range(COLUMNS)]
            assert list(solver.scores(position)) == expected
            assert list(solver.values(position)) == [v if v == X else np.sign(v) for v in expected]

    def test_score_is_that_of_the_best_reply(self, solver):
        rng = np.random.default_rng(0)
        for position in (random_position(rng, 18) for _ in range(20)):
            scores = solver.scores(position)
            assert np.array_equal(np.sign(scores[position.legal]), solver.values(position)[position.legal])
            for column in position.legal:
                reply = position.after(column)
                assert scores[column] == (12 if reply.lost else -solver.scores(reply).max())

    def test_mirrored_positions_have_mirrored_values(self, solver):
        rng = np.random.default_rng(0)
        for position in (random_position(rng, 16) for _ in range(10)):
            assert np.array_equal(Solver(bits=12).scores(position), solver.scores(mirrored(position))[::-1])

    @pytest.mark.parametrize(
        ("moves", "scores"),
        [
            ("666666010101", {0: 15, 2: -15, 3: -15, 4: -15, 5: -15}),  # wins at once, or the other side does
            ("303040", {1: -18, 2: -18, 3: -18, 4: -18, 5: -18, 6: -18}),  # only column 0 prevents four
            ("6666663323", {1: 15, 4: 15}),  # three with both ends open
            ("66666633234", dict.fromkeys(range(6), -15)),  # the other side threatens on both ends
        ],
    )
    def test_positions_by_hand(self, solver, moves, scores):
        position = after(moves)
        found = solver.scores(position)
        soonest = max(map(abs, scores.values()))
        assert {column: found[column] for column in position.legal if abs(found[column]) >= soonest} == scores

    @pytest.mark.parametrize(("moves", "stones"), [("3040506", 7), ("01" * 3 + "0", 7)])
    def test_refuses_a_game_that_is_over(self, solver, moves, stones):
        with pytest.raises(GameError, match=f"the game is over after {stones} stones"):
            solver.values(after(moves))

    @pytest.mark.slow  # ten minutes of a core
    @pytest.mark.timeout(3600)
    def test_only_the_centre_wins_at_the_start(self):
        assert list(Solver(bits=25).values(Position())) == [-1, -1, 0, 1, 0, -1, -1]


class TestAlphaBeta:
    @pytest.mark.parametrize("depth", [1, 2, 3, 4])
    def test_values_equal_those_of_a_plain_search(self, depth):
        rng = np.random.default_rng(depth)
        for stones in (*range(4, 28, 3), 38, 40, 41):
            position = random_position(rng, stones)
            assert list(alpha_beta.values(position, depth)) == plain_values(position, depth)

    def test_nearer_wins_and_later_losses_are_better(self):
        assert list(alpha_beta.values(after("3323"), 4)) == [0, 2, 0, 0, 2, 0, 0]
        assert alpha_beta.values(after("010101"), 4)[0] == 4
        assert list(alpha_beta.values(after("33234"), 4)) == [-3] * 7
        assert not alpha_beta.values(after("3323"), 2).any()

    def test_ties_are_drawn_uniformly(self):
        rng = np.random.default_rng(0)
        drawn = [alpha_beta.choose(Position(), 4, rng) for _ in range(7000)]
        assert np.bincount(drawn, minlength=COLUMNS) == pytest.approx(np.full(COLUMNS, 1000), abs=120)
        assert {alpha_beta.choose(after("3323"), 4, rng) for _ in range(50)} == {1, 4}

    def test_beats_random(self):
        rng = np.random.default_rng(0)
        strong, weak = searching_player(4, rng), random_player(rng)
        ends = [play(strong, weak)[-1] for _ in range(20)]
        assert sum(end.lost and end.stones % 2 == 1 for end in ends) >= 19
        ends = [play(weak, strong)[-1] for _ in range(20)]
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

    def test_refuses_no_depth(self):
        with pytest.raises(GameError, match=r"depth 0 of the alpha-beta search \(valid: 1 or more\)"):
            alpha_beta.values(Position(), 0)


class TestShareOfOptimal:
    @pytest.fixture(scope="class")
    @classmethod
    def games(cls):
        """Without the beginnings, which take long to solve."""
        rng = np.random.default_rng(0)
        players = searching_player(2, rng), searching_player(2, rng)
        return [[each for each in game if each.stones >= 16] for game in positions.collect([players] * 30)]

    def test_collects_every_position_once(self):
        rng = np.random.default_rng(0)
        players = searching_player(4, rng), random_player(rng)
        games = positions.collect([players] * 5)
        found = [position for game in games for position in game]
        assert len(games) == 5
        assert len(set(found)) == len(found) > 0
        assert min(position.stones for position in found) == positions.FEWEST
        assert not any(position.over for position in found)
        same = positions.collect([(lambda position: position.legal[0],) * 2] * 2)
        assert same[0]
        assert not same[1]

    def test_perfect_worst_and_random_players(self, games, solver):
        def best(position):
            return int(solver.values(position).argmax())

        def worst(position):
            values = solver.values(position)
            return min(position.legal, key=lambda column: values[column])

        perfect = positions.share_of_optimal(best, games, solver)
        assert {share.optimal.score for share in perfect} == {1.0}
        assert all(share.optimal.low < 1.0 for share in perfect)
        assert {share.optimal.score for share in positions.share_of_optimal(worst, games, solver)} == {0.0}
        for share in positions.share_of_optimal(random_player(np.random.default_rng(1)), games, solver):
            assert share.optimal.low < share.random < share.optimal.high

    def test_counts_positions_by_stones(self, games, solver):
        shares = positions.share_of_optimal(lambda position: position.legal[0], games, solver)
        stones = [position.stones for game in games for position in game]
        for share in shares:
            assert share.most == share.fewest + 3 or share.most == SQUARES - 1
            assert share.positions + share.left_out == sum(share.fewest <= each <= share.most for each in stones)
        assert sum(share.left_out for share in shares) > 0
        (all_of_them,) = positions.share_of_optimal(lambda position: position.legal[0], games, solver, group=SQUARES)
        assert all_of_them.positions == sum(share.positions for share in shares)

    def test_positions_whose_moves_are_equal_are_left_out(self, solver):
        assert not positions.share_of_optimal(lambda position: 0, [[after("33234")]], solver)
        (share,) = positions.share_of_optimal(lambda position: 0, [[after("33234"), after("303040")]], solver)
        assert (share.fewest, share.most, share.positions, share.left_out) == (4, 7, 1, 1)
        assert share.random == pytest.approx(1 / 7)

    def test_refuses_a_full_column(self, solver):
        with pytest.raises(GameError, match="column 0 is full"):
            positions.share_of_optimal(lambda position: 0, [[after("000000616161")]], solver)


class TestStudy:
    @pytest.fixture(scope="class")
    @classmethod
    def cell(cls, tmp_path_factory):
        pytest.importorskip("pettingzoo")
        pytest.importorskip("pygame")
        small = Study(tmp_path_factory.mktemp("runs"), minutes=0.02, games=4)
        small.__dict__["_positions"] = [[after("303040"), after("6666663323")]]  # quick to solve
        return small.measure(0)

    def test_plays_every_generation(self, cell):
        assert cell["steps"] > 0
        assert {point["wins"] + point["draws"] + point["losses"] for point in cell["curve"]} == {4}
        assert cell["curve"][0]["minutes"] == 0
        assert cell["curve"][-1]["minutes"] > 0
        assert sum(share["positions"] for share in cell["optimal"]) == 2

    def test_writes_the_page(self, cell, tmp_path, monkeypatch):
        monkeypatch.setattr(study, "ROOT", tmp_path)
        page = tmp_path / "docs" / "connect_four.md"
        (tmp_path / "docs" / "data").mkdir(parents=True)
        page.write_text("<!-- results: begin -->\n<!-- results: end -->\n", encoding="utf-8")
        study.write([cell])
        assert "| 0 |" in page.read_text(encoding="utf-8")
        assert (tmp_path / "docs" / "data" / "connect_four.svg").exists()

    def test_a_policy_sees_what_the_game_shows(self):
        pytest.importorskip("pygame")
        pytest.importorskip("pettingzoo")
        seen = []

        def act(obs, **given):
            seen.append((obs, given["legal"]))
            return np.zeros((1, 1), np.int8)

        game = find_single("pettingzoo:pettingzoo.classic.connect_four_v3")(False)
        game.reset(0)
        for moves in ("3", "33", "333333"):
            greedy(SimpleNamespace(act=act))(after(moves))
        for number in range(1, 7):
            seat = (number - 1) % 2
            game.step([3 if seat == 0 else 0, 3 if seat else 0])
            if number in (1, 2, 6):
                obs, legal = seen.pop(0)
                assert np.array_equal(obs[0], game.observe(1 - seat))
                assert np.array_equal(legal[0], game.legal(1 - seat))
        game.close()
