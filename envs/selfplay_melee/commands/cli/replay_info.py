"""Print the content of replay files: version, stage, players, frames, end of the game, and problems of the file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("files", nargs="+", type=Path, metavar="FILE", help=".slp file")
    return made


@command(parser)
def main(options: argparse.Namespace) -> int:
    """Print a paragraph for each file; exit code 2 if one cannot be read."""
    from selfplay_melee.replay import ReplayError, read_replay

    code = 0
    for path in options.files:
        try:
            replay = read_replay(path)
        except ReplayError as error:
            print(error, file=sys.stderr)
            code = 2
            continue
        frames = replay.state.game["frame"]
        span = f"{len(frames)} frames" + (f", {frames[0]} to {frames[-1]}" if len(frames) else "")
        print(f"{path}: version {'.'.join(map(str, replay.version))}, stage {replay.stage}, {span}")
        for seat in replay.seats:
            kind = "human" if seat.human else "computer"
            print(f"  port {seat.port + 1}: character {seat.character}, {kind} {seat.full_name}".rstrip())
        print(f"  rolled back: {int(replay.rolled_back.sum())} frames; items: {len(replay.items)} rows")
        print(f"  end: {replay.end}; complete: {replay.complete}")
        for problem in replay.problems:
            print(f"  problem: {problem}")
    return code
