import csv
import itertools
import re

import numpy as np
import pytest

import selfplay
from selfplay.errors import LeagueError
from selfplay.league.external_games import MOST_PLAYERS, Result, default_anchor, table_of
from selfplay.league.leaderboard import analyse
from selfplay.league.ratings import rate
from selfplay.league.render import to_text
from selfplay.league.result_files import read_results
from tests.league.pools import tournament

POOL = {"random": 1500.0, "gen_0": 1550.0, "gen_1": 1600.0}


def write(path, text):
    path.write_text(text)
    return path


def test_names_of_any_kind_and_columns_in_any_order(tmp_path):
    games = read_results(
        write(tmp_path / "games.csv", "date,score,second,first\n1.1.,1,Ölaf II,KataGo 1.0\n,0.5,KataGo 1.0,x\n")
    )
    assert games.players == ("KataGo 1.0", "Ölaf II", "x")
    board = analyse(games, anchor=default_anchor(games)).board
    assert board.anchor == "KataGo 1.0"
    first = board.rows[0]
    assert (first.policy, first.wins, first.draws) == ("KataGo 1.0", 1, 1)
    assert not any(row.scripted for row in board.rows)
    text = to_text(board)
    assert "KataGo 1.0 = 1500; 2 games, 50% draws, from games.csv" in text
    assert "(bot)" not in text
    assert "stocks;" not in text


def test_the_same_games_get_the_same_ratings_as_in_a_ledger(tmp_path):
    """Pairs included: games that share a seed are one observation in either."""
    games = tournament(POOL, itertools.combinations(POOL, 2), 30, np.random.default_rng(0), draws=0.3, luck=0.5)
    with (tmp_path / "games.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["first", "second", "score", "pair"])
        for (a, b), score, pair in zip(games.seats, games.scores, games.pairs, strict=True):
            writer.writerow([games.players[a], games.players[b], f"{score:g}", pair])
    one, other = rate(games), rate(read_results(tmp_path / "games.csv"))
    assert one.players == other.players
    np.testing.assert_allclose(other.rating, one.rating, atol=1e-9)
    np.testing.assert_allclose(other.cov, one.cov, atol=1e-6)


def test_games_without_a_pair_stand_alone(tmp_path):
    games = read_results(
        write(tmp_path / "g.csv", "first,second,score,pair\na,b,1,s\nb,a,0,s\na,c,1,s\na,b,0,\na,b,0,\n")
    )
    assert games.pairs.tolist() == [0, 0, 1, 2, 3]


def test_the_anchor_is_who_was_named_or_random_or_the_busiest(tmp_path):
    games = read_results(write(tmp_path / "g.csv", "first,second,score\na,b,1\nb,c,0\n"))
    assert default_anchor(games) == "b"
    board = analyse(games, anchor="c").board
    assert next(row for row in board.rows if row.fixed).policy == "c"
    with pytest.raises(LeagueError, match="'d' played no game"):
        analyse(games, anchor="d")
    assert (
        default_anchor(read_results(write(tmp_path / "h.csv", "first,second,score\na,b,1\nb,random,0\n"))) == "random"
    )


def test_players_with_names_of_ours_are_players_like_any_other(tmp_path):
    """``idle`` is outside our ladder, and generations are chained; somebody else's are not."""
    rows = "".join(f"gen_{i},gen_{i + 1},0\n" for i in range(5)) + "idle,gen_0,0.5\n"
    games = read_results(write(tmp_path / "g.csv", f"first,second,score\n{rows}"))
    board = analyse(games, anchor="idle").board
    assert len(board.rows) == 7
    assert not any("Chained" in warning for warning in board.warnings)


def test_results_from_python_are_the_same_table(tmp_path):
    games = [Result("a", "b", 1.0, "x"), Result("b", "a", 0.5, "x"), Result("a", "c", 0.0)]
    path = tmp_path / "games.csv"
    rows = [f"{game.first},{game.second},{game.score:g},{game.pair}" for game in games]
    path.write_text("\n".join(["first,second,score,pair", *rows]))
    found, read = table_of(games), read_results(path)
    assert (found.players, found.seats.tolist()) == (read.players, read.seats.tolist())
    assert (found.scores.tolist(), found.pairs.tolist()) == ([1.0, 0.5, 0.0], [0, 0, 1])


@pytest.mark.parametrize(
    ("games", "words"),
    [
        ([], "no games"),
        ([Result("a", "b", 1.0), Result("a", "a", 1.0)], "game 1: 'a' plays itself"),
        ([Result("a", "b", 1.4)], "game 0: score 1.4; valid: 0 to 1, of the first player"),
        ([Result("a", "b", float("nan"))], "game 0: score nan"),
        ([Result.of_payoffs("a", "b", (1e13, 0.0))], "game 0: payoff 1e+13; valid: a number of at most 1e+12"),
        ([Result("a", "b", 1.0), Result.of_payoffs("a", "b", (1.0, 0.0))], "game 1: payoffs; valid: of all games or"),
        ([Result("a", str(i), 1.0) for i in range(MOST_PLAYERS)], f"game {MOST_PLAYERS - 1}: player"),
        ([Result("a", "", 1.0)], "game 0: player ''"),
    ],
)
def test_results_from_python_that_cannot_be_rated(games, words):
    with pytest.raises(LeagueError, match=re.escape(words)):
        table_of(games)


# ---- arrays


def test_arrays_get_the_ratings_and_intervals_of_the_command():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, (2, 500))
    first, second = first[first != second], second[first != second]
    score = (rng.random(len(first)) < 1 / (1 + 10 ** ((second - first) / 4))).astype(float)
    found = selfplay.ratings(first, second, score, anchor=0)
    board = analyse(table_of(map(Result, map(str, first), map(str, second), score.tolist())), anchor="0").board
    rows = {row.policy: row for row in board.rows}
    assert found.players == ("0", "1", "2", "3")
    for name, rating, low, high in zip(found.players, found.rating, found.low, found.high, strict=True):
        assert (rows[name].rating, rows[name].low, rows[name].high) == (rating, low, high)
    assert all(abs(rating - 1500.0 - 100.0 * i) < 100.0 for i, rating in enumerate(found.rating))
    assert found.difference("3", "0").superiority > 0.99


def test_a_share_of_a_win_counts_as_such():
    """A row that is the mean of games has the rating that they have."""
    apart = selfplay.ratings(list("aaab"), list("bbba"), [1, 1, 0, 0.5], anchor="b")
    mean = selfplay.ratings(list("aaaa"), list("bbbb"), [0.625] * 4, anchor="b")
    np.testing.assert_allclose(mean.rating, apart.rating, atol=1e-6)
    board = analyse(table_of([Result("a", "b", 0.625)]), anchor="b").board
    assert [(row.policy, row.wins, row.losses, row.games) for row in board.rows] == [("a", 1, 0, 1), ("b", 0, 1, 1)]


def test_payoffs_are_rated_as_payoffs_unless_a_score_has_one_payoff():
    first, second = list("abab"), list("baba")
    chips = selfplay.ratings(first, second, payoffs=[(3, -3), (-1, 1), (2, -2), (1, -1)], anchor="b")
    assert chips.scale.unit == "points a game"
    assert chips.rating[chips.index("a")] == pytest.approx(1.0, abs=0.5)  # the mean is 5 / 4, the prior shrinks it
    paid = np.array([(1, -1), (-1, 1), (1, -1), (1, -1)])
    wins = selfplay.ratings(first, second, payoffs=paid, anchor="b")
    np.testing.assert_array_equal(wins.rating, selfplay.ratings(first, second, (paid[:, 0] + 1) / 2, anchor="b").rating)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"first": ["a"], "second": ["b"]}, "valid: either score or payoffs"),
        ({"first": ["a"], "second": ["b"], "score": [1], "payoffs": [(1, 0)]}, "valid: either score or payoffs"),
        ({"first": ["a"], "second": ["b", "c"], "score": [1]}, "1 first players, 2 second ones"),
        ({"first": ["a"], "second": ["b"], "score": [1, 0]}, "score: shape (2,); valid: (1,)"),
        ({"first": ["a"], "second": ["b"], "score": ["x"]}, "score: could not convert"),
        ({"first": ["a"], "second": ["b"], "payoffs": [1]}, "payoffs: shape (1,); valid: (1, 2)"),
        ({"first": [0.5], "second": ["b"], "score": [1]}, "first: float64 of shape (1,); valid: names"),
        ({"first": ["a"], "second": ["b"], "score": [1], "anchor": "c"}, "the anchor 'c' played no game"),
    ],
)
def test_arrays_that_cannot_be_rated(given, words):
    with pytest.raises(LeagueError, match=re.escape(words)):
        selfplay.ratings(**given)
