"""Puts measured figures where the documentation shows them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from selfplay.checkpoint.store import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Figures = dict[str, float | int | str]


def shown(value: float | str) -> str:
    """A figure for people: grouped thousands, three digits behind the point of small ones."""
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 10 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value


def write_page(
    docs: Path, file: str, name: str, figures: Mapping[str, float | int | str], page: str = "performance.md"
) -> None:
    """Keep the figures in ``docs/data/FILE`` and show them between the markers NAME of a page of ``docs``."""
    dated: Figures = {"date": datetime.now(UTC).date().isoformat(), **figures}
    (docs / "data").mkdir(exist_ok=True)
    (docs / "data" / file).write_text(json.dumps(dated, indent=1) + "\n", encoding="utf-8")
    rows = "\n".join(f"| `{key}` | {shown(value)} |" for key, value in dated.items())
    put_between(docs / page, name, f"| figure | value |\n|---|---|\n{rows}")


def put_between(page: Path, name: str, text: str) -> None:
    """Replace what stands between the markers NAME of a page.

    Raises:
        ValueError: the page has no such markers.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin, 1)
    _, after = rest.split(end, 1)
    write_file(page, f"{before}{begin}\n{text}\n{end}{after}".encode())
