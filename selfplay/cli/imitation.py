"""The command line of ``selfplay imitate``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.cli.game_type import game_of_line, game_resumed
from selfplay.config import program
from selfplay.config.programs import check_game
from selfplay.games.plugins import is_code, is_known
from selfplay.games.registry import DEFAULT, find_game, games_of
from selfplay.imitation.folders import find_imitation, game_of_training
from selfplay.imitation.hook import PLAIN, Imitation, imitation_of
from selfplay.imitation.settings import ImitationRunConfig

if TYPE_CHECKING:
    from selfplay.config.program import Invocation

EPILOG: Final = """examples:
  selfplay imitate{0} --replays PATH --preset quick
      a smoke test, less than two minutes
  selfplay imitate{0} --replays PATH --epochs 10 --backbone gru --temporal
      a recurrent policy
  selfplay train --pretrained checkpoints/imitation_best_policy{0}
      continues with self-play
"""


def parse(arguments: Sequence[str]) -> Invocation[Any]:
    """The configuration that the arguments ask for; errors as of ``flags.parse``."""
    name = game_of_line(arguments, partial(game_resumed, find=_of_training), "data.game") or DEFAULT
    return flags.parse(command_of(name), arguments)


def command_of(name: str) -> CommandLine[Any]:
    """The command line for a game; for one that cannot be used that of any game, which refuses it."""
    imitation = PLAIN
    if is_known(name):
        check_game(name)
        imitation = imitation_of(find_game(name))
    return CommandLine(
        program=imitation.program,
        invoke=partial(program.invoke, imitation.program),
        description="Train a policy to imitate the players of recorded games.",
        epilog=EPILOG.format("" if name == DEFAULT else f" --game-type {name}"),
        resume="Continue that of --checkpoint, or the newest below",
        elsewhere=partial(_flags_elsewhere, imitation),
    )


def _of_training(checkpoint: Path | None) -> str | None:
    """The game of the training that is resumed; None for one of the user's own, which has to be named again."""
    name = game_of_training(find_imitation(checkpoint or Path(ImitationRunConfig().checkpoint)))
    return None if is_code(name) else name


def _flags_elsewhere(here: Imitation) -> dict[str, str]:
    """Flags that imitation has in other games, each with the end of the message about it."""
    known = {option.flag for option in here.program.options}
    games: dict[str, list[str]] = {}
    for name in games_of("ppo"):
        for option in imitation_of(find_game(name)).program.options:
            if option.flag not in known:
                games.setdefault(option.flag, []).append(name)
    return {flag: f"goes with --game-type {' or '.join(names)}" for flag, names in games.items()}
