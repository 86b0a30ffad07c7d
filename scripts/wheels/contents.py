"""What the files of a release hold: the packages, and nothing else of the repository."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGES: Final = ("selfplay", "selfplay_dialogue", "selfplay_melee")
SUFFIXES: Final = frozenset(
    (
        *(".py", ".typed", ".js", ".css", ".html", ".md", ".toml", ".csv", ".json", ".txt", ".safetensors", ".yaml"),
        *(".sh", ".wasm", ".nbc", ".nbi"),
    )
)
MOST_BYTES: Final = 30_000_000
_OF_SDIST: Final = frozenset(("LICENSE", "README.md", "PKG-INFO", "pyproject.toml", "setup.cfg"))


def of_wheel(path: Path) -> dict[str, int]:
    """The files of a wheel with their checksums, without the list that repeats them."""
    with zipfile.ZipFile(path) as archive:
        return {file.filename: file.CRC for file in archive.infolist() if not file.filename.endswith("/RECORD")}


def of_sdist(path: Path) -> set[str]:
    """The files of a source distribution, without the folder that holds them all."""
    with tarfile.open(path) as archive:
        return {file.name.partition("/")[2] for file in archive if file.isfile()}


def out_of_place(path: Path) -> list[str]:
    """What a wheel or a source distribution must not hold, or lacks: one sentence for each."""
    if path.suffix == ".whl":
        names = set(of_wheel(path))
        strangers = [name for name in names if not _is_of_package(name) and ".dist-info/" not in name]
        modules = names
    else:
        names = of_sdist(path)
        modules = {name.removeprefix("envs/") for name in names}
        strangers = [name for name in names if name not in _OF_SDIST and not _is_of_source(name)]
    found = [f"{path.name}: {name} does not belong there" for name in sorted(strangers)]
    found += [f"{path.name}: {package} is not there" for package in PACKAGES if f"{package}/__init__.py" not in modules]
    if (size := path.stat().st_size) > MOST_BYTES:
        found.append(f"{path.name}: {size:,} bytes, at most {MOST_BYTES:,}")
    return found


def missing_files(wheel: Path, tree: Path) -> list[str]:
    """Files of the packages of a source tree that its wheel lacks."""
    return sorted({*_files((tree, tree / "envs"))} - of_wheel(wheel).keys())


def _files(folders: Iterable[Path]) -> Iterable[str]:
    for folder in folders:
        for package in PACKAGES:
            for path in (folder / package).rglob("*"):
                if path.is_file() and path.parent.name != "__pycache__":
                    yield path.relative_to(folder).as_posix()


def _is_of_package(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parts[0] in PACKAGES and path.suffix in SUFFIXES


def _is_of_source(name: str) -> bool:
    return _is_of_package(name.removeprefix("envs/")) or ".egg-info/" in name
