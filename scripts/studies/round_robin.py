"""Play every scripted player of the ladder against every other."""

from __future__ import annotations

import json
import sys
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command
from scripts.studies.pages import measured_here, put_between, this_command, write_json
from scripts.studies.pages import table as markdown
from selfplay.evaluation.evaluate import evaluate
from selfplay.runner.match import Contender, Rules
from selfplay_melee import bots
from selfplay_melee.conditions import FightConditions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

DOCUMENT: Final = ROOT / "docs" / "data" / "round_robin.json"


def document(options: argparse.Namespace) -> dict[str, Any]:
    """Settings and figures; plays all pairs and prints a line for each."""
    characters = (options.character, options.character)
    rules = Rules("mock", FightConditions(characters, options.stage, options.max_episode_frames))
    pairs = []
    for weaker, stronger in combinations(bots.LADDER, 2):
        players = Contender(stronger), Contender(weaker)
        pair = evaluate(*players, options.games, rules, options.seed).document()
        pairs.append({"a": stronger, "b": weaker, **pair})
        print(f"{stronger:>15} against {weaker:<15} {interval(pair)}, {pair['finished']:.0%} finished")
    return {
        "command": this_command("round_robin", ["--write"]),
        **measured_here(),
        **{name: getattr(options, name) for name in ("seed", "games", "character", "stage", "max_episode_frames")},
        "ladder": list(bots.LADDER),
        "pairs": pairs,
    }


def interval(pair: dict[str, Any]) -> str:
    """Score with its 95% interval."""
    return f"{pair['score']:.1%} ({pair['low']:.1%} to {pair['high']:.1%})"


def tables(made: dict[str, Any]) -> str:
    """The ladder and the whole table of a document, in Markdown."""
    ladder, pairs = made["ladder"], {(pair["a"], pair["b"]): pair for pair in made["pairs"]}
    about = (
        f"`{made['command']}`, {made['date']}, {made['processor']}: {made['games']} games a pair, {made['character']} "
        f"dittos on {made['stage']}, at most {made['max_episode_frames']} frames, bots version "
        f"{made['versions']['bots']}, rules version {made['versions']['rules']}."
    )
    rows: list[Sequence[object]] = []
    for weaker, stronger in pairwise(ladder):
        pair = pairs[stronger, weaker]
        dealt, taken = pair["damage"]
        score, damage = f"{interval(pair)} against {weaker}", f"{dealt:.0f}%, {taken:.0f}%"
        stocks = ", ".join(f"{each:.2f}" for each in pair["stocks_per_minute"])
        rows.append((stronger, score, f"{pair['finished']:.0%}", stocks, damage, f"{pair['self_destructs'][0]:.2f}"))
    head = (
        *("player", "against the next weaker one", "finished games", "stocks taken, lost a minute"),
        *("damage dealt, taken", "self-destructs a game"),
    )
    cross: list[Sequence[object]] = []
    for place, player in enumerate(ladder[1:], 1):
        weaker_ones = [pairs[player, weaker] for weaker in ladder[:place]]
        cells = [f"{pair['score']:.1%}" for pair in weaker_ones]
        cross.append((player, *cells, *[""] * (len(ladder) - 1 - place)))
    between = "Score of the player of the row against that of the column:"
    return "\n\n".join((about, markdown(head, rows), between, markdown(("", *ladder[:-1]), cross)))


def main() -> int:
    command = Command("round_robin", __doc__, allow_abbrev=False)
    command.add_argument("--games", type=int, default=200, metavar="N", help="of each pair (default: %(default)s)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the games (default: %(default)s)")
    command.add_argument("--character", default="mewtwo", metavar="NAME", help="of both (default: %(default)s)")
    command.add_argument("--stage", default="final_destination", metavar="NAME", help="(default: %(default)s)")
    command.add_argument("--max-episode-frames", type=int, default=3600, metavar="N", help="cap (default: %(default)s)")
    command.add_argument("--write", action="store_true", help="put the figures into docs/")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Play, print and write."""
    made = document(options)
    print(f"\n{tables(made)}")
    if options.write:
        write_json(DOCUMENT, made)
        write(ROOT)


def write(root: Path) -> None:
    """Write the tables below ``root`` from the document."""
    figures = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    put_between(root / "docs" / "melee/bots.md", "round robin", tables(figures))


if __name__ == "__main__":
    sys.exit(main())
