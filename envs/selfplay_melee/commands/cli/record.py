"""Record games of the mock between scripted players and policies as .slp files, a data set for imitation."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from selfplay.cli.parser import Parser, add_own_code, add_seed
from selfplay.commands.cli import command
from selfplay.errors import ConfigError
from selfplay.verbs import quoted, respelled

PLAYERS: Final = "is for games that are no fights (--game-type NAME); here it is --bot and --policy"


def parser() -> argparse.ArgumentParser:
    """The command line; ``players`` are pairs of a kind and a name, in the order of the line."""
    made = Parser(description=__doc__, elsewhere=lambda: {"--players": PLAYERS})
    made.add_argument(
        "--bot", dest="players", action="append", type=lambda name: ("bot", name), metavar="NAME",
        help="scripted player; may be repeated, and combined with --policy",
    )  # fmt: skip
    made.add_argument(
        "--policy", dest="players", action="append", type=lambda path: ("policy", path), metavar="PATH",
        help="policy or run folder; may be repeated",
    )  # fmt: skip
    made.add_argument(
        "--opponent", action="append", default=[], metavar="NAME|PATH",
        help="opponent of the players; may be repeated (default: each other)",
    )  # fmt: skip
    add_own_code(made, "(default: mock)")
    made.add_argument("--games", type=int, default=20, metavar="N", help="(default: %(default)s)")
    made.add_argument(
        "--out", type=Path, default=Path("replays"), metavar="DIR", help="folder of the files (default: %(default)s)"
    )
    add_seed(made, "seed of the games (default: %(default)s)")
    made.add_argument(
        "--character", metavar="NAME", help="character of the players (default: as the first policy was trained)"
    )
    made.add_argument("--opponent-character", metavar="NAME", help="character of the opponents")
    made.add_argument("--stage", metavar="NAME", help="(default: as the first policy was trained)")
    made.add_argument("--max-episode-frames", type=int, metavar="N", help="cap (default: as in training)")
    return made


@command(parser, one_thread=True)
def main(options: argparse.Namespace) -> None:
    from selfplay.games.registry import find_game

    if options.game_type is not None and find_game(options.game_type).real_time:
        raise ConfigError(f"--game-type {options.game_type}: it keeps its own replays (train: --save-replays)")
    from selfplay.checkpoint import check_writable_folder, resolve_policy
    from selfplay.evaluation.named_players import policy_folder
    from selfplay_melee.bot_names import NAMES
    from selfplay_melee.choices import check_scripted, choices

    check_writable_folder(options.out, "--out")
    chosen = choices(options.character, options.opponent_character, options.stage, options.max_episode_frames)
    for kind, name in options.players or ():
        if kind == "bot":
            check_scripted(name)
        else:
            resolve_policy(Path(name))
    for name in options.opponent:
        policy_folder(name)
    if not options.players:
        raise ConfigError(f"at least one player is needed, --bot or --policy (scripted: {', '.join(NAMES)})")
    if options.games < 1:
        raise ConfigError(f"--games {options.games}: at least 1 is needed")
    from selfplay.evaluation.players import home_rules
    from selfplay.league.schedule import pairings_of
    from selfplay.report.ticker import time_left
    from selfplay_melee.commands import record as recording
    from selfplay_melee.conditions import as_fight

    load = {"bot": recording.bot, "policy": recording.policy}
    players = [load[kind](name) for kind, name in options.players or ()]
    opponents = [recording.opponent(name) for name in options.opponent]
    home = home_rules((*players, *opponents))
    rules = replace(home, conditions=chosen(home.conditions))
    characters = as_fight(rules.conditions).characters
    everybody = {player.id: player for player in (*players, *opponents)}
    pairings = pairings_of([p.id for p in players], [p.id for p in opponents], options.games, characters, options.seed)
    orders = recording.orders_of(pairings, rules, options.seed, options.out)
    there = sum(order.path.exists() for order in orders)
    frames, started = 0, time.monotonic()
    for files, frames in recording.record(orders, everybody, rules):
        left = time_left(time.monotonic() - started, files - there, len(orders) - there)
        print(f"{files} of {len(orders)} games, {frames:,} frames{left}", flush=True)
    print(
        f"{len(orders)} games in {options.out}: {len(orders) - there} written, {frames:,} frames; {there} already there"
    )
    print(f"  {rules.conditions}; players: {', '.join(everybody)}")
    print(respelled("next: selfplay imitate") + f" --replays {quoted(options.out)} --epochs 10")
