"""Compare how people play with how scripted players and policies play in the mock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.errors import ReplayError
from envs.melee import bots
from envs.melee.physics import RULES_VERSION
from scripts.studies import ROOT
from scripts.studies.command_line import Command, tell_error
from scripts.studies.pages import measured_here, put_between, write_json
from scripts.studies.pages import table as markdown
from scripts.studies.play_style.columns import column, mock_games, people
from selfplay.commands.record import policy
from selfplay.errors import ConfigError
from selfplay.runner.match import Contender, Rules

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def main() -> int:
    """Run the command; the exit code."""
    command = Command("play_style", __doc__)
    command.add_argument("replays", nargs="*", type=Path, metavar="REPLAY", help=".slp file; games of two people count")
    command.add_argument("--policy", action="append", default=[], metavar="RUN", help="run or folder of a policy")
    command.add_argument("--games", type=int, default=20, metavar="N", help="of each player (default: %(default)s)")
    command.add_argument("--character", default="fox", metavar="NAME", help="in the mock (default: %(default)s)")
    command.add_argument("--stage", default="battlefield", metavar="NAME", help="in the mock (default: %(default)s)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the games (default: %(default)s)")
    command.add_argument("--frames", type=int, default=28_800, metavar="N", help="cap of a game (default: %(default)s)")
    command.add_argument("--write", action="store_true", help="put the figures into docs/")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Measure, print and write."""
    made = document(options)
    text = table(made)
    print(text)
    if options.write:
        write_json(ROOT / "docs" / "data" / "play_style.json", made)
        put_between(ROOT / "docs" / "bots.md", "play style", text)


def document(options: argparse.Namespace) -> dict[str, Any]:
    """Settings and figures.

    Raises:
        ConfigError: a file cannot be read, or no file has two people.
    """
    rules = Rules(stage=options.stage, max_episode_frames=options.frames)
    players = [*(Contender(name) for name in bots.LADDER), *(policy(path) for path in options.policy)]
    columns = [column("people", _people(options.replays))] if options.replays else []
    for player in players:
        games = list(mock_games(player, options.games, options.character, rules, options.seed))
        columns.append(column(player.id, games))
        tell_error(f"{player.id}: {len(games)} games")
    settings = {name: getattr(options, name) for name in ("games", "character", "stage", "seed", "frames")}
    versions = {"bots": bots.VERSION, "rules": RULES_VERSION}
    return {**measured_here(), **settings, "versions": versions, "columns": columns}


def _people(paths: Sequence[Path]) -> list[Any]:
    try:
        games = list(people(paths))
    except ReplayError as error:
        raise ConfigError(str(error)) from error
    if not games:
        raise ConfigError("no file is a game of two people in which a stock was lost")
    return games


def table(made: dict[str, Any]) -> str:
    """A column for each kind of player, a row for each figure with its interval."""
    columns = made["columns"]
    about = (
        f"{made['date']}: {made['games']} games of each player of the mock against itself, {made['character']} on "
        f"{made['stage']}, bots version {made['versions']['bots']}, rules version {made['versions']['rules']}; people: "
        f"replays of two people in which a stock was lost."
    )
    names = list(columns[0]["figures"])
    rows = [[name, *(_shown(one["figures"][name]) for one in columns)] for name in names]
    rows.insert(0, ["games", *(str(one["games"]) for one in columns)])
    return f"{about}\n\n{markdown(('', *(one['title'] for one in columns)), rows)}"


def _shown(figure: dict[str, float | None]) -> str:
    value, low, high = figure["value"], figure["low"], figure["high"]
    if value is None or low is None or high is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    sys.exit(main())
