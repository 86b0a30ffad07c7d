"""Figure tables are made once, and again where what was kept is damaged."""

import numpy as np
import pytest

from selfplay_melee.browser import figures
from selfplay_melee.tables import CHARACTERS

FOX = [CHARACTERS["fox"]]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a count of the tables that were made."""
    made = []
    table = {"figures": np.arange(6, dtype=np.int16).reshape(1, 3, 2), "first": np.ones((1, 4), np.uint16)}
    monkeypatch.setattr(figures, "cache_folder", lambda package: tmp_path)
    monkeypatch.setattr(figures, "move_tables", lambda characters: made.append(characters) or table)
    return tmp_path, made, table


def check(found, table):
    assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
        name: (array.dtype, array.tolist()) for name, array in table.items()
    }


def test_they_are_made_once(cache):
    folder, made, table = cache
    for _ in range(2):
        check(figures.kept_move_tables(FOX), table)
    assert made == [FOX]
    assert len(list(folder.iterdir())) == 1
    figures.kept_move_tables([*FOX, CHARACTERS["marth"]])
    assert len(made) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"no zip at all", "half", "other byte"])
def test_damaged_ones_are_made_again(cache, damage):
    folder, made, table = cache
    figures.kept_move_tables(FOX)
    (path,) = folder.iterdir()
    content = path.read_bytes()
    if damage == "half":
        damage = content[: len(content) // 2]
    elif damage == "other byte":
        at = content.index(table["figures"].tobytes())
        damage = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    path.write_bytes(damage)
    check(figures.kept_move_tables(FOX), table)
    assert len(made) == 2


def test_without_a_cache_they_are_made_each_time(cache, monkeypatch):
    _, made, table = cache
    monkeypatch.setattr(figures, "cache_folder", lambda package: None)
    for _ in range(2):
        check(figures.kept_move_tables(FOX), table)
    assert len(made) == 2


def test_a_full_disk_costs_nothing(cache, monkeypatch):
    _, _, table = cache
    monkeypatch.setattr(np, "savez", lambda *_, **__: (_ for _ in ()).throw(OSError("no space")))
    check(figures.kept_move_tables(FOX), table)
