"""Measure how the main job learns: train the laptop preset for some seeds; writes its page and the README.

A finished seed is kept in docs/data/learning.json and not trained again; delete its entry to repeat it. The table of
fights has the shipped policies of other characters, too (``scripts.studies.shipped``).
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT, shipped
from scripts.studies.cells import HUMAN, PRESET, Cell, Cells, train_if_missing
from scripts.studies.charts import Curve, Plot, lines
from scripts.studies.combat.measure import quarters, scores
from scripts.studies.combat.preset import BEFORE, GAMES, measure_before, measured, preset_text
from scripts.studies.command_line import Command, notify
from scripts.studies.pages import interval, measured_here, put_between
from scripts.studies.pages import table as markdown
from selfplay.checkpoint import RunDir
from selfplay.cli.ppo import parse
from selfplay.config.ppo import SCRIPTED
from selfplay.config.resolve import held_out
from selfplay.evaluation.players import contender, home_rules
from selfplay.league.leaderboard import build
from selfplay.league.ledger import read_games
from selfplay.league.modes import MODES
from selfplay.league.records import START, generation_number
from selfplay.league.render import to_text
from selfplay_melee import bots
from selfplay_melee.conditions import as_fight
from selfplay_melee.imitation.scripted import PLAYERS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from selfplay.config.ppo import Config

OUT: Final = ROOT / "docs" / "data" / "learning.json"
PRESETS: Final = {"seed": PRESET, "human": HUMAN}  # by what names of cells begin with


def train_and_evaluate(preset: Sequence[str], seed: int, folder: Path) -> Cell:
    """Train one seed, unless that is done, and play ``GAMES`` games of its last generation with each opponent.

    Raises:
        SelfPlayError: the training failed or was interrupted.
    """
    words = [*preset, "--track-elo", "--seed", str(seed)]
    wanted = parse(words)
    run = RunDir(folder)
    train_if_missing(run, words, notify)
    summary = run.read_summary()
    newest = contender(str(summary["newest"]), run)
    start = contender(START, run)
    rules = home_rules((newest,))
    fights = measured(newest, GAMES, seed)
    return {
        "name": as_fight(rules.conditions).characters[0] + (", human" if preset is HUMAN else ""),
        "command": " ".join(["python scripts/train_self_play.py", *words]),
        "seed": seed,
        **measured_here(),
        "training_s": summary["elapsed_s"],
        "steps_per_iteration": wanted.config.steps_per_iteration,
        "newest": newest.id,
        **{name: summary[name] for name in ("total_steps", "steps_per_s_median", "restarts", "chaos")},
        **opponents(wanted.config),
        **fights,
        "scores": scores(newest, [start], rules, GAMES, 20_000 + seed) | fights["scores"],
        "quarters": [quarter.flat() for quarter in quarters(run)],
        **rated(run),
    }


def rated(run: RunDir) -> dict[str, Any]:
    """Ratings from a run's ledger: the curve of its generations, and the facts of its leaderboard."""
    board = build(read_games(run.ledger), run=run.path)
    curve = [
        {"iteration": number, "elo": row.rating, "low": row.low, "high": row.high}
        for row in board.rows
        if (number := generation_number(row.policy)) is not None
    ]
    facts = {"newest", "progress", "games", "draw_share", "fit", "anchors", "warnings"}
    return {
        "curve": sorted(curve, key=lambda point: int(str(point["iteration"]))),
        "bots": {row.policy: row.rating for row in board.rows if row.scripted},
        "leaderboard": board.model_dump(mode="json", include=facts),
        "printed": to_text(board),
    }


def opponents(config: Config) -> dict[str, Any]:
    """The mode of a run, and the scripted players that it neither trains against nor imitates."""
    mode = config.league.mode
    imitated = PLAYERS if config.run.pretrained == SCRIPTED else ()
    unknown = held_out(config) if "scripted" in MODES[mode] else bots.LADDER
    return {"mode": mode, "held_out": [name for name in unknown if name not in imitated]}


def table(cells: Sequence[Cell]) -> str:
    """Scores against opponents, a row for those of equal scores, and facts of the runs, in Markdown."""
    seeds = [f"seed {cell['seed']}" for cell in cells]
    scores: dict[tuple[str, ...], list[str]] = {}
    for name in (START, *bots.LADDER):
        shown = f"{name} (unknown to training)" if name in cells[0]["held_out"] else name
        scores.setdefault(tuple(_score(cell["scores"][name]) for cell in cells), []).append(shown)
    facts: dict[str, Callable[[Cell], str]] = {
        "steps": lambda c: f"{c['total_steps']:,}",
        "training, minutes": lambda c: f"{c['training_s'] / 60:.1f}",
        "steps/s, median": lambda c: f"{c['steps_per_s_median']:,.0f}",
        "mode": lambda c: c["mode"],
        "processor": lambda c: c["processor"],
        "cores": lambda c: f"{c['cores']}",
        "date": lambda c: c["date"],
        "rating games": lambda c: f"{c['leaderboard']['games']:,}",
        "newest above gen_0, Elo": lambda c: _progress(c["leaderboard"]["progress"]),
        "draws": lambda c: f"{c['leaderboard']['draw_share']:.1%}",
        "misfit, p": lambda c: _misfit(c["leaderboard"]["fit"]["misfit_p"]),
    }
    values = {name: [*map(fact, cells)] for name, fact in facts.items()}
    equal = "; ".join(f"{name} {each[0]}" for name, each in values.items() if len(set(each)) == 1)
    different = [(name, *each) for name, each in values.items() if len(set(each)) > 1]
    by_opponent = markdown(("opponent", *seeds), [(", ".join(names), *each) for each, names in scores.items()])
    return "\n\n".join(
        [by_opponent, f"All runs: {equal}.", *([markdown(("", *seeds), different)] if different else [])]
    )


def sample(cells: Sequence[Cell]) -> str:
    """The leaderboard of the run with the median gain in Elo, below the gains of all runs."""
    gain = [float(cell["leaderboard"]["progress"]["rating"]) for cell in cells]
    middle = sorted(range(len(cells)), key=gain.__getitem__)[len(cells) // 2]
    told = (
        f"Seed {cells[middle]['seed']}, the median of {len(cells)} seeds. Their newest generations are "
        f"{min(gain):+.0f} to {max(gain):+.0f} Elo from gen_0."
    )
    return f"{told}\n\n```text\n{cells[middle]['printed']}\n```"


def _progress(gain: dict[str, float] | None) -> str:
    if gain is None:
        return "not rated"
    return f"{gain['rating']:+.0f} [{gain['low']:+.0f}, {gain['high']:+.0f}], likelihood {gain['superiority']:.2%}"


def _misfit(p: float | None) -> str:
    return "too few games to tell" if p is None else f"{p:.2g}"


def _score(result: dict[str, Any]) -> str:
    """Score with its interval, and the share of finished games where it was counted."""
    return interval(result) + (f"; {result['finished']:.0%} finished" if "finished" in result else "")


def chart(cells: Sequence[Cell]) -> str:
    """Elo over steps, one curve for each seed, as SVG; an open side of an interval is drawn at the estimate."""
    curves = []
    for cell in cells:
        points = cell["curve"]
        curves.append(
            Curve(
                f"seed {cell['seed']}",
                [point["iteration"] * cell["steps_per_iteration"] / 1e6 for point in points],
                [point["elo"] for point in points],
                [point["elo"] if point["low"] is None else point["low"] for point in points],
                [point["elo"] if point["high"] is None else point["high"] for point in points],
            )
        )
    levels = sorted(cells[0]["bots"].items(), key=lambda level: float(level[1]))
    return lines(Plot(curves, "million steps", "Elo (random = 1500), 95% interval", levels))


def main() -> int:
    command = Command("learning", __doc__)
    command.add_seeds()
    command.add_runs("learning")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    cells = Cells(OUT)
    for start, preset in PRESETS.items():
        for seed in options.seeds:
            name = f"{start}_{seed}"
            cells.make(name, partial(train_and_evaluate, preset, seed, options.runs / name))
    cells.make("before", partial(measure_before, BEFORE / "seed_0"))
    write(ROOT)


def write(root: Path) -> None:
    """Write the tables, the chart and the README's sample below ``root`` from the finished cells."""
    cells, docs = Cells(OUT), root / "docs"
    found = sorted(cells.read(cells.names("seed_*")), key=lambda cell: int(cell["seed"]))
    human = sorted(cells.read(cells.names("human_*")), key=lambda cell: int(cell["seed"]))
    fights = [*cells.read(["before"]), *found, *human, *Cells(shipped.OUT).read(shipped.RUNGS[-1:])]
    put_between(docs / "melee/learning.md", "measured", table(found))
    put_between(docs / "melee/internals/fights.md", "preset fights", preset_text(fights))
    put_between(root / "README.md", "sample", sample(found))
    (docs / "data" / "learning.svg").write_text(chart(found), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
