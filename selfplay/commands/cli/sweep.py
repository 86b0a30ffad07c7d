"""Train settings by seeds as a file says, each in a process of its own, and say which setting is strongest."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from selfplay.cli.parser import Parser, add_cluster, check_cluster
from selfplay.commands.cli import command
from selfplay.errors import ConfigError

WIDTH = 160  # of a table that no terminal shows


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__, epilog="The keys of FILE are listed in docs/trainer/sweeps.md.")
    made.add_argument("file", type=Path, metavar="FILE", help="settings, seeds, method and judge, in TOML")
    made.add_argument(
        "--folder", type=Path, metavar="DIR", help="of the runs and results; one that was begun goes on "
        "(default: checkpoints/ and the name of FILE)",
    )  # fmt: skip
    made.add_argument(
        "--jobs", type=int, metavar="N", help="runs at once (default: one for two cores, or each free CPU of "
        "--ray-address)",
    )  # fmt: skip
    add_cluster(made, "train and judge the runs")
    made.add_argument("--json", action="store_true", help="print the results as JSON")
    return made


@command(parser)
def main(options: argparse.Namespace) -> int:
    from selfplay.checkpoint import check_writable_folder
    from selfplay.checkpoint.run_dir import CHECKPOINTS
    from selfplay.machine import usable_cores
    from selfplay.sweep.cells import Folder
    from selfplay.sweep.plan import plan_of
    from selfplay.sweep.settings import read_sweep

    check_cluster(options, options.jobs, "--jobs")
    jobs = max(1, usable_cores() // 2) if options.jobs is None and options.ray_address is None else options.jobs
    plan = plan_of(read_sweep(options.file), options.file)
    if options.host == "ray" and "run.host" in {**plan.space.fixed, **plan.space.swept}:
        raise ConfigError(f"{options.file}: [settings] run.host: with --host ray each run is one trainer in one actor")
    path = options.folder or CHECKPOINTS / options.file.stem
    if options.host == "ray":
        path = path.absolute()  # for all nodes
    check_writable_folder(path, "--folder")
    from selfplay.sweep.judging import measure_of

    folder = Folder(path, plan.asked)
    measure = measure_of(plan, folder.by)
    from selfplay.compilation.progress import compile_rules
    from selfplay.games.registry import find_game
    from selfplay.report.ticker import Ticker
    from selfplay.run.lifecycle import stop_signal
    from selfplay.runner.ray_cluster import cluster_for
    from selfplay.sweep.cluster import on_cluster
    from selfplay.sweep.jobs import this_machine
    from selfplay.sweep.sweep import Sweep

    compile_rules(find_game(plan.game), notice)  # once, and not in each trainer
    with folder.locked(), cluster_for(options.host, options.ray_address, jobs) as cluster, stop_signal() as seen:
        host = this_machine(jobs) if cluster is None else on_cluster(cluster, cluster.room(jobs), path, notice)
        with Ticker(sys.stderr, "Cells") as ticker:
            found = Sweep(plan, measure, folder, host, notice, ticker.at, lambda: bool(seen)).run()
    if found is None:
        notice(f"Stopped; the same command goes on with {path}")
        return 128 + seen[0]
    if options.json:
        print(json.dumps(found.document()))
    else:
        from rich.console import Console

        from selfplay.sweep.results import table

        Console(width=None if sys.stdout.isatty() else WIDTH).print(table(found))
        for name, error in sorted(found.errors.items()):
            print(f"{name} failed: {error}")
        print(found.verdict)
        print(f"The results are in {path / 'results.md'}")
    return 0 if found.standings and not found.standings[0].failed else 1


def notice(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
