"""The learning study: what ``docs/learning.md`` claims, measured. One cell is one seed; finished cells are kept."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from envs.melee import bots
from selfplay.checkpoint import RunDir
from selfplay.errors import SelfPlayError
from selfplay.league.leaderboard import build
from selfplay.league.ledger import read_games
from selfplay.league.modes import MODES
from selfplay.league.records import generation_number
from selfplay.report.curves import Curve, svg
from selfplay.trainer.app import train
from selfplay.trainer.cli import parse
from selfplay.trainer.evaluation import evaluate
from selfplay.trainer.machine import processor, usable_cores
from selfplay.trainer.pages import put_between
from selfplay.trainer.players import contender, home_rules
from selfplay.trainer.rating import config_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from selfplay.config import Config

GAMES: Final = 200
ABLATION_OPPONENTS: Final = ("walker", "rusher", "shield_grabber", "edge_guarder")
COMMAND: Final = "python scripts/train_self_play.py --game-type mock --preset laptop --track-elo --seed {seed}"


def run_cell(seed: int, folder: Path, out: Path, arguments: Sequence[str] = (), games: int = GAMES) -> None:
    """Train one seed, evaluate its last generation in ``games`` games an opponent, write the figures to ``out``.

    Raises:
        SelfPlayError: the training failed or was interrupted.
    """
    words = [*COMMAND.format(seed=seed).split()[2:], "--checkpoint", str(folder), *arguments]
    wanted = parse(words)
    started = time.monotonic()
    if train(wanted.config, explicit=wanted.explicit, preset=wanted.preset):
        raise SelfPlayError(f"seed {seed} was interrupted; its figures are not taken")
    wall = time.monotonic() - started
    run = RunDir(folder)
    summary = run.read_summary()
    newest = str(summary["newest"])
    results = {}
    for name in ("gen_0", *bots.LADDER):
        pair = (contender(newest, run), contender(name, run))
        characters, rules = home_rules(pair)
        results[name] = asdict(evaluate(*pair, games, characters, rules, seed=10_000 + seed))
    document: dict[str, Any] = {
        "command": COMMAND.format(seed=seed) + "".join(f" {word}" for word in arguments),
        "seed": seed,
        "processor": processor(),
        "cores": usable_cores(),
        "date": datetime.now(UTC).date().isoformat(),
        "wall_s": round(wall, 1),
        "training_s": summary["elapsed_s"],
        "total_steps": summary["total_steps"],
        "steps_per_iteration": wanted.config.steps_per_iteration,
        "steps_per_s_median": summary["steps_per_s_median"],
        "newest": newest,
        "restarts": summary["restarts"],
        "chaos": summary["chaos"],
        **opponents(wanted.config),
        "ladder": list(bots.LADDER),
        "results": results,
        **rated(run),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def rated(run: RunDir) -> dict[str, Any]:
    """What the games of a run's ledger say: the curve, and whether the table may be believed."""
    if not run.ledger.exists():
        return {"curve": [], "bots": {}, "leaderboard": None}
    board = build(read_games(run.ledger), run=run.path)
    curve = [
        {"iteration": number, "elo": row.elo, "low": row.low, "high": row.high}
        for row in board.rows
        if (number := generation_number(row.policy)) is not None
    ]
    facts = {"newest", "progress", "games", "draw_share", "fit", "anchors", "warnings"}
    return {
        "curve": sorted(curve, key=lambda point: int(str(point["iteration"]))),
        "bots": {row.policy: row.elo for row in board.rows if row.scripted},
        "leaderboard": board.model_dump(mode="json", include=facts),
    }


def rerate(folder: Path, out: Path) -> None:
    """Rate the games of a finished cell again, as after more of them or with other anchors."""
    cell, run = json.loads(out.read_text(encoding="utf-8")), RunDir(folder)
    document = {**cell, **opponents(config_of(run)), **rated(run)}
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def opponents(config: Config) -> dict[str, Any]:
    """The mode of a run, and the scripted players that it never met."""
    mode = config.league.mode
    return {"mode": mode, "held_out": list(config.league.held_out if "scripted" in MODES[mode] else bots.LADDER)}


def read_cells(folder: Path) -> list[dict[str, Any]]:
    """The figures of all finished cells, by seed."""
    cells = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("seed_*.json")]
    return sorted(cells, key=lambda cell: int(cell["seed"]))


def table(cells: Sequence[dict[str, Any]]) -> str:
    """The measured part of the page, in Markdown."""
    names = list(cells[0]["results"])
    lines = [
        "| opponent | " + " | ".join(f"seed {cell['seed']}" for cell in cells) + " |",
        "|---|" + "---|" * len(cells),
    ]
    for name in names:
        shown = f"{name} (never met in training)" if name in cells[0]["held_out"] else name
        lines.append(f"| {shown} | " + " | ".join(_cell(cell["results"][name]) for cell in cells) + " |")
    lines += ["", "| | " + " | ".join(f"seed {cell['seed']}" for cell in cells) + " |", "|---|" + "---|" * len(cells)]
    facts: dict[str, Callable[[dict[str, Any]], str]] = {
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
    lines += [f"| {name} | " + " | ".join(fact(cell) for cell in cells) + " |" for name, fact in facts.items()]
    return "\n".join(lines)


def _progress(gain: dict[str, float] | None) -> str:
    if gain is None:
        return "not rated"
    return f"{gain['elo']:+.0f} [{gain['low']:+.0f}, {gain['high']:+.0f}], likelihood {gain['superiority']:.2%}"


def _misfit(p: float | None) -> str:
    return "too few games to tell" if p is None else f"{p:.2g}"


def _cell(result: dict[str, Any]) -> str:
    stocks = "" if result["by_stocks"] is None else f"; {result['by_stocks']:.0%} by stocks"
    return f"{result['score']:.1%} [{result['low']:.1%}, {result['high']:.1%}]{stocks}"


def chart(cells: Sequence[dict[str, Any]]) -> str:
    """Elo over steps, one curve a seed, as SVG; an interval that is open on a side ends at the estimate there."""
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
    return svg(curves, "million steps", "Elo (random = 1500), 95% interval", levels)


def write_page(page: Path, cells: Sequence[dict[str, Any]]) -> None:
    """Put the table between the markers of the page, and the chart beside it."""
    put_between(page, "measured", table(cells))
    (page.parent / "data" / "learning.svg").write_text(chart(cells), encoding="utf-8")


def write_ablation(page: Path, folder: Path, variants: Mapping[str, Sequence[str]]) -> None:
    """Put the table of the variants whose cells are there into the page."""
    lines = [
        "| variant | seeds | " + " | ".join(ABLATION_OPPONENTS) + " |",
        "|---|---|" + "---|" * len(ABLATION_OPPONENTS),
    ]
    for name, arguments in variants.items():
        cells = read_cells(folder / name)
        if not cells:
            continue
        shown = []
        for opponent in ABLATION_OPPONENTS:
            scores = [float(cell["results"][opponent]["score"]) for cell in cells]
            shown.append(f"{fmean(scores):.0%} ({', '.join(f'{score:.0%}' for score in scores)})")
        lines.append(f"| {name}: `{' '.join(arguments)}` | {len(cells)} | " + " | ".join(shown) + " |")
    put_between(page, "ablation", "\n".join(lines))
