import csv
import itertools
import re

import numpy as np
import pytest

from selfplay.errors import LeagueError
from selfplay.league.external_games import Result, default_anchor, read_csv, table_of
from selfplay.league.leaderboard import analyse
from selfplay.league.ratings import rate
from selfplay.league.render import to_text
from tests.league.pools import tournament
from tests.support.fakes import LFS_POINTER

POOL = {"random": 1500.0, "gen_0": 1550.0, "gen_1": 1600.0}


def write(path, text):
    path.write_text(text)
    return path


def test_names_of_any_kind_and_columns_in_any_order(tmp_path):
    games = read_csv(
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
    one, other = rate(games), rate(read_csv(tmp_path / "games.csv"))
    assert one.players == other.players
    np.testing.assert_allclose(other.rating, one.rating, atol=1e-9)
    np.testing.assert_allclose(other.cov, one.cov, atol=1e-6)


def test_games_without_a_pair_stand_alone(tmp_path):
    games = read_csv(write(tmp_path / "g.csv", "first,second,score,pair\na,b,1,s\nb,a,0,s\na,c,1,s\na,b,0,\na,b,0,\n"))
    assert games.pairs.tolist() == [0, 0, 1, 2, 3]


def test_the_anchor_is_who_was_named_or_random_or_the_busiest(tmp_path):
    games = read_csv(write(tmp_path / "g.csv", "first,second,score\na,b,1\nb,c,0\n"))
    assert default_anchor(games) == "b"
    board = analyse(games, anchor="c").board
    assert next(row for row in board.rows if row.fixed).policy == "c"
    with pytest.raises(LeagueError, match="'d' played no game"):
        analyse(games, anchor="d")
    assert default_anchor(read_csv(write(tmp_path / "h.csv", "first,second,score\na,b,1\nb,random,0\n"))) == "random"


def test_players_with_names_of_ours_are_players_like_any_other(tmp_path):
    """``idle`` is outside our ladder, and generations are chained; somebody else's are not."""
    rows = "".join(f"gen_{i},gen_{i + 1},0\n" for i in range(5)) + "idle,gen_0,0.5\n"
    games = read_csv(write(tmp_path / "g.csv", f"first,second,score\n{rows}"))
    board = analyse(games, anchor="idle").board
    assert len(board.rows) == 7
    assert not any("Chained" in warning for warning in board.warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'first'"),
        ("first,second\n", "no column 'score'"),
        ("first,second,score\n", "no games"),
        ("first,second,score\na,b,2\n", r":2: score '2'"),
        ("first,second,score\na,b,1\na,b\n", r":3: score ''"),
        ("first,second,score\na,a,1\n", ":2: 'a' plays itself"),
        ("first,second,score\n,b,1\n", ":2: player ''"),
        (f"first,second,score\n{'x' * 65},b,1\n", ":2: player 'xxx"),
        ("first,second,score\na,\x1b[2J,1\n", ":2: player"),
        ('first,second,score\n"a,b,1\n', "unexpected end"),
    ],
)
def test_what_is_no_game_is_named(text, message, tmp_path):
    path = write(tmp_path / "games.csv", text)
    with pytest.raises(LeagueError, match=message) as caught:
        read_csv(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("separator", [",", ";", "\t", ", "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tables_of_spreadsheets_are_read(tmp_path, separator, encoding):
    half = "0,5" if separator == ";" else "0.5"
    rows = [("first", "second", "score"), ("Ölaf", "b", "1"), ("b", "Ölaf", half)]
    path = tmp_path / "games.csv"
    path.write_bytes("\r\n".join(separator.join(row) for row in rows).encode(encoding))
    games = read_csv(path)
    assert games.players == ("Ölaf", "b")
    assert games.scores.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("games.csv", b"\xff\xfe\x00", "cannot read the games .*save it as UTF-8"),
        ("games.csv", "first,second,score\nÖlaf,b,1\n".encode("latin-1"), "cannot read the games .*save it as UTF-8"),
        ("games.csv", b"PK\x03\x04", "not a CSV file; it is a zip archive: unpack it first"),
        ("games.xlsx", b"PK\x03\x04", "a spreadsheet; save the sheet as CSV"),
        ("games.csv", b"\n<!DOCTYPE html><html>", "not a CSV file; it is a web page: download the file"),
        (
            "games.pgn",
            b'[Event "Cup"]\n[White "a"]\n',
            "of PGN, write White, Black and 1, 0.5 or 0 as first, second",
        ),
        ("games.csv", LFS_POINTER, "is a Git LFS pointer .* `git lfs pull`"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LeagueError, match=message):
        read_csv(tmp_path / name)


def test_results_from_python_are_the_same_table(tmp_path):
    games = [Result("a", "b", 1.0, "x"), Result("b", "a", 0.5, "x"), Result("a", "c", 0.0)]
    path = tmp_path / "games.csv"
    rows = [f"{game.first},{game.second},{game.score:g},{game.pair}" for game in games]
    path.write_text("\n".join(["first,second,score,pair", *rows]))
    found, read = table_of(games), read_csv(path)
    assert (found.players, found.seats.tolist()) == (read.players, read.seats.tolist())
    assert (found.scores.tolist(), found.pairs.tolist()) == ([1.0, 0.5, 0.0], [0, 0, 1])


@pytest.mark.parametrize(
    ("games", "words"),
    [
        ([], "no games"),
        ([Result("a", "b", 1.0), Result("a", "a", 1.0)], "game 1: 'a' plays itself"),
        ([Result("a", "b", 0.4)], "game 0: score 0.4; valid: 1, 0.5, 0"),
        ([Result("a", "", 1.0)], "game 0: player ''"),
    ],
)
def test_results_from_python_that_cannot_be_rated(games, words):
    with pytest.raises(LeagueError, match=re.escape(words)):
        table_of(games)
