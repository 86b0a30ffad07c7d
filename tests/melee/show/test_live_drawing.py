"""A film that JavaScript recorded is drawn in a real browser as that of Python is."""

from importlib import resources

import numpy as np
import pytest

from selfplay.report.standalone_page import read_modules, standalone_page, theme
from selfplay_melee.browser.figures import move_tables
from selfplay_melee.browser.scene import SCRIPTS, scene_facts
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.show.page import document, packed, player
from tests.melee.browser.test_live_film import as_moments, fight_of
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
PAGE = """<!doctype html><html lang="en"><head><meta http-equiv="Content-Security-Policy" content="$policy">
<title>two films</title><style>$style</style></head><body>$player $data<script type="module">$script</script></body>
</html>"""
DRAW = """
const recorded = JSON.parse(document.getElementById("fight").textContent);
const tables = Object.fromEntries(Object.entries(recorded.tables).map(([name, table]) => [name, numbers(table)]));
const film = new LiveFilm(recorded.facts, tables, recorded.fight);
for (const moment of recorded.moments) film.record(moment);
film.finish();
const other = readFilm(document.getElementById("film").textContent);
const picture = (of, t) => {
  const canvas = new OffscreenCanvas(640, 360);
  new Stage(canvas, of).draw(t);
  return canvas.getContext("2d").getImageData(0, 0, 640, 360).data;
};
globalThis.differences = (t) => {
  const [a, b] = [film, other].map((of) => picture(of, t));
  let differing = 0;
  for (let i = 0; i < a.length; i++) if (Math.abs(a[i] - b[i]) > 8) differing++;
  return differing / a.length;
};
new Player(document).open(film);
document.body.dataset.ready = "true";
"""


def test_both_films_give_the_same_pictures(browser, tmp_path):  # noqa: F811
    film = fight_of("yoshis_story", 900)
    characters = sorted(set(film.players["character"].ravel().tolist()))
    fight = {
        "facts": scene_facts(characters, [film.stage]),
        "tables": {name: packed(table) for name, table in move_tables(characters).items()},
        "fight": {
            "stage": film.stage,
            "characters": film.players["character"][0].tolist(),
            "names": film.names,
            "title": film.title,
            "values": True,
        },
        "moments": as_moments(film, film.items),
    }
    parts = player("h1")
    script = parts.script + read_modules(resources.files("selfplay_melee.browser"), *SCRIPTS) + DRAW
    path = tmp_path / "films.html"
    data = {"fight": fight, "film": document(film)}
    path.write_text(standalone_page(PAGE, theme() + parts.style, script, data, player=parts.html))
    page, errors = browser.new_page(), []
    page.set_default_timeout(LIMIT_MS)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(path.as_uri())
    page.locator("body[data-ready]").wait_for(state="attached")
    calm = np.flatnonzero(~scene_of(film).shots["sparks"].any(1))  # sparks turn with the number of a figure
    for t in calm[:: len(calm) // 12].tolist():
        assert page.evaluate("t => differences(t)", t) < 0.001, t
    page.locator("#seek").fill("500")  # the player takes it as it takes any film
    page.locator('#player[data-frame="500"]').wait_for()
    assert not errors
