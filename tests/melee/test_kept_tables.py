"""Tables in the file that a start reads, beside the TOML files."""

import numpy as np
import pytest

from selfplay_melee import tables
from selfplay_melee.tables import kept, load_tables


@pytest.fixture
def own():
    return kept.Kept(load_tables(), tables.CHARACTERS, tables.STAGES)


def test_what_is_kept_is_equal_to_the_last_byte(own, tmp_path):
    kept.keep(tmp_path / "tables.npz", own)
    found = kept.kept_in(tmp_path / "tables.npz")
    built = tables._build(*tables._read(tables._FOLDER))
    for made in (own.tables, found.tables):
        assert made.dtype == built.dtype
        assert made.dtype.isalignedstruct == built.dtype.isalignedstruct
        assert all(np.array_equal(made[name], built[name]) for name in built.dtype.names)
        assert made.tobytes() == built.tobytes()
    assert (found.characters, found.stages) == (own.characters, own.stages)
    assert [*found.characters] == [*own.characters]


@pytest.mark.parametrize("content", [b"", b"torn", None], ids=["empty", "torn", "half"])
def test_a_file_that_cannot_be_read_is_as_good_as_none(own, tmp_path, content):
    path = tmp_path / "tables.npz"
    assert kept.kept_in(path) is None
    kept.keep(path, own)
    path.write_bytes(path.read_bytes()[:-2000] if content is None else content)
    assert kept.kept_in(path) is None


def test_an_edited_file_is_another_name(tmp_path):
    (tmp_path / "characters").mkdir()
    names = set()
    for text in ("a = 1", "a = 2"):
        (tmp_path / "characters" / "fox.toml").write_text(text)
        names.add(kept.place(tmp_path))
    assert len(names) == 2


def test_tables_with_a_file_that_cannot_be_read_are_not_kept(tmp_path, monkeypatch):
    path = tmp_path / "tables.npz"
    monkeypatch.setattr(tables, "place", lambda folder: path)
    monkeypatch.setattr(tables, "names_of", lambda kind: ("one more",))
    assert tables._own.__wrapped__().characters == tables.CHARACTERS
    assert not path.exists()
