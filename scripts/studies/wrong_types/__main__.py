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
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command, exit_on_signals
from scripts.studies.pages import machine_here, put_between, this_command, write_json
from scripts.studies.wrong_types.calls import call
from scripts.studies.wrong_types.mutate import mutations
from scripts.studies.wrong_types.worlds import WORLDS

if TYPE_CHECKING:
    import argparse

    from scripts.studies.wrong_types.worlds import Document, World

DATA: Final = ROOT / "docs" / "data" / "wrong_types.json"
PAGE: Final = ROOT / "docs" / "trainer/internals/reliability.md"
COUNTS: Final = ("fields", "mutations", "calls", "failures")


def parser() -> Command:
    """All flags."""
    command = Command("wrong_types", __doc__, epilog="exit code: 1 where a command failed, else 0")
    command.add_argument("--worlds", default="", metavar="NAME,NAME", help="these folders alone")
    command.add_argument("--document", default="", metavar="TEXT", help="documents with this text in their path alone")
    command.add_argument("--verb", default="", metavar="TEXT", help="commands with this text alone")
    command.add_argument(
        "--every", type=int, default=1, metavar="N", help="every Nth mutation; a prime above 13 is best"
    )
    command.add_argument("--offset", type=int, default=0, metavar="N", help="from the Nth on (default: %(default)s)")
    command.add_argument("--write", action="store_true", help="put the counts into docs")
    command.add_argument("--folder", type=Path, metavar="FOLDER", help="keep the worlds there, and reuse them")
    return command


def study(document: Document, world: Path, place: Path, only: argparse.Namespace) -> Counter[str]:
    """Counts of the mutations of a document, each tried with every command that reads it; prints failures."""
    counts = Counter(dict.fromkeys(COUNTS, 0))
    data = (world / document.path).read_bytes()
    fields = set()
    every = only.every * document.every
    for number, (field, name, content) in enumerate(mutations(data, document.form)):
        if number % every != only.offset % every:
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
    counts["fields"] = len(fields)
    return counts


def run(only: argparse.Namespace) -> int:
    """Print failures and counts, and write them if asked; 1 if a command failed."""
    exit_on_signals()
    with tempfile.TemporaryDirectory(prefix="wrong-types-") as temporary:
        rows = study_all(only, (only.folder or Path(temporary)).absolute(), Path(temporary) / "try")
    print(sentence(rows))
    if only.write:
        head = {"command": this_command("wrong_types", ["--write"]), **machine_here()}
        stride = {"every": only.every, "offset": only.offset}
        write_json(DATA, {**head, **stride, "total": total(rows), "documents": rows})
        put_between(PAGE, "wrong types", sentence(rows))
    return 1 if total(rows)["failures"] else 0


def study_all(only: argparse.Namespace, folder: Path, place: Path) -> list[dict[str, Any]]:
    """The counts of each document of the worlds, made in ``folder``; ``place`` is for the copies."""
    rows = []
    for world in WORLDS:
        if only.worlds and world.name not in only.worlds.split(","):
            continue
        made = folder / world.name
        if not made.exists():
            _make(world, made)
        for document in world.documents:
            if only.document in document.path:
                counts = study(document, made, place, only)
                verbs = sorted({line.split()[0] for line in document.reads if only.verb in line})
                rows.append({"world": world.name, "document": document.path, "commands": verbs, **counts})
                print(f"{world.name}: {document.path}: {dict(counts)}", flush=True)
    return rows


def total(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Sums over documents; the slow commands of one, which have a row of their own, meet some of its fields again."""
    fields: dict[tuple[str, str], int] = {}
    for row in rows:
        document = row["world"], row["document"]
        fields[document] = max(fields.get(document, 0), row["fields"])
    sums = {name: sum(row[name] for row in rows) for name in COUNTS}
    return {"documents": len(fields), **sums, "fields": sum(fields.values())}


def sentence(rows: list[dict[str, Any]]) -> str:
    """The counts in words."""
    sums = total(rows)
    verbs = {verb for row in rows for verb in row["commands"]}
    return (
        f"Tried were {sums['mutations']:,} values in {sums['fields']:,} fields of {sums['documents']} documents, "
        f"read by {len(verbs)} commands: {sums['calls']:,} calls, {sums['failures']:,} failures."
    )


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
