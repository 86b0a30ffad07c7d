"""Hooks of MkDocs (``mkdocs.yml``): what the site has beside the pages of ``docs/``.

The pages are written to be read in a checkout. In the site:

- a link to a file outside ``docs/`` leads to the repository if ``REPOSITORY`` is its address, else to a copy as text;
- ``<!-- shown: NAME -->`` is a page of the folder ``FIGHTS``, which ``make docs`` fills, in a frame;
- a notebook is a page;
- the API reference has the names of each public package's ``__all__``.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[2]
FIGHTS: Final = Path(os.environ.get("FIGHTS") or ROOT / "build" / "fights")
PACKAGES: Final = ("selfplay", "selfplay.games", "selfplay.learner", "selfplay.league", "selfplay.supervision")
LINK: Final = re.compile(r"(?<=\]\()(?P<path>(?:\.\./)+[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
INFO: Final = re.compile(r"^```(\w+) .*$", re.MULTILINE)  # words for the tests behind the name of a language
NOTEBOOK: Final = re.compile(r"(\]\([^)\s]+)\.ipynb(?=\))")
SHOWN: Final = re.compile(r"<!-- shown: (\S+) -->")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put its pages in the place of each folder that the navigation names, without those that it names itself."""
    config.nav = _expanded(config.nav or [], set(re.findall(r"[\w/.]+\.md", str(config.nav))))
    return config


def _expanded(entries: list[Any], named: set[str]) -> list[Any]:
    made: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            made += [
                {title: _expanded(value, named) if isinstance(value, list) else value} for title, value in entry.items()
            ]
        elif entry == "reference/":
            made += [f"{entry}{package}.md" for package in PACKAGES]
        elif entry.endswith("/"):
            names = sorted((page.name for page in (ROOT / "docs" / entry).glob("*.md")), key=_first)
            made += [entry + name for name in names if entry + name not in named]
        else:
            made.append(entry)
    return made


def _first(name: str) -> tuple[bool, str]:
    return name != "README.md", name


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are written here, and the fights."""
    for package in PACKAGES:
        files.append(File.generated(config, f"reference/{package}.md", content=reference(package)))
    for notebook in (ROOT / "docs").glob("notebooks/*.ipynb"):
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=notebook_page(notebook)))
    for fight in FIGHTS.glob("*.html"):
        files.append(File.generated(config, f"fights/{fight.name}", abs_src_path=str(fight)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make the text of a page fit for the site."""
    folder = Path(page.file.src_uri).parent

    def target(match: re.Match[str]) -> str:
        path = os.path.normpath(Path("docs") / folder / match["path"])
        if path.startswith("docs/"):
            return match[0]
        if config.repo_url:
            return f"{config.repo_url}/blob/main/{path}{match['anchor'] or ''}"
        copy = f"source/{path}.txt"
        if files.get_file_from_path(copy) is None:
            files.append(File.generated(config, copy, abs_src_path=str(ROOT / path)))
        return os.path.relpath(copy, folder)

    def frame(match: re.Match[str]) -> str:
        if files.get_file_from_path(f"fights/{match[1]}") is None:
            raise FileNotFoundError(f"{FIGHTS / match[1]} is missing: build the site with make docs")
        place = os.path.relpath(f"fights/{match[1]}", folder)
        shown = f'<iframe src="{place}" title="{match[1]}" loading="lazy" allow="gamepad; fullscreen"></iframe>'
        return f"<details><summary>Open it here</summary>{shown}</details>"  # a page in a frame takes the keyboard

    markdown = NOTEBOOK.sub(r"\1.md", INFO.sub(r"```\1", markdown))
    return SHOWN.sub(frame, LINK.sub(target, markdown))


def reference(package: str) -> str:
    """The page of a package: each public name, documented where it is defined."""
    module = importlib.import_module(package)
    entries = [f"# `{package}`", f"::: {package}\n    options:\n      members: false\n      show_root_heading: false"]
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        home = getattr(value, "__module__", "")
        home = home if home.startswith("selfplay") else package  # of an alias it is that of its type
        entries.append(f"::: {home}.{name}")
    return "\n\n".join(entries) + "\n"


def notebook_page(notebook: Path) -> str:
    """The cells of a notebook and what they printed."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        printed = "".join("".join(output.get("text", "")) for output in cell.get("outputs", ()))
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    parts.append(f'<a href="{notebook.name}" download>This page as a notebook</a>')
    return "\n\n".join(parts) + "\n"
