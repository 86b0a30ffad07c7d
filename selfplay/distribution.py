"""The name under which this project is installed, and what it needs. Takes the standard library alone."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

NAME: Final = "selfplay-arena"
"""On the package index, ``selfplay`` is another project."""
CHECKOUT: Final = Path(__file__).resolve().parents[1] / "pyproject.toml"
"""There in a checkout; an installed package has its metadata only."""
_EXTRA: Final = re.compile(r"extra == (['\"])(?P<name>[\w-]+)\1")


def package_folder(name: str) -> Path:
    """Folder of an installed package; neither it nor a package that it is part of is imported.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    first, *parts = name.split(".")
    spec = importlib.util.find_spec(first)
    found = [Path(place, *parts) for place in spec.submodule_search_locations or ()] if spec else []
    if not (found and found[0].is_dir()):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return found[0].resolve()


def python_path() -> str:
    """``PYTHONPATH`` of a child process, with which it imports the packages of this copy of the project."""
    root = CHECKOUT.parent
    folders = [str(root), str(root / "envs")] if CHECKOUT.is_file() else [str(root)]
    return os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])


def entry_points(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """Entry points of a group by name: of all installed packages, and of a checkout those that it has itself."""
    games = str(CHECKOUT.parent / "envs")
    if CHECKOUT.is_file() and games not in sys.path:
        sys.path.append(games)
    points = importlib.metadata.entry_points(group=group)
    found = {point.name: point for point in sorted(points, key=is_of_project)}  # no other package takes a name of ours
    with suppress(FileNotFoundError, ModuleNotFoundError):  # also where another copy is installed
        own = _project().get("entry-points", {}).get(group, {})
        found = {name: point for name, point in found.items() if not is_of_project(point)}
        found |= {name: importlib.metadata.EntryPoint(name, value, group) for name, value in own.items()}
    return found


def is_of_project(point: importlib.metadata.EntryPoint) -> bool:
    """Return True if an entry point is of this project."""
    return point.dist is None or point.dist.name == NAME


@cache
def policy_folders() -> tuple[Path, ...]:
    """Folders of policies that packages bring, each by its name, with fixed ratings in ``anchor_tables``."""
    return tuple(package_folder(point.value) for point in entry_points("selfplay.policies").values())


def requirements(extra: str = "") -> list[str] | None:
    """Requirements of this project or of one of its extras, such as ``numpy>=2.0``; None if they cannot be found.

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


def version() -> str:
    """The version of this project: of the checkout that runs, else of the installation."""
    try:
        return str(_project()["version"])
    except (FileNotFoundError, ModuleNotFoundError):
        return importlib.metadata.version(NAME)


def install_command(extra: str = "") -> str:
    """Command that installs this project with an extra."""
    name = "." if CHECKOUT.is_file() else NAME
    wanted = f"'{name}[{extra}]'" if extra else name
    return f"pip install -e {wanted}" if name == "." else f"pip install {wanted}"


def extras() -> list[str]:
    """Families of packages that are loaded only where they are used, but the one that developers need."""
    try:
        names = [*_project()["optional-dependencies"]]
    except (FileNotFoundError, ModuleNotFoundError):
        names = importlib.metadata.metadata(NAME).get_all("Provides-Extra", [])
    return sorted(name for name in names if name != "dev")


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """What to say of a package that an extra of this project brings, with the command; None if no extra does."""
    package = str(error.name).partition(".")[0]
    for extra in extras():
        if any(re.match(rf"{re.escape(package)}(?![\w-])", line) for line in requirements(extra) or ()):
            return f"{package} is not installed: {install_command(extra)}"
    return None


def _of_checkout(extra: str) -> list[str] | None:
    try:
        project = _project()
    except (FileNotFoundError, ModuleNotFoundError):
        return None
    found: list[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return found


def _project() -> dict[str, Any]:
    """The description of the project in a checkout.

    Raises:
        FileNotFoundError: this is no checkout.
        ModuleNotFoundError: Python 3.10, which is too old for this project and cannot read it.
    """
    return _read_project(CHECKOUT)


@cache
def _read_project(path: Path) -> dict[str, Any]:
    import tomllib

    found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return found
