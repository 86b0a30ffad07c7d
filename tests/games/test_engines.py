"""Programs of others as players: their processes, protocols, and the programs themselves where they are installed."""

import sys

import numpy as np
import pytest

from selfplay.games import engines
from selfplay.games.errors import GameError
from selfplay.games.gnubg import _after, _features, _sides, _simple
from selfplay.games.line_program import LineProgram
from selfplay.games.openspiel_games import OpenSpielGame

RNG = np.random.default_rng(0)


@pytest.fixture
def program():
    """Makes a program of Python code that reads lines, and ends it."""
    made = []

    def make(code, limit_s=60.0):
        made.append(LineProgram((sys.executable, "-c", f"import sys\n{code}"), limit_s))
        return made[-1]

    yield make
    for each in made:
        each.close()


# ---------------------------------------------------------------- processes


ECHO = "for line in sys.stdin: print('heard', line, end='', flush=True)"


def test_answers_are_read_up_to_their_ends(program):
    echo = program(ECHO)
    assert echo.ask(["a", "b"], lambda line: line.startswith("heard"), answers=2) == ["heard a", "heard b"]
    assert echo.ask(["c"], lambda line: True) == ["heard c"]


def test_a_program_that_was_closed_starts_again(program):
    echo = program(ECHO)
    for _ in range(2):
        assert echo.ask(["a"], lambda line: True) == ["heard a"]
        echo.close()


def test_a_program_that_ends_is_one_error(program):
    dead = program("sys.stdin.readline(); sys.exit(3)")
    with pytest.raises(GameError, match=r"ended with status 3; it was asked: genmove$"):
        dead.ask(["boardsize 9", "genmove"], lambda line: True)


def test_a_program_that_does_not_answer_is_ended(program):
    slow = program("sys.stdin.read()", limit_s=0.05)
    with pytest.raises(GameError, match=r"did not answer within 0\.05 s; it was asked: go$"):
        slow.ask(["go"], lambda line: True)


# ---------------------------------------------------------------- protocols


def reached(name, *actions):
    game = OpenSpielGame(name)
    game.reset(0)
    for action in actions:
        game.step([action, action])
    return game.state


GTP = """
asked = []
for line in sys.stdin:
    asked.append(line.strip())
    if line.startswith("reg_genmove"):
        assert asked[:4] == ["boardsize 9", "komi 7.5", "clear_board", "clear_cache"], asked
        assert asked[5:] == ["play B a1", "play W b1", "reg_genmove B"], asked
        print("= MOVE" + chr(10), flush=True)
    else:
        print("=" + chr(10), flush=True)
"""


@pytest.mark.parametrize(("move", "action"), [("C1", 2), ("j9", 80), ("PASS", 81), ("resign", 81), ("A1", 81)])
def test_moves_of_the_go_text_protocol(program, move, action):
    pytest.importorskip("pyspiel", reason="needs OpenSpiel, which is not installed")
    state = reached("go(board_size=9)", 0, 1)
    assert engines.go_move(9, 7.5, program(GTP.replace("MOVE", move)), state, RNG) == action


def test_a_refused_command_is_named(program):
    pytest.importorskip("pyspiel", reason="needs OpenSpiel, which is not installed")
    refuses = program("for line in sys.stdin: print('? unacceptable size' + chr(10), flush=True)")
    with pytest.raises(GameError, match=r"refused boardsize 9: \? unacceptable size"):
        engines.go_move(9, 7.5, refuses, reached("go(board_size=9)"), RNG)


UCI = """
for line in sys.stdin:
    if line.startswith("position"):
        assert line.split(" moves ")[1] == "e2e4 e7e5\\n", line
    if line.startswith("go"):
        assert line == "go depth 3\\n", line
        print("info depth 3" + chr(10) + "bestmove g1f3 ponder b8c6", flush=True)
"""


def test_moves_of_the_universal_chess_interface(program):
    pytest.importorskip("pyspiel", reason="needs OpenSpiel, which is not installed")
    state = reached("chess")
    for move in ("e2e4", "e7e5"):
        state.apply_action(state.parse_move_to_action(move))
    action = engines.chess_move(3, program(UCI), state, RNG)
    assert state.action_to_string(action) == "Nf3"


# ---------------------------------------------------------------- backgammon


def test_positions_of_backgammon_are_read_from_both_sides():
    pytest.importorskip("pyspiel", reason="needs OpenSpiel, which is not installed")
    state = reached("backgammon")
    for player in (0, 1):
        seen = state.observation_tensor(player)
        sides = _sides(seen, player)
        assert _simple(sides) == "0 -2 0 0 0 0 5 0 3 0 0 0 -5 5 0 0 0 -3 0 -5 0 0 0 0 2 0"
        assert _features(sides, player) == [*seen[:193], seen[195]]


@pytest.mark.parametrize(
    ("move", "own", "other"),
    [
        ("8/5 6/5", {8: 2, 6: 4, 5: 2, 24: 2}, {3: 1}),
        ("6/3*", {8: 3, 6: 4, 3: 1, 24: 2}, {25: 1}),
        ("6/3*/1", {8: 3, 6: 4, 1: 1, 24: 2}, {25: 1}),
        ("24/18(2) 6/off", {8: 3, 6: 4, 18: 2, 0: 1}, {3: 1}),
    ],
)
def test_moves_of_gnu_backgammon_are_played(move, own, other):
    def side(points):
        return [points.get(point, 0) for point in range(26)]

    assert _after((side({8: 3, 6: 5, 24: 2}), side({3: 1})), move) == (side(own), side(other))


# ---------------------------------------------------------------- the programs themselves


@pytest.mark.parametrize(
    ("name", "player", "program"),
    [
        ("go(board_size=5)", "gnugo_1", "gnugo"),
        ("chess", "stockfish_2", "stockfish"),
        ("backgammon(scoring_type=full_scoring)", "gnubg_0", "gnubg"),
    ],
)
def test_an_installed_program_beats_random_moves(name, player, program):
    pytest.importorskip("pyspiel", reason="needs OpenSpiel, which is not installed")
    if engines._path(program) is None:
        pytest.skip(f"needs {program}, which is not installed")
    game, rng, over, payoff = OpenSpielGame(name), np.random.default_rng(0), False, 0.0
    assert game.engines[player].version
    game.reset(0)
    while not over:
        (seat,) = game.to_act()
        legal = np.flatnonzero(game.legal(seat))
        asked = seat == 0 and len(legal) > 1
        action = game.players[player](game, seat, rng) if asked else int(rng.choice(legal))
        gained, over, _ = game.step([action, action])
        payoff += gained[0]
    game.close()
    assert payoff > 0


def test_no_program_plays_where_none_is_installed(monkeypatch):
    monkeypatch.setattr(engines, "_path", lambda program: None)
    assert engines.engines_of("backgammon", {"hyper_backgammon": False, "scoring_type": "winloss_scoring"}) == {}
    assert engines.engines_of("hex", {}) == {}
