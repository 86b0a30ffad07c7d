"""Output of a benchmark: as text, as JSON, and in the documentation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scripts.studies import ROOT
from scripts.studies.pages import shown, write_page

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scripts.studies.command_line import Command


def add_output(command: Command) -> None:
    """Add ``--write`` and ``--json``."""
    command.add_argument("--write", action="store_true", help="put the figures into docs/")
    command.add_argument("--json", action="store_true", help="as JSON")


def show(
    options: argparse.Namespace, figures: Mapping[str, Any], file: str, marker: str, page: str = "performance.md"
) -> None:
    """Print the figures; with ``--write``, see ``write_page``."""
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:36} {shown(value)}")
    if options.write:
        write_page(ROOT / "docs", file, marker, figures, page)
