"""Does the test suite notice changes of critical rules? Applies the mutations of ``mutations.toml`` one by one.

Each mutation is applied to one copy of the checkout, and pytest runs until the first failure: first the tests named
with the mutation, then all others. A mutation that no test notices has survived. Results are kept by mutation and are
not measured again; delete an entry to repeat it. ``--tree`` measures another checkout, such as an earlier commit.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from scripts.studies import ROOT
from selfplay.checkpoint.store import write_file
from selfplay.errors import ConfigError

MUTATIONS: Final = Path(__file__).with_name("mutations.toml")
LEAVE: Final = shutil.ignore_patterns(".git", ".venv", ".mypy_cache", ".ruff_cache", "checkpoints", "*.egg-info")
ALL_TESTS: Final = "not slow and not dolphin and not gpu and not extras"
ERROR: Final = 2  # exit codes of pytest from here on are no verdict
BAR: Final = 0.95


def target(tree: Path, mutation: dict[str, str]) -> Path | None:
    """The file that a mutation changes; None where the tree has no such rule.

    Raises:
        ConfigError: the text occurs more than once.
    """
    paths = [tree / mutation[key] for key in ("path", "moved") if key in mutation]
    for path in (path for path in paths if path.is_file()):
        count = path.read_text("utf-8").count(mutation["old"])
        if count > 1:
            raise ConfigError(f"{path} contains {mutation['old']!r} {count} times; it must be unique")
        if count:
            return path
    return None


def killed(tree: Path, tests: list[str], python: str) -> bool:
    """Whether a test fails.

    Raises:
        ConfigError: pytest could not run.
    """
    marks = ["-m", ALL_TESTS] if tests else ["-m", ALL_TESTS, "-n", "2", "--dist", "loadfile"]
    words = [python, "-m", "pytest", "-q", "-x", "--no-cov", "-p", "no:cacheprovider", *marks, *tests]
    code = subprocess.run(words, cwd=tree, stdout=subprocess.DEVNULL, check=False).returncode
    if code > ERROR:
        raise ConfigError(f"pytest ended with exit code {code} in {tree}")
    return code != 0


def measure(copy: Path, mutation: dict[str, str], python: str) -> str:
    """``killed by its tests``, ``killed``, ``survived`` or ``absent``; the copy is as before afterwards."""
    path = target(copy, mutation)
    if path is None:
        return "absent"
    text = path.read_text("utf-8")
    path.write_text(text.replace(mutation["old"], mutation["new"]), "utf-8")
    try:
        near = [path for path in mutation["tests"].split() if (copy / path).exists()]
        if near and killed(copy, near, python):
            return "killed by its tests"
        return "killed" if killed(copy, [], python) else "survived"
    finally:
        path.write_text(text, "utf-8")


def main() -> int:
    """Measure what is missing, print the table; exit code 1 below the bar."""
    made = argparse.ArgumentParser(prog="python -m scripts.studies.mutations", description=__doc__)
    made.add_argument("--tree", type=Path, default=ROOT, help="checkout to measure (default: this one)")
    made.add_argument("--python", default=sys.executable, help="interpreter with the packages of the tests")
    made.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "mutations.json", help="results")
    made.add_argument("--only", default="", metavar="NAME,NAME", help="these mutations alone")
    given = made.parse_args()
    mutations = tomllib.loads(MUTATIONS.read_text("utf-8"))
    found: dict[str, str] = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder) / "copy"  # one for all, so that rules which no mutation touches compile once
        shutil.copytree(given.tree, copy, ignore=LEAVE)
        for name in given.only.split(",") if given.only else mutations:
            if name not in found:
                found[name] = measure(copy, mutations[name], given.python)
                write_file(given.out, (json.dumps(found, indent=1) + "\n").encode())
            print(f"{name:34} {found[name]}", flush=True)
    present = [result for result in found.values() if result != "absent"]
    share = sum(result != "survived" for result in present) / max(len(present), 1)
    print(f"{share:.0%} of {len(present)} mutations are noticed")
    return 0 if share >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
