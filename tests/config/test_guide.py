"""The option tables of the pages are those of the parsers. ``python -m tests.config.test_guide`` writes them anew."""

import re
from pathlib import Path

import pytest

from selfplay.cli import imitation, ppo
from selfplay.cli.flags import make_parser
from selfplay.config.options import field_of, paths, shown
from selfplay.dialogue.cli import flags as dialogue
from selfplay.games.registry import DEFAULT

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = DOCS / "trainer/guide.md"
PAGES = {"trainer/guide.md": ppo.command_line("dolphin"), "melee/imitation.md": imitation.command_of("mock")}
ALL = {**PAGES, "dialogue/dialogue.md": dialogue.COMMAND, "trainer/imitation.md": imitation.command_of("kuhn")}
WITHOUT = "settings without a flag"
MARKED = re.compile(r"<!-- options: (?P<section>.+?) -->\n(?P<table>.*?)<!-- end -->", re.DOTALL)


def sections(page):
    """Flags of the parser of a page by section; ``--help``, ``--version`` and the automatic ``--no-...`` left out."""
    groups = {group.title: group._group_actions for group in make_parser(PAGES[page])._action_groups}
    return {
        title: left
        for title, actions in groups.items()
        if (left := [action for action in actions if action.dest not in ("help", "version")])
    }


def table(page, section):
    if section == WITHOUT:
        return settings(page)
    options = {option.path: option for option in PAGES[page].program.options}
    rows = ["| Option | Default | Description |", "|--------|---------|-------------|"]
    for action in sections(page)[section]:
        option = options.get(action.dest)
        metavar = f" {action.metavar}" if action.metavar else ""
        default = value(None if option is None else DEFAULT if option.path == "game.type" else option.default)
        description = action.help if option is None else option.field.description
        rows.append(f"| `{action.option_strings[0]}{metavar}` | {default} | {description} |")
    return "\n".join(rows) + "\n"


def settings(page):
    """Table of the settings of a page without a flag."""
    program = ALL[page].program
    fields = {path: field_of(program.settings, path) for path in paths(program.settings)}
    rows = ["| Setting | Default | Description |", "|---------|---------|-------------|"]
    rows += [
        f"| `{path}` | {value(field.default)} | {field.description} |"
        for path, field in fields.items()
        if path not in {option.path for option in program.options}
    ]
    return "\n".join(rows) + "\n"


def value(default):
    text = shown(default)
    return {"false": "no", "true": "yes"}.get(text, text or "none")


def written(page):
    return {found["section"]: found["table"] for found in MARKED.finditer((DOCS / page).read_text())}


@pytest.mark.parametrize("page", PAGES)
def test_every_section_is_on_its_page(page):
    assert list(written(page)) == [*sections(page), WITHOUT]


@pytest.mark.parametrize(
    ("page", "section"),
    [(page, section) for page in PAGES for section in sections(page)] + [(page, WITHOUT) for page in ALL],
)
def test_tables_are_the_parsers(page, section):
    assert written(page)[section] == table(page, section), "python -m tests.config.test_guide writes it anew"


@pytest.mark.parametrize("page", ["trainer/guide.md", "trainer/troubleshooting.md"])
def test_pages_name_flags_and_settings_that_exist(page):
    text = (DOCS / page).read_text()
    ours = re.findall(r"python scripts/train_self_play\.py((?:[^\n`#]|\\\n)*)", text) + re.findall(
        r"`(--[a-z][^`]*)`", text
    )
    flags = {flag for part in ours for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", part)}
    known = set(make_parser(ppo.command_line("dolphin"))._option_string_actions)
    assert flags - known == set()
    settings = {name for part in ours for name in re.findall(r"--set ([a-z]+\.[a-z_]+)=", part)}
    assert settings - set(paths(ppo.command_line("dolphin").program.settings)) == set()


if __name__ == "__main__":
    for page in ALL:
        (DOCS / page).write_text(
            MARKED.sub(
                lambda found, page=page: (
                    f"<!-- options: {found['section']} -->\n{table(page, found['section'])}<!-- end -->"
                ),
                (DOCS / page).read_text(),
            )
        )
