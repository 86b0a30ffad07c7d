"""Table and chart of the other trainers, for ``docs/trainer/internals/performance.md``."""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.charts import Bar, bars
from scripts.studies.pages import put_between, write_json
from scripts.studies.rivals.running import OURS
from selfplay.checkpoint.store import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MARKER: Final = "peers"


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, _, high = quantiles(values, method="inclusive")
    return low, median(values), high


def table(document: Mapping[str, Any]) -> str:
    """Medians, failures and trainers that do not install, in Markdown."""
    lines = [
        f"{document['date']}, {document['processor']}, {document['cores']} cores, {document['rounds']} rounds.",
        "",
        "| trainer | version | games | seats that learn | run as | agent-steps/s, median [quartiles] | ours / theirs |",
        "|---|---|--:|--:|---|--:|--:|",
    ]
    lines += [_line(row, _ours(document, row)) for row in document["rows"]]
    missing = document["not_installed"].items()
    lines += [f"| {name} | | | | | does not install: `{_cell(why)}` | |" for name, why in missing]
    return "\n".join(lines)


def _line(row: Mapping[str, Any], ours: float | None) -> str:
    head = f"| {row['system']} | {row['version']} | {row['games']} | {row['seats']} | {_way(row)} | "
    if row["error"] is not None:
        return f"{head}failed: `{_cell(row['error'])}` | |"
    low, middle, high = spread(row["agent_steps_per_s"])
    ratio = "" if row["system"] == OURS or ours is None else f"{ours / middle:.2f}"
    return f"{head}{middle:,.0f} [{low:,.0f}, {high:,.0f}] | {ratio} |"


def _way(row: Mapping[str, Any]) -> str:
    threads = f"{row['threads']} thread{'' if row['threads'] == 1 else 's'}"
    return f"{row['variant']}, {threads}" if row["variant"] else threads


def _ours(document: Mapping[str, Any], like: Mapping[str, Any]) -> float | None:
    """Our median with the same number of games and learning seats, if there is one."""
    for row in document["rows"]:
        alike = (row["games"], row["seats"]) == (like["games"], like["seats"])
        if row["system"] == OURS and alike and row["agent_steps_per_s"]:
            return float(median(row["agent_steps_per_s"]))
    return None


def _cell(text: str) -> str:
    """A message of another program, inside a table and back-ticks."""
    return text.replace("|", "/").replace("`", "'")[:200]


def picture(document: Mapping[str, Any]) -> str:
    """Bars of the medians with their quartiles, a group for each number of games."""
    groups: dict[int, list[Bar]] = {}
    for row in document["rows"]:
        if row["error"] is None and row["agent_steps_per_s"]:
            low, middle, high = spread(row["agent_steps_per_s"])
            name = f"{row['system']}, {'both seats' if row['seats'] == 2 else 'one seat'}"
            groups.setdefault(row["games"], []).append(Bar(name, middle, low, high, row["system"] == OURS))
    return bars([(f"agent-steps/s with {games} games, median and quartiles", group) for games, group in groups.items()])


def write(docs: Path, document: Mapping[str, Any]) -> None:
    """Write the figures to ``docs/data``, and show them in ``docs/trainer/internals/performance.md``."""
    write_json(docs / "data" / "peers.json", document)
    write_file(docs / "data" / "peers.svg", picture(document).encode())
    text = f"{table(document)}\n\n![Agent-steps a second of each trainer](../../data/peers.svg)"
    put_between(docs / "trainer/internals/performance.md", MARKER, text)
