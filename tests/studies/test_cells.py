import json

import pytest

from scripts.studies.cells import Cells
from selfplay.errors import ConfigError


def test_a_cell_is_measured_once(tmp_path):
    cells = Cells(tmp_path / "out" / "study.json")
    assert cells.read(["a"]) == []
    cells.make("a", lambda: {"steps": 1})
    cells.make("a", lambda: pytest.fail("measured again"))
    cells.make("b-1", lambda: {"steps": 2})
    assert cells.read(["b-1", "missing", "a"]) == [{"steps": 2}, {"steps": 1}]
    assert (cells.names("*"), cells.names("*-*")) == (["a", "b-1"], ["b-1"])


def test_all_are_in_one_file_by_name(tmp_path):
    cells = Cells(tmp_path / "study.json")
    for name in ("b", "c", "a"):
        cells.write(name, {"steps": 1})
    cells.remove("c")
    cells.remove("missing")
    assert cells.names("*") == ["a", "b"]
    assert [*json.loads((tmp_path / "study.json").read_text()).items()] == [("a", {"steps": 1}), ("b", {"steps": 1})]


def test_a_cell_may_remove_another_one(tmp_path):
    cells = Cells(tmp_path / "study.json")
    cells.write("old", {})
    cells.make("new", lambda: cells.remove("old") or {})
    assert cells.names("*") == ["new"]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(ConfigError, match=r"study\.json is no file of cells"):
        Cells(tmp_path / "study.json").names("*")


def test_a_measurement_that_fails_leaves_no_cell(tmp_path):
    cells = Cells(tmp_path / "study.json")
    with pytest.raises(ZeroDivisionError):
        cells.make("a", lambda: {"steps": 1 // 0})
    with pytest.raises(TypeError):
        cells.make("a", lambda: {"steps": object()})
    assert list(tmp_path.iterdir()) == []
