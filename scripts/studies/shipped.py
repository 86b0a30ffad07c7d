"""Train, rate and install the policies that come with the project; writes envs/selfplay_melee/policies.

The policies of a character are generations of a long run of a preset and of a short one. Scripted players, the policies
and more generations of both runs are rated together: neighbours on the scale must lose to each other now and then, or
nothing tells how far apart they are. The scripted players need the generations of the short run for that. What is
finished is not done again: runs in --runs, figures in docs/data/shipped.json. The seed is none of
docs/melee/learning.md, so that its runs are rated against policies of other runs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from scripts.studies import ROOT
from scripts.studies.cells import HUMAN, PRESET, Cell, Cells, train_if_missing
from scripts.studies.combat.measure import mirror, scores, scripted_beside
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
from selfplay_melee import bot_names, bots
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


@dataclass(frozen=True, slots=True)
class Run:
    """The runs that the policies of a character come from.

    Args:
        preset: Arguments of ``selfplay train``.
        steps: Length of the long run.
        rated: How many of its generations are rated.
        short: More arguments for the short run, whose generations are between the scripted players: those of the long
            run are soon above them.
    """

    preset: tuple[str, ...]
    steps: int
    rated: int
    short: tuple[str, ...]


RUNS: Final = {
    "mewtwo": Run(PRESET, 12_000_000, 12, ("--timesteps", "500000", "--save-interval", "5")),
    # The start that imitates scripted players beats beginners, so the short run does without.
    "marth": Run(
        HUMAN,
        6_000_000,
        30,
        ("--pretrained", "none", "--timesteps", "1000000", "--save-interval", "5"),
    ),
}
LAST: Final = "expert"
BETWEEN: Final = {"strong": 2 / 3, "medium": 1 / 3, "weak": 0.0}
"""Policies of Mewtwo beside the last generation of its run: the rated generation that is nearest to this part of the
way, in Elo, from the strongest scripted player to the last generation."""
RUNGS: Final = ("novice", "casual", "regular", "advanced", "veteran", "champion")
"""Policies of Marth, which people climb: the rated generations that are nearest to equal steps of Elo."""
FIRST_ELO: Final = 1700.0
STEP_ELO: Final = 250.0
REACTION: Final = f"Acts {bot_names.REACTION} frames after what it sees, as a person does.\n"


def words_of(character: str) -> list[str]:
    """Arguments of ``selfplay train`` for the run of a character."""
    plan = RUNS[character]
    run = "--character", character, "--seed", str(SEED), "--timesteps", str(plan.steps)
    return [*plan.preset, "--track-elo", *run]


def short_words_of(character: str) -> list[str]:
    """Arguments of ``selfplay train`` for the short run of a character."""
    plan = RUNS[character]
    return [*plan.preset, "--character", character, "--seed", str(SEED), *plan.short]


def train(character: str, runs: Path) -> None:
    """Train the run of a character and a short one, unless they are finished. Blocks.

    Raises:
        SelfPlayError: a training failed or was interrupted.
    """
    train_if_missing(RunDir(runs / character), words_of(character), notify)
    train_if_missing(RunDir(runs / f"{character}_short"), short_words_of(character), notify)


def rated_generations(character: str, runs: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Folders of the rated generations, by name, with ``rounded`` weights: of the short run, and of the long one."""
    short, long = (list_generations(RunDir(runs / name)) for name in (f"{character}_short", character))
    places = np.linspace(0, len(long) - 1, min(RUNS[character].rated, len(long))).round().astype(int)
    folder = runs / f"{character}_rounded"
    early = {f"short_{each.iteration}": each.path for each in short}
    late = {long[i].id: long[i].path for i in places}
    early, late = ({name: rounded(path, folder / name) for name, path in each.items()} for each in (early, late))
    return early, late


def rounded(generation: Path, folder: Path) -> Path:
    """A copy of a policy whose weights are rounded to bfloat16, so that a page of all rungs stays small."""
    if not folder.exists():
        meta, params = load_generation(generation)
        params = {name: torch.from_numpy(np.array(array)).bfloat16().float().numpy() for name, array in params.items()}
        save_policy(folder, meta.model_copy(update={"weights_hash": None}), params)
    return folder


def rate_character(character: str, runs: Path) -> Cell:
    """Elo and standard errors of all rated players of a character. Blocks."""
    early, late = rated_generations(character, runs)
    players = {name: Contender(name, load_policy(path)) for name, path in (early | late).items()}
    players |= {name: Contender(name) for name in scripted_of(character)}
    settings = rated_under(character)
    notify(f"{character}: {RATING_GAMES:,} games of {len(players)} players")
    rng, weight = np.random.default_rng(SEED), 1.0 / len(players)
    found = rate_between(players, {ANCHOR: ANCHOR_ELO}, settings, RATING_GAMES, rng, newest_weight=weight)
    elo = {name: round(float(elo), 1) for name, elo in zip(found.players, found.rating, strict=True)}
    table = {
        "described": settings.described,
        "games": int(found.met.sum()) // 2,
        "elo": elo,
        "se": {name: round(float(se), 1) for name, se in zip(found.players, found.se, strict=True)},
    }
    chosen = chosen_generations(character, [*early], [*late], elo)
    runs_of = {
        name: short_words_of(character) if each in early else words_of(character) for name, each in chosen.items()
    }
    commands = {name: " ".join(["python scripts/train_self_play.py", *words]) for name, words in runs_of.items()}
    return {
        **measured_here(),
        "seed": SEED,
        "commands": commands,
        "chosen": chosen,
        "tables": {settings.settings: table},
    }


def rated_under(character: str) -> RatingSettings:
    """Settings under which the players of a character are rated."""
    return settings_of(parse([*RUNS[character].preset, "--character", character]).config)


def scripted_of(character: str) -> tuple[str, ...]:
    """Scripted players that are rated beside the policies of a character."""
    return scripted_beside(parse([*RUNS[character].preset]).config.game.body)


def chosen_generations(
    character: str, early: Sequence[str], late: Sequence[str], elo: Mapping[str, float]
) -> dict[str, str]:
    """Id of the generation that each shipped policy of a character is.

    Args:
        character: Of the runs.
        early: Names of the rated generations of the short run, by age.
        late: Those of the long run.
        elo: Of all rated players.
    """
    if character == "mewtwo":
        found = {LAST: late[-1]}
        low, high = max(elo[name] for name in bots.LADDER), elo[late[-1]]
        wanted = {name: low + part * (high - low) for name, part in BETWEEN.items()}
        left = [*late]
    else:
        found, left = {}, [*early, *late]
        wanted = {name: FIRST_ELO + i * STEP_ELO for i, name in enumerate(RUNGS)}
    for name, aim in wanted.items():
        left = [each for each in left if each not in found.values()]
        found[name] = min(left, key=lambda each: abs(elo[each] - aim))
    return found


def make(character: str, runs: Path, cells: Cells) -> Cell:
    """Train, rate and install the policies of a character; their ratings. Blocks."""
    train(character, runs)
    cell = rate_character(character, runs)
    install(character, runs, cell, cells)
    return cell


def install(character: str, runs: Path, cell: Cell, cells: Cells) -> None:
    """Put the policies of a character into the package, and their ratings into the anchor tables."""
    tables, shipped, hashes = cell["tables"], cell["chosen"], {}
    early, late = rated_generations(character, runs)
    for name, chosen_one in shipped.items():
        meta, params = load_generation((early | late)[chosen_one])
        hashes[name] = str(meta.weights_hash)
        config = {part: values for part, values in meta.config.items() if part in ABOUT_GAME}
        meta = meta.model_copy(update={"id": name, "parent": None, "config": config})
        save_policy(SHIPPED_FOLDER / name, meta, params, replace=(SHIPPED_FOLDER / name).exists())
        cells.remove(name)  # the card of other weights
    shipped_policies.cache_clear()
    for settings, rated in tables.items():
        names = {name: name for name in scripted_of(character)} | shipped
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


def measure(name: str, cells: Cells) -> Cell:
    """The figures of a policy's card. Blocks."""
    player = contender(name)
    assert player.policy is not None
    rules = home_rules((player,))
    character = as_fight(rules.conditions).characters[0]
    others = [other for other in shipped_of(character) if other != name]
    meta = player.policy.meta
    (rated,) = cells.read([f"rated_{character}"])
    return {
        "name": name,
        "command": rated["commands"][name],
        "generation": generation_id(meta.iteration),
        "steps": meta.total_steps,
        "weights": meta.weights_hash,
        "seed": SEED,
        **measured_here(),
        "mirror": mirror(player, rules, GAMES, 10_000 + SEED),
        "scores": scores(player, [*map(contender, (*scripted_of(character), *others))], rules, GAMES, 20_000 + SEED),
    }


def shipped_of(character: str) -> list[str]:
    """Names of the shipped policies of a character, the strongest first."""
    return [LAST, *BETWEEN] if character == "mewtwo" else [*reversed(RUNGS)]


def names() -> list[str]:
    """Names of all shipped policies."""
    return [name for character in RUNS for name in shipped_of(character)]


def cards(cells: Sequence[Cell], rated: Mapping[str, AnchorTable]) -> str:
    """The cards of all policies, in Markdown.

    Args:
        cells: Of the policies.
        rated: The table with the rating of each policy, by name.
    """
    text = [
        "# Shipped policies",
        "",
        "Opponents by name, before any training: `--opponent strong`, `selfplay watch strong`, `selfplay evaluate RUN "
        "medium`, `selfplay export champion`. Their ratings fix the scale above the scripted players "
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
            *([REACTION] if name in RUNGS else []),
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
    """The table that has each shipped policy."""
    found: dict[str, AnchorTable] = {}
    for character in RUNS:
        table = read_table(TABLES / f"{rated_under(character).settings}.json")
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
        for character in RUNS:
            cells.make(f"rated_{character}", partial(make, character, options.runs, cells))
    if "cards" in parts:
        for name in names():
            cells.make(name, partial(measure, name, cells))
        write(ROOT)


def write(root: Path) -> None:
    """Write the cards below ``root`` from the finished cells."""
    text = cards(Cells(OUT).read(names()), rated_in())
    write_file(root / CARDS.relative_to(ROOT), text.encode())


if __name__ == "__main__":
    sys.exit(main())
