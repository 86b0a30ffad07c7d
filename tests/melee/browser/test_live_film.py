"""Films that JavaScript records moment by moment, in node, against the scene of the same fight in Python."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee import browser
from selfplay_melee.browser.figures import FRAMES, move_tables
from selfplay_melee.browser.scene import SCRIPTS, scene_facts
from selfplay_melee.drawing import moves
from selfplay_melee.drawing.camera import follow
from selfplay_melee.drawing.columns import FIGURE_UNIT, columns_of, whole
from selfplay_melee.drawing.film import ITEM, Recorder
from selfplay_melee.drawing.items import LASER, THING, drawn_as, shots_of
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.drawing.story import losses
from selfplay_melee.mock import MockMelee
from selfplay_melee.tables import CHARACTERS
from tests.melee.drawing import fights
from tests.support.node import gather, needs_node, run_node

MODULES = [Path(browser.__file__).parent / name for name in SCRIPTS if name != "moment.js"]
MOMENT = Path(browser.__file__).parent / "moment.js"
HERE = Path(__file__).parent
WATCHED = 400  # moments whose live camera is compared
# Sums are made in another order, and arc tangents by another library: one step of these columns.
ROUNDED = {"camera": 1, "item_way": 1}
PAIRS = {
    "final_destination": ("fox", "falco"),
    "battlefield": ("marth", "fox"),
    "yoshis_story": ("jigglypuff", "sheik"),
    "fountain_of_dreams": ("pikachu", "cptfalcon"),
    "dreamland": ("ness", "dk"),
    "pokemon_stadium": ("falco", "mewtwo"),
}


def fight_of(stage, frames):
    """A film of two scripted players, up to the end of the game."""
    game, recorder = MockMelee(1, characters=PAIRS[stage], stage=stage, frame_skip=1), Recorder()
    game.bots[:] = 6, 5
    game.reset(np.array([3]))
    values = np.random.default_rng(1).normal(size=(frames, 2)).astype(np.float32)
    for t in range(frames):
        recorder.take(game.state, values[t], shots_of(game.memory[0]))
        batch = game.step(np.zeros((1, 2, 14), np.int8))
        if batch.terminated.any() or batch.truncated.any():
            break
    return recorder.film("fight", fights.NAMES)


def as_moments(film, items):
    """What ``LiveFilm.record`` takes, for each moment."""

    def rows(records):
        return [dict(zip(records.dtype.names, record.tolist(), strict=True)) for record in records]

    seen = [[] for _ in film.frames]
    for item, kind in zip(items, drawn_as(items)["kind"].tolist(), strict=True):  # all of the mock are seen
        seen[item["t"]].append({"kind": kind} | {name: float(item[name]) for name in ("x", "y", "vx", "vy")})
    return [
        {
            "frame": int(film.frames[t]),
            "players": rows(film.players[t]),
            "controllers": rows(film.controllers[t]),
            "heights": None if film.platforms is None else film.platforms[t].tolist(),
            "items": seen[t],
            "values": film.values[t].tolist() if film.values is not None else None,
        }
        for t in range(len(film))
    ]


def record(folder, film):
    """The film that node makes of the moments of another one, and the tables that it draws from."""
    script = gather(folder, *MODULES, HERE / "save.js", HERE / "record.js")
    characters = sorted(set(film.players["character"].ravel().tolist()))
    tables = move_tables(characters)
    fight = {
        "stage": film.stage,
        "characters": film.players["character"][0].tolist(),
        "names": film.names,
        "title": film.title,
        "values": film.values is not None,
    }
    items = film.items if film.items is not None else np.zeros(0, ITEM)
    about = {
        "facts": scene_facts(characters, [film.stage]),
        "tables": {name: table.ravel().tolist() for name, table in tables.items()},
        "fight": fight,
        "moments": as_moments(film, items),
    }
    (folder / "fight.json").write_text(json.dumps(about))
    run_node(script, folder)
    return json.loads((folder / "film.json").read_text()), tables


def circles_by_moment(columns):
    """The circles of each player at each moment."""
    bounds = np.asarray(columns["circles_at"])
    circle = np.asarray(columns["circle"]).reshape(-1, 3)
    return [circle[bounds[i] : bounds[i + 1]].tolist() for i in np.asarray(columns["circles"]).ravel()]


def assert_same_film(found, tables, film, rounded=ROUNDED):
    """The film that node has made is ``film``, but for as much as ``rounded`` says of a column."""
    expected = columns_of(scene_of(film))
    figures = expected.pop("figures")[expected.pop("figure")]
    drawn = tables["figures"][found["figure"]].reshape(figures.shape)
    early = film.players["action_frame"] < FRAMES
    np.testing.assert_array_equal(drawn[early], figures[early])
    np.testing.assert_allclose(drawn, figures, atol=1)  # by half a frame of a player who stands and waits
    assert circles_by_moment(found) == circles_by_moment(expected)
    for name in expected.keys() - {"circle", "circles", "circles_at"}:
        column = np.asarray(expected[name], np.float64).ravel()
        column_found = np.asarray(found[name], np.float64)  # JSON has null for NaN
        np.testing.assert_allclose(column_found, column, rtol=0, atol=rounded.get(name, 0), err_msg=name)
    assert found["losses"] == [[loss.t, loss.seat] for loss in losses(film)]


def live_cameras(scene):
    """Whole pictures of the first moments: each a quarter of the way to that of a film that ends there."""
    film, gone, pictures = scene.film, scene.shots["gone"], []
    for t in range(WATCHED):
        so_far = replace(film, frames=film.frames[: t + 1], players=film.players[: t + 1])
        target = follow(so_far, scene.scenery, gone[: t + 1])[t].astype(np.float64)
        pictures.append(pictures[-1] + 0.25 * (target - pictures[-1]) if t else target)
    return whole(np.stack(pictures))


@pytest.mark.full
@needs_node
@pytest.mark.parametrize(
    "stage", [stage if stage == "yoshis_story" else pytest.param(stage, marks=pytest.mark.full) for stage in PAIRS]
)
def test_a_recorded_film_is_that_of_python(tmp_path, stage):
    film = fight_of(stage, 3600)
    found, tables = record(tmp_path, film)
    assert_same_film(found, tables, film)
    assert max(found["move"]), "the test needs a fight with a move"
    assert found["losses"], "the test needs a fight in which a stock is lost"
    np.testing.assert_allclose(np.reshape(found["live"], (-1, 3))[:WATCHED], live_cameras(scene_of(film)), atol=1)


@pytest.mark.parametrize("character", ["mewtwo", pytest.param("ness", marks=pytest.mark.full)])
def test_tables_have_the_figure_and_circles_of_every_frame(character):
    fox, other = CHARACTERS["fox"], CHARACTERS[character]
    tables = move_tables([fox, other])
    circles = {"circle": tables["circle"], "circles_at": tables["circles_at"]}
    for action in range(tables["first"].shape[1]):
        first, count = (int(tables[name][1, action]) for name in ("first", "count"))
        rows = first + np.minimum(np.arange(FRAMES), count - 1)
        hits = circles_by_moment(circles | {"circles": tables["row_circles"][rows]})
        for frame in (0, 1, 7, 11, 13, 20, 41, FRAMES - 1):
            move = moves.Move(other, action, frame)
            np.testing.assert_array_equal(
                tables["figures"][tables["row_figure"][rows[frame]]], whole(moves.figure(move), FIGURE_UNIT)
            )
            assert hits[frame] == whole(moves.circles(move)).tolist()


@pytest.mark.full
def test_tables_of_three_characters_are_small():
    tables = move_tables([CHARACTERS[name] for name in ("mewtwo", "fox", "marth")])
    assert len({row.tobytes() for row in tables["figures"]}) == len(tables["figures"])
    assert len(gzip.compress(b"".join(table.tobytes() for table in tables.values()))) < 220_000


@needs_node
def test_a_moment_is_read_from_the_rules(tmp_path):
    """With the same calls as those of rules.js: ``get`` and ``numbers`` by path, index and field."""
    script = gather(tmp_path, MOMENT, HERE / "read.js")
    moment = json.loads(run_node(script))
    assert (moment["frame"], moment["heights"], moment["values"]) == (7, [20.5, 28], [0.25, -0.5])
    assert [player["x"] for player in moment["players"]] == [-3, 4]
    assert [pad["buttons"] for pad in moment["controllers"]] == [1, 2]
    assert moment["items"] == [
        {"kind": THING, "x": 1, "y": 11, "vx": 21, "vy": 31},
        {"kind": LASER, "x": 2, "y": 12, "vx": 22, "vy": 32},
    ]
