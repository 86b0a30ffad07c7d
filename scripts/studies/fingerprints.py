"""Record and check fingerprints of short deterministic runs, to hold a restructuring to equal results.

Each cell trains a tiny run through the command lines, fingerprints what it leaves on disk, and checks that a run that
was stopped (or killed) and resumed equals one that was not. Nothing of the project is imported.

    python -m scripts.studies.fingerprints             # compare with docs/data/fingerprints.json, exit code 1
    python -m scripts.studies.fingerprints --record    # write it
    python -m scripts.studies.fingerprints --only kuhn,gru

Floating point depends on processor and library versions. The file says where it was recorded; on another machine a
difference proves nothing, so record there first, from a checkout without the change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypedDict

import numpy as np
import pyarrow.parquet as parquet
from safetensors.numpy import load_file

ROOT: Final = Path(__file__).resolve().parents[2]
DATA: Final = ROOT / "docs" / "data" / "fingerprints.json"
SECONDS: Final = 300
"""Time limit of one command."""

EXCLUDED: Final = frozenset({
    "wall", "created", "started", "ended", "seconds", "elapsed_s", "session_s", "steps_per_s_median",
    "games_per_s_median", "charts/steps_per_s", "charts/rows_per_s", "charts/seconds", "charts/games_per_s",
    "charts/games_per_s_collecting", "charts/tokens_per_s", "runners/tasks", "processor", "cores", "run_id",
})  # fmt: skip
"""JSON keys left out at any depth: they differ between two runs of the same code."""
EXCLUDED_PREFIX: Final = "time/"
CONFIG_KEYS: Final = frozenset({"config"})
"""Left out of documents: the configuration is a category of its own."""
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(ROOT)}
"""Of the commands: they run the code of this checkout, whatever is installed."""

CATEGORIES: Final = (
    "weights", "checkpoint", "optimizer", "ledger", "metrics", "tables", "documents", "config", "summary", "reports",
)  # fmt: skip
RESUMED: Final = ("weights", "checkpoint", "optimizer", "ledger", "metrics", "tables", "documents")
"""Categories in which a stopped and resumed run equals a straight one."""
KILLED: Final = ("weights", "checkpoint", "optimizer", "ledger", "documents")
"""The same after SIGKILL, which may lose rows of metrics."""
FILES: Final = {
    "ledger.jsonl": "ledger", "metrics.jsonl": "metrics", "run.json": "config", "imitation.json": "config",
    "summary.json": "summary", "policy.json": "documents", "selfplay.json": "documents", "learner.json": "documents",
    "settings.json": "documents", "transcripts.jsonl": "tables", "selfplay_games.jsonl": "tables",
}  # fmt: skip
"""Category of a file by name; safetensors, parquet and .slp files go by suffix. Other files are not fingerprinted."""


class Fingerprint(TypedDict):
    """One category of one run: rows (or tensors, or documents), hash of names and values, hash of sorted values."""

    rows: int
    hash: str
    values: str


Fingerprints = dict[str, Fingerprint]


@dataclass(frozen=True)
class Cell:
    """One kind of run. Commands work in a folder of the cell; the run is called ``straight``."""

    train: str = ""
    half: str = ""
    """Limit at which the run that is resumed stops first; ``whole`` is that of its end."""
    whole: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    kill: bool = False


_SELF_PLAY = (
    "selfplay train --game-type mock --num-games 8 --rollout-length 32 --batch-size 128 --ppo-epochs 2 "
    "--max-episode-frames 300 --save-interval 2 --deterministic --runners 2 --set run.threads=2 --device cpu "
    "--hidden 16,16 "
)
_RATED = _SELF_PLAY + "--track-elo --rating-share 1 "
_LEADERBOARD = "selfplay leaderboard straight --all --json"
_HALF, _WHOLE = "--timesteps 1024", "--timesteps 2048"

CELLS: Final[dict[str, Cell]] = {
    "latest": Cell(
        _RATED + "--mode latest", "--timesteps 2048", "--timesteps 4096", kill=True,
        after=(_LEADERBOARD, "selfplay evaluate straight/generations/gen_16 rusher --games 8 --json"),
    ),
    "pfsp": Cell(_SELF_PLAY + "--mode pfsp --host process --opponent-character fox", _HALF, _WHOLE),
    "delta_uniform": Cell(
        _RATED + "--mode delta_uniform --gate sprt --delay 2", _HALF, _WHOLE, after=(_LEADERBOARD,)
    ),
    "league": Cell(_SELF_PLAY + "--mode league --set league.patience=1 --runners 4", _HALF, _WHOLE),
    "gru": Cell(_SELF_PLAY + "--mode simple_mix --backbone gru", _HALF, _WHOLE),
    "kuhn": Cell(
        "selfplay train --game-type kuhn --mode simple_mix --num-games 16 --rollout-length 8 --hidden 16 "
        "--save-interval 4 --deterministic --runners 2 --set run.threads=2 --device cpu", _HALF, _WHOLE,
    ),
    "imitation": Cell(
        "selfplay imitate --replays replays --hidden 16,16 --batch-size 256 --val-split 0.25 --set run.threads=1 "
        "--device cpu --set learn.final_rate=1", "--epochs 2", "--epochs 4",
        before=("selfplay record --bot rusher --bot edge_guarder --games 4 --max-episode-frames 900",),
        after=(_SELF_PLAY + "--timesteps 1024 --checkpoint pretrained --pretrained straight/imitation_best_policy",),
    ),
    "dialogue": Cell(
        "selfplay train --game-type kuhn_text --start-tokens 20000 --num-games 32 --evaluation-states 8 "
        "--save-interval 1 --learning-rate 1e-3 --set run.threads=1 --runners 1 --device cpu",
        "--games 64", "--games 128",
        after=("selfplay rate straight --budget 8 --seed 0", _LEADERBOARD),
    ),
    "dialogue_files": Cell(before=(
        "selfplay generate-games --folder files --num-games 32 --start-tokens 20000 --temperature 1 --device cpu",
        "selfplay convert-games --folder files",
        "selfplay train-dialogue --folder files --epochs 2 --batch-rows 16 --device cpu",
    )),
}  # fmt: skip


# ---- files to fingerprints


def fingerprint(folder: Path, skip: Iterable[str] = ()) -> Fingerprints:
    """Of everything below ``folder`` but its subfolders ``skip``."""
    found: dict[str, list[tuple[str, bytes]]] = {}
    rows: dict[str, int] = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        category = _category(path)
        if category is None or place.parts[0] in skip or not path.is_file():
            continue
        entries = list(_entries(path, category))
        rows[category] = rows.get(category, 0) + len({name for name, _, _ in entries})
        found.setdefault(category, []).extend((f"{place}:{name}:{key}", value) for name, key, value in entries)
    return {name: _digest(rows[name], found[name]) for name in CATEGORIES if name in found}


def report(texts: list[str]) -> Fingerprint:
    """Of what commands printed: JSON without the excluded keys, else the text's lines but for progress."""
    leaves = []
    for number, text in enumerate(texts):
        try:
            leaves += [(f"{number}:{key}", value) for key, value in _leaves(json.loads(text), CONFIG_KEYS)]
        except json.JSONDecodeError:
            lines = [line for line in text.splitlines() if line.startswith("|")]
            leaves += [(f"{number}:{line}", content.encode()) for line, content in enumerate(lines)]
    return _digest(len(texts), leaves)


def _category(path: Path) -> str | None:
    """The category of a file; None where it does not count, as do states of training before the last."""
    if path.parent.parent.name == "learner":
        last = max(path.parent.parent.glob("iter_*"), key=lambda state: int(state.name.split("_")[1]))
        if path.parent != last:
            return None
        if path.suffix == ".safetensors":
            return "optimizer" if path.stem == "optimizer" else "checkpoint"
    if path.suffix == ".safetensors":
        return "tables" if path.stem == "examples" else "weights"
    return "tables" if path.suffix in (".parquet", ".slp") else FILES.get(path.name)


def _entries(path: Path, category: str) -> Iterator[tuple[str, str, bytes]]:
    """Row, key and value of everything in a file."""
    if path.suffix == ".safetensors":
        for name, array in load_file(path).items():
            yield name, f"{array.dtype}{array.shape}", np.ascontiguousarray(array).tobytes()
    elif path.suffix == ".slp":
        yield "", "", path.read_bytes()
    else:
        for number, row in enumerate(_documents(path)):
            for key, value in _leaves(row, frozenset() if category == "config" else CONFIG_KEYS):
                yield str(number), key, value


def _documents(path: Path) -> list[object]:
    if path.suffix == ".parquet":
        return list(parquet.read_table(path).to_pylist())
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def _leaves(value: object, without: frozenset[str], key: str = "") -> Iterator[tuple[str, bytes]]:
    """Numbers and texts of a document with their paths."""
    if isinstance(value, dict):
        for name in sorted(value):
            if name not in EXCLUDED | without and not name.startswith(EXCLUDED_PREFIX):
                yield from _leaves(value[name], without, f"{key}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, without, f"{key}[{index}]")
    else:
        yield key, json.dumps(value, default=str).encode()


def _digest(rows: int, entries: list[tuple[str, bytes]]) -> Fingerprint:
    hashed = sorted((name, hashlib.sha256(value).hexdigest()) for name, value in entries)
    return {
        "rows": rows,
        "hash": _short(f"{name}={value}" for name, value in hashed),
        "values": _short(sorted(value for _, value in hashed)),
    }


def _short(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def differences(before: Fingerprints, after: Fingerprints, categories: Iterable[str] = CATEGORIES) -> list[str]:
    """Categories that differ, and how."""
    found = []
    for name in categories:
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        if one is None or other is None:
            found.append(f"{name} ({'new' if one is None else 'missing'})")
        elif one["rows"] != other["rows"]:
            found.append(f"{name} ({one['rows']} -> {other['rows']} rows)")
        else:
            found.append(f"{name} (names or order only)" if one["values"] == other["values"] else name)
    return found


# ---- runs


def run_cell(cell: Cell, folder: Path) -> tuple[Fingerprints, list[str]]:
    """Fingerprints of a cell, and how its resumed runs differ from the straight one."""
    folder.mkdir(parents=True)
    for command in cell.before:
        _run(command, folder)
    unequal: list[str] = []
    if cell.train:
        _run(f"{cell.train} {cell.whole} --checkpoint straight", folder)
        _run(f"{cell.train} {cell.half} --checkpoint resumed", folder)
        unequal += _resume(cell, folder, "resumed", RESUMED)
    if cell.kill:
        _run_and_kill(f"{cell.train} {cell.whole} --checkpoint killed", folder, folder / "killed")
        unequal += _resume(cell, folder, "killed", KILLED)
    texts = [_run(command, folder) for command in cell.after]
    result = fingerprint(folder, skip=("resumed", "killed"))
    if texts:
        result["reports"] = report(texts)
    return result, unequal


def _resume(cell: Cell, folder: Path, name: str, categories: Iterable[str]) -> list[str]:
    verb = " ".join(cell.train.split()[:2])
    _run(f"{verb} --resume --checkpoint {name} {cell.whole}", folder)
    straight, other = fingerprint(folder / "straight"), fingerprint(folder / name)
    return [f"{name}: {difference}" for difference in differences(straight, other, categories)]


def _arguments(command: str) -> list[str]:
    return [sys.executable, "-m", *command.split()]


def _run(command: str, folder: Path) -> str:
    """What a command printed."""
    ended = subprocess.run(
        _arguments(command), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    if ended.returncode:
        raise RuntimeError(f"{command}: exit code {ended.returncode}: {(ended.stdout + ended.stderr)[-2000:]}")
    return ended.stdout


def _run_and_kill(command: str, folder: Path, run: Path) -> None:
    """Kill a run when its first state after an iteration is on disk."""
    with (folder / "killed.log").open("w") as log:
        process = subprocess.Popen(_arguments(command), cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log)
    while process.poll() is None and not list(run.glob("learner/iter_[1-9]*")):
        time.sleep(0.005)
    process.kill()  # SIGKILL
    process.wait()


# ---- the command


def machine() -> dict[str, str]:
    """What floating point depends on."""
    first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    lines = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    cpu = " ".join(lines.get(name, "") for name in ("model name", "cpu family", "model"))
    return {"cpu": cpu} | {name: version(name) for name in ("torch", "numpy", "numba")}


def main() -> int:
    """Run the cells, then record or compare; exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.studies.fingerprints", description="Compare fingerprints.")
    parser.add_argument("--only", default=",".join(CELLS), metavar="NAME,NAME", help="cells (default: %(default)s)")
    parser.add_argument("--record", action="store_true", help="write the file instead of comparing with it")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="new folder for the runs, which are kept there")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="cells at a time (default: %(default)s)")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := [name for name in names if name not in CELLS]:
        parser.error(f"--only {unknown[0]}: unknown (valid: {', '.join(CELLS)})")
    recorded = json.loads(DATA.read_text()) if DATA.exists() else {"machine": {}, "cells": {}}
    with tempfile.TemporaryDirectory() as scratch:
        results = _run_cells(names, options.keep or Path(scratch), recorded["cells"], options.jobs, options.record)
    if options.record:
        cells = recorded["cells"] | {name: result for name, (result, _) in results.items() if result}
        document = {"machine": machine(), "cells": {name: cells[name] for name in CELLS if name in cells}}
        DATA.write_text(json.dumps(document, indent=1) + "\n")
    elif recorded["machine"] != machine():
        print(f"Recorded on another machine, so a difference proves nothing: {recorded['machine']}; here {machine()}")
    return int(any(found for _, found in results.values()))


def _run_cells(
    names: list[str], folder: Path, recorded: dict[str, Fingerprints], jobs: int, record: bool
) -> dict[str, tuple[Fingerprints, list[str]]]:
    """Fingerprints and differences of each cell; prints a table row as each one ends."""
    results = {}
    print(f"| {'cell':14} | seconds | differs in |\n|----------------|---------|------------|", flush=True)

    def measure(name: str) -> None:
        started = time.monotonic()
        try:
            result, found = run_cell(CELLS[name], folder.resolve() / name)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            result, found = {}, [f"FAILED {error}"]
        if result and not record:
            found = differences(recorded.get(name, {}), result) + found
        results[name] = (result, found)
        print(f"| {name:14} | {time.monotonic() - started:7.0f} | {', '.join(found) or 'equal'} |", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(measure, names))
    return results


if __name__ == "__main__":
    sys.exit(main())
