"""The option tables of the pages are those of the parsers. ``python -m tests.config.test_guide`` writes them anew.

Pages of the trainer have what every game has, and pages of a game the rows that it adds or changes.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from selfplay.cli import imitation, ppo
from selfplay.cli.flags import CommandLine, make_parser
from selfplay.config.options import field_of, paths, shown
from selfplay.dialogue.cli import flags as dialogue
from selfplay.games.registry import DEFAULT


class Page(NamedTuple):
    """A page with tables of a command line, without the rows that those of another page are."""

    command: CommandLine
    base: str | None = None


DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "trainer/guide.md": Page(ppo.command_line("kuhn")),
    "melee/settings.md": Page(ppo.command_line("dolphin"), "trainer/guide.md"),
    "trainer/imitation.md": Page(imitation.command_of("kuhn")),
    "melee/imitation.md": Page(imitation.command_of("mock"), "trainer/imitation.md"),
    "dialogue/dialogue.md": Page(dialogue.COMMAND),
}
WITHOUT = "settings without a flag"
ONLY = {"dialogue/dialogue.md": [WITHOUT]}  # tables of a page that has not all
MARKED = re.compile(r"<!-- options: (?P<section>.+?) -->\n(?P<table>.*?)<!-- end -->", re.DOTALL)


def rows(page):
    """Rows by section, in the order of the parser; ``--help``, ``--version`` and the automatic ``--no-...`` left out.

    A flag that gives values to many settings is no row of a page with a base, which says the same of it.
    """
    command, base = PAGES[page]
    groups = {group.title: group._group_actions for group in make_parser(command)._action_groups}
    options = {option.path: option for option in command.program.options}
    found = {
        title: [
            option_row(action, options.get(action.dest))
            for action in actions
            if action.dest not in ("help", "version") and (base is None or action.dest in options)
        ]
        for title, actions in groups.items()
    }
    found[WITHOUT] = [
        f"| `{path}` | {value(field.default)} | {field.description} |"
        for path, field in {
            path: field_of(command.program.settings, path) for path in paths(command.program.settings)
        }.items()
        if path not in options
    ]
    known = set() if base is None else {row for section in rows(base).values() for row in section}
    left = {title: [row for row in section if row not in known] for title, section in found.items()}
    return {title: section for title, section in left.items() if section and title in ONLY.get(page, left)}


def option_row(action, option):
    metavar = f" {action.metavar}" if action.metavar else ""
    default = value(None if option is None else DEFAULT if option.path == "game.type" else option.default)
    description = action.help if option is None else option.field.description
    return f"| `{action.option_strings[0]}{metavar}` | {default} | {description} |"


def value(default):
    text = shown(default)
    return {"false": "no", "true": "yes"}.get(text, text or "none")


def table(page, section):
    head = "Setting" if section == WITHOUT else "Option"
    return "\n".join([f"| {head} | Default | Description |", "|---|---|---|", *rows(page)[section]]) + "\n"


def written(page):
    return {found["section"]: found["table"] for found in MARKED.finditer((DOCS / page).read_text())}


@pytest.mark.parametrize("page", PAGES)
def test_every_section_is_on_its_page(page):
    assert list(written(page)) == list(rows(page))


@pytest.mark.parametrize(("page", "section"), [(page, section) for page in PAGES for section in rows(page)])
def test_tables_are_the_parsers(page, section):
    assert written(page)[section] == table(page, section), "python -m tests.config.test_guide writes it anew"


@pytest.mark.parametrize("page", ["trainer/guide.md", "trainer/imitation.md"])
def test_tables_of_the_trainer_have_no_setting_of_a_fight(page):
    text = "".join(written(page).values())
    assert not re.search("melee|dolphin|stage|stock|fight|reward\\.", text, re.IGNORECASE)


@pytest.mark.parametrize("page", ["trainer/guide.md", "trainer/troubleshooting.md", "melee/settings.md"])
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
    for page in PAGES:
        (DOCS / page).write_text(
            MARKED.sub(
                lambda found, page=page: (
                    f"<!-- options: {found['section']} -->\n{table(page, found['section'])}<!-- end -->"
                ),
                (DOCS / page).read_text(),
            )
        )
