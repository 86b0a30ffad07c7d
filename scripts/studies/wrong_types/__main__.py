"""What does each command say of a document in which one field has another type, or a very long text?

Makes small runs and files, replaces every value of every document by values of other types, and calls every command
that reads the document, in this process. Each must end with exit code 0, or with 2 and a short line. A value that a
command may ignore, or use, is no failure.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

from scripts.studies.command_line import Command, exit_on_signals
from scripts.studies.wrong_types.calls import call
from scripts.studies.wrong_types.mutate import mutations
from scripts.studies.wrong_types.worlds import WORLDS

if TYPE_CHECKING:
    import argparse

    from scripts.studies.wrong_types.worlds import Document, World


def parser() -> Command:
    """All flags."""
    command = Command("wrong_types", __doc__, epilog="exit code: 1 where a command failed, else 0")
    command.add_argument("--worlds", default="", metavar="NAME,NAME", help="these folders alone")
    command.add_argument("--document", default="", metavar="TEXT", help="documents with this text in their path alone")
    command.add_argument("--verb", default="", metavar="TEXT", help="commands with this text alone")
    command.add_argument("--every", type=int, default=1, metavar="N", help="every Nth mutation of a document")
    command.add_argument("--folder", type=Path, metavar="FOLDER", help="keep the worlds there, and reuse them")
    return command


def study(document: Document, world: Path, place: Path, only: argparse.Namespace, counts: Counter[str]) -> None:
    """Try every mutation of a document with every command that reads it; prints failures."""
    counts["documents"] += 1
    data = (world / document.path).read_bytes()
    fields = set()
    for number, (field, name, content) in enumerate(mutations(data, document.form)):
        if number % (only.every * document.every):
            continue
        fields.add(field)
        counts["mutations"] += 1
        for line in document.reads:
            if only.verb not in line:
                continue
            rmtree(place, ignore_errors=True)
            copytree(world, place)
            document.put(place, content)
            fault = call(tuple(line.split()), place).fault
            counts["calls"] += 1
            if fault:
                counts["failures"] += 1
                dotted = ".".join(map(str, field)) or "all of it"
                print(f"{document.path} {dotted} = {name}: selfplay {line}: {fault}", flush=True)
    counts["fields"] += len(fields)


def run(only: argparse.Namespace) -> int:
    """Print failures, then counts; 1 if a command failed."""
    exit_on_signals()
    with tempfile.TemporaryDirectory(prefix="wrong-types-") as temporary:
        counts = study_all(only, (only.folder or Path(temporary)).absolute(), Path(temporary) / "try")
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    return 1 if counts["failures"] else 0


def study_all(only: argparse.Namespace, folder: Path, place: Path) -> Counter[str]:
    """The counts over all worlds that were asked for, made in ``folder``; ``place`` is for the copies."""
    counts: Counter[str] = Counter(dict.fromkeys(("documents", "fields", "mutations", "verbs", "calls", "failures"), 0))
    verbs: set[str] = set()
    for world in WORLDS:
        if only.worlds and world.name not in only.worlds.split(","):
            continue
        made = folder / world.name
        if not made.exists():
            _make(world, made)
        for document in world.documents:
            if only.document in document.path:
                study(document, made, place, only, counts)
                verbs |= {line.split()[0] for line in document.reads if only.verb in line}
                print(f"{world.name}: {document.path}: {dict(counts)}", flush=True)
    counts["verbs"] = len(verbs)
    return counts


def _make(world: World, path: Path) -> None:
    try:
        world.make(path)
    except BaseException:
        rmtree(path, ignore_errors=True)
        raise


def main() -> int:
    """Run the command; the exit code."""
    return parser().execute(run)


if __name__ == "__main__":
    sys.exit(main())
