"""A round robin of one chess engine at several depths; writes the headers of its games as PGN.

Needs Stockfish and the extra ``openspiel``, which has the rules of chess. Each opening of random moves is played twice,
with the colours swapped.
"""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scripts.studies import ROOT
from scripts.studies.command_line import Command, chosen, notify, whole_numbers
from selfplay.errors import ConfigError
from selfplay.games.engines import CHESS_DEPTHS
from selfplay.games.openspiel_games import OpenSpielGame
from selfplay.report.saving import check_writable, save_text

if TYPE_CHECKING:
    import argparse

    from selfplay.games.engines import Engine

GAMES: Final = ROOT / "docs" / "data" / "stockfish_depths.pgn"
OPENING_PLIES: Final = 6
RESULTS: Final = {1.0: "1-0", 0.0: "1/2-1/2", -1.0: "0-1"}


def opening(rules: Any, seed: int) -> list[int]:  # noqa: ANN401
    """Random legal actions; the game that they lead to is not over."""
    rng = np.random.default_rng(seed)
    while True:
        state, actions = rules.new_initial_state(), list[int]()
        while len(actions) < OPENING_PLIES and not state.is_terminal():
            actions.append(int(rng.choice(state.legal_actions())))
            state.apply_action(actions[-1])
        if not state.is_terminal():
            return actions


def play(rules: Any, actions: list[int], white: tuple[Engine, int], black: tuple[Engine, int]) -> str:  # noqa: ANN401
    """Play a game from an opening; the result as PGN writes it. Players are engines with depths."""
    state = rules.new_initial_state()
    for engine, _ in (white, black):
        engine.program.ask(("setoption name Hash value 1", "ucinewgame", "isready"), lambda line: line == "readyok")
    for action in actions:
        state.apply_action(action)
    moves = [move.to_lan() for move in state.moves_history()]
    while not state.is_terminal():
        engine, depth = (black, white)[state.current_player()]  # OpenSpiel's seat 1 is White
        question = (f"position startpos moves {' '.join(moves)}", f"go depth {depth}")
        moves.append(engine.program.ask(question, lambda line: line.startswith("bestmove"))[-1].split()[1])
        state.apply_action(state.parse_move_to_action(moves[-1]))
    return RESULTS[state.returns()[1]]


def headers(number: int, white: str, black: str, result: str, day: str) -> str:
    """A game without its moves."""
    tags = {"Event": "Depths", "Date": day, "Round": str(number), "White": white, "Black": black, "Result": result}
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + f"\n{result}\n\n"


def measure(options: argparse.Namespace) -> None:
    """Play all games and write them."""
    chosen("--depths", options.depths, CHESS_DEPTHS)
    if options.openings < 1:
        raise ConfigError("--openings must be at least 1")
    check_writable(options.out)
    game = OpenSpielGame("chess")
    if not game.engines:
        raise ConfigError("there is no Stockfish on this machine")
    day, found = datetime.now(UTC).strftime("%Y.%m.%d"), list[str]()
    pairs = list(itertools.combinations(options.depths, 2))
    try:
        for number, (one, other) in itertools.product(range(options.openings), pairs):
            actions = opening(game.game, number)
            for white, black in ((one, other), (other, one)):
                players = [(game.engines[f"stockfish_{depth}"], depth) for depth in (white, black)]
                result = play(game.game, actions, players[0], players[1])
                names = [f"{engine.version.split(' by ')[0]} depth {depth}" for engine, depth in players]
                found.append(headers(number + 1, names[0], names[1], result, day))
            notify(f"{len(found)} of {2 * options.openings * len(pairs)} games")
    finally:
        game.close()
    save_text(options.out, "".join(found))


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    command = Command("engine_match", __doc__)
    command.add_argument(
        "--depths", type=whole_numbers, default="1,2,3,4,5,6,7", metavar="N,N", help="(default: %(default)s)"
    )
    command.add_argument("--openings", type=int, default=10, metavar="N", help="for each pair (default: %(default)s)")
    command.add_argument("--out", type=Path, default=GAMES, metavar="FILE.pgn", help="(default: %(default)s)")
    return command.execute(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
