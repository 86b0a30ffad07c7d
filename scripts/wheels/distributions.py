"""The wheel for any machine and the source distribution, and what they must hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from scripts.wheels.contents import missing_files, of_wheel, out_of_place
from scripts.wheels.readme import for_index

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.release.facts import Facts


def keep_packages(tree: Path, known: Facts) -> None:
    """Remove the tests, which setuptools would put into the source distribution, and make the README of the index."""
    for name in ("tests", "scripts"):
        shutil.rmtree(tree / name, ignore_errors=True)
    readme = tree / "README.md"
    readme.write_text(for_index(readme.read_text(encoding="utf-8"), known.repository, known.tag), encoding="utf-8")


def build_for_any(tree: Path, out: Path, again: Path, version: str) -> None:
    """Build both, and check all files of this version in ``out``. ``again`` is a new folder for a second build.

    SystemExit if a file holds or lacks what it should not, or the source distribution makes another wheel.
    """
    call_setuptools(tree, "build_wheel", out)
    call_setuptools(tree, "build_sdist", out)
    (sources,) = out.glob(f"*-{version}.tar.gz")
    (wheel,) = out.glob(f"*-{version}-py3-none-any.whl")
    found = [line for path in sorted(out.glob(f"*-{version}[-.]*")) for line in out_of_place(path)]
    found += [f"{wheel.name}: {name} is not there" for name in missing_files(wheel, tree)]
    shutil.unpack_archive(sources, again, filter="data")
    (unpacked,) = again.iterdir()
    call_setuptools(unpacked, "build_wheel", again)
    second, first = of_wheel(again / wheel.name), of_wheel(wheel)
    found += [
        f"{sources.name}: {name} differs in the wheel that it makes"
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    ]
    if found:
        raise SystemExit("\n".join(found))


def call_setuptools(tree: Path, step: str, out: Path, *options: str) -> None:
    shutil.rmtree(tree / "build", ignore_errors=True)  # what it copies once it would put into each wheel
    settings = {"--build-option": list(options)} if options else None
    run(tree, "-c", f"import setuptools.build_meta as build; build.{step}({str(out)!r}, {settings})")


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        left_out = shutil.ignore_patterns("__pycache__", "node_modules", "*.lock", "*.npz", "*.egg-info")
        shutil.copytree(source, target, ignore=left_out)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def run(folder: Path, *words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=os.environ | environment, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with exit code {done.returncode}:\n{done.stdout}")
    return done.stdout
