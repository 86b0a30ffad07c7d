"""Importing move data: what is generated, what stands by hand, and the command line."""

import copy
import csv
import json
import re
import tomllib
from pathlib import Path

import pytest

from scripts.studies.import_character import main
from selfplay_melee import actions as a
from selfplay_melee.errors import TableError
from selfplay_melee.tables import importer

ROOT = Path(__file__).resolve().parents[2]
FOX = ROOT / "envs/selfplay_melee/tables/characters/fox.toml"
HIT = {"damage": 4, "angle": 70, "kbGrowth": 100, "baseKb": 5, "weightDepKb": 0, "element": "normal"}
MOVES = {
    "jab1": {
        "totalFrames": 6,
        "iasa": 5,
        "hitFrames": [{"start": 2, "end": 3, "hitboxes": [0, 1]}],
        "hitboxes": [HIT, {**HIT, "damage": 9, "element": "electric"}],
    },
    "uthrow": {
        "totalFrames": 20,
        "throw": {**HIT, "baseKb": 18, "element": 12},
        "hitFrames": [{"start": 5, "end": 5, "hitboxes": [0]}],
        "hitboxes": [HIT],
    },
}
TRACTION = 0.08
COLUMNS = ("character", "action", "frame", "locomotion_x", "locomotion_y", "facing_changed")
CIRCLES = tuple(f"hitbox_{i}_{what}" for i in range(1, 5) for what in ("status", "size", "x", "y"))
HAND = """[character]
id = 1  # kept

[attributes]
traction = 0.08

[import.releases]
throw_u = {release}

[actions.jab_1]
iasa = 4  # this wins

"""


def frame(action, number, circles=(), x=0.0, turned=False):
    row = dict.fromkeys((*COLUMNS, *CIRCLES), 0) | {"character": 1, "action": action, "frame": number}
    row |= {"locomotion_x": x, "facing_changed": turned}
    for i in range(4):
        row[f"hitbox_{i + 1}_status"] = i < len(circles)
        if i < len(circles):
            row |= dict(zip(CIRCLES[4 * i + 1 : 4 * i + 4], circles[i], strict=True))
    return row


@pytest.fixture
def frames(tmp_path):
    """A frame table: a jab with two circles, a roll that turns around and another character's jab."""
    rows = [frame(a.JAB_1, i, [(3.0, 5.0 + i, 8.0), (2.0, 9.0, 8.0)] if i in (2, 3) else (), 0.5) for i in range(1, 7)]
    rows += [frame(a.ROLL_F, i, x=2.0, turned=i >= 3) for i in range(1, 5)]
    rows += [frame(a.JAB_1, 2, [(99.0, 0.0, 0.0)]) | {"character": 2}]
    path = tmp_path / "framedata.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, (*COLUMNS, *CIRCLES))
        writer.writeheader()
        writer.writerows(rows)
    return path


def release_in(text):
    """The hint as this version of the files writes it."""
    return re.search(r"^throw_u = (.*)$", text, re.MULTILINE).group(1)


@pytest.fixture
def hand():
    return HAND.format(release=release_in(FOX.read_text()))


def test_what_stands_above_the_mark_is_kept_and_a_second_run_changes_nothing(hand, frames):
    once = importer.renew(hand, "fox.toml", MOVES, frames)
    assert once.startswith(hand.rstrip("\n"))
    assert once.count(importer.MARK) == 1
    assert importer.renew(once, "fox.toml", MOVES, frames) == once
    assert "# this wins" in once


def test_circles_motions_and_figures_come_together(frames):
    made = importer.convert(MOVES, importer.read_frames(frames, 1), importer.Hints({}, {}), TRACTION)
    jab = made["jab_1"]
    assert (jab["frames"], jab["iasa"]) == (6, 5)
    assert jab["motion"] == [[0.5, 0.0]] * 6
    first, second = jab["hits"]
    assert (first["start"], first["end"], first["radius"], first["damage"]) == (2, 3, 3.0, 4)
    assert first["path"] == [[7.0, 8.0], [8.0, 8.0]]
    assert (second["damage"], second["electric"]) == (9, 1)
    assert "electric" not in first
    assert made["roll_f"]["turns"] == 3
    assert made["roll_f"]["motion"] == [[2.0, 0.0]] * 2 + [[-2.0, 0.0]] * 2


def test_hints_say_which_figures_a_circle_takes(frames):
    made = importer.convert(MOVES, importer.read_frames(frames, 1), importer.Hints({"jab_1": [1, 0]}, {}), TRACTION)
    assert [hit["damage"] for hit in made["jab_1"]["hits"]] == [9, 4]


def test_special_moves_have_numbers_and_may_connect_with_each_hit(frames):
    hints = importer.Hints({}, {}, {"341": "own"}, [341])
    dump = {"own": MOVES["jab1"] | {"hitFrames": [
        {"start": 2, "end": 2, "hitboxes": [0, 1]}, {"start": 3, "end": 3, "hitboxes": [0, 1]}]}}  # fmt: skip
    figures = importer.read_frames(frames, 1)
    made = importer.convert(dump, figures | {341: figures[a.JAB_1]}, hints, TRACTION)
    assert [hit.get("again", 0) for hit in made["341"]["hits"]] == [0, 0, 1, 0]


def test_hints_correct_figures_of_the_dump(frames):
    hints = importer.Hints({}, {}, figures={"jab_1": {"2": {"4": {"damage": 3}}}})
    made = importer.convert(MOVES, importer.read_frames(frames, 1), hints, TRACTION)
    assert [hit["damage"] for hit in made["jab_1"]["hits"]] == [3, 9]


def test_a_throw_has_the_base_knockback_that_the_dump_cuts_in_two(hand, frames):
    text = importer.renew(hand, "fox.toml", MOVES, frames)
    before, throw = re.findall(r"^  \{(.*)\},$", text.partition("[imported.throw_u]")[2].partition("\n]")[0], re.M)
    assert "start = 5" in before
    assert 'kind = "throw"' in throw
    assert "kb_base = 75" in throw  # 18 * 4 + 12 / 4


@pytest.mark.parametrize("text", ["[character", "[character]\nname = 1\n"])
def test_a_file_without_an_id_or_toml_is_refused(text, frames):
    with pytest.raises(TableError, match=r"fox.toml: "):
        importer.renew(text, "fox.toml", MOVES, frames)


@pytest.fixture
def run(tmp_path, frames):
    """The exit code of the command with some options."""
    moves = tmp_path / "PlFx.framedata.json"
    moves.write_text(json.dumps(MOVES))
    files = ["--moves", moves, "--frames", frames, "--folder", tmp_path]
    return lambda *options: main(["fox", *map(str, files), *options])


def test_the_command_writes_checks_and_then_has_nothing_to_do(tmp_path, run, capsys):
    path = tmp_path / "fox.toml"
    path.write_text(FOX.read_text().partition(importer.MARK)[0])
    assert run("--check") == 1
    assert importer.MARK not in path.read_text()
    assert run() == 0
    assert tomllib.loads(path.read_text())["imported"]["jab_1"]["hits"][0]["damage"] == 4
    capsys.readouterr()
    assert run("--check") == 0
    assert "up to date" in capsys.readouterr().out


def test_the_command_names_what_is_missing(run, capsys):
    assert run() == 2
    assert "fox.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "dump"),
    [
        ("fox", "PlFx"), ("falco", "PlFc"), ("marth", "PlMs"), ("cptfalcon", "PlCa"), ("sheik", "PlSk"),
        ("jigglypuff", "PlPr"), ("ganondorf", "PlGn"), ("mewtwo", "PlMt"), ("ylink", "PlCl"), ("gameandwatch", "PlGw"),
    ],
)  # fmt: skip
def test_the_files_of_the_project_are_what_the_script_writes(name, dump):
    moves = ROOT.parent / f"shared/data/moves/{dump}.framedata.json"
    if not moves.exists():
        pytest.skip("needs the move dumps in ../shared")
    frames = Path(pytest.importorskip("melee").__file__).parent / "framedata.csv"
    text = FOX.with_stem(name).read_text()
    assert importer.renew(text, f"{name}.toml", json.loads(moves.read_text()), frames) == text


def moving(tmp_path, action, speeds):
    path = tmp_path / "moving.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, (*COLUMNS, *CIRCLES))
        writer.writeheader()
        writer.writerows(frame(action, i + 1, x=x) for i, x in enumerate(speeds))
    return importer.convert({}, importer.read_frames(path, 1), importer.Hints({}, {}), TRACTION)


@pytest.mark.parametrize(
    ("speeds", "kept"),
    [
        ([0.5, 0.42, 0.34, 0.26], False),  # friction
        ([0.3, 0.14, 0.06, 0.0, 0.0], False),  # double, then single, to a stop
        ([0.5, 0.5, 0.5, 0.5], True),
        ([0.5, 0.42, 0.6, 0.52], True),
    ],
)
def test_motions_that_are_but_friction_are_left_out(tmp_path, speeds, kept):
    made = moving(tmp_path, a.ROLL_F, speeds)["roll_f"]
    assert ("motion" in made) == kept


@pytest.mark.parametrize(("speeds", "first"), [([0.8, 0.0, 0.0, 2.0], 0.0), ([0.1, 2.1, 2.0, 1.8], 2.2)])
def test_the_first_frame_of_a_tech_follows_from_the_next_two(tmp_path, speeds, first):
    motion = moving(tmp_path, a.TECH_F, speeds)["tech_f"]["motion"]
    assert motion[0] == [pytest.approx(first), 0.0]
    assert [x for x, _ in motion[1:]] == speeds[1:]


def test_a_file_without_traction_is_refused(frames):
    with pytest.raises(TableError, match=r"fox.toml: attributes: traction is missing"):
        importer.renew("[character]\nid = 1\n", "fox.toml", MOVES, frames)


def changed(path, value):
    dump = copy.deepcopy(MOVES)
    place = dump
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return dump


HITS = [{"start": 2, "end": 3, "hitboxes": [0]}]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("jab1", "totalFrames"), 100_000, "jab1: totalFrames must be from 0 to 1000, got 100000"),
        (("uthrow", "totalFrames"), 100_000, "uthrow: totalFrames must be from 0 to 1000"),
        (("jab1", "hitFrames", 0, "end"), 100_000, r"jab1.hitFrames\[0\]: end must be from 0 to 6, got 100000"),
        (("jab1", "hitFrames", 0, "start"), -100_000, r"jab1.hitFrames\[0\]: start must be from 0 to 6"),
        (("jab1", "hitFrames"), HITS * 1_000, r"jab1.hitFrames\[1\]: start is 2, must be from 4 to end, which is 3"),
        (("jab1", "hitFrames", 0, "hitboxes"), [2], r"hitboxes must list numbers of hitboxes, 0 to 1, got \[2\]"),
        (("jab1", "iasa"), "5\n[actions]", "jab1: iasa must be a number"),
        (("jab1", "hitboxes", 1, "damage"), None, r"jab1.hitboxes\[1\]: damage is missing"),
        (("jab1", "hitboxes"), "x" * 100_000, r"hitboxes must be a list of tables, got 'x{5,30}\.\.\.x{5,30}'$"),
    ],
)
def test_a_dump_of_which_no_action_can_be_made_is_refused(hand, frames, path, value, said):
    with pytest.raises(TableError, match=f"^the move dump: .*{said}"):
        importer.renew(hand, "fox.toml", changed(path, value), frames)


def test_frames_that_no_action_has_are_refused(tmp_path):
    path = tmp_path / "framedata.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, (*COLUMNS, *CIRCLES))
        writer.writeheader()
        writer.writerow(frame(a.ROLL_F, 100_000))
    with pytest.raises(TableError, match=r"framedata.csv: frame is 100000, the highest possible is 1000"):
        importer.read_frames(path, 1)
