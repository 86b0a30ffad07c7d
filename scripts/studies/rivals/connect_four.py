"""Measure what this project and MaskablePPO take for an agent-step of Connect Four, besides PettingZoo's game itself.

Both play 256 games with the preset ``board`` and one policy in both seats; each round runs each of them once with one
and once with two threads. MaskablePPO has a virtual environment of its own, made on first use. Its games are those of
``make_vec_env``, as its documentation has it, or one environment written for this study, which is faster.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command, exit_on_signals, tell_error
from scripts.studies.pages import machine_here, put_between, write_json
from scripts.studies.pages import table as markdown
from scripts.studies.rivals.jobs import job_of
from scripts.studies.rivals.our_connect_four import session_of
from scripts.studies.rivals.page import spread
from scripts.studies.rivals.programs.boards import PARTS
from scripts.studies.rivals.programs.job import as_argument
from scripts.studies.rivals.running import OURS, ask_document, program
from scripts.studies.rivals.venvs import MASKABLE, default_folder, environment, prepared
from selfplay.errors import ConfigError
from selfplay.machine import usable_cores

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    Ask = Callable[[list[str], dict[str, str]], dict[str, Any]]
    Program = tuple[list[str], dict[str, str]]  # command and environment variables

GAMES: Final = 256
ITERATIONS: Final = 8  # counted in a sample; one more precedes them
TARGET: Final = 1.5  # own time of MaskablePPO by ours, at least
MARKER: Final = "connect_four_speed"
THEIRS: Final = {f"{MASKABLE.name}, make_vec_env": "DummyVecEnv", f"{MASKABLE.name}, one environment": ""}
"""Variants of their program by name."""


def programs(python: Path, games: int, iterations: int) -> dict[tuple[str, int], Program]:
    """One sample by trainer and threads."""
    found: dict[tuple[str, int], Program] = {}
    session = session_of(Path("unused"), games, 1, 1 + iterations)
    for threads in sorted({1, min(2, usable_cores())}):
        numbers = map(str, (games, threads, 1 + iterations))
        ours = [sys.executable, "-m", "scripts.studies.rivals.our_connect_four", *numbers]
        found[OURS, threads] = ours, environment(threads)
        for name, variant in THEIRS.items():
            # A row is a game, whose seat to move learns.
            job = job_of(session, Path("unused"), seats=1, threads=threads, iterations=1 + iterations, variant=variant)
            theirs = [*program(MASKABLE, python), as_argument(job)]
            found[name, threads] = theirs, environment(threads, python.parents[1])
    return found


def measure(
    samples: Mapping[tuple[str, int], Program], rounds: int, notify: Callable[[str], None], ask: Ask = ask_document
) -> list[dict[str, Any]]:
    """Microseconds of ``PARTS`` for an agent-step in each round, by trainer and threads."""
    rows: dict[tuple[str, int], dict[str, Any]] = {
        (name, threads): {"system": name, "threads": threads, "version": "", "own_us": [], "us": []}
        for name, threads in samples
    }
    for i in range(rounds):
        notify(f"round {i + 1} of {rounds}")
        for key, row in rows.items():
            answer = ask(*samples[key])
            us = {part: round(1e6 * answer["seconds"][part] / answer["agent_steps"], 3) for part in PARTS}
            row["version"] = answer["version"]
            row["us"].append(us)
            row["own_us"].append(round(sum(us.values()) - us["environment"], 3))
            notify(f"  {key[0]}, threads: {key[1]}, own time: {row['own_us'][-1]} us")
    return list(rows.values())


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Own time of MaskablePPO by ours, each with its better number of threads."""
    own = {(row["system"], row["threads"]): median(row["own_us"]) for row in rows}
    best = {name: min(us for (system, _), us in own.items() if system == name) for name in (OURS, *THEIRS)}
    return {name: best[name] / best[OURS] for name in THEIRS}


def table(document: Mapping[str, Any]) -> str:
    """The medians in Markdown, with the shares of the whole time, and whether the target is met."""
    head = ["trainer", "version", "threads", "own time, us/agent-step [quartiles]", *(f"{part}, us" for part in PARTS)]
    lines = []
    for row in document["rows"]:
        low, middle, high = spread(row["own_us"])
        us = {part: median(each[part] for each in row["us"]) for part in PARTS}
        shares = [f"{us[part]:.1f} ({us[part] / sum(us.values()):.0%})" for part in PARTS]
        own = f"{middle:.1f} [{low:.1f}, {high:.1f}]"
        lines.append([row["system"], row["version"], row["threads"], own, *shares])
    found = "; ".join(
        f"{name}: {ratio:.2f}, {'met' if ratio >= TARGET else 'missed'}" for name, ratio in document["ratios"].items()
    )
    when = f"{document['date']}, {document['processor']}, {document['cores']} cores, {document['rounds']} rounds."
    told = f"Own time / ours, target {TARGET}: {found}."
    return "\n\n".join([when, markdown(head, lines), told])


def write(docs: Path, document: Mapping[str, Any]) -> None:
    """Write the figures to ``docs/data``, and show them in ``docs/performance.md``."""
    write_json(docs / "data" / f"{MARKER}.json", document)
    put_between(docs / "performance.md", MARKER, table(document))


def main() -> int:
    """Run the command; the exit code."""
    command = Command("rivals.connect_four", __doc__)
    command.add_argument("--rounds", type=int, default=5, metavar="N", help="samples of each (default: %(default)s)")
    command.add_argument("--games", type=int, default=GAMES, metavar="N", help="(default: %(default)s)")
    command.add_argument(
        "--venvs", type=Path, default=default_folder(), metavar="DIR", help="MaskablePPO's (default: %(default)s)"
    )
    command.add_argument("--write", action="store_true", help="put the figures into docs/")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    if min(options.rounds, options.games) < 1:
        raise ConfigError("--rounds and --games must be at least 1")
    if options.write and options.games != GAMES:
        raise ConfigError("--write is for the figures of all games: leave --games as it is")
    exit_on_signals()  # ends the running trainer with this process
    samples = programs(prepared(MASKABLE, options.venvs.absolute()), options.games, ITERATIONS)
    rows = measure(samples, options.rounds, tell_error)
    document = {
        **machine_here(),
        "games": options.games,
        "rounds": options.rounds,
        "ratios": ratios(rows),
        "rows": rows,
    }
    print(table(document))
    if options.write:
        write(ROOT / "docs", document)


if __name__ == "__main__":
    sys.exit(main())
