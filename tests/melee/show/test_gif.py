import numpy as np
import pytest
from PIL import Image

from selfplay.errors import ConfigError
from selfplay.report.saving import saved
from selfplay_melee.drawing.picture import Painter
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.show.gif import write_gif
from tests.melee.drawing.fights import film


def test_gif(tmp_path):
    path = tmp_path / "fight.gif"
    made = film(120)
    size = write_gif(made, path, fps=20, size=(640, 360))
    assert list(tmp_path.iterdir()) == [path]
    assert size == path.stat().st_size < 300_000
    with Image.open(path) as gif:
        assert gif.n_frames == 40
        assert gif.info["duration"] == 50
        assert gif.info["loop"] == 0
        gif.seek(39)
        shown = np.asarray(gif.convert("RGB")).astype(int)
    drawn = np.asarray(Painter(scene_of(made), (640, 360)).picture(117))
    assert np.abs(shown - drawn).mean() < 3


def test_a_place_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        write_gif(film(2), tmp_path / "file" / "inside a file.gif")


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "a.txt"

    def fail():
        with saved(path) as temporary:
            temporary.write_text("half")
            raise OSError("the disk is full")

    with pytest.raises(ConfigError, match="the disk is full"):
        fail()
    assert list(path.parent.iterdir()) == []
    with saved(path) as temporary:
        temporary.write_text("whole")
    assert path.read_text() == "whole"
