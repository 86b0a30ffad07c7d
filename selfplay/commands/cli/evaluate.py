"""Play two players against each other and rate the first: policies, runs or scripted players."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser, add_own_code, add_seed
from selfplay.commands.cli import command
from selfplay.games.errors import GameError

if TYPE_CHECKING:
    from selfplay.evaluation.evaluate import Evaluation
    from selfplay.games.rated import MatchFlags
    from selfplay.runner.match import Contender, Rules


def parser() -> argparse.ArgumentParser:
    """With the flags of the game that the command line is about."""
    from selfplay.games.registry import DEFAULT

    made = Parser(description=__doc__, elsewhere=_flags_elsewhere)
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
    add_own_code(made, f"(default: that of the policies; of scripted players, {DEFAULT})")
    _flags(sys.argv[1:]).add(made)
    made.add_argument("--greedy", action="store_true", help="policies choose the most likely action")
    made.add_argument(
        "--sprt", type=float, nargs=2, default=(0.0, 30.0), metavar=("ELO0", "ELO1"),
        help="test whether A is stronger by ELO1 rather than ELO0 (default: 0 30); in games judged by payoffs it "
        "is normalised Elo",
    )  # fmt: skip
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def _flags(arguments: Sequence[str]) -> MatchFlags:
    """Those of the game that is named, or of the first policy; what cannot be is reported where it is needed."""
    from selfplay.cli.game_type import game_of_line
    from selfplay.evaluation.named_players import game_among
    from selfplay.games.rated import NoFlags
    from selfplay.games.registry import DEFAULT, find_game

    with suppress(GameError):
        return find_game(game_of_line(arguments, game_among) or DEFAULT).match_flags()
    return NoFlags()


def _flags_elsewhere() -> dict[str, str]:
    """Flags of the conditions of other games, and with which game they go."""
    from selfplay.games.registry import find_game, games_of

    found: dict[str, str] = {}
    for name in games_of("ppo"):
        if not (game := find_game(name)).compared_in:
            those = argparse.ArgumentParser(add_help=False)
            game.match_flags().add(those)
            flags = (flag for action in those._actions for flag in action.option_strings)
            found |= dict.fromkeys(flags, f"goes with --game-type {name}")
    return found


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.evaluation.named_players import check_games, game_for
    from selfplay.games.registry import find_game

    check_games(options.games)
    game = game_for((options.a, options.b), options.game_type)
    chosen = find_game(game).match_flags().chosen(options)
    from selfplay.evaluation.evaluate import evaluate
    from selfplay.evaluation.players import contenders, home_rules
    from selfplay.league.sprt import SprtBounds
    from selfplay.report.ticker import Ticker

    (a, b), game = contenders((options.a, options.b), game)
    home = home_rules((a, b), game, greedy=options.greedy)
    rules = replace(home, conditions=chosen(home.conditions))
    names = Path(options.a).name, Path(options.b).name
    names = names if names[0] != names[1] else (options.a, options.b)

    def judged(one: Contender, other: Contender) -> Evaluation:
        with Ticker(sys.stderr, "Playing games", options.games) as ticker:
            return evaluate(one, other, options.games, rules, options.seed, SprtBounds(*options.sprt), ticker.at)

    result = judged(a, b)
    verdict = result.verdict(*names)
    # Of a shared payoff, what each gets with itself says how well the two work together.
    alone = [judged(player, player) for player in (a, b)] if rules.objective.kind == "shared" else []
    if options.json:
        by_itself = {f"{player}_with_itself": found.reward for player, found in zip("ab", alone, strict=False)}
        print(json.dumps({"a": options.a, "b": options.b, **result.document(), **by_itself, "verdict": verdict}))
        return
    verdicts = [verdict, *(found.verdict(name, name) for name, found in zip(names, alone, strict=False))]
    what = f", {rules.conditions}" if str(rules.conditions) else f" of {game}"
    what += "" if result.paid is None else f", {rules.objective}"
    print(f"{options.a} against {options.b}: {result.games} games{what}")
    for line in (*_shares(result, rules), *dict.fromkeys(verdicts)):
        print(f"  {line}")


def _shares(result: Evaluation, rules: Rules) -> Iterator[str]:
    """Score, wins, and the game's own figures."""
    first, *lines = (*rules.conditions.words(result.figures), "")
    if repeats := result.repeats():
        yield repeats
    outcomes = f"{result.wins} won, {result.losses} lost, {result.draws} drawn"
    if result.paid is None:
        yield f"score {result.score:.1%} (95% interval {result.low:.1%} to {result.high:.1%})"
        yield f"{outcomes}{first and f'; {first}'}"
    elif result.paid.objective == "reward":
        yield f"{outcomes}, for information: payoffs count"
    yield from filter(None, (result.rewards(), *lines))
