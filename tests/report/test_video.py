import sys

import numpy as np
import pytest
from PIL import Image

from envs.melee.drawing.picture import Painter
from envs.melee.drawing.scene import scene_of
from selfplay.errors import ConfigError
from selfplay.report.fight.saving import saved
from selfplay.report.fight.video import write_gif, write_mp4
from tests.envs.melee.drawing.fights import film


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


def test_mp4(tmp_path):
    av = pytest.importorskip("av", reason="PyAV is not installed: pip install -e '.[video]'")
    path = tmp_path / "fight.mp4"
    made = film(30)
    size = write_mp4(made, path, fps=30, size=(320, 180))
    assert list(tmp_path.iterdir()) == [path]
    assert size == path.stat().st_size
    with av.open(str(path)) as video:
        stream = video.streams.video[0]
        pictures = [frame.to_ndarray(format="rgb24") for frame in video.decode(stream)]
        assert (stream.width, stream.height, float(stream.average_rate)) == (320, 180, 30)
    assert len(pictures) == 15
    drawn = np.asarray(Painter(scene_of(made), (320, 180)).picture(28)).astype(int)
    assert np.abs(pictures[14] - drawn).mean() < 8


def test_without_pyav_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[video\]'"):
        write_mp4(film(5), tmp_path / "fight.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [write_gif, write_mp4])
def test_a_place_that_cannot_be_written_to(tmp_path, write):
    if write is write_mp4:
        pytest.importorskip("av", reason="PyAV is not installed: pip install -e '.[video]'")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        write(film(2), tmp_path / "file" / "inside a file.gif")


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
