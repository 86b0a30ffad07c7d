"""The match of a chess engine with itself at several depths."""

import pytest

from scripts.studies import engine_match
from selfplay.games import engines
from selfplay.league import read_results


def test_headers_are_those_that_the_reader_takes(tmp_path):
    path = tmp_path / "games.pgn"
    results = ("1-0", "0-1", "1/2-1/2")
    path.write_text("".join(engine_match.headers(1, "deep", "shallow", result, "2026.11.29") for result in results))
    assert read_results(path).scores.tolist() == [1.0, 0.0, 0.5]


@pytest.mark.full
@pytest.mark.skipif(engines._path("stockfish") is None, reason="stockfish is not installed")
def test_openings_are_played_with_both_colours(tmp_path):
    pytest.importorskip("pyspiel")
    path = tmp_path / "games.pgn"
    assert engine_match.main(["--depths", "1,2", "--openings", "1", "--out", str(path)]) == 0
    games = read_results(path)
    assert [name.split()[-2:] for name in games.players] == [["depth", "1"], ["depth", "2"]]
    assert games.seats.tolist() == [[0, 1], [1, 0]]


def test_depths_that_no_player_has_are_named(tmp_path, capsys):
    assert engine_match.main(["--depths", "1,99", "--out", str(tmp_path / "games.pgn")]) == 2
    assert "99" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
