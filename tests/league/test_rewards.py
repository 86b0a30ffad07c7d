"""Comparisons by reward in the ledger and on the leaderboard."""

import csv
import io
import itertools
import json

import numpy as np
import pytest
from pydantic import ValidationError

from selfplay.errors import LeagueError
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import build
from selfplay.league.ledger import Ledger, read_games, read_records
from selfplay.league.records import GameRecord, Seat
from selfplay.league.render import paid, to_csv, to_json, to_table, to_text
from selfplay.league.rewards import BY_WINS, score_of
from tests.league.pools import record


def compared(first, second, rewards, partner=None, seed=0, seat=0, versions=None, **changes):
    """What two players were paid, with a partner or opposite each other."""
    versions = versions or {}

    def side(name):
        return Seat(player=name, version=versions.get(name, "v1"))

    met = side(partner) if partner else None
    facts = {"partner": met and met.model_dump(), "seat": seat, "reasons": ["agreed", "agreed"]}
    return played(side(first), side(second), seed, place=(met, seat), rewards=rewards, facts=facts, **changes)


def scored(first, second, rewards, seed=0, **changes):
    """A game without facts, such as tic-tac-toe."""
    return played(Seat(player=first, version="v1"), Seat(player=second, version="v1"), seed, rewards=rewards, **changes)


def played(first, second, seed, *, rewards, **changes):
    fields = {"game": "kuhn", "sampling": "stochastic", "iteration": 3, "settings": "abc", **changes}
    return GameRecord.played(seats=(first, second), seed=seed, score=score_of(rewards), rewards=rewards, **fields)


def shared():
    """Forty states: gen_1 is paid more than gen_0, with every partner; `random` least."""
    rows = []
    for seed in range(40):
        luck = 0.1 * (seed % 3)
        rows.append(compared("gen_1", "gen_0", (0.7 + luck, 0.5 + luck), ("gen_0", "gen_1")[seed % 2], seed))
        rows.append(compared("gen_0", "random", (0.5 + luck, 0.2), "teacher", seed, seat=1))
        rows.append(compared("random", "gen_1", (0.2, 0.2 if seed % 4 else 0.7), "teacher", seed + 100))
    return rows


def test_who_is_paid_more_has_won():
    assert score_of((0.5, 0.25)) == 1.0
    assert score_of((0.25, 0.5)) == 0.0
    assert score_of((0.1 + 0.2, 0.3)) == 0.5


@pytest.mark.parametrize(
    ("stakes", "objective", "differ"),
    [((1.0, 2.0), None, True), ((1.0, 1.0), None, False), ((1.0, 2.0), "reward", False)],
)
def test_a_leaderboard_of_wins_says_that_rewards_differ_in_size(stakes, objective, differ):
    counted = {"objective": objective, "unit": "chips"} if objective else {}
    rows = [scored("gen_1", "gen_0", (paid, -paid), seed, **counted) for seed, paid in enumerate(stakes)]
    assert (BY_WINS[1:] in to_text(build(GameTable.of(rows)))) == differ


def test_rows_come_back_from_the_file_and_count_once(tmp_path):
    path = tmp_path / "ledger.jsonl"
    rows = shared()
    with Ledger.open(path) as ledger:
        assert ledger.append([*rows, rows[0]]) == len(rows)
        written = ledger.games()
    games = read_games(path)
    assert games.paid is not None
    assert written.paid is not None
    np.testing.assert_array_equal(games.paid.rewards, written.paid.rewards)
    assert games.paid.rewards[0].tolist() == pytest.approx([0.7, 0.5])
    assert list(read_records(path)) == rows


def test_rows_of_two_players_on_one_state_are_one_observation():
    same = [compared("gen_1", "gen_0", (1.0, 0.0), "teacher", 5, seat) for seat in (0, 1)]
    other = compared("gen_1", "gen_0", (1.0, 0.0), "teacher", 6)
    games = GameTable.of([*same, compared("gen_0", "gen_1", (1.0, 0.0), "gen_0", 5), other])
    assert games.pairs.tolist() == [0, 0, 0, 1]


def test_games_of_two_kinds_do_not_share_a_ledger(tmp_path):
    path = tmp_path / "ledger.jsonl"
    kinds = record("gen_1", "gen_0"), shared()[0], scored("gen_1", "gen_0", (1.0, -1.0))
    for one, other in itertools.permutations(kinds, 2):
        path.write_text(one.row() + "\n" + other.row() + "\n")
        with pytest.raises(LeagueError, match="games of two kinds in one ledger"):
            read_games(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rewards": [1.0]}, "not enough values"),
        ({"rewards": [1.0, None]}, ""),
        ({"rewards": [1.0, float("nan")]}, "NaN is no JSON"),
        ({"rewards": None}, "a game with a partner has no rewards"),
        ({"format": 3}, "format 3"),
        ({"facts": {"partner": {}, "seat": 0, "reasons": []}}, "'version' is missing"),
    ],
)
def test_a_row_that_says_nothing_is_an_error_with_its_line(tmp_path, change, message):
    path = tmp_path / "ledger.jsonl"
    row = json.loads(shared()[0].row())
    path.write_text(shared()[1].row() + "\n" + json.dumps({**row, **change}) + "\n" + shared()[2].row() + "\n")
    with pytest.raises(LeagueError, match=rf"ledger.jsonl:2: not a game record: .*{message}"):
        read_games(path)


def test_a_player_is_not_compared_with_itself():
    with pytest.raises(ValidationError, match="rated against itself"):
        compared("gen_1", "gen_1", (1.0, 0.0), "teacher")


def test_the_better_paid_stands_above():
    board = build(GameTable.of(shared()))
    assert [row.policy for row in board.rows] == ["gen_1", "gen_0", "random"]
    assert board.finished is None
    assert next(row.rating for row in board.rows if row.policy == "random") == 1500.0
    assert not any("draws" in warning for warning in board.warnings)


def test_cells_are_means_by_partner_with_states_as_observations():
    rows = {row.policy: row for row in build(GameTable.of(shared())).rows}
    alone = rows["gen_1"].reward_with("gen_1")
    assert alone is not None
    expected = [0.7 + 0.1 * (seed % 3) for seed in range(1, 40, 2)]
    assert alone.games == 20
    assert alone.reward == pytest.approx(np.mean(expected))
    assert alone.interval == pytest.approx(1.96 * np.std(expected, ddof=1) / 20**0.5, rel=1e-3)
    assert rows["gen_0"].rewards[0].partner == "gen_0"
    assert rows["gen_0"].reward_with("teacher").reward == pytest.approx(
        np.mean([0.5 + 0.1 * (s % 3) for s in range(40)])
    )
    assert rows["random"].reward_with("gen_0") is None


def test_twice_the_rows_of_a_state_do_not_narrow_an_interval():
    once = [compared("gen_1", "gen_0", (float(seed % 2), 0.0), "teacher", seed) for seed in range(20)]
    twice = once + [compared("gen_1", "gen_0", (float(seed % 2), 0.0), "teacher", seed, seat=1) for seed in range(20)]
    narrow, wide = (build(GameTable.of(rows)).rows[0].reward_with("teacher") for rows in (once, twice))
    assert wide.games == 2 * narrow.games
    assert wide.interval == pytest.approx(narrow.interval)


@pytest.mark.parametrize("seats", [(1.0, 1.0), (1.0, 0.0), (0.7, 0.7)])  # rewards in the two games of a state
def test_states_that_are_all_alike_claim_no_certainty(seats):
    rows = [compared("gen_1", "gen_0", (seats[i], 0.0), "teacher", seed, seat=i) for seed in range(21) for i in (0, 1)]
    cell = build(GameTable.of(rows)).rows[0].reward_with("teacher")
    assert (cell.games, cell.interval) == (42, None)
    assert paid(cell) == f"{np.mean(seats):.3f} (42)"


def test_games_with_a_replaced_partner_are_left_out_of_the_cells():
    rows = [compared("gen_1", "gen_0", (1.0, 0.0), "gen_2", 1, versions={"gen_2": "old"})]
    rows.append(compared("gen_2", "gen_0", (1.0, 0.0), "gen_1", 2, versions={"gen_2": "new"}))
    board = build(GameTable.of(rows))
    assert {row.policy: [cell.partner for cell in row.rewards] for row in board.rows} == {
        "gen_0": ["gen_1"], "gen_1": [], "gen_2": ["gen_1"], "random": [],
    }  # fmt: skip


def test_opposite_each_other_the_partner_is_the_opponent():
    board = build(
        GameTable.of([compared("gen_1", "random", (2.0, -2.0), seed=1), compared("gen_1", "random", (-1.0, 1.0))])
    )
    rows = {row.policy: row for row in board.rows}
    assert rows["gen_1"].reward_with("random").reward == pytest.approx(0.5)
    assert rows["random"].reward_with("gen_1").reward == pytest.approx(-0.5)
    assert "itself" not in to_text(board)


def test_games_without_partners_show_no_rewards():
    rows = [scored("gen_1", "random", (1.0, 0.0), seed, steps=seed) for seed in range(3)]
    board = build(GameTable.of(rows))
    assert [(row.policy, row.wins, row.losses) for row in board.rows] == [("gen_1", 3, 0), ("random", 0, 3)]
    assert not any(row.rewards for row in board.rows)
    text = to_text(board)
    assert "the higher reward wins" in text
    assert "Mean reward" not in text
    assert "Finished" not in text
    assert "reward_with" not in to_csv(board)


def test_all_forms_show_rewards():
    board = build(GameTable.of(shared()))
    text = to_text(board)
    assert "Reward with itself" in text.splitlines()[1]
    assert "Finished" not in text
    assert f"{board.rows[0].reward_with('gen_1').reward:.3f} ± " in text
    assert "Mean reward of the row's player with the column's" in text
    rows = list(csv.DictReader(io.StringIO(to_csv(board))))
    assert float(rows[0]["reward_with_itself"]) == pytest.approx(board.rows[0].reward_with("gen_1").reward)
    assert rows[2]["games_with_gen_0"] == ""
    assert json.loads(to_json(board))["rows"][0]["rewards"][0]["partner"] == "gen_1"
    assert to_table(board) is not None


def test_players_with_the_same_partner_are_rated_by_the_difference_of_their_rewards():
    """gen_1 is worth 0.3 more with the teacher, but the lower reward in most states."""
    counted = {"objective": "reward", "unit": "points"}
    rows = [
        compared("gen_1", "gen_0", (1.0, 0.0) if seed % 4 == 0 else (0.3, 0.5), "teacher", seed, **counted)
        for seed in range(200)
    ]
    rows += [compared("gen_0", "random", (0.4, 0.2), "teacher", seed, **counted) for seed in range(200, 300)]
    board = build(GameTable.of(rows))
    ratings = {row.policy: row.rating for row in board.rows}
    mean = (1.0 - 3 * 0.2) / 4
    assert ratings["gen_1"] - ratings["gen_0"] == pytest.approx(mean, abs=0.01)
    assert ratings["gen_0"] == pytest.approx(0.2, abs=0.01)
    assert next(row.wins for row in board.rows if row.policy == "gen_1") == 50
