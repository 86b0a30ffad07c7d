"""What any game of two seats goes through: those of PettingZoo and OpenSpiel, and the example of the docs."""

import importlib.util
import io
import json
from pathlib import Path

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.commands.cli import play as cli
from selfplay.commands.exploit import exploit
from selfplay.commands.leaderboard_page import write_run
from selfplay.evaluation.evaluate import evaluate
from selfplay.evaluation.players import contenders, home_rules
from selfplay.games.plugins import is_code
from selfplay.league.leaderboard import analyse
from selfplay.league.ledger import read_games
from tests.run.runs import assert_equal_runs, train
from tests.support.cases import first_alone

pytest.importorskip("pettingzoo", reason="needs PettingZoo, which is not installed")
pytest.importorskip("pygame", reason="needs pygame, which is not installed")

GAMES = {
    "turns": "pettingzoo:pettingzoo.classic.connect_four_v3",
    "parallel": "pettingzoo:pettingzoo.classic.rps_v2",
    "asymmetric": "tests.games.pursuit:Pursuit",
    "example": "selfplay.examples.tic_tac_toe:TicTacToe",
    "many actions": "tests.games.games:Bids",
}
if importlib.util.find_spec("pyspiel") is not None:
    GAMES["chance"] = "openspiel:leduc_poker(players=2)"
MOVES = {
    "turns": "3",
    "parallel": "1",
    "asymmetric": "2",
    "example": "4",
    "many actions": "200",
    "chance": "Call",
}  # of a person, once
SEATS = {
    "turns": ("seat 0 (player_0)", "seat 1 (player_1)"),
    "parallel": ("seat 0 (player_0)", "seat 1 (player_1)"),
    "asymmetric": ("seat 0 (hider)", "seat 1 (seeker)"),
}
STEPS = 8 * 16
SMALL = (
    *("--num-games", 8, "--rollout-length", 16, "--hidden", "16", "--batch-size", "64", "--save-interval", 2),
    *("--deterministic", "--track-elo", "--rating-share", "1", "--mode", "simple_mix"),
)


@pytest.mark.parametrize("kind", first_alone(sorted(GAMES, key=lambda kind: kind != "example")))
def test_a_game_is_trained_resumed_rated_shown_evaluated_exploited_and_played(tmp_path, monkeypatch, capsys, kind):
    game, whole, parts = GAMES[kind], tmp_path / "whole", tmp_path / "parts"
    flags = ("--game-type", game)
    assert train(whole, *flags, "--timesteps", 6 * STEPS, size=SMALL)[0] == 0

    assert train(parts, *flags, "--timesteps", 3 * STEPS, size=SMALL)[0] == 0
    arrays = load_latest_learner(RunDir(parts)).arrays
    assert any(name.endswith("/steps") and array.any() for name, array in arrays.items())  # in the middle of games
    assert train(parts, *flags, "--timesteps", 6 * STEPS, resume=True)[0] == 0
    assert_equal_runs(whole, parts, generations=["gen_0", "gen_2", "gen_4", "gen_6"])

    found = analyse(read_games(RunDir(whole).ledger))
    assert {row.policy for row in found.board.rows} >= {"random", "gen_0", "gen_6"}
    write_run(whole, found, tmp_path / "page.html", lambda text: None)
    assert '"steps"' in (tmp_path / "page.html").read_text()

    pair, named = contenders((str(whole), "random"), game)
    assert evaluate(*pair, 10, home_rules(pair, named)).games == 10
    assert 0 <= exploit(whole, STEPS, tmp_path / "exploiters", ("scratch",), (0,), 4).score <= 1

    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{MOVES[kind]}\nquit\n".encode())))
    monkeypatch.setattr("sys.argv", ["selfplay play", str(whole), "--seat", "0", *(flags if is_code(game) else ())])
    assert cli.main() == 0
    shown = capsys.readouterr().out
    seats = SEATS.get(kind, ("seat 0", "seat 1"))
    assert "Game 1: you have {}, gen_6 has {}. Type quit any time.".format(*seats) in shown
    assert "no legal action" not in shown
    assert "Score: 0 won, 0 lost, 0 drawn" in shown


def test_the_network_sees_both_seats_of_an_asymmetric_game(tmp_path):
    train(tmp_path / "run", "--game-type", GAMES["asymmetric"], "--timesteps", STEPS, size=SMALL)
    policy = json.loads((tmp_path / "run" / "generations" / "gen_0" / "policy.json").read_text())
    assert policy["network"]["obs_width"] == 5 + 2  # the wider observation, and whose seat it is
    assert policy["actions"]["sizes"] == [5, 2]


def test_the_example_has_at_most_forty_lines():
    assert len((Path(__file__).parents[2] / "selfplay/examples/tic_tac_toe.py").read_text().splitlines()) <= 40
