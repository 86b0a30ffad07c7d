"""Train, rate and install the policies that come with the project; writes envs/selfplay_melee/policies.

The policies of a character are generations of one run of the laptop preset. Scripted players, the policies and more
generations of the run are rated together: neighbours on the scale must lose to each other now and then, or nothing
tells how far apart they are. The scripted players need the generations of a short run for that. What is finished is
not done again: runs in --runs, figures in docs/data/shipped.json. The seed is none of docs/melee/learning.md, so that
its runs are rated against policies of other runs.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from scripts.studies import ROOT
from scripts.studies.cells import PRESET, Cell, Cells, train_if_missing
from scripts.studies.combat.measure import mirror, scores
from scripts.studies.command_line import Command, chosen, notify
from scripts.studies.pages import interval, measured_here
from scripts.studies.pages import table as markdown
from selfplay.checkpoint import RunDir, list_generations, load_generation, save_policy
from selfplay.checkpoint.policies import shipped_policies
from selfplay.checkpoint.store import write_file
from selfplay.cli.ppo import parse
from selfplay.commands.rate import BATCH, ON_ALL_CORES, save_table
from selfplay.evaluation.players import contender, home_rules
from selfplay.league.anchors import AnchorTable, read_table
from selfplay.league.diagnosis import diagnose, widened
from selfplay.league.games import GameTable
from selfplay.league.ratings import Ratings, rate
from selfplay.league.records import ANCHOR, generation_id
from selfplay.league.scale import ANCHOR_ELO
from selfplay.league.schedule import NEWEST_WEIGHT, plan
from selfplay.league.statistics import Z95
from selfplay.policy.policy import load_policy
from selfplay.ppo.rating import RatingSettings, play_matchups, settings_of
from selfplay.runner.match import Contender
from selfplay_melee import bots
from selfplay_melee.conditions import as_fight

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from selfplay.league.records import GameRecord

GAMES: Final = 100  # of a figure of a card
RATING_GAMES: Final = 6000  # of a table
PARTS: Final = ("rate", "cards")
OUT: Final = ROOT / "docs" / "data" / "shipped.json"
SHIPPED_FOLDER: Final = ROOT / "envs" / "selfplay_melee" / "policies"
TABLES: Final = SHIPPED_FOLDER / "anchor_tables"
CARDS: Final = SHIPPED_FOLDER / "README.md"
ABOUT_GAME: Final = ("game", "reward", "ppo", "league")  # settings that a shipped policy keeps; none is of a machine
SEED: Final = 10
STEPS: Final = {"mewtwo": 24_000_000, "fox": 12_000_000, "marth": 12_000_000}
"""Length of the run of each character."""
SHORT_RUN: Final = ("--timesteps", "500000", "--save-interval", "5")
"""Its generations are between the scripted players: those of a long run are soon above them."""
RATED: Final = 12  # generations of a run that are rated
LAST_NAMES: Final = {"mewtwo": "expert", "fox": "fox", "marth": "marth"}
"""Name of the last generation of each run."""
BETWEEN: Final = {"strong": 2 / 3, "medium": 1 / 3, "weak": 0.0}
"""Other policies of the default character: the rated generation that is nearest to this part of the way, in Elo, from
the strongest scripted player to the last generation."""
DEFAULT: Final = "mewtwo"
TABLES_OF: Final = {
    "mewtwo": (PRESET, ("--game-type", "mock")),
    "fox": ((*PRESET, "--character", "fox"),),
    "marth": ((*PRESET, "--character", "marth"),),
}
"""Settings under which the players of a character are rated; the first decide which generations are shipped."""


def words_of(character: str) -> list[str]:
    """Arguments of ``selfplay train`` for the run of a character."""
    run = "--character", character, "--seed", str(SEED), "--timesteps", str(STEPS[character])
    return [*PRESET, "--track-elo", *run]


def train(character: str, runs: Path) -> None:
    """Train the run of a character and a short one, unless they are finished. Blocks.

    Raises:
        SelfPlayError: a training failed or was interrupted.
    """
    train_if_missing(RunDir(runs / character), words_of(character), notify)
    short = [*PRESET, "--character", character, "--seed", str(SEED), *SHORT_RUN]
    train_if_missing(RunDir(runs / f"{character}_short"), short, notify)


def rated_generations(character: str, runs: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Folders of the generations that are rated, by id: those of the short run, and later ones of the long run."""
    short, long = (list_generations(RunDir(runs / name)) for name in (f"{character}_short", character))
    later = [generation for generation in long if generation.iteration > short[-1].iteration]
    places = np.linspace(0, len(later) - 1, min(RATED, len(later))).round().astype(int)
    return {each.id: each.path for each in short}, {later[i].id: later[i].path for i in places}


def rate_character(character: str, runs: Path) -> Cell:
    """Elo and standard errors of all rated players of a character, for each of its tables. Blocks."""
    early, late = rated_generations(character, runs)
    players = {name: Contender(name, load_policy(path)) for name, path in (early | late).items()}
    players |= {name: Contender(name) for name in bots.LADDER}
    tables = {}
    for words in TABLES_OF[character]:
        settings = settings_of(parse([*words]).config)
        notify(f"{' '.join(words)}: {RATING_GAMES:,} games of {len(players)} players")
        rng, weight = np.random.default_rng(SEED), 1.0 / len(players)
        found = rate_between(players, {ANCHOR: ANCHOR_ELO}, settings, RATING_GAMES, rng, newest_weight=weight)
        tables[settings.settings] = {
            "described": settings.described,
            "games": int(found.met.sum()) // 2,
            "elo": {name: round(float(elo), 1) for name, elo in zip(found.players, found.rating, strict=True)},
            "se": {name: round(float(se), 1) for name, se in zip(found.players, found.se, strict=True)},
        }
    return {**measured_here(), "seed": SEED, "command": command_of(character), "tables": tables}


def command_of(character: str) -> str:
    """The command that trains the run of a character."""
    return " ".join(["python scripts/train_self_play.py", *words_of(character)])


def chosen_generations(character: str, late: Sequence[str], elo: Mapping[str, float]) -> dict[str, str]:
    """Id of the generation that each shipped policy of a character is.

    Args:
        character: Of the run.
        late: Rated generations of the run, by age.
        elo: Of all rated players.
    """
    found = {LAST_NAMES[character]: late[-1]}
    if character == DEFAULT:
        low, high = max(elo[name] for name in bots.LADDER), elo[late[-1]]
        for name, part in BETWEEN.items():
            wanted = low + part * (high - low)
            left = [each for each in late if each not in found.values()]
            found[name] = min(left, key=lambda each: abs(elo[each] - wanted))
    return found


def make(character: str, runs: Path, cells: Cells) -> Cell:
    """Train, rate and install the policies of a character; their ratings. Blocks."""
    train(character, runs)
    cell = rate_character(character, runs)
    install(character, runs, cell, cells)
    return cell


def install(character: str, runs: Path, cell: Cell, cells: Cells) -> None:
    """Put the policies of a character into the package, and their ratings into the anchor tables."""
    tables = cell["tables"]
    _, late = rated_generations(character, runs)
    shipped = chosen_generations(character, [*late], next(iter(tables.values()))["elo"])
    hashes = {}
    for name, chosen_one in shipped.items():
        meta, params = load_generation(late[chosen_one])
        hashes[name] = str(meta.weights_hash)
        config = {part: values for part, values in meta.config.items() if part in ABOUT_GAME}
        meta = meta.model_copy(update={"id": name, "parent": None, "config": config})
        save_policy(SHIPPED_FOLDER / name, meta, params, replace=(SHIPPED_FOLDER / name).exists())
        cells.remove(name)  # the card of other weights
    shipped_policies.cache_clear()
    for settings, rated in tables.items():
        names = {name: name for name in bots.LADDER} | shipped
        table = AnchorTable(
            settings=settings,
            described=rated["described"],
            rating={name: rated["elo"][player] for name, player in names.items()},
            se={name: rated["se"][player] for name, player in names.items()},
            games=rated["games"],
            seed=cell["seed"],
            date=cell["date"],
            processor=cell["processor"],
            policies=hashes,
        )
        save_table(table, TABLES / f"{settings}.json")


def measure(name: str) -> Cell:
    """The figures of a policy's card. Blocks."""
    player = contender(name)
    assert player.policy is not None
    rules = home_rules((player,))
    character = as_fight(rules.conditions).characters[0]
    others = [other for other in shipped_of(character) if other != name]
    meta = player.policy.meta
    return {
        "name": name,
        "command": command_of(character),
        "generation": generation_id(meta.iteration),
        "steps": meta.total_steps,
        "weights": meta.weights_hash,
        "seed": SEED,
        **measured_here(),
        "mirror": mirror(player, rules, GAMES, 10_000 + SEED),
        "scores": scores(player, [*map(contender, (*bots.LADDER, *others))], rules, GAMES, 20_000 + SEED),
    }


def shipped_of(character: str) -> list[str]:
    """Names of the shipped policies of a character, the strongest first."""
    return [LAST_NAMES[character], *(BETWEEN if character == DEFAULT else ())]


def names() -> list[str]:
    """Names of all shipped policies."""
    return [name for character in STEPS for name in shipped_of(character)]


def cards(cells: Sequence[Cell], rated: Mapping[str, AnchorTable]) -> str:
    """The cards of all policies, in Markdown.

    Args:
        cells: Of the policies.
        rated: The table with the rating of each policy, by name.
    """
    text = [
        "# Shipped policies",
        "",
        "Opponents by name, before any training: `--opponent strong`, `selfplay watch strong`, "
        "`selfplay evaluate RUN medium`, `selfplay export fox`. Their ratings fix the scale above the scripted players "
        "([ratings](../../../docs/trainer/ratings.md)). Made by `python -m scripts.studies.shipped`; licence MIT.",
    ]
    for cell in cells:
        mine, name, versions = cell["mirror"], cell["name"], cell["versions"]
        table = rated[name]
        rows = [(other, interval(score)) for other, score in cell["scores"].items()]
        text += [
            "",
            f"## {name}",
            "",
            f"`{cell['generation']}`, after {cell['steps']:,} steps of `{cell['command']}`. Elo "
            f"{table.rating[name]:.0f} ± {Z95 * table.se[name]:.0f} (95%). Against itself: "
            f"{mine['finished']:.0%} of the games finished, "
            f"{mine['stocks_a_minute']:.2f} stocks and {mine['damage_a_minute']:.0f}% damage a minute, kill percent "
            f"{mine['kill_percent']:.0f}. Measured {cell['date']}, {cell['processor']}, rules version "
            f"{versions['rules']}, bots version {versions['bots']}, encoder version {versions['encoder']}.",
            "",
            markdown(("opponent", f"score in {GAMES} games [95% interval]"), rows),
        ]
    return "\n".join(text) + "\n"


def rated_in() -> dict[str, AnchorTable]:
    """The table of the preset's settings that has each shipped policy."""
    found: dict[str, AnchorTable] = {}
    for words, *_ in TABLES_OF.values():
        table = read_table(TABLES / f"{settings_of(parse([*words]).config).settings}.json")
        found |= dict.fromkeys(table.policies, table)
    return found


def rate_between(
    players: dict[str, Contender],
    pinned: dict[str, float],
    settings: RatingSettings,
    games: int,
    rng: np.random.Generator,
    without: Collection[tuple[str, str]] = (),
    newest_weight: float = NEWEST_WEIGHT,
) -> Ratings:
    """Ratings of players from the games that tell most, with scripted players pinned. Blocks.

    Args:
        players: who is rated; pinned scripted players need not be among them.
        pinned: fixed Elo by name.
        settings: of the games.
        games: to plan.
        rng: for the plan.
        without: pairs that do not play, although they may be planned.
        newest_weight: see ``plan``.
    """
    everyone = {name: Contender(name) for name in pinned if name not in players} | players
    records: list[GameRecord] = []
    for planned in range(0, games, BATCH):
        ratings = rate(GameTable.of(records), players=everyone, anchors=pinned)
        matchups = plan(ratings, everyone, min(BATCH, games - planned), rng, settings.games_each, newest_weight)
        playing = [match for match in matchups if not {match.players, match.players[::-1]} & {*without}]
        records += play_matchups(playing, everyone, settings, 0, play=ON_ALL_CORES)
        notify(f"{min(planned + BATCH, games):,} of {games:,} games planned, {len(records):,} played")
    table = GameTable.of(records)
    ratings = rate(table, players=everyone, anchors=pinned)
    return widened(ratings, diagnose(ratings, table).misfit)


def main() -> int:
    command = Command("shipped", __doc__, allow_abbrev=False)
    command.add_parts(PARTS)
    command.add_runs("shipped")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Train, rate and measure what is missing."""
    parts, cells = chosen("--parts", options.parts, PARTS), Cells(OUT)
    if "rate" in parts:
        for character in STEPS:
            cells.make(f"rated_{character}", partial(make, character, options.runs, cells))
    if "cards" in parts:
        for name in names():
            cells.make(name, partial(measure, name))
        write(ROOT)


def write(root: Path) -> None:
    """Write the cards below ``root`` from the finished cells."""
    text = cards(Cells(OUT).read(names()), rated_in())
    write_file(root / CARDS.relative_to(ROOT), text.encode())


if __name__ == "__main__":
    sys.exit(main())
