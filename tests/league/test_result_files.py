"""Games of other programs in files: formats, spellings, and what is said about what is wrong."""

import json
import re
import tracemalloc

import pytest

from selfplay.errors import LeagueError
from selfplay.league.external_games import default_anchor
from selfplay.league.leaderboard import analyse
from selfplay.league.render import to_text
from selfplay.league.result_files import LONGEST_LINE, read_results
from tests.support.fakes import LFS_POINTER

PGN = """[Event "Cup"]
[White "Ada"]
[Black "Bob \\"B\\" 1"]
[Result "1-0"]

1. e4 {a comment
[White "nobody"]
} e5 1-0

[Event "Cup"]
[White "Bob \\"B\\" 1"]
[Black "Ada"]
[Result "1/2-1/2"]

[Event "Cup"]
[White "Ada"]
[Black "Cy"]
[Result "*"]

[Event "Cup"]
[White "?"]
[Black "Cy"]
[Result "0-1"]

0-1
[White "Cy"][Black "Ada"][Result "0-1"]
"""


def read(tmp_path, content, name="games.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_results(path)


def games_of(table):
    return [
        (table.players[first], table.players[second], score)
        for (first, second), score in zip(table.seats.tolist(), table.scores.tolist(), strict=True)
    ]


# ---- spellings


@pytest.mark.parametrize(
    "seats",
    [
        ("first", "second"),
        ("White", "Black"),
        ("player1", "player2"),
        ("Player_1", "Player_2"),
        ("player 0", "player 1"),
        ("player_a", "player_b"),
        ("A", "b"),
        ("model-a", "model-b"),
        ("home", "away"),
        ("agent_1", "agent_2"),
        ("p1", "p2"),
        ("First Player", "Second Player"),
    ],
)
def test_columns_of_players_in_the_usual_spellings(tmp_path, seats):
    assert games_of(read(tmp_path, f"date,{seats[0]},{seats[1]},score\n1.1.,x,y,1\n")) == [("x", "y", 1.0)]


@pytest.mark.parametrize(
    ("column", "value", "score"),
    [
        *(("score", value, 1.0) for value in ("1", "1.0", "1-0", "1:0", "1 - 0", "win", "Won", "W", "x", "white")),
        *(("result", value, 0.0) for value in ("0", "0.0", "0-1", "0–1", "loss", "lost", "L", "y", "Black")),
        *(("Result", value, 0.5) for value in ("0.5", ".5", "1/2-1/2", "½-½", "½", "1/2", "Draw", "tie", "0.5-0.5")),
        ("outcome", "0.75", 0.75),
        ("winner", "x", 1.0),
        ("Winner", "y", 0.0),
        ("winner", "BLACK", 0.0),
        ("winner", "draw", 0.5),
        ("winner", "1-0", 1.0),
    ],
)
def test_results_in_the_usual_spellings(tmp_path, column, value, score):
    assert games_of(read(tmp_path, f"white,black,{column}\nx,y,{value}\n")) == [("x", "y", score)]


def test_the_name_of_a_winner_comes_before_words(tmp_path):
    text = "player1,player2,winner\ndraw,player1,draw\ndraw,player1,player1\n"
    assert [score for *_, score in games_of(read(tmp_path, text))] == [1.0, 0.0]


@pytest.mark.parametrize(
    "columns",
    [
        ("reward_1", "reward_2"),
        ("payoff_a", "payoff_b"),
        ("player1_reward", "player2_reward"),
        ("Return 0", "Return 1"),
    ],
)
def test_payoffs_of_both_players(tmp_path, columns):
    table = read(tmp_path, f"player1,player2,{columns[0]},{columns[1]}\nx,y,3,-3\ny,x,1.5,-1.5\nx,y,-0.5,0.5\n")
    assert table.payoffs.tolist() == [[3.0, -3.0], [1.5, -1.5], [-0.5, 0.5]]
    assert [score for *_, score in games_of(table)] == [1.0, 1.0, 0.0]
    assert analyse(table, anchor="y").board.scale.unit == "points a game"


def test_payoffs_that_only_say_who_won_are_rated_as_wins(tmp_path):
    table = read(tmp_path, "a,b,reward_a,reward_b\nx,y,1,-1\ny,x,1,-1\nx,y,0,0\n")
    assert table.payoffs is None
    assert [score for *_, score in games_of(table)] == [1.0, 1.0, 0.5]


# ---- formats


@pytest.mark.parametrize("separator", [",", ";", "\t", ", "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tables_of_spreadsheets(tmp_path, separator, encoding):
    half = "0,5" if separator == ";" else "0.5"
    rows = [("first", "second", "score"), ("Ölaf", "b", "1"), ("b", "Ölaf", half)]
    table = read(tmp_path, "\r\n".join(separator.join(row) for row in rows).encode(encoding), "games.txt")
    assert games_of(table) == [("Ölaf", "b", 1.0), ("b", "Ölaf", 0.5)]


@pytest.mark.parametrize("name", ["games.pgn", "games.csv"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_headers_of_pgn_whatever_the_suffix(tmp_path, name, encoding):
    table = read(tmp_path, PGN.encode(encoding), name)
    bob = 'Bob "B" 1'
    assert games_of(table) == [("Ada", bob, 1.0), (bob, "Ada", 0.5), ("Cy", "Ada", 0.0)]
    assert table.skipped == {"without a result": 1, "of an unknown player": 1}


def test_pgn_by_the_standard_is_latin_1(tmp_path):
    text = '[White "Ölaf"]\n[Black "Łukasz"]\n[Result "1-0"]\n'
    for encoding in ("utf-8", "iso-8859-2"):
        table = read(tmp_path, text.encode(encoding))
        assert table.players[0] == "Ölaf"


def test_json_lines(tmp_path):
    rows = [
        {"first": "x", "second": "y", "score": 1, "moves": [1, 2], "pair": 7},
        {"second": "x", "first": "y", "score": "1/2-1/2", "pair": 7},
        {"first": 3, "second": "y", "score": 0.0, "won": None},
    ]
    table = read(tmp_path, "\n\n".join(map(json.dumps, rows)))
    assert games_of(table) == [("x", "y", 1.0), ("y", "x", 0.5), ("3", "y", 0.0)]
    assert table.pairs.tolist() == [0, 0, 1]


def test_several_files_of_several_formats_are_one_table(tmp_path):
    (tmp_path / "a.pgn").write_text(PGN)
    (tmp_path / "b.csv").write_text("first,second,result\nAda,Cy,*\nCy,Ada,1-0\n")
    table = read_results(tmp_path / "a.pgn", tmp_path / "b.csv")
    assert len(table) == 4
    text = to_text(analyse(table, anchor=default_anchor(table)).board)
    assert "4 games, 25% draws, from a.pgn and 1 more" in text
    assert "Left out: 2 games without a result." in text
    assert "Left out: 1 game of an unknown player." in text


def test_a_large_file_is_not_held_in_memory(tmp_path):
    path = tmp_path / "games.pgn"
    moves = "1. e4 e5 {%s} 1-0\n\n" % ("x" * 2**16)
    with path.open("w") as file:
        for _ in range(100):
            file.write(f'[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n{moves}')
    tracemalloc.start()
    try:
        assert len(read_results(path)) == 100
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 4
    finally:
        tracemalloc.stop()


# ---- what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: the file is empty"),
        ("\n \n", ":2: the file is empty"),
        (
            "one,second,score\n",
            ":1: no columns of both players among 'one', 'second', 'score'; valid: first and second",
        ),
        ("first,second\n", ":1: no result among 'first', 'second'; valid: score, result, outcome, winner"),
        ("white,black,a,b,score\n", ":1: several pairs of columns may be meant: white and black; a and b"),
        ("player0,player1,player2,score\n", "several pairs of columns may be meant: player1 and player2; player0"),
        ("first,First,second,score\n", ":1: the columns 'first' and 'First' are spelled alike"),
        ("first,first,second,score\n", ":1: a column occurs twice"),
        ("first,second,score\n", "there are no games"),
        ("first,second,score\na,b,*\n", "there are no games; 1 without a result"),
        ("first,second,score\na,b,2\n", ":2: score '2'; valid: 1, 0.5, 0 (of the first player), 1-0"),
        ("first,second,score\na,b,-1\n", ":2: score '-1'"),
        ("first,second,score\na,b,nan\n", ":2: score 'nan'"),
        ("first,second,score\na,b,\n", ":2: score ''"),
        ("first,second,score\na,b,1\na,b\n", ":3: score ''"),
        ("first,second,score\n\na,b,1\n\na,b,c\n", ":5: score 'c'"),
        ("first,second,winner\na,b,1\n", ":2: winner '1'; valid: the winner's name, the name of its column, draw"),
        ("first,second,score\nLee, Ann,b,1\n", ":2: 4 cells; valid: 3, as in the header"),
        ("first,second,score\na,a,1\n", ":2: 'a' plays itself"),
        ("first,second,score\n,b,1\n", ":2: player ''"),
        (f"first,second,score\n{'x' * 65},b,1\n", ":2: player 'xxx"),
        ("first,second,score\na,\x1b[2J,1\n", ":2: player"),
        ('first,second,score\n"a,b,1\n', ":2: unexpected end"),
        ("a,b,reward1,reward2\nx,y,1,one\n", ":2: reward2 'one'; valid: a number"),
        ("a,b,reward1,reward2\nx,y,1,1e13\n", ":2: payoff 1e+13; valid: a number of at most 1e+12"),
        (f"first,second,score\n{'a' * (LONGEST_LINE + 1)}", f":2: a line of more than {LONGEST_LINE} characters"),
        ('{"first": "a"}\n', ":1: no columns of both players"),
        ('{"first": "a", "second": "b", "score": true}\n', ":1: score True; valid: a text or a number"),
        ('{"first": "a", "second": "b", "score": 1}\n[1]\n', ":2: not an object; valid: {"),
        ('{"first": "a", "second": "b", "score": 1}\n{"first"\n', ":2: "),
        ('[{"first": "a", "second": "b", "score": 1}]\n', ":1: not PGN, and not JSON lines"),
        ('[White "a"]\n[Black "b"]\n[Result "2-0"]\n', ":3: Result '2-0'; valid: 1-0, 0-1, 1/2-1/2, *"),
        ('[White "a"]\n[Black "b]\n[Result "1-0"]\n', ':2: \'[Black "b]\'; valid: [Name "value"]'),
        ('[White "a"]\n[Black "b"]\n\n1. e4 1-0\n', ":4: the game before has no Result"),
        ('[White "a"]\n[Result "1-0"]\n\n[White "c"]\n', ":4: the game before has no Black"),
        ('[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 {open\n', ":5: a comment that begins with { has no end"),
        ('[White "a"]\n[Black "a"]\n[Result "1-0"]\n', ":3: 'a' plays itself"),
    ],
)
def test_what_is_no_game_is_named_with_its_line(text, message, tmp_path):
    with pytest.raises(LeagueError, match=re.escape(message)) as caught:
        read(tmp_path, text)
    assert "games.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("games.csv", b"\xff\xfe\x00", ":1: not UTF-16; save it as UTF-8"),
        (
            "games.csv",
            "first,second,score\nÖlaf,b,1\n".encode("latin-1"),
            ":2: the text is not UTF-8; save it as UTF-8",
        ),
        ("games.csv", "first,second,score\n".encode("utf-16-le"), ":1: not a text: it has zero bytes"),
        ("games.csv", b"PK\x03\x04", "not a file of games; it is a zip archive: unpack it first"),
        ("games.xlsx", b"PK\x03\x04", "a spreadsheet; save the sheet as CSV"),
        ("games.csv", b"\n<!DOCTYPE html><html>", "not a file of games; it is a web page: download the file"),
        ("games.csv", LFS_POINTER, "is a Git LFS pointer .* `git lfs pull`"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, name, content, message):
    with pytest.raises(LeagueError, match=message):
        read(tmp_path, content, name)
