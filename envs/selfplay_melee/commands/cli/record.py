"""Record games between scripted players and policies, a data set for imitation.

Games of the mock are .slp files in a folder. Games that are no fights, with --game-type and --players, are one file.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser, add_own_code, add_seed
from selfplay.commands.cli import command
from selfplay.errors import ConfigError
from selfplay.verbs import quoted, respelled

if TYPE_CHECKING:
    from selfplay.games.kind import GameKind


def parser() -> argparse.ArgumentParser:
    """The command line; ``players`` are pairs of a kind and a name, in the order of the line."""
    made = Parser(description=__doc__)
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
    made.add_argument(
        "--players", dest="named", metavar="A,B",
        help="players of a game that is no fight, as evaluate takes them; they swap seats, and one alone plays itself",
    )  # fmt: skip
    made.add_argument("--games", type=int, default=20, metavar="N", help="(default: %(default)s)")
    made.add_argument(
        "--out", type=Path, metavar="PATH",
        help="folder of the .slp files (default: replays), or the file of games that are no fights (games.jsonl)",
    )  # fmt: skip
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

    game = find_game(options.game_type or "mock")
    if not game.fighter:
        _record_games(options, game)
        return
    if game.real_time:
        raise ConfigError(f"--game-type {options.game_type}: it keeps its own replays (train: --save-replays)")
    if options.named is not None:
        raise ConfigError("--players is for games that are no fights (--game-type); here it is --bot and --policy")
    options.out = options.out or Path("replays")
    from selfplay.checkpoint import check_writable_folder, resolve_policy
    from selfplay.evaluation.named_players import policy_folder
    from selfplay_melee.choices import check_scripted, choices
    from selfplay_melee.imitation.recording_request import check_recording

    check_writable_folder(options.out, "--out")
    chosen = choices(options.character, options.opponent_character, options.stage, options.max_episode_frames)
    for kind, name in options.players or ():
        if kind == "bot":
            check_scripted(name)
        else:
            resolve_policy(Path(name))
    for name in options.opponent:
        policy_folder(name)
    check_recording(options.players or (), options.games)
    from selfplay.evaluation.players import home_rules
    from selfplay.report.ticker import time_left
    from selfplay_melee.commands import record as recording
    from selfplay_melee.conditions import as_fight
    from selfplay_melee.imitation.recording import pairings_of

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


def _record_games(options: argparse.Namespace, entry: GameKind) -> None:
    from selfplay.config.applicable import check_settings
    from selfplay.config.ppo import OPTIONS
    from selfplay.report.saving import check_writable

    game, path = options.game_type, options.out or Path("games.jsonl")
    given = ("character", "opponent_character", "stage", "max_episode_frames")
    check_settings(game, [f"game.{name}" for name in given if getattr(options, name) is not None], OPTIONS)
    names = [name for name in (options.named or "").split(",") if name]
    if options.players or options.opponent or not names:
        raise ConfigError(
            f"players of {game} are named by --players A,B, without --bot, --policy and --opponent "
            f"(scripted: {', '.join(entry.rated.players)})"
        )
    if entry.single is None or not entry.repeats:
        raise ConfigError(f"--game-type {game}: games that do not repeat themselves from seed and actions are not kept")
    check_writable(path)
    if path.exists():
        raise ConfigError(f"--out {path}: exists already")
    from selfplay_melee.commands.record import opponent, record_games

    players = [opponent(name, game) for name in names]
    for done in record_games(game, players, options.games, options.seed, path):
        print(f"{done} of {options.games} games", flush=True)
    print(f"{options.games} games in {path}")
    print(f"  players: {', '.join(dict.fromkeys(player.id for player in players))}")
    print(respelled("next: selfplay imitate") + f" --game-type {game} --replays {quoted(path)}")
