import json

import pytest

from scripts.studies.cells import Cells
from selfplay.errors import ConfigError


def test_a_cell_is_measured_once(tmp_path):
    cells = Cells(tmp_path / "out")
    assert cells.read(["a"]) == []
    assert cells.make("a", lambda: {"steps": 1})
    assert not cells.make("a", lambda: pytest.fail("measured again"))
    assert cells.make("sub/b", lambda: {"steps": 2})
    assert cells.read(["sub/b", "missing", "a"]) == [{"steps": 2}, {"steps": 1}]
    assert (cells.names("*"), cells.names("*/*")) == (["a"], ["sub/b"])


def test_a_measurement_that_fails_leaves_no_cell(tmp_path):
    cells = Cells(tmp_path)
    with pytest.raises(ZeroDivisionError):
        cells.make("a", lambda: {"steps": 1 // 0})
    with pytest.raises(TypeError):
        cells.make("a", lambda: {"steps": object()})
    assert list(tmp_path.iterdir()) == []


def test_a_cell_of_other_settings_is_refused(tmp_path):
    cells = Cells(tmp_path)
    cells.path("a").write_text(json.dumps({"steps": 1, "games": 2}))
    assert not cells.make("a", dict, {"steps": 1})
    with pytest.raises(ConfigError, match=r"a\.json was measured with other steps, seed; move it away"):
        cells.make("a", dict, {"steps": 2, "games": 2, "seed": 0})
