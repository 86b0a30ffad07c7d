"""Documents of results in ``docs/data``, and the pages of ``docs`` that show them."""

from __future__ import annotations

import json
import shlex
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint.store import write_file
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.machine import processor, usable_cores
from selfplay_melee import bots
from selfplay_melee.physics import RULES_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

Figures = dict[str, float | int | str]


def versions() -> dict[str, int]:
    """Versions of the mock on which figures of fights depend: rules, scripted players, observations."""
    return {"rules": RULES_VERSION, "bots": bots.VERSION, "encoder": find_game("mock").encoder_version}


def machine_here() -> dict[str, Any]:
    """Date and machine of a measurement."""
    when = datetime.now(UTC).date().isoformat()
    return {"date": when, "processor": processor(), "cores": usable_cores()}


def measured_here() -> dict[str, Any]:
    """Date, machine and versions of a measurement of fights, with which a document of results begins."""
    return {**machine_here(), "versions": versions()}


def this_command(name: str, without: Iterable[str] = ()) -> str:
    """The command of this process, without some of its words."""
    words = (word for word in sys.argv[1:] if word not in set(without))
    return shlex.join(["python", "-m", f"scripts.studies.{name}", *words])


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document in one step, so that a file is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, f"{json.dumps(document, indent=1)}\n".encode())


def shown(value: float | str) -> str:
    """A figure as text: thousands are grouped, numbers below 10 have three decimals."""
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 10 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value


def interval(result: Mapping[str, float]) -> str:
    """A score and its 95% interval, in percent."""
    score, low, high = (f"{result[name]:.1%}" for name in ("score", "low", "high"))
    return f"{score} [{low}, {high}]"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["|" + "|".join(f" {name} " if name else " " for name in head) + "|", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def write_page(docs: Path, file: str, name: str, figures: Mapping[str, Any]) -> None:
    """Write the figures to ``docs/data/FILE``, beside those of other processors, whose columns stay.

    The page on performance shows them between its markers NAME.
    """
    path = docs / "data" / file
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    kept[str(figures["processor"])] = figures
    write_json(path, kept)
    names = dict.fromkeys(name for column in kept.values() for name in column if name != "processor")
    rows = ((f"`{name}`", *(shown(column.get(name, "")) for column in kept.values())) for name in names)
    put_between(docs / "trainer/internals/performance.md", name, table(("figure", *kept), rows))


def put_between(page: Path, name: str, text: str) -> None:
    """Replace the text between the markers NAME of a page.

    Raises:
        ConfigError: the page has no such markers.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise ConfigError(f"{page} has no markers named {name!r}")
    write_file(page, f"{before}{begin}\n{text}\n{end}{after}".encode())
