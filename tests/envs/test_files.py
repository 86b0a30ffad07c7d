import pytest

from envs.files import MAX_TOML_BYTES, parse_toml


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
    monkeypatch.setattr("envs.files.tomllib", None)
    with pytest.raises(ValueError, match=words):
        parse_toml(data)


def test_what_people_write_is_read():
    assert parse_toml(b"[a.b]\nc.d = 1.5\ne = [" + b"1.25, " * 500 + b"]")["a"]["b"]["c"] == {"d": 1.5}
