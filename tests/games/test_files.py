import codecs

import pytest

from selfplay.games.files import MAX_TOML_BYTES, NotPlain, parse_json, parse_toml, read_plain
from tests.support.fakes import LFS_POINTER


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a." * 5000 + b"a = 1", "nested too deeply"),
        (b"x = {" + b"'a' . " * 5000 + b"a = 1}", "nested too deeply"),
        (b"[" + b"a." * 5000 + b"a]", "nested too deeply"),
        (b"#" * (MAX_TOML_BYTES + 1), "the limit is"),
    ],
)
def test_toml_that_would_take_long_is_refused_before_it_is_read(data, words, monkeypatch):
    monkeypatch.setattr("selfplay.games.files.tomllib", None)
    with pytest.raises(ValueError, match=words):
        parse_toml(data)


def test_what_people_write_is_read():
    assert parse_toml(b"[a.b]\nc.d = 1.5\ne = [" + b"1.25, " * 500 + b"]")["a"]["b"]["c"] == {"d": 1.5}


@pytest.mark.parametrize(("parse", "text"), [(parse_toml, "a = 1"), (parse_json, '{"a": 1}')])
def test_a_byte_order_mark_is_no_part_of_the_text(parse, text):
    assert parse(codecs.BOM_UTF8 + text.encode()) == {"a": 1}
    with pytest.raises(ValueError, match="the text is UTF-16; save it as UTF-8"):
        parse(text.encode("utf-16"))


@pytest.mark.parametrize("data", [b"PK\x03\x04\xcb", b"<html>"])
@pytest.mark.parametrize("parse", [parse_toml, parse_json])
def test_archives_and_web_pages_are_named(parse, data):
    with pytest.raises(ValueError, match=r"it is a (zip archive: unpack|web page: download)"):
        parse(data)


def test_a_pointer_of_git_lfs_is_no_file_to_read(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(LFS_POINTER)
    with pytest.raises(NotPlain, match="is a Git LFS pointer in place of the file; run `git lfs pull`"):
        read_plain(path, 1000)
