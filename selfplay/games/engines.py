"""Programs of others as scripted players of OpenSpiel's games: GNU Go, GNU Backgammon and Stockfish.

A block of games has processes of its own, one for each player that it asks. They end with the block, and read the end
of their input if this process is killed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import numpy as np

from selfplay.games.errors import GameError
from selfplay.games.gnubg import OPTIONS, backgammon_move, preparation
from selfplay.games.line_program import LIMIT_S, LineProgram

FOLDERS: Final = ("/usr/games", "/usr/local/games")  # of Debian's programs, which not every PATH has
GO_LEVELS: Final = range(1, 11)  # of GNU Go, whose own default is 10
CHESS_DEPTHS: Final = range(1, 11)  # half-moves that a chess engine looks ahead
PLIES: Final = (0, 2)  # that GNU Backgammon looks ahead
SEEDS: Final = 1 << 31

Choose = Callable[[LineProgram, Any, np.random.Generator], int]
"""Chooses an action in a ``pyspiel.State``."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A program as a scripted player of a game of OpenSpiel (``selfplay.games.game.Player``)."""

    program: LineProgram
    version: str  # of the program
    choose: Choose

    def __call__(self, game: Any, seat: int, rng: np.random.Generator) -> int:
        del seat
        return self.choose(self.program, game.state, rng)

    def close(self) -> None:
        self.program.close()


def engines_of(game: str, parameters: Mapping[str, Any]) -> dict[str, Engine]:
    """The installed programs that play a game of OpenSpiel, by the names of players, the weakest first."""
    if game == "go" and not parameters["handicap"]:
        choose = partial(go_move, int(parameters["board_size"]), float(parameters["komi"]))
        options = ("--mode", "gtp", "--chinese-rules", "--capture-all-dead", "--never-resign", "--level")
        return _engines("gnugo", "--version", {level: ((*options, str(level)), choose) for level in GO_LEVELS})
    if game == "backgammon" and not parameters["hyper_backgammon"]:
        only_wins = parameters["scoring_type"] == "winloss_scoring"
        choices = {plies: partial(backgammon_move, preparation(plies, only_wins)) for plies in PLIES}
        return _engines("gnubg", "--version", {plies: (OPTIONS, choose) for plies, choose in choices.items()})
    if game == "chess" and not parameters["chess960"]:
        return _engines("stockfish", "quit", {depth: ((), partial(chess_move, depth)) for depth in CHESS_DEPTHS})
    return {}


def _engines(
    program: str, prints_version: str, strengths: Mapping[int, tuple[Sequence[str], Choose]]
) -> dict[str, Engine]:
    """Players by program and strength, from its options and the choice of a move; none if it is not installed."""
    if (path := _path(program)) is None:
        return {}
    version = _first_line(path, prints_version)
    return {
        f"{program}_{strength}": Engine(LineProgram((path, *options)), version, choose)
        for strength, (options, choose) in strengths.items()
    }


def go_move(size: int, komi: float, program: LineProgram, state: Any, rng: np.random.Generator) -> int:
    """The move of a program that speaks the Go Text Protocol; a pass if OpenSpiel's rule of superko forbids it."""
    player = state.current_player()
    played = [state.action_to_string(move.player, move.action) for move in state.full_history()]
    commands = [
        f"boardsize {size}", f"komi {komi:g}", "clear_board", "clear_cache",
        f"set_random_seed {rng.integers(SEEDS)}",
        *(f"play {move}" for move in played),
        f"reg_genmove {'BW'[player]}",
    ]  # fmt: skip
    answers = [line for line in program.ask(commands, lambda line: not line, len(commands)) if line]
    for command, answer in zip(commands, answers, strict=True):
        if not answer.startswith("="):
            raise GameError(f"the Go program refused {command}: {answer}")
    moves = {state.action_to_string(player, action)[2:].upper(): action for action in state.legal_actions()}
    return int(moves.get(answers[-1][1:].strip().upper(), moves["PASS"]))


def chess_move(depth: int, program: LineProgram, state: Any, rng: np.random.Generator) -> int:
    """The move of a program that speaks the Universal Chess Interface, ``depth`` half-moves ahead."""
    del rng  # a search of one thread to a depth is not random
    moves = " ".join(move.to_lan() for move in state.moves_history())
    place = f"position fen {state.start_fen()} moves {moves}" if moves else f"position fen {state.start_fen()}"
    question = ("ucinewgame", place, f"go depth {depth}")
    last = program.ask(question, lambda line: line.startswith("bestmove"))[-1]
    return int(state.parse_move_to_action(last.split()[1]))


@cache
def _path(program: str) -> str | None:
    found = (shutil.which(program), *(shutil.which(program, path=folder) for folder in FOLDERS))
    return next(filter(None, found), None)


@cache
def _first_line(path: str, argument: str) -> str:
    """The first line that a program prints, which names its version."""
    done = subprocess.run([path, argument], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
    return next(iter(done.stdout.splitlines()), "")
