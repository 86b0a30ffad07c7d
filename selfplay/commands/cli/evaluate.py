"""Play two players against each other and rate the first: policies, runs or scripted players."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from selfplay.commands.cli import command
from selfplay.config.command_line import Parser, add_own_code, add_seed


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("a", metavar="A", help="policy or run folder, shipped policy such as strong, or scripted player")
    made.add_argument("b", metavar="B", help="opponent of A, as A")
    made.add_argument(
        "--games",
        type=int,
        default=200,
        metavar="N",
        help="number of games, rounded up so that each seed is played from both seats (default: %(default)s)",
    )
    add_seed(made, "seed of the games (default: %(default)s)")
    add_own_code(made, "(default: that of the policies; of scripted players, mock)")
    made.add_argument("--character", metavar="NAME", help="character of A (default: as in training)")
    made.add_argument("--opponent-character", metavar="NAME", help="character of B; each player plays both")
    made.add_argument("--stage", metavar="NAME", help="stage (default: as in training of A)")
    made.add_argument("--max-episode-frames", type=int, metavar="N", help="cap of a game (default: as in training)")
    made.add_argument("--greedy", action="store_true", help="policies choose the most likely action")
    made.add_argument("--result-rule", choices=("stocks_percent", "stocks"), default="stocks_percent")
    made.add_argument(
        "--sprt", type=float, nargs=2, default=(0.0, 30.0), metavar=("ELO0", "ELO1"),
        help="test whether A is stronger by ELO1 rather than ELO0 (default: 0 30)",
    )  # fmt: skip
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.evaluation.named_players import check_games, choices, game_for

    check_games(options.games)
    game = game_for((options.a, options.b), options.game_type)
    given = (options.character, options.opponent_character, options.stage, options.max_episode_frames)
    chosen = choices(*given, game=game)
    from selfplay.evaluation.evaluate import evaluate
    from selfplay.evaluation.players import chosen_rules, contenders
    from selfplay.league.sprt import SprtBounds
    from selfplay.report.ticker import Ticker

    (a, b), game = contenders((options.a, options.b), game)
    (mine, other), rules = chosen_rules((a, b), chosen, game, greedy=options.greedy)
    bounds = SprtBounds(*options.sprt)
    with Ticker(sys.stderr, "Playing games", options.games) as ticker:
        fight = (a, b, options.games, (mine, other), rules, options.seed, options.result_rule, bounds)
        result = evaluate(*fight, progress=ticker.at)
    names = Path(options.a).name, Path(options.b).name
    verdict = result.verdict(*(names if names[0] != names[1] else (options.a, options.b)))
    if options.json:
        print(json.dumps({"a": options.a, "b": options.b, **result.document(), "verdict": verdict}))
        return
    finished = "" if result.finished is None else f"; {result.finished:.0%} of the games finished"
    what = f" of {game}" if result.damage is None else f", {mine} and {other} on {rules.stage}"
    print(f"{options.a} against {options.b}: {result.games} games{what}")
    if repeats := result.repeats():
        print(f"  {repeats}")
    print(f"  score {result.score:.1%} (95% interval {result.low:.1%} to {result.high:.1%})")
    print(f"  {result.wins} won, {result.losses} lost, {result.draws} drawn{finished}")
    if rewards := result.rewards():
        print(f"  {rewards}")
    if result.damage is not None:
        print(f"  damage {result.damage[0]:.0f}% to {result.damage[1]:.0f}%, {result.seconds:.0f} s of game time each")
    if result.stocks_per_minute is not None and result.damage_per_minute is not None:
        (stocks, other_stocks), (damage, other_damage) = result.stocks_per_minute, result.damage_per_minute
        print(f"  a minute: {stocks:.2f} to {other_stocks:.2f} stocks, {damage:.0f}% to {other_damage:.0f}% damage")
    print(f"  {verdict}")
