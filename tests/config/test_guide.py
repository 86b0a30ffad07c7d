"""The tables of the page of settings are those of the parsers. ``python -m tests.config.test_guide`` writes them anew.

The tables of a training have what every game has, and those of a game's the rows that it adds or changes.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from selfplay.cli import imitation, ppo
from selfplay.cli.flags import SETTINGS, CommandLine, make_parser
from selfplay.config.options import field_of, paths, shown
from selfplay.dialogue.cli import flags as dialogue
from selfplay.games.registry import DEFAULT


class Tables(NamedTuple):
    """The tables of a command line, without the rows that are also those of another."""

    command: CommandLine
    base: str | None = None
    named: bool = False  # whether a sentence names the rows that are left out


ROOT = Path(__file__).parents[2]
PAGE = ROOT / SETTINGS
TABLES = {
    "train": Tables(ppo.command_line("kuhn")),
    "fights": Tables(ppo.command_line("dolphin"), "train"),
    "dialogue": Tables(dialogue.COMMAND, "train", named=True),
    "imitate": Tables(imitation.command_of("kuhn"), "train", named=True),
    "replays": Tables(imitation.command_of("mock"), "imitate"),
}
WITHOUT = "Setting without a flag"
ONLY = {"dialogue": [WITHOUT]}  # of a command line of which not all tables are shown
MARKED = re.compile(r"<!-- options: (?P<name>\w+), (?P<section>.+?) -->\n(?P<table>.*?)<!-- end -->", re.DOTALL)


def all_rows(name):
    """Rows by section, in the order of the parser; ``--help``, ``--version`` and the automatic ``--no-...`` left out.

    A flag that gives values to many settings is no row of tables of which no sentence names what is left out.
    """
    command, base, named = TABLES[name]
    groups = {group.title: group._group_actions for group in make_parser(command)._action_groups}
    options = {option.path: option for option in command.program.options}
    found = {
        title: [
            option_row(action, options.get(action.dest))
            for action in actions
            if action.dest not in ("help", "version") and (base is None or named or action.dest in options)
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
    return {title: section for title, section in found.items() if title in ONLY.get(name, found)}


def rows(name):
    """Rows by section that the base has not, without empty sections."""
    known = base_rows(name)
    left = {title: [row for row in section if row not in known] for title, section in all_rows(name).items()}
    return {title: section for title, section in left.items() if section}


def base_rows(name):
    base = TABLES[name].base
    return set() if base is None else {row for section in all_rows(base).values() for row in section}


def option_row(action, option):
    metavar = f" {action.metavar}" if action.metavar else ""
    default = value(None if option is None else DEFAULT if option.path == "game.type" else option.default)
    description = action.help if option is None else option.field.description
    name = "" if option is None else f" `{option.path}`"
    return f"| `{action.option_strings[0]}{metavar}`{name} | {default} | {description} |"


def value(default):
    text = shown(default)
    return {"false": "no", "true": "yes"}.get(text, text or "none")


def table(name, section):
    lines = [f"| {section} | Default | Description |", "|---|---|---|", *rows(name)[section]]
    if TABLES[name].named and (same := [row for row in all_rows(name)[section] if row in base_rows(name)]):
        lines += ["", f"As in training: {', '.join(row.split('|')[1].strip() for row in same)}."]
    return "\n".join(lines) + "\n"


def written():
    """The tables of the page, by command line and section."""
    return {(found["name"], found["section"]): found["table"] for found in MARKED.finditer(PAGE.read_text())}


def test_every_section_is_on_the_page():
    assert list(written()) == [(name, section) for name in TABLES for section in rows(name)]


@pytest.mark.parametrize(("name", "section"), [(name, section) for name in TABLES for section in rows(name)])
def test_tables_are_the_parsers(name, section):
    assert written()[name, section] == table(name, section), "python -m tests.config.test_guide writes it anew"


@pytest.mark.parametrize("name", ["train", "imitate"])
def test_tables_of_the_trainer_have_no_setting_of_a_fight(name):
    text = "".join(table for (which, _), table in written().items() if which == name)
    assert not re.search("melee|dolphin|stage|stock|fight|reward\\.", text, re.IGNORECASE)


@pytest.mark.parametrize("page", ["trainer/guide.md", "trainer/troubleshooting.md", "melee/settings.md"])
def test_pages_name_flags_and_settings_that_exist(page):
    text = (ROOT / "docs" / page).read_text()
    ours = re.findall(r"python scripts/train_self_play\.py((?:[^\n`#]|\\\n)*)", text) + re.findall(
        r"`(--[a-z][^`]*)`", text
    )
    flags = {flag for part in ours for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", part)}
    known = set(make_parser(ppo.command_line("dolphin"))._option_string_actions)
    assert flags - known == set()
    settings = {name for part in ours for name in re.findall(r"--set ([a-z]+\.[a-z_]+)=", part)}
    assert settings - set(paths(ppo.command_line("dolphin").program.settings)) == set()


if __name__ == "__main__":
    PAGE.write_text(
        MARKED.sub(
            lambda found: (
                f"<!-- options: {found['name']}, {found['section']} -->\n"
                f"{table(found['name'], found['section'])}<!-- end -->"
            ),
            PAGE.read_text(),
        )
    )
