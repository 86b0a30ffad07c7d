"""Steps a second of training in games in Python, with one block of games in a thread and with blocks in processes.

``steps`` counts those of all games, as progress lines do. Connect Four is played as PettingZoo has it and as a game in
NumPy (``ArrayGame``); ``Slow`` is tic-tac-toe with 5 ms of processor time a step. Hosts are taken in turn.

Connect Four is also trained by MaskablePPO, with the settings and the network of ours, in a virtual environment that is
made on first use. *Own time* of a step is what remains without the game, whose time is measured alone.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scripts.studies import ROOT
from scripts.studies.command_line import Command, notify
from scripts.studies.pages import machine_here, put_between, this_command, write_json
from scripts.studies.pages import table as markdown
from scripts.studies.rivals.running import ask
from scripts.studies.rivals.venvs import MASKABLE, default_folder, environment, prepared
from selfplay.config.presets import PPO as PRESETS
from selfplay.examples.tic_tac_toe import TicTacToe
from selfplay.machine import usable_cores

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from selfplay.games import Action

STEP_S: Final = 5e-3
PETTINGZOO, ARRAYS = "Connect Four, PettingZoo", "Connect Four, `ArrayGame`"
WAYS: Final = ("make_vec_env", "loop", "processes")  # in which MaskablePPO plays its games
MASKABLE_ITERATIONS: Final = 6
MASKABLE_STEPS: Final = 8192  # of an iteration, as of ours
GAME_STEPS: Final = 20_000
GAMES: Final = {  # by name: --game-type, games, steps of a training
    "tic-tac-toe, `Game`": ("selfplay.examples.tic_tac_toe:TicTacToe", 256, 160_000),
    PETTINGZOO: ("pettingzoo:pettingzoo.classic.connect_four_v3", 256, 80_000),
    ARRAYS: ("selfplay.examples.connect_four:ConnectFour", 256, 240_000),
    "5 ms a step, `Game`": ("scripts.studies.python_games:Slow", 16, 8_000),
}
HOSTS: Final = {"thread": ("--runners", "1"), "process": ()}  # several threads wait for each other
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
            [sys.executable, "-m", "selfplay", *words, "--host", host, *HOSTS[host], "--checkpoint", str(run)],
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


def maskable(way: str, python: Path) -> float:
    """Steps a second of MaskablePPO. Blocks."""
    board = PRESETS["board"]
    job = {
        "way": way,
        "threads": usable_cores(),
        "iterations": MASKABLE_ITERATIONS,
        "steps": MASKABLE_STEPS,
        "hidden": board["net"]["hidden"],
        **{name: board["ppo"][name] for name in ("batch_size", "epochs", "learning_rate", "entropy_coefficient")},
    }
    words = [str(python), "-m", f"scripts.studies.rivals.programs.{MASKABLE.module}", json.dumps(job)]
    answer = ask(words, environment(usable_cores(), python.parents[1]), LIMIT_S)
    return MASKABLE_STEPS / median(answer.seconds[1:])


def game_us() -> float:
    """Microseconds of PettingZoo's Connect Four for a step: to play it, look at it, and begin a new game."""
    module: Any = importlib.import_module("pettingzoo.classic.connect_four_v3")
    game, rng = module.raw_env(), np.random.default_rng(0)
    game.reset()
    spent = 0.0
    for _ in range(GAME_STEPS):
        began = time.perf_counter()
        mask = game.observe(game.agent_selection)["action_mask"]
        spent += time.perf_counter() - began
        action = int(rng.choice(np.flatnonzero(mask)))
        began = time.perf_counter()
        game.step(action)
        if any(game.terminations.values()):
            game.reset()
        spent += time.perf_counter() - began
    return 1e6 * spent / GAME_STEPS


def beside_maskable(document: dict[str, Any]) -> str:
    """MaskablePPO in Markdown, and how many times as fast ours is."""
    theirs = {way: median(found) for way, found in document["maskable"].items()}
    ours = {name: median(found) for name, found in document["steps_per_s"][PETTINGZOO].items()}
    arrays = max(median(found) for found in document["steps_per_s"][ARRAYS].values())
    game = median(document["game_us"])
    one = max(speed for way, speed in theirs.items() if way != "processes")
    own, its = (1e6 / speed - game for speed in (ours["thread"], one))
    ways = "; ".join(f"{way} {speed:,.0f}" for way, speed in theirs.items())
    return (
        f"MaskablePPO, Connect Four, steps/s: {ways}. The game alone takes {game:.0f} us a step. In one process our "
        f"own time is {own:.0f} us and that of MaskablePPO {its:.0f} us ({its / own:.2f} times); with all cores ours "
        f"is {max(ours.values()) / max(theirs.values()):.2f} times as fast, with `ArrayGame` "
        f"{arrays / max(theirs.values()):.1f} times."
    )


def table(document: dict[str, Any]) -> str:
    """Medians in Markdown."""
    rows = []
    for name, hosts in document["steps_per_s"].items():
        threads, processes = (median(hosts[host]) for host in HOSTS)
        rows.append((name, GAMES[name][1], f"{threads:,.0f}", f"{processes:,.0f}", f"{processes / threads:.2f}"))
    when = f"`{document['command']}`, {document['date']}, {document['processor']}, {document['cores']} cores"
    head = ("game", "games at once", "one block, steps/s", "processes, steps/s", "ratio")
    told = f"{when}, medians of {document['rounds']} rounds:\n\n{markdown(head, rows)}"
    return f"{told}\n\n{beside_maskable(document)}"


def _run(options: argparse.Namespace) -> None:
    python = prepared(MASKABLE, default_folder())
    document = {
        "command": this_command("python_games", ["--write"]), **machine_here(), "rounds": options.rounds,
        "steps_per_s": measure(options.rounds), "game_us": [game_us() for _ in range(options.rounds)],
        "maskable": {way: [maskable(way, python) for _ in range(options.rounds)] for way in WAYS},
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
