"""Compare how people play with how scripted players and policies play in the mock."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command, tell_error
from scripts.studies.pages import measured_here, put_between, write_json
from scripts.studies.pages import table as markdown
from scripts.studies.play_style.columns import column, people
from scripts.studies.play_style.statistics import statistics
from selfplay.errors import ConfigError
from selfplay.evaluation.players import contender
from selfplay.runner.match import Contender, Rules
from selfplay_melee import bots
from selfplay_melee.commands.behaviour import mock_games
from selfplay_melee.conditions import FightConditions
from selfplay_melee.errors import ReplayError
from selfplay_melee.replays.folder import replay_files

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


DOCUMENT: Final = ROOT / "docs" / "data" / "play_style.json"


def main() -> int:
    command = Command("play_style", __doc__)
    command.add_argument(
        "replays",
        nargs="*",
        type=Path,
        metavar="REPLAY",
        help=".slp file, or a folder of them; games of two people count",
    )
    command.add_argument(
        "--policy", action="append", default=[], metavar="RUN", help="run, policy, or shipped policy such as strong"
    )
    command.add_argument("--games", type=int, default=12, metavar="N", help="of each player (default: %(default)s)")
    command.add_argument("--character", default="mewtwo", metavar="NAME", help="in the mock (default: %(default)s)")
    command.add_argument("--stage", default="final_destination", metavar="NAME", help="(default: %(default)s)")
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
        write_json(DOCUMENT, made)
        write(ROOT)


def write(root: Path) -> None:
    """Write the table below ``root`` from the document."""
    page = root / "docs" / "melee/internals/fights.md"
    put_between(page, "play style", table(json.loads(DOCUMENT.read_text(encoding="utf-8"))))


def document(options: argparse.Namespace) -> dict[str, Any]:
    """Settings and figures.

    Raises:
        ConfigError: a file cannot be read, or no file has two people.
    """
    conditions = FightConditions((options.character, options.character), options.stage, options.frames)
    rules = Rules("mock", conditions)
    players = [*(Contender(name) for name in bots.LADDER), *map(contender, options.policy)]
    columns = [column("people", _people(options.replays))] if options.replays else []
    for player in players:
        games = list(mock_games(player, player, options.games, rules, options.seed, statistics))
        columns.append(column(Path(player.id).name, games))
        tell_error(f"{player.id}: {len(games)} games")
    settings = {name: getattr(options, name) for name in ("games", "character", "stage", "seed", "frames")}
    return {**measured_here(), **settings, "columns": columns}


def _people(paths: Sequence[Path]) -> list[Any]:
    games: list[Any] = []
    for path in paths:
        for each in replay_files(path):
            try:
                games += people([each])
            except ReplayError as error:
                if each == path:
                    raise ConfigError(str(error)) from error
                tell_error(f"left out: {error}")
    if not games:
        raise ConfigError("no file is a game of two people in which a stock was lost")
    return games


def table(made: dict[str, Any]) -> str:
    """A column for each kind of player, a row for each figure; the document has the intervals."""
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
    value = figure["mean"]
    if value is None or figure["low"] is None:
        return "–"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


if __name__ == "__main__":
    sys.exit(main())
