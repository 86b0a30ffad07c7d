"""Kill a small training run again and again, resume it, and check what it left each time."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.trainer import cli  # noqa: E402
from selfplay.trainer.torture.ordeal import VICTIMS, Ordeal, endure  # noqa: E402
from selfplay.trainer.torture.page import document, write  # noqa: E402

if TYPE_CHECKING:
    import argparse


def parser() -> cli.Parser:
    """All flags."""
    made = cli.Parser(
        prog="torture.py", description=__doc__, epilog="exit code: 0 where nothing was wrong, 1 where something was"
    )
    made.add_argument("--kills", type=int, default=20, metavar="N", help="how many (default: %(default)s)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of the moments (default: %(default)s)")
    made.add_argument(
        "--deterministic",
        action="store_true",
        help="kill a run that ends by itself, and compare it bit for bit with one that nobody kills",
    )
    made.add_argument("--folder", type=Path, metavar="PATH", help="where all files go, and stay; it must not exist")
    made.add_argument("--game-type", choices=VICTIMS, default="mock", help="(default: %(default)s)")
    made.add_argument("--json", action="store_true", help="print the figures as JSON")
    made.add_argument("--write", action="store_true", help="put the figures into docs/reliability.md")
    made.add_argument("arguments", nargs="*", metavar="-- ARGS", help="more flags of train_self_play.py")
    return made


def check(given: argparse.Namespace) -> None:
    """Refuse what cannot be done, before anything starts.

    Raises:
        ConfigError: names the flag.
    """
    if given.kills < 1:
        raise ConfigError(f"--kills is {given.kills}; valid: 1 or more")
    if given.folder is not None and given.folder.exists():
        raise ConfigError(f"--folder {given.folder} exists; name a new folder")
    if given.deterministic and given.game_type != "mock":
        raise ConfigError(f"--deterministic is a promise of fights, {given.game_type} makes none: leave it out")
    if given.game_type == "mock":
        cli.parse([*VICTIMS["mock"], *given.arguments])


def run(given: argparse.Namespace) -> int:
    """Torture, print, exit code."""
    check(given)
    cli.exit_when_told()  # so that the run that is tortured ends with us
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary) / "torture").absolute()
        ordeal = Ordeal(folder, given.kills, given.seed, given.game_type, given.deterministic, tuple(given.arguments))
        outcome = endure(ordeal, lambda text: print(text, file=sys.stderr, flush=True))
    command = shlex.join(["python", "scripts/torture.py", *(word for word in sys.argv[1:] if word != "--write")])
    found = document(ordeal, outcome, command)
    print(json.dumps(found, indent=1) if given.json else "\n".join(f"{name}: {found[name]}" for name in found))
    if given.write:
        write(ROOT / "docs", found)
    return 1 if outcome.faults else 0


def main() -> int:
    """Run the command; the exit code."""
    return cli.exit_code("torture.py", lambda: run(parser().parse_args()))


if __name__ == "__main__":
    sys.exit(main())
