"""Build the wheels and the source distribution: ``python -m scripts.wheels [--out FOLDER]``.

All have the rules as WebAssembly, for the page that plays fights. One more wheel, for this kind of machine and this
version of Python, has the machine code of the rules too, so that nothing is compiled at the first start. The code is
for the oldest processors that ``TARGETS`` names; on others, and with other versions of Numba or NumPy, the rules are
compiled as from any wheel. That for aarch64 is built on such a machine: Numba compiles for the processor that it runs
on, where the code is compared, too.

Both are compared with the uncompiled rules, bit for bit, before anything is written. What is written holds the packages
alone, and the source distribution makes the same wheel, or the build fails. Needs what the tests need, and Node.js.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from scripts.release.facts import facts
from scripts.studies import ROOT
from scripts.studies.command_line import notify
from scripts.wheels.contents import PACKAGES
from scripts.wheels.distributions import build_for_any, call_setuptools, copy, keep_packages, run
from selfplay.compilation.code_cache import shipped_root
from selfplay_melee.browser.assets import PROGRAM
from selfplay_melee.wasm.build import file_name

SOURCES: Final = ("LICENSE", "README.md", "pyproject.toml", "envs", "scripts", "selfplay", "tests")
X86_64_V3: Final = (
    "64bit avx avx2 bmi bmi2 cmov cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3 "
    "xsave"
)
TARGETS: Final = {  # processor and features of LLVM, by machine
    "x86_64": ("x86-64-v3", X86_64_V3),  # since 2013 (Haswell) and 2015 (Excavator)
    "aarch64": ("generic", "neon"),
    "arm64": ("generic", "neon"),
}
USES: Final = (  # commands that call every compiled function of a run, with the types that it is called with
    ("watch", "strong", "--out", "fight.gif"),
    ("train", "--preset", "laptop", "--num-games", "16", "--timesteps", "2048", "--track-elo", "--checkpoint", "run"),
)
SAME: Final = (
    "tests/melee/browser/test_rules.py::test_games_are_equal_in_every_byte_at_every_frame",
    "tests/melee/test_playthrough.py::test_compiled_and_uncompiled_rules_agree_bit_for_bit",
)


def main() -> int:
    """Build, compare, write; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.wheels", description="Build the wheels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of what is built (%(default)s)")
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        _build(Path(name), out)
    for path in sorted(out.iterdir()):
        notify(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _build(folder: Path, out: Path) -> None:
    tree = folder / "tree"
    for source in SOURCES:
        copy(ROOT / source, tree / source)
    for package in PACKAGES:
        shutil.rmtree(_shipped(tree, package), ignore_errors=True)
    page_rules = _shipped(tree, "selfplay_melee") / file_name(PROGRAM)
    page_rules.parent.mkdir()
    notify("the rules as WebAssembly")
    run(tree, "-m", "selfplay_melee.wasm", PROGRAM, str(page_rules))
    target = TARGETS.get(platform.machine())
    code = []
    for made in _compiled(tree, folder, *target) if target else ():
        code.append(_shipped(tree, made.name.rpartition("-")[0]) / made.name)
        copy(made, code[-1])
    notify("comparison with the uncompiled rules")
    _compare(tree, folder / "empty")
    known = facts(ROOT)
    keep_packages(tree, known)
    if code:
        notify("wheel with machine code")
        call_setuptools(tree, "build_wheel", out, *_tags())
        for place in code:
            shutil.rmtree(place)
    notify("wheel for any machine, and source distribution")
    build_for_any(tree, out, folder / "again", known.version)


def _shipped(tree: Path, package: str) -> Path:
    return tree / shipped_root(package).relative_to(ROOT)


def _compiled(tree: Path, folder: Path, processor: str, features: str) -> list[Path]:
    """The folders of machine code, one for each package."""
    target = {
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in features.split()),
        "NUMBA_CACHE_DIR": str(folder / "compiled"),
    }
    for words in USES:
        notify(f"machine code for {processor}: selfplay {words[0]}")
        run(folder, "-m", "selfplay", *words, PYTHONPATH=str(tree), **target)
    return sorted({path.parents[1] for path in (folder / "compiled").rglob("*.nbc")})


def _compare(tree: Path, empty: Path) -> None:
    """Compare in a process whose cache is empty, so that it uses the code of the package."""
    said = run(
        tree, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-m", "full", *SAME, NUMBA_CACHE_DIR=str(empty)
    )
    if "skipped" in said:
        raise SystemExit(f"nothing was compared: {said}")
    compiled = {path.name for path in empty.rglob("*.nbc")} & {path.name for path in tree.rglob("*.nbc")}
    if compiled:
        raise SystemExit(f"compiled although the code is in the package: {', '.join(sorted(compiled))}")


def _tags() -> list[str]:
    """The kind of machine where llvmlite's wheel, which the code needs, can be installed; and this Python."""
    wheel = distribution("llvmlite").read_text("WHEEL") or ""
    machine = re.findall(r"^Tag: .*-([^-\s]+)$", wheel, re.MULTILINE)[0]
    return ["--plat-name", machine, "--python-tag", f"cp{sys.version_info.major}{sys.version_info.minor}"]


if __name__ == "__main__":
    sys.exit(main())
