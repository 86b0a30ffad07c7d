"""The name under which this project is installed, and what it needs. Takes the standard library alone."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path
from typing import Final

NAME: Final = "selfplay-arena"
"""On the package index, ``selfplay`` is another project."""
CHECKOUT: Final = Path(__file__).resolve().parents[1] / "pyproject.toml"
"""There in a checkout; an installed package has its metadata only."""
_EXTRA: Final = re.compile(r"extra == (['\"])(?P<name>[\w-]+)\1")


def requirements(extra: str = "") -> list[str] | None:
    """What this project needs, or one of its extras, such as ``numpy>=2.0``; None where that cannot be found out.

    Read from the metadata of the installation, and in a checkout that is not installed from pyproject.toml.
    """
    try:
        lines = importlib.metadata.requires(NAME) or []
    except importlib.metadata.PackageNotFoundError:
        return _of_checkout(extra)
    found = []
    for line in lines:
        requirement, _, marker = line.partition(";")
        of_extra = _EXTRA.search(marker)
        if (of_extra["name"] if of_extra else "") == extra:
            found.append(requirement.strip())
    return found


def install_command(extra: str = "") -> str:
    """How a user installs this project with what an extra needs."""
    name = "." if CHECKOUT.is_file() else NAME
    wanted = f"'{name}[{extra}]'" if extra else name
    return f"pip install -e {wanted}" if name == "." else f"pip install {wanted}"


def _of_checkout(extra: str) -> list[str] | None:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10, which is too old for this project
        return None
    try:
        project = tomllib.loads(CHECKOUT.read_text(encoding="utf-8"))["project"]
    except FileNotFoundError:
        return None
    found: list[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return found
