"""The examples of the docs, as a person runs them."""

from pathlib import Path

GAME = "docs.examples.tic_tac_toe:TicTacToe"
FILE = Path(__file__).parents[1] / "docs" / "examples" / "tic_tac_toe.py"


def test_the_first_game_has_at_most_forty_lines():
    assert len(FILE.read_text().splitlines()) <= 40
