"""``selfplay rate`` for text games."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfplay.commands.cli.rate import notice

if TYPE_CHECKING:
    import argparse

    from selfplay.checkpoint import RunDir


def rate(folder: RunDir, options: argparse.Namespace) -> None:
    from selfplay.commands.rate import GAMES, save_table
    from selfplay.dialogue.commands.rate import calibrate_dialogue, rate_dialogue
    from selfplay.league.anchors import FILE_NAME
    from selfplay.league.leaderboard import build
    from selfplay.league.ledger import read_games
    from selfplay.league.render import terminal_width, to_text

    if options.calibrate:
        table = calibrate_dialogue(folder, options.games or GAMES, options.seed, notice)
        save_table(table, folder.path / FILE_NAME)
        print(f"wrote {folder.path / FILE_NAME}")
        return
    with folder.lock():
        played = rate_dialogue(folder, options.budget, options.seed, notice, options.opponent)
    print(f"{played} comparisons played")
    print(to_text(build(read_games(folder.ledger), run=folder.path), width=terminal_width()))
