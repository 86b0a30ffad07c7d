"""Compare statistics of players in replay files and of a policy in the mock: attacks, shields and more per minute."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser, add_seed
from selfplay.commands.cli import command
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from selfplay_melee.commands.behaviour import Column


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("--replays", type=Path, metavar="DIR", help="folder of .slp files, with subfolders, or a file")
    made.add_argument(
        "--character", metavar="NAME", help="character of the seats to count (default: all; policy: as trained)"
    )
    made.add_argument(
        "--player", metavar="NAME", help="players of the files to count: a port, name or connect code (default: all)"
    )
    made.add_argument("--policy", metavar="PATH", help="policy or run folder")
    made.add_argument("--opponent", metavar="NAME|PATH", help="opponent of the policy (default: itself)")
    made.add_argument("--games", type=int, default=20, metavar="N", help="games of the policy (default: %(default)s)")
    add_seed(made, "seed of games and intervals (default: %(default)s)")
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


@command(parser, one_thread=True)
def main(options: argparse.Namespace) -> None:
    from selfplay.checkpoint import resolve_policy
    from selfplay.evaluation.named_players import policy_folder
    from selfplay_melee.kinds import find_character
    from selfplay_melee.replays.folder import replay_files

    if options.replays is None and options.policy is None:
        raise ConfigError("nothing to count: --replays, --policy or both are needed")
    if options.player is not None and options.replays is None:
        raise ConfigError(f"--player {options.player}: it picks seats of files, --replays is missing")
    if options.opponent is not None and options.policy is None:
        raise ConfigError(f"--opponent {options.opponent}: it meets a policy, --policy is missing")
    if options.character is not None:
        options.character = find_character(options.character)
    if options.replays is not None:
        replay_files(options.replays)
    if options.policy is not None:
        resolve_policy(Path(options.policy))
    if options.opponent is not None:
        policy_folder(options.opponent)
    from selfplay_melee.commands import behaviour as behaving

    columns, unreadable = [], []
    if options.replays is not None:
        folder = behaving.folder_games(options.replays, options.character, options.player)
        unreadable = folder.unreadable
        columns.append(behaving.column(options.player or str(options.replays), folder.games, options.seed))
    if options.policy is not None:
        columns.append(_of_policy(options))
    if options.json:
        print(json.dumps({"columns": [asdict(column) for column in columns], "unreadable": unreadable}))
        return
    for problem in unreadable:
        print(f"left out: {problem}", file=sys.stderr)
    print("\n".join(behaving.table(columns)))


def _of_policy(options: argparse.Namespace) -> Column:
    from selfplay.evaluation.players import home_rules
    from selfplay_melee.choices import choices
    from selfplay_melee.commands import behaviour as behaving
    from selfplay_melee.commands.record import opponent, policy

    player = policy(options.policy)
    other = player if options.opponent is None else opponent(options.opponent)
    home = home_rules((player, other))
    rules = replace(home, conditions=choices(options.character)(home.conditions))
    games = list(behaving.mock_games(player, other, options.games, rules, options.seed))
    return behaving.column(f"{player.id} against {other.id}", games, options.seed)
