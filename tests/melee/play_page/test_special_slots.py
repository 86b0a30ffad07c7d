"""The table of special moves in the documents is that of the characters' tables.

``python -m tests.melee.play_page.test_special_slots`` writes it anew.
"""

import re
from pathlib import Path

import pytest

from selfplay_melee.play_page.special_slots import DIRECTIONS, NEVER, SLOTS, STARTS, slots_table, special_slots
from selfplay_melee.tables import CHARACTERS, load_tables, names_of

PAGE = Path(__file__).parents[3] / "docs" / "melee" / "internals" / "mock_melee.md"
MARKED = re.compile(r"(?<=<!-- special moves -->\n).*?(?=<!-- end -->)", re.DOTALL)


def test_the_table_of_the_page_is_that_of_the_characters():
    assert MARKED.findall(PAGE.read_text()) == [slots_table()], (
        "python -m tests.melee.play_page.test_special_slots writes it"
    )


def test_all_characters_and_slots_are_in_the_table():
    rows = [line.strip("|").split("|") for line in slots_table().splitlines()[2:]]
    assert [row[0] for row in rows] == list(names_of("characters"))
    assert {len(row) for row in rows} == {1 + len(DIRECTIONS)}
    cells = [cell for row in rows for direction in row[1:] for cell in direction.split("/")]
    assert len(cells) == 18 * 8
    assert set(cells) == {"yes", "–", "×"}


@pytest.mark.parametrize("name", ["fox", "dk"])
def test_slots_are_those_of_the_characters(name):
    tables = load_tables()
    row = tables.characters[tables.character_rows[CHARACTERS[name]]]
    found = special_slots(name)
    assert [slot == STARTS for slot in found] == [row[slot] > 0 for slot in SLOTS]
    assert (found[SLOTS.index("down_air")] == NEVER) == (name == "dk")


if __name__ == "__main__":
    PAGE.write_text(MARKED.sub(lambda _: slots_table(), PAGE.read_text()))
