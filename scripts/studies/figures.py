"""Make every published figure of fights under today's versions of rules, scripted players and observations.

In turn: shipped policies and the scale of all ratings, runs of the preset, whether ratings predict, scripted players,
people, pictures, and the speed beside other trainers. A step that is finished under these versions is skipped, and one
that was interrupted goes on where it was; to repeat one, delete its document. --check runs nothing: it names figures
of other versions, and pages that do not show them, those of docs/games included.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT, learning, predictions, round_robin, shipped
from scripts.studies.command_line import Command, chosen, exit_on_signals, notify
from scripts.studies.games import __main__ as games
from scripts.studies.pages import versions
from scripts.studies.play_style import __main__ as play_style
from scripts.studies.rivals import page as peers
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.league.anchors import shipped_tables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

DATA: Final = ROOT / "docs" / "data"
REPLAYS: Final = "REPLAYS"  # in a command: the folder of replays of people


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures that one command makes.

    Args:
        command: What follows ``python -m scripts.studies.``.
        write: Writes the pages below a folder from the documents; None: no page has text of them.
        minutes: About as long as it takes on two idle cores.
    """

    command: tuple[str, ...]
    write: Callable[[Path], None] | None
    minutes: int


def _write_peers(root: Path) -> None:
    peers.write(root / "docs", json.loads((DATA / "peers.json").read_text(encoding="utf-8")))


FIGURES: Final[dict[str, Figures]] = {
    "shipped": Figures(("shipped",), shipped.write, 30),
    "learning": Figures(("learning",), learning.write, 55),
    "predictions": Figures(("predictions",), predictions.write, 3),
    "round_robin": Figures(("round_robin", "--write"), round_robin.write, 1),
    "play_style": Figures(
        ("play_style", REPLAYS, "--policy", "medium", "--policy", "expert", "--write"), play_style.write, 2
    ),
    "pictures": Figures(("pictures",), None, 1),
    "peers": Figures(("rivals.bench", "--rounds", "2", "--write"), _write_peers, 25),
}
"""By the name of their document in docs/data, in the order in which they are made: ratings of runs need the scale,
pictures need a run."""
BY_CELL: Final = {"shipped", "learning", "predictions"}
"""Studies whose document has cells; they skip what is finished by themselves."""


def read(name: str) -> dict[str, dict[str, Any]]:
    """What has ``versions`` in the document of some figures: the document or its cells, by what messages call it."""
    path = DATA / f"{name}.json"
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    if name not in BY_CELL:
        return {path.name: found}
    return {f"{path.name}, {cell}": content for cell, content in found.items()}


def problems() -> list[str]:
    """What a reader would be told wrongly, one sentence each: figures of other versions, pages without the figures."""
    found = []
    now = versions()
    for name in FIGURES:
        documents = read(name)
        if not documents:
            found.append(f"{name}: no document in docs/data")
        found += [
            f"{document}: made with versions {content.get('versions')}, today's are {now}"
            for document, content in documents.items()
            if content.get("versions") != now
        ]
    for path in shipped_tables():
        described = json.loads(path.read_text(encoding="utf-8"))["described"]
        if any(described[name] != now[name] for name in ("rules", "bots")):
            found.append(f"{path.relative_to(ROOT)}: ratings of other versions than {now}")
    return [*found, *_other_pages(), *_other_pictures()]


def _other_pages() -> Iterator[str]:
    """Pages that differ from what the documents say."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(DATA.glob("*.svg")), shipped.CARDS]
    with tempfile.TemporaryDirectory() as folder:
        copies = {page: Path(folder) / page.relative_to(ROOT) for page in pages}
        for page, copy in copies.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(page.read_bytes())
        for name, figures in FIGURES.items():
            if figures.write is not None and read(name):
                figures.write(Path(folder))
        games.write(Path(folder))
        for page, copy in copies.items():
            if copy.read_bytes() != page.read_bytes():
                table = page.parent == ROOT / "docs/games"
                made = (
                    "the tables of its game: python -m scripts.studies.games" if table else "the figures in docs/data"
                )
                yield f"{page.relative_to(ROOT)} does not show {made}"


def _other_pictures() -> Iterator[str]:
    for document in read("pictures").values():
        for name, digest in document["sha256"].items():
            if hashlib.sha256((ROOT / name).read_bytes()).hexdigest() != digest:
                yield f"{name} is another picture than the one that was made"


def make(name: str, replays: Path | None) -> None:
    """Make some figures, unless they are finished. Blocks.

    Raises:
        SelfPlayError: the command failed.
    """
    figures, documents = FIGURES[name], read(name)
    finished = documents and all(each.get("versions") == versions() for each in documents.values())
    if finished and name not in BY_CELL:
        notify(f"{name}: finished")
        return
    words = [str(replays) if word == REPLAYS else word for word in figures.command]
    notify(f"{name}: about {figures.minutes} minutes")
    began = time.monotonic()
    command = [sys.executable, "-m", f"scripts.studies.{words[0]}", *words[1:]]
    if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SelfPlayError(f"{' '.join(command)} ended with exit code {code}")
    notify(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes")


def main() -> int:
    command = Command("figures", __doc__)
    command.add_argument("--check", action="store_true", help="only compare versions and pages; exit code 1 if wrong")
    command.add_argument("--replays", type=Path, metavar="FOLDER", help="of people's games, for the step play_style")
    command.add_parts([*FIGURES])
    return command.execute(_run)


def _run(options: argparse.Namespace) -> int:
    if not options.check:
        exit_on_signals()
        names = chosen("--parts", options.parts, FIGURES)
        if options.replays is None and "play_style" in names:
            raise ConfigError("--replays FOLDER is needed for play_style; --parts names the other steps")
        for name in names:
            make(name, options.replays)
        games.write(ROOT)
    wrong = problems()
    for problem in wrong:
        notify(problem)
    notify(f"{len(wrong)} problems" if wrong else f"all figures are of {versions()}, and the pages show them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
