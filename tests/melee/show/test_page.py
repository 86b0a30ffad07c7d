import base64
import hashlib
import json
from html.parser import HTMLParser

import numpy as np
import pytest

from selfplay.errors import ConfigError
from selfplay_melee.drawing.columns import FIGURE_UNIT, UNIT
from selfplay_melee.drawing.film import film_of
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.show.page import page, write_html
from tests.melee.drawing.fights import film, replay

HOSTILE = ("</script><script>alert(1)</script>", "\"'><img src=x onerror=alert(1)> & ${title} \u2028 <!--")


class Parsed(HTMLParser):
    """Elements with their attributes, and the text inside each kind of element."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open = (tag, dict(attributes).get("type", ""))
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[self.open] = self.texts.get(self.open, "") + data

    @property
    def film(self):
        return json.loads(self.texts["script", "application/json"])


def column(parsed, name, dtype):
    return np.frombuffer(base64.b64decode(parsed.film["columns"][name]["data"]), dtype)


def test_the_page_has_everything_in_it():
    parsed = Parsed(page(film(10)))
    links = [
        value for _, attributes in parsed.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert links == ["data:,"]
    for kind in (("style", ""), ("script", "module")):
        assert "url(" not in parsed.texts[kind]
        assert "http" not in parsed.texts[kind]


def test_only_the_page_s_own_script_may_run():
    parsed = Parsed(page(film(10)))
    (policy,) = [a["content"] for tag, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    for kind in (("style", ""), ("script", "module")):
        digest = base64.b64encode(hashlib.sha256(parsed.texts[kind].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_names_of_a_replay_are_text_and_nothing_else():
    plain, hostile = (Parsed(page(film_of(replay(10, names=names)))) for names in (("a", "b"), HOSTILE))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert hostile.texts["script", "module"] == plain.texts["script", "module"]
    assert hostile.film["names"] == list(HOSTILE)
    assert hostile.texts["title", ""] == " vs ".join(HOSTILE)


def test_columns_are_the_scene_in_small_whole_numbers():
    made = film(120, values=lambda frame: (frame / 10, -frame / 10))
    scene, parsed = scene_of(made), Parsed(page(made))
    x = column(parsed, "x", "<i2").reshape(-1, 2) / UNIT
    np.testing.assert_allclose(x, scene.shots["x"], atol=0.51 / UNIT)
    figures = column(parsed, "figures", "<i2").reshape(scene.figures.shape) / FIGURE_UNIT
    np.testing.assert_allclose(figures, scene.figures, atol=0.51 / FIGURE_UNIT)
    np.testing.assert_array_equal(column(parsed, "figure", "<u2").reshape(-1, 2), scene.shots["figure"])
    np.testing.assert_array_equal(column(parsed, "values", "<f4").reshape(-1, 2), made.values)
    assert column(parsed, "main_x", "i1").reshape(-1, 2)[119].tolist() == [127, 0]
    assert column(parsed, "buttons", "<u2").reshape(-1, 2)[119].tolist() == [1, 0]
    assert column(parsed, "percent", "<u2").max() == 0
    assert parsed.film["highest_value"] == pytest.approx(11.9)


def test_what_is_not_known_is_absent():
    parsed = Parsed(page(film(10)))
    assert parsed.film["columns"]["values"] is None
    assert parsed.film["platforms"] == 0


@pytest.mark.full
def test_a_game_of_three_minutes_is_a_small_page(tmp_path):
    def change(now, frame):
        now.players[0, :]["action"] = 20 + frame // 200
        now.players[0, :]["action_frame"] = frame % 200

    path = tmp_path / "fight.html"
    assert write_html(film(10_000, change=change), path) == path.stat().st_size < 2_000_000
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ConfigError, match="cannot write"):
        write_html(film(2), path / "inside a file.html")
