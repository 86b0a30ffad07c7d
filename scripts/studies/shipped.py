"""Train, install and rate the policies that come with the project; writes selfplay/shipped and the anchor tables.

Each policy is the last generation of a run of the laptop preset. What is finished is kept in docs/data/shipped/ and in
the folder of runs, and not done again; delete a file to repeat it. The seeds are not those of docs/learning.md, so that
its runs are rated against policies of other runs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from envs.melee import bots
from envs.melee.physics import RULES_VERSION
from scripts.studies import ROOT
from scripts.studies.cells import Cell, Cells, train_if_missing
from scripts.studies.combat.measure import mirror, scores
from scripts.studies.command_line import Command, chosen, tell
from scripts.studies.pages import interval, measured_here, table
from selfplay.checkpoint import RunDir, list_generations, load_generation, save_policy
from selfplay.checkpoint.shipped import FOLDER, shipped_policies
from selfplay.checkpoint.store import remove_folder, write_file
from selfplay.commands.players import contender, home_rules
from selfplay.commands.rate import BATCH, ON_ALL_CORES, save_table
from selfplay.config.fighting_cli import parse
from selfplay.league.anchors import FOLDER as TABLES
from selfplay.league.anchors import read_table
from selfplay.league.games import GameTable
from selfplay.league.ratings import Ratings, rate
from selfplay.league.schedule import plan
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender
from selfplay.train.fighting.rating import RatingSettings, play_matchups, settings_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Sequence

    from selfplay.league.records import MatchRecord
    from selfplay.league.rewards import RewardRecord

GAMES: Final = 100  # of a figure of a card
RATING_GAMES: Final = 4000  # for the ratings, under each settings
BRIDGES: Final = (0.35, 0.7)  # parts of a run after which a generation joins the rating games
PARTS: Final = ("train", "cards", "anchors")
CARDS: Final = FOLDER / "README.md"
ABOUT_GAME: Final = ("game", "reward", "ppo", "league")  # settings that a shipped policy keeps; none is of a machine


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a policy is trained."""

    seed: int
    steps: int
    character: str = "mewtwo"

    @property
    def words(self) -> list[str]:
        """Arguments of train_self_play.py."""
        words = ["--game-type", "mock", "--preset", "laptop", "--character", self.character]
        return [*words, "--seed", str(self.seed), "--timesteps", str(self.steps)]


RECIPES: Final = {
    "weak": Recipe(10, 2_500_000),
    "medium": Recipe(13, 5_000_000),
    "strong": Recipe(11, 12_000_000),
    "expert": Recipe(12, 40_000_000),
}
JOBS: Final = (("--game-type", "mock", "--preset", "laptop"), ("--game-type", "mock"))
"""Runs whose settings have an anchor table with these policies."""


def install(name: str, run: RunDir) -> None:
    """Train a policy unless that is done, and put its last generation into the package. Blocks.

    Raises:
        SelfPlayError: the training failed or was interrupted.
    """
    train_if_missing(run, RECIPES[name].words, tell)
    meta, params = load_generation(run.generations / str(run.read_summary()["newest"]))
    if (FOLDER / name).exists():
        remove_folder(FOLDER / name)
    config = {part: values for part, values in meta.config.items() if part in ABOUT_GAME}
    save_policy(FOLDER / name, meta.model_copy(update={"id": name, "parent": None, "config": config}), params)
    shipped_policies.cache_clear()


def measure(name: str) -> Cell:
    """The figures of a policy's card. Blocks."""
    player, recipe = contender(name), RECIPES[name]
    characters, rules = home_rules((player,))
    others = [contender(other) for other in (*bots.LADDER, *RECIPES) if other != name]
    return {
        "name": name,
        "command": " ".join(["python scripts/train_self_play.py", *recipe.words]),
        "seed": recipe.seed,
        "steps": recipe.steps,
        "rules": RULES_VERSION,
        **measured_here(),
        "mirror": mirror(player, characters, GAMES, 10_000 + recipe.seed, rules.stage),
        "scores": scores(player, others, characters, rules, GAMES, 20_000 + recipe.seed),
    }


def cards(cells: Sequence[Cell]) -> str:
    """The cards of all policies, in Markdown."""
    text = [
        "# Shipped policies",
        "",
        "Opponents by name, before any training: `--opponent strong`, `scripts/watch.py strong`, "
        "`scripts/evaluate.py RUN medium`. Their ratings fix the scale above the scripted players "
        "([ratings](../../docs/ratings.md)). Made by `python -m scripts.studies.shipped`; licence MIT.",
    ]
    for cell in cells:
        mine = cell["mirror"]
        rows = [(other, interval(score)) for other, score in cell["scores"].items()]
        text += [
            "",
            f"## {cell['name']}",
            "",
            f"`{cell['command']}` (rules version {cell['rules']}; measured {cell['date']}, {cell['processor']}).",
            f"Against itself: {mine['finished']:.0%} of the games finished, {mine['stocks_a_minute']:.2f} stocks and "
            f"{mine['damage_a_minute']:.0f}% damage a minute, kill percent {mine['kill_percent']:.0f}.",
            "",
            table(("opponent", f"score in {GAMES} games [95% interval]"), rows),
        ]
    return "\n".join(text) + "\n"


def rate_all(runs: Path) -> None:
    """Add the policies to the anchor tables of ``JOBS``, unless they are there with these weights. Blocks."""
    policies = {name: contender(name) for name in RECIPES}
    hashes = {name: str(load_generation(path)[0].weights_hash) for name, path in shipped_policies().items()}
    for words in JOBS:
        settings = settings_of(parse([*words]).config)
        path = TABLES / f"{settings.settings}.json"
        known = read_table(path)
        if known.policies == hashes:
            continue
        scripted = {name: elo for name, elo in known.elo.items() if name not in known.policies}
        tell(f"{path.name}: {RATING_GAMES:,} games")
        found = rate_between(policies | bridges(runs), scripted, settings, RATING_GAMES, np.random.default_rng(0))
        places = {name: found.index(name) for name in RECIPES}
        changed = {
            "elo": scripted | {name: round(float(found.elo[i]), 1) for name, i in places.items()},
            "se": {name: known.se[name] for name in scripted}
            | {name: round(float(found.se[i]), 1) for name, i in places.items()},
            "policies": hashes,
        }
        save_table(known.model_copy(update=changed), path)


def bridges(runs: Path) -> dict[str, Contender]:
    """Earlier generations of the same runs, by name: a shipped policy hardly loses a game to the next weaker one."""
    found = {}
    for name in RECIPES:
        generations = list_generations(RunDir(runs / name))
        for share in BRIDGES:
            generation = generations[round(share * (len(generations) - 1))]
            id = f"{name}_at_{generation.iteration}"
            found[id] = Contender(id, load_policy(generation.path))
    return found


def rate_between(
    players: dict[str, Contender],
    pinned: dict[str, float],
    settings: RatingSettings,
    games: int,
    rng: np.random.Generator,
    without: Collection[tuple[str, str]] = (),
) -> Ratings:
    """Ratings of players from the games that tell most, with scripted players pinned. Blocks.

    Args:
        players: who is rated; pinned scripted players need not be among them.
        pinned: fixed Elo by name.
        settings: of the games.
        games: to plan.
        rng: for the plan.
        without: pairs that do not play, although they may be planned.
    """
    everyone = {name: Contender(name) for name in pinned if name not in players} | players
    records: list[MatchRecord | RewardRecord] = []
    for planned in range(0, games, BATCH):
        ratings = rate(GameTable.of(records), players=everyone, anchors=pinned)
        matchups = plan(ratings, everyone, min(BATCH, games - planned), rng, settings.games_each)
        playing = [match for match in matchups if not {match.players, match.players[::-1]} & {*without}]
        records += play_matchups(playing, everyone, settings, 0, play=ON_ALL_CORES)
        tell(f"{min(planned + BATCH, games):,} of {games:,} games planned, {len(records):,} played")
    return rate(GameTable.of(records), players=everyone, anchors=pinned)


def main() -> int:
    """Run the command; the exit code."""
    command = Command("shipped", __doc__, allow_abbrev=False)
    command.add_parts(PARTS)
    command.add_argument(
        "--runs", type=Path, default=ROOT / "checkpoints" / "shipped", metavar="DIR", help="(default: %(default)s)"
    )
    command.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "data" / "shipped", metavar="DIR", help="(default: %(default)s)"
    )
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Train, measure and rate what is missing."""
    parts, cells = chosen("--parts", options.parts, PARTS), Cells(options.out)
    if "train" in parts:
        for name in RECIPES:
            if name not in shipped_policies():
                install(name, RunDir(options.runs / name))
    if "cards" in parts:
        for name in RECIPES:
            cells.make(name, partial(measure, name))
        write_file(CARDS, cards(cells.read(RECIPES)).encode())
    if "anchors" in parts:
        rate_all(options.runs)


if __name__ == "__main__":
    sys.exit(main())
