"""Play against a policy, or a player of its game, in the terminal."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Final

from selfplay.cli.parser import Parser, add_own_code, add_seed
from selfplay.commands.cli import command

if TYPE_CHECKING:
    from pathlib import Path

IN_THE_TERMINAL: Final = ("--opponent", "--seat", "--seed")


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__, elsewhere=_elsewhere)
    made.add_argument(
        "what",
        nargs="?",
        metavar="RUN_OR_POLICY",
        help="a run or a policy: its folder, or its name in checkpoints/ (default: the newest run)",
    )
    made.add_argument(
        "--opponent",
        metavar="PLAYER",
        help="gen_N of the run, a policy folder, or a scripted player (default: the generation that passed its gate, "
        "else the newest)",
    )
    made.add_argument("--seat", type=int, choices=(0, 1), help="your seat in the first game (default: 0)")
    add_seed(made, "of games and opponent (default: another each time)", None)
    add_own_code(made)
    return made


def _elsewhere() -> dict[str, str]:
    """Flags of games that are not played in the terminal."""
    from selfplay.cli.game_type import modules_of

    found: dict[str, str] = {}
    for game, module in modules_of("play").items():
        for flag in import_module(module).parser()._option_string_actions:
            found.setdefault(flag, f"is a flag of games on a page, such as {game}")
    return found


@command(parser, one_thread=True)
def _in_the_terminal(options: argparse.Namespace) -> None:
    from selfplay.checkpoint import shipped_policies
    from selfplay.checkpoint.generations import POLICY_FILE
    from selfplay.checkpoint.run_dir import RUN_FILE, named_run
    from selfplay.cli.game_type import training_of
    from selfplay.evaluation.named_players import check_game_type, game_in
    from selfplay.run.trainings import find_training

    folder = shipped_policies().get(options.what) or named_run(options.what, (RUN_FILE, POLICY_FILE))
    game = game_in(folder)
    check_game_type(options.what or str(folder), game, options.game_type)
    find_training(training_of(game)).play(folder, options)


def play_policy(folder: Path, options: argparse.Namespace) -> None:
    """Play a game whose players choose numbered actions."""
    import secrets

    from selfplay.checkpoint import RunDir, is_policy
    from selfplay.commands.play_terminal import play_in_terminal
    from selfplay.evaluation.named_players import game_in
    from selfplay.evaluation.players import contender

    game = game_in(folder)
    run = None if is_policy(folder) else RunDir(folder)
    opponent = contender(options.opponent or str(folder.absolute()), run, game)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    play_in_terminal(game, opponent, input, print, seed=seed, seat=options.seat or 0)


def main() -> int:
    """Play as the game of the arguments is played; the exit code."""
    from selfplay.cli.game_type import game_played, run_for_game

    return run_for_game("play", _in_the_terminal, game_played)
