"""Choose the incentives of fights by measurement: do policies fight, and how strong are they? Writes docs/learning.md.

Candidates train for 2 million steps, one seed each; the preset, which is one of them, and the second best for 12
million steps, three seeds each. What is finished is kept in docs/data/combat/ and not trained again; delete a file to
repeat it.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from envs.melee import bots
from envs.melee.physics import RULES_VERSION
from scripts.studies import ROOT
from scripts.studies.cells import Cell, Cells, train_if_missing
from scripts.studies.combat.measure import mirror, quarters, scores
from scripts.studies.command_line import Command, chosen, tell
from scripts.studies.pages import measured_here, put_between, table
from selfplay.checkpoint import RunDir
from selfplay.commands.players import contender, home_rules
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

GAMES: Final = 200  # half as many of candidates
SHORT: Final = ("--timesteps", "2000000")
LONG: Final = ("--timesteps", "12000000")
BEFORE: Final = Path(__file__).parent / "before"
"""Last generation of the preset before this study, by seed: no imitation, bonus 2.5e-3, zero-sum, 12 M steps."""
PARTS: Final = ("candidates", "finalists", "preset", "page")
LATEST: Final = ("--mode", "latest")
PRESET: Final = ("--game-type", "mock", "--preset", "laptop")


def settings(**values: object) -> tuple[str, ...]:
    """Words of the command line for settings ``group__name``."""
    return tuple(word for name, value in values.items() for word in ("--set", f"{name.replace('__', '.')}={value}"))


ZERO_SUM: Final = settings(reward__stalling=0, reward__lingering=0, reward__self_destruct=0)
BONUS: Final = settings(ppo__entropy_coefficient=2.5e-3, ppo__entropy_floor=0)  # as before
FLOOR: Final = settings(ppo__entropy_coefficient=5e-3, ppo__entropy_floor=0.5)
STALLING: Final = settings(reward__stalling=0.5, reward__stalling_after=3, reward__lingering=0, reward__self_destruct=0)
MORE: Final = settings(reward__stalling=1, reward__stalling_after=2, reward__lingering=0, reward__self_destruct=0)
ALL: Final = (*FLOOR, *MORE, *settings(reward__lingering=1, reward__self_destruct=10))
SCRIPTED: Final = ("--mode", "simple_mix", *settings(league__current=0.8, league__recent=0))
CANDIDATES: Final[dict[str, tuple[str, ...]]] = {
    "as before, from scratch": ("--pretrained", "none", *BONUS, *ZERO_SUM),
    "imitation": (*BONUS, *ZERO_SUM),
    "imitation, weak bonus": (*ZERO_SUM, *settings(ppo__entropy_coefficient=5e-4, ppo__entropy_floor=0)),
    "entropy floor": (*FLOOR, *ZERO_SUM),
    "floor, stock 10": (*FLOOR, *ZERO_SUM, *settings(reward__stock=10)),
    "floor, gamma 0.996": (*FLOOR, *ZERO_SUM, "--gamma", "0.996"),
    "floor, teacher 0.03": (*FLOOR, *ZERO_SUM, "--teacher-kl", "0.03"),
    "floor, 20% scripted players": (*FLOOR, *ZERO_SUM, *SCRIPTED),
    "floor, stalling 0.5 after 3 s": (*FLOOR, *STALLING),
    "floor, stalling 1 after 2 s": (*FLOOR, *MORE),
    "floor, stalling 1, lingering 1": (*FLOOR, *MORE, *settings(reward__lingering=1)),
    "floor, all costs": ALL,
    "floor, all costs, 20% scripted players": (*ALL, *SCRIPTED),
    "floor, all costs, 20% scripted players, 10% recent": (*ALL, "--mode", "simple_mix"),
    "from scratch, all costs": ("--pretrained", "none", *ALL),
}
"""Settings by name; where they say nothing of opponents a policy meets only itself."""
FINALISTS: Final = ("floor, all costs, 20% scripted players",)  # the preset meets recent generations, too
DEFAULT: Final = "mewtwo"  # character of the preset
CHARACTERS: Final = ("fox", "marth")  # of further runs of the preset
LADDER_ENDS: Final = ("edge_guarder", "all_rounder")
BARS: Final = {
    "finished": ("at least", 0.85),
    "stocks_a_minute": ("at least", 0.8),
    "kill_percent": ("at most", 130.0),
    "hits_an_opening": ("at least", 1.6),
    "self_destructs_a_game": ("at most", 0.1),
    "last quarter's stocks a minute, share of the third's": ("at least", 0.8),
    "worst score but all_rounder": ("at least", 0.99),
    "score against all_rounder": ("at least", 0.97),
    "score against the preset before": ("at least", 0.9),
}
"""What every run of the preset must reach, of 12 million steps and the default character."""


def train_and_measure(name: str, arguments: Sequence[str], seed: int, games: int, folder: Path) -> Cell:
    """Train one run, unless that is done, and measure its last generation. Blocks.

    Raises:
        SelfPlayError: the training failed or was interrupted.
    """
    words = [*PRESET, "--seed", str(seed), *arguments]
    run = RunDir(folder)
    train_if_missing(run, words, tell)
    summary = run.read_summary()
    return {
        "name": name,
        "command": " ".join(["python scripts/train_self_play.py", *words]),
        "seed": seed,
        "rules": RULES_VERSION,
        **measured_here(),
        "training_s": summary["elapsed_s"],
        "total_steps": summary["total_steps"],
        **measured(contender(str(summary["newest"]), run), games, seed),
        "quarters": [quarter.model_dump() for quarter in quarters(run)],
    }


def measure_before(path: Path) -> Cell:
    """The figures of a policy of the preset before. Blocks."""
    policy = Contender("before", load_policy(path))
    return {"name": "before", "seed": 0, "rules": RULES_VERSION, **measured_here(), **measured(policy, GAMES, 0)}


def measured(policy: Contender, games: int, seed: int) -> dict[str, Any]:
    """Games of a policy against itself, scripted players and, where it plays their character, the policies before."""
    characters, rules = home_rules((policy,))
    opponents = [Contender(name) for name in bots.LADDER]
    before = [Contender(path.name, load_policy(path)) for path in sorted(BEFORE.iterdir())]
    opponents += [other for other in before if other.policy and set(other.policy.meta.characters) == set(characters)]
    return {
        "mirror": mirror(policy, characters, games, 10_000 + seed, rules.stage),
        "scores": scores(policy, opponents, characters, rules, games, 20_000 + seed),
    }


def candidate_table(cells: Sequence[Cell]) -> str:
    """One row a cell: how it fights, and how strong it is."""
    head = (
        "settings", "seed", "finished", "stocks a minute", "damage a minute", "kill %", "hits an opening",
        "self-destructs a game", "edge_guarder", "all_rounder", "before",
    )  # fmt: skip
    return table(head, map(_row, cells))


def _row(cell: Cell) -> tuple[object, ...]:
    m, results = cell["mirror"], cell["scores"]
    before = _against_before(cell)
    return (
        cell["name"], cell["seed"], f"{m['finished']:.0%}", f"{m['stocks_a_minute']:.2f}",
        f"{m['damage_a_minute']:.0f}", f"{m['kill_percent']:.0f}", f"{m['hits_an_opening']:.2f}",
        f"{m['self_destructs_a_game']:.2f}", *(f"{results[name]['score']:.1%}" for name in LADDER_ENDS),
        f"{min(before):.1%}" if before else "",
    )  # fmt: skip


def missed(cell: Cell) -> list[str]:
    """The ``BARS`` that a run of the preset misses, with its figures."""
    results, (_, _, third, last) = cell["scores"], cell["quarters"]
    figures = {
        **cell["mirror"],
        "last quarter's stocks a minute, share of the third's":
            last["stocks_per_minute"] / third["stocks_per_minute"],
        "worst score but all_rounder": min(results[name]["score"] for name in bots.LADDER if name != "all_rounder"),
        "score against all_rounder": results["all_rounder"]["score"],
        "score against the preset before": min(_against_before(cell), default=1.0),
    }  # fmt: skip
    return [
        f"{name} {figures[name]:.3g}, {word} {bar:g} wanted"
        for name, (word, bar) in BARS.items()
        if (figures[name] < bar if word == "at least" else figures[name] > bar)
    ]


def preset_text(cells: Sequence[Cell]) -> str:
    """The table of the runs of the preset, and what they miss."""
    lines = [f"- Seed {cell['seed']}: {'; '.join(missed(cell)) or 'every bar reached'}."
             for cell in cells if cell["name"] == DEFAULT]  # fmt: skip
    return "\n".join([candidate_table(cells), "", *lines])


def _against_before(cell: Cell) -> list[float]:
    return [result["score"] for name, result in cell["scores"].items() if name.startswith("seed_")]


def main() -> int:
    """Run the command; the exit code."""
    command = Command("combat", __doc__)
    command.add_seeds()
    command.add_parts(PARTS)
    command.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "combat", help="where the runs go")
    command.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "combat", help="where figures go")
    command.add_argument("--page", type=Path, default=ROOT / "docs" / "learning.md", help="the page to write")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    parts = chosen("--parts", options.parts, PARTS)
    cells = Cells(options.out)
    plan: list[tuple[str, str, int, tuple[str, ...]]] = []  # part, name, seed, arguments
    if "candidates" in parts:
        plan += [("candidates", name, 0, (*SHORT, *LATEST, *arguments)) for name, arguments in CANDIDATES.items()]
    if "finalists" in parts:
        plan += [("finalists", name, seed, (*LONG, *LATEST, *CANDIDATES[name]))
                 for name in FINALISTS for seed in options.seeds]  # fmt: skip
    if "preset" in parts:
        plan += [("preset", DEFAULT, seed, ("--track-elo",)) for seed in options.seeds]
        plan += [("preset", name, 0, ("--track-elo", "--character", name)) for name in CHARACTERS]
        cells.make("preset/before-0", partial(measure_before, BEFORE / "seed_0"))
    for part, name, seed, arguments in plan:
        cell, games = f"{part}/{_file(name)}-{seed}", GAMES // 2 if part == "candidates" else GAMES
        made = cells.make(cell, partial(train_and_measure, name, arguments, seed, games, options.runs / cell))
        tell(f"{cell}: {'measured' if made else 'was finished'}")
    if "page" in parts:
        for part, text in (("candidates", candidate_table), ("finalists", candidate_table), ("preset", preset_text)):
            if found := cells.read(cells.names(f"{part}/*")):
                put_between(options.page, f"combat {part}", text(found))


def _file(name: str) -> str:
    """Name of the file of a candidate."""
    return re.sub(r"[^a-z0-9.]+", "_", name)


if __name__ == "__main__":
    sys.exit(main())
