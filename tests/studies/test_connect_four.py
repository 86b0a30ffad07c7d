"""Connect Four: the solver beside known facts and a search without any tricks, and the player of a few plies."""

from types import SimpleNamespace

import numpy as np
import pytest

from envs.check import check_game
from envs.errors import ActionError, GameError
from envs.plugins import allow, find_single
from envs.vector import SyncVectorGame
from scripts.studies.connect_four import alpha_beta, positions, strength
from scripts.studies.connect_four.block import ConnectFourBlock
from scripts.studies.connect_four.board import Position, play
from scripts.studies.connect_four.search import BOARD, COLUMNS, FULL, ILLEGAL, SQUARES, STRIDE
from scripts.studies.connect_four.solver import Solver
from tests.train.runs import train

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


class TestBlock:
    def test_keeps_the_contract(self):
        check_game(ConnectFourBlock, chance=False)

    def test_is_the_game_of_pettingzoo(self):
        pytest.importorskip("pygame")
        pytest.importorskip("pettingzoo")
        make = find_single("pettingzoo:pettingzoo.classic.connect_four_v3")
        theirs, ours = SyncVectorGame(lambda: make(False), 4), ConnectFourBlock(4)
        rng = np.random.default_rng(0)
        seeds = np.arange(4, dtype=np.uint64)
        assert np.array_equal(theirs.reset(seeds)[..., :-2], ours.reset(seeds))  # theirs ends with the seat
        endings = 0
        for _ in range(200):
            assert np.array_equal(theirs.legal, ours.legal)
            draws = np.where(ours.legal, rng.random(ours.legal.shape), -1)
            actions = draws.argmax(-1)[..., None].astype(np.int8)
            expected, got = theirs.step(actions), ours.step(actions)
            assert np.array_equal(expected.obs[..., :-2], got.obs)
            for name in ("reward", "terminated", "truncated", "stats"):
                assert np.array_equal(getattr(expected, name), getattr(got, name)), name
            over = got.ended
            endings += over.sum()
            assert np.array_equal(expected.score[over], got.score[over])
            assert np.array_equal(expected.final_obs[over][..., :-2], got.final_obs[over])
        assert endings > 20
        theirs.close()

    def test_random_player_takes_every_column(self):
        game = ConnectFourBlock(50)
        game.bots[:] = 0
        game.reset(np.arange(50, dtype=np.uint64))
        game.step(np.full((50, 2, 1), 9, np.int8))  # what a policy would have played there means nothing
        assert {position.taken for position in game.positions()} == {1 << STRIDE * c for c in range(COLUMNS)}

    def test_refuses_a_full_column_and_changes_nothing(self):
        game = ConnectFourBlock(1)
        game.reset(np.zeros(1, np.uint64))
        for number in range(6):
            column = np.zeros((1, 2, 1), np.int8)
            column[0, number % 2] = 3
            game.step(column)
        before = game.snapshot()
        with pytest.raises(ActionError, match=r"game 0, seat 0: column 3 is not legal now \(valid: 0, 1, 2, 4, 5, 6\)"):
            game.step(np.full((1, 2, 1), 3, np.int8))
        assert all(np.array_equal(before[name], part) for name, part in game.snapshot().items())

    def test_a_refused_step_draws_nothing_for_the_random_player(self):
        game = ConnectFourBlock(2)
        game.bots[0, 0] = 0
        game.reset(np.arange(2, dtype=np.uint64))
        before = game.snapshot()
        with pytest.raises(ActionError, match="game 1, seat 0: column 7 is not legal now"):
            game.step(np.array([[[0], [0]], [[7], [0]]], np.int8))
        assert all(np.array_equal(before[name], part) for name, part in game.snapshot().items())


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


class TestStrength:
    def test_scores_are_those_of_the_player_in_both_seats(self):
        never_wins = strength.scores(lambda position: position.legal[0], depth=4, games=6, seed=0)
        assert never_wins == [0.0] * 6

        def stronger(position):
            return alpha_beta.choose(position, 6, np.random.default_rng(position.taken))

        found = strength.scores(stronger, depth=1, games=40, seed=0)
        assert np.mean(found[::2]) >= 0.6
        assert np.mean(found[1::2]) >= 0.6
        assert strength.scores(stronger, depth=1, games=40, seed=0) == found

    def test_curve_of_a_run(self, tmp_path, monkeypatch, capsys):
        allow(strength.GAME)
        small = ("--num-games", 4, "--rollout-length", 16, "--hidden", "8", "--save-interval", 1)
        assert train(tmp_path, "--game-type", strength.GAME, "--timesteps", 2 * 4 * 16, size=small)[0] == 0
        monkeypatch.setattr("sys.argv", ["strength", str(tmp_path), "--games", "4", "--depth", "2"])
        capsys.readouterr()
        assert strength.main() == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.partition(":")[0] for line in lines] == ["gen_0", "gen_1", "gen_2"]
