"""Steps a second of training in games in Python, with blocks of games in threads and in processes.

``steps`` counts those of all games, as progress lines do. Connect Four is played as PettingZoo has it and as a game in
NumPy (``ArrayGame``); ``Slow`` is tic-tac-toe with 5 ms of processor time a step. Hosts are taken in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command, notify
from scripts.studies.pages import machine_here, put_between, this_command, write_json
from scripts.studies.pages import table as markdown
from selfplay.examples.tic_tac_toe import TicTacToe

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from selfplay.games import Action

STEP_S: Final = 5e-3
GAMES: Final = {  # by name: --game-type, games, steps of a training
    "tic-tac-toe, `Game`": ("selfplay.examples.tic_tac_toe:TicTacToe", 256, 160_000),
    "Connect Four, PettingZoo": ("pettingzoo:pettingzoo.classic.connect_four_v3", 256, 80_000),
    "Connect Four, `ArrayGame`": ("selfplay.examples.connect_four:ConnectFour", 256, 240_000),
    "5 ms a step, `Game`": ("scripts.studies.python_games:Slow", 16, 8_000),
}
HOSTS: Final = ("thread", "process")
DOCUMENT: Final = ROOT / "docs" / "data" / "python_games.json"
PAGE: Final = ROOT / "docs" / "trainer" / "internals" / "performance.md"
LIMIT_S: Final = 300.0  # of a training


class Slow(TicTacToe):
    """Tic-tac-toe whose steps take processor time."""

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        end = time.thread_time() + STEP_S
        while time.thread_time() < end:
            pass
        result: tuple[Sequence[float], bool, bool] = super().step(actions)  # type: ignore[no-untyped-call]
        return result


def speed(game: str, games: int, steps: int, host: str) -> float:
    """Median steps a second over the iterations of a training, without the first one. Blocks."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        words = "train", "--game-type", game, "--preset", "board", "--num-games", str(games), "--timesteps", str(steps)
        subprocess.run(
            [sys.executable, "-m", "selfplay", *words, "--host", host, "--checkpoint", str(run)],
            cwd=ROOT, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S,
        )  # fmt: skip
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return float(median(row["charts/steps_per_s"] for row in rows[1:]))


def measure(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Speeds of each round by game and host."""
    found: dict[str, dict[str, list[float]]] = {name: {host: [] for host in HOSTS} for name in GAMES}
    for number in range(rounds):
        for name, (game, games, steps) in GAMES.items():
            for host in HOSTS:
                found[name][host].append(round(speed(game, games, steps, host), 1))
                notify(f"round {number + 1} of {rounds}, {name}, {host}: {found[name][host][-1]:,.0f} steps/s")
    return found


def table(document: dict[str, Any]) -> str:
    """Medians in Markdown."""
    rows = []
    for name, hosts in document["steps_per_s"].items():
        threads, processes = (median(hosts[host]) for host in HOSTS)
        rows.append((name, GAMES[name][1], f"{threads:,.0f}", f"{processes:,.0f}", f"{processes / threads:.2f}"))
    when = f"`{document['command']}`, {document['date']}, {document['processor']}, {document['cores']} cores"
    head = ("game", "games at once", "threads, steps/s", "processes, steps/s", "ratio")
    return f"{when}, medians of {document['rounds']} rounds:\n\n{markdown(head, rows)}"


def _run(options: argparse.Namespace) -> None:
    document = {
        "command": this_command("python_games", ["--write"]), **machine_here(), "rounds": options.rounds,
        "steps_per_s": measure(options.rounds),
    }  # fmt: skip
    print(table(document))
    if options.write:
        write_json(DOCUMENT, document)
        put_between(PAGE, "python games", table(document))


def main() -> int:
    command = Command("python_games", __doc__)
    command.add_argument("--rounds", type=int, default=3, metavar="N", help="trainings of each (default: %(default)s)")
    command.add_argument("--write", action="store_true", help="put the figures into docs/")
    return command.execute(_run)


if __name__ == "__main__":
    sys.exit(main())
