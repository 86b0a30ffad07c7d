"""What a release says of itself: version, date and address, in each file that names them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.store import write_file
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

PROJECT: Final = "pyproject.toml"
CITATION: Final = "CITATION.cff"
CHANGELOG: Final = "CHANGELOG.md"
ISSUES: Final = ".github/ISSUE_TEMPLATE/config.yml"
VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_REPOSITORY: Final = re.compile(r"https://[\w.-]+(?:/[\w.-]+)+")
_HEADING: Final = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Facts:
    """The description of the project in pyproject.toml, which the other files repeat."""

    name: str
    version: str
    repository: str

    @property
    def tag(self) -> str:
        return f"v{self.version}"


def facts(root: Path) -> Facts:
    """Read pyproject.toml. ``project.urls.Repository`` is the one setting of the address."""
    project = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))["project"]
    return Facts(project["name"], project["version"], project["urls"]["Repository"])


def contradictions(root: Path) -> list[str]:
    """What does not agree with pyproject.toml, or misses: one sentence for each."""
    known = facts(root)
    urls = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))["project"]["urls"]
    found = [
        f"{PROJECT}: project.urls.{name} is {url}, which does not begin with {known.repository}"
        for name, url in urls.items()
        if not url.startswith(known.repository)
    ]
    headings = [*_HEADING.finditer(_text(root, CHANGELOG))]
    if not headings or headings[0]["version"] != known.version or not headings[0]["date"]:
        found.append(f"{CHANGELOG}: the first heading is not '## [{known.version}] - DATE'")
    date = headings[0]["date"] if headings else None
    wanted = {"version": known.version, "repository-code": known.repository, "date-released": date}
    for field, value in wanted.items():
        if (said := _cited(_text(root, CITATION), field)) != value:
            found.append(f"{CITATION}: {field} is {said}, not {value}")
    found += [
        f"{file}: {url} does not begin with {known.repository}"
        for file in (CHANGELOG, ISSUES)
        for url in re.findall(r"https://[^\s<>)]+/(?:releases|issues|security|discussions)\b", _text(root, file))
        if not url.startswith(known.repository)
    ]
    return found


def set_version(root: Path, version: str, date: str) -> None:
    """Write a version and its date into every file, and turn *Unreleased* of the changelog into its entry.

    Raises:
        ConfigError: the version is not valid, or the changelog has no entry to release.
    """
    if not VERSION.fullmatch(version):
        raise ConfigError(f"--prepare {version}: a version such as 0.2.0 or 0.2.0rc1 is needed")
    known = facts(root)
    changelog, count = re.subn(
        rf"^## \[(?:Unreleased|{re.escape(version)})\].*$",
        f"## [{version}] - {date}",
        _text(root, CHANGELOG),
        count=1,
        flags=re.MULTILINE,
    )
    if not count:
        raise ConfigError(f"{CHANGELOG}: there is no heading '## [Unreleased]'")
    link = f"[{version}]: {known.repository}/releases/tag/v{version}\n"
    if link not in changelog:
        changelog = changelog.rstrip("\n") + "\n\n" * (not re.search(r"^\[.*\]: .*\n\Z", changelog, re.MULTILINE))
        changelog += link
    project = re.sub(r'^version = ".*"', f'version = "{version}"', _text(root, PROJECT), count=1, flags=re.MULTILINE)
    citation = _cite(_cite(_text(root, CITATION), "version", version), "date-released", date)
    _write(root, {PROJECT: project, CITATION: citation, CHANGELOG: changelog})


def set_repository(root: Path, address: str) -> None:
    """Write the address of the repository into every file that names it.

    Raises:
        ConfigError: it is not an address such as https://github.com/OWNER/NAME.
    """
    address = address.rstrip("/").removesuffix(".git")
    if not _REPOSITORY.fullmatch(address):
        raise ConfigError(f"--repository {address}: an address such as https://github.com/OWNER/NAME is needed")
    old = facts(root).repository
    pattern = re.compile(rf"{re.escape(old)}(?![\w-])")
    _write(root, {file: pattern.sub(address, _text(root, file)) for file in (PROJECT, CITATION, CHANGELOG, ISSUES)})


def _text(root: Path, file: str) -> str:
    return (root / file).read_text(encoding="utf-8")


def _cited(citation: str, field: str) -> str | None:
    found = re.search(rf"^{field}: [\"']?(.*?)[\"']?$", citation, re.MULTILINE)
    return found[1] if found else None


def _cite(citation: str, field: str, value: str) -> str:
    return re.sub(rf"^{field}: .*$", f"{field}: {value}", citation, count=1, flags=re.MULTILINE)


def _write(root: Path, texts: dict[str, str]) -> None:
    for file, text in texts.items():
        write_file(root / file, text.encode())
