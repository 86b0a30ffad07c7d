"""What the pages point to exists: links, anchors, files and modules; and they stay short enough to be read."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("envs/**/*.md"))
}
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
OLD = re.compile(r"(?:`[^`]+`(?:,\s+|\s+and\s+))*`[^`]+`\s+of\s+commit\s+\w+")  # files that this tree has no longer
FILE = re.compile(
    r"(?<![\w/.-])(?:selfplay|envs|tests|scripts|docs)/[\w./-]*\w|(?<=`)(?!verl/)[a-z_]+/[\w/]+\.(?:py|js|toml)\b"
)
NAME = re.compile(r"(?<![\w/.-])(?:selfplay(?:_melee|_dialogue)?|scripts|tests)(?:\.[A-Za-z_]\w*)+")
PLACES = (".", "selfplay", "envs", "envs/selfplay_melee", "envs/selfplay_melee/tables")  # of short paths
GROUPS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"])
NO_FILES = ("selfplay/MockMelee-v1", "selfplay/__pycache__")
WORDS, WORDS_OF_USE = 52_000, 25_000
# Pages for users. Those of docs/reference are none: readers look up a flag or a setting there and never read them.
USE = re.compile(r"docs/((trainer|melee|dialogue|games)/\w+|quickstart|concepts|examples)\.md")


def anchors(text):
    """Of the headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = made = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        again = 0
        while made in found:
            again += 1
            made = f"{name}-{again}"
        found.add(made)
    return found


def dead_links(page, text):
    for match in LINK.finditer(text):
        target = match[1] or match[2]
        path, _, anchor = target.partition("#")
        if re.match("[a-z]+:", target):
            continue
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file.read_text())):
            yield target


def missing_files(text):
    for found in FILE.findall(OLD.sub("", text)):
        pattern = re.sub(r"\b[A-Z]{3,}\b", "*", found)  # NAME.py
        if found not in NO_FILES and not any(any(ROOT.glob(f"{place}/{pattern}")) for place in PLACES):
            yield found


def missing_names(text):
    for found in set(NAME.findall(OLD.sub("", text))) - GROUPS:
        if found.endswith((".json", ".py")) or exists(found):
            continue
        yield found


def exists(name):
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for last in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:last]))
        except ModuleNotFoundError:
            continue
        for part in parts[last:]:
            if not hasattr(value, part) and part not in getattr(value, "__annotations__", ()):
                return False
            value = getattr(value, part, None)
        return True
    return False


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_points_to_exists(page):
    assert list(dead_links(page, PAGES[page])) == []
    assert sorted({*missing_files(PAGES[page])}) == []
    assert sorted(missing_names(PAGES[page])) == []


def test_what_does_not_exist_is_found():
    text = (
        "[a](README.md#setup-x) [b](no.md) [c](README.md) `selfplay/no.py` `ppo/batch.py` `ppo/no.py` selfplay.games.no"
    )
    assert list(dead_links("README.md", text)) == ["README.md#setup-x", "no.md"]
    assert list(missing_files(text)) == ["selfplay/no.py", "ppo/no.py"]
    assert list(missing_names(text)) == ["selfplay.games.no"]
    assert list(missing_files("`scripts/old.py` and\n`docs/old.json` of commit 1a2b `scripts/new.py`")) == [
        "scripts/new.py"
    ]


def words(text):
    return len(text.split())


def test_the_pages_stay_short():
    docs = {page: text for page, text in PAGES.items() if page.startswith("docs/")}
    use = {page: words(text) for page, text in docs.items() if USE.fullmatch(page)}
    assert len(use) > 30
    assert sum(map(words, docs.values())) <= WORDS
    assert sum(use.values()) <= WORDS_OF_USE, sorted(use.items(), key=lambda item: -item[1])
