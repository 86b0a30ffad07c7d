"""Prepare, check and tag a release.

1. ``python -m scripts.release --prepare 0.2.0`` writes the version and the date into every file; commit the result.
2. ``bash .ci/run`` on that commit.
3. ``make release`` checks, builds ``dist/``, and checks what was built.
4. ``make release ARGS=--tag`` does so, too, and then tags the commit. Pushing the tag publishes
   (``.github/workflows/wheels.yml``).

``--repository URL`` writes the address of the repository into every file that names it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from scripts.release.facts import CHANGELOG, contradictions, facts, set_repository, set_version
from scripts.studies import ROOT
from scripts.studies.command_line import notify
from selfplay.cli.parser import Parser
from selfplay.cli.running import exit_code
from selfplay.errors import ConfigError

PASSED = Path(".venv/.passed")
"""Written by ``.ci/run``: the commit that passed."""


def main() -> int:
    parser = Parser(
        prog="python -m scripts.release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--prepare", metavar="VERSION", help="write this version and the date of today")
    parser.add_argument("--repository", metavar="URL", help="write this address of the repository")
    parser.add_argument("--tag", action="store_true", help="tag the commit; .ci/run must have passed on it")
    options = parser.parse_args()
    return exit_code(parser.prog, lambda: _run(options, ROOT))


def _run(options: argparse.Namespace, root: Path) -> int:
    if options.repository:
        set_repository(root, options.repository)
    if options.prepare:
        set_version(root, options.prepare, datetime.now(UTC).date().isoformat())
    if options.repository or options.prepare:
        notify(f"written; see git diff, and read {CHANGELOG}")
        return 0
    check(root, tags=options.tag)
    known = facts(root)
    if find_spec("twine") is None:
        raise ConfigError("the check of the files needs twine: make release installs it")
    if code := _build(root):
        return code
    if options.tag:
        _git(root, "tag", "--annotate", known.tag, "--message", f"{known.name} {known.version}")
        notify(f"tagged; git push origin {known.tag} publishes")
    return 0


def check(root: Path, *, tags: bool) -> None:
    """Check the tree before a build.

    Raises:
        ConfigError: the tree is not clean, the files contradict each other, or the commit cannot be tagged.
    """
    if changed := _git(root, "status", "--porcelain"):
        raise ConfigError(f"the tree has changes: {changed.splitlines()[0].strip()}; commit them first")
    if found := contradictions(root):
        raise ConfigError(f"{'; '.join(found)}. python -m scripts.release --prepare VERSION writes all files")
    known, commit = facts(root), _git(root, "rev-parse", "HEAD")
    here = [name for name in _git(root, "tag", "--points-at", "HEAD").split() if name.startswith("v")]
    if here and here != [known.tag]:
        raise ConfigError(f"the commit has the tag {', '.join(here)}, and pyproject.toml the version {known.version}")
    if not tags:
        return
    if _git(root, "tag", "--list", known.tag):
        raise ConfigError(f"the tag {known.tag} exists; --prepare a new version")
    if "/OWNER/" in known.repository:
        raise ConfigError("the repository has no address yet: python -m scripts.release --repository URL")
    passed = root / PASSED
    if not passed.is_file() or passed.read_text(encoding="utf-8").strip() != commit:
        raise ConfigError(f"no run of .ci/run has passed on {commit[:12]}")


def _build(root: Path) -> int:
    """Build into an empty ``dist`` and check the files for the package index; the exit code."""
    out = root / "dist"
    shutil.rmtree(out, ignore_errors=True)
    built = _python(root, "scripts.wheels", "--out", str(out))
    return built or _python(root, "twine", "check", "--strict", *map(str, sorted(out.iterdir())))


def _python(root: Path, *words: str) -> int:
    return subprocess.run([sys.executable, "-m", *words], cwd=root, check=False).returncode


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
