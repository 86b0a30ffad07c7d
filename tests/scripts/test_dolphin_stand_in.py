"""The two files of a stand-in for Dolphin, from the command line."""

import json
import os
import shlex
import sys

import pytest

from tests.scripts.commands import ROOT, mistake
from tests.support.fake_dolphin.__main__ import PROGRAM, main
from tests.support.processes import finish

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in needs named pipes")


def test_it_writes_a_program_and_a_disc_and_says_what_to_type_next(tmp_path):
    command = [
        sys.executable, "-m", "tests.support.fake_dolphin",
        "a folder", "--seed", "7", "--persona", "ishiiruka", "--fault", "crash~500", "--fault", "wrong_stage@2!",
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = finish(command, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    program, disc = tmp_path / "a folder/dolphin", tmp_path / "a folder/disc.json"
    assert json.loads(disc.read_text()) == {
        "seed": 7,
        "persona": "ishiiruka",
        "faults": [{"kind": "crash", "every": 500}, {"kind": "wrong_stage", "at": 2, "once": True}],
    }
    next_line = shlex.split(done.stdout.splitlines()[-1].removeprefix("next: "))
    assert next_line == [
        *("selfplay", "train", "--game-type", "dolphin"),
        *("--dolphin", str(program), "--iso", str(disc)),
    ]
    told = finish([program, "--version"])
    assert (told.returncode, told.stdout[:12]) == (255, "Faster Melee")


def test_without_flags_the_disc_has_the_defaults(tmp_path):
    assert main([str(tmp_path)]) == 0
    assert json.loads((tmp_path / "disc.json").read_text()) == {}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--fault", "crsh@5"), "did you mean 'crash'?"),
        (("--fault", "crash@soon"), "'soon' is no whole number"),
        (("--pace", "-1"), "pace must be from 0 to 1000, got -1.0"),
        (("--human", "bob"), "unknown scripted player 'bob'"),
        (("--human-character", "peach"), "unknown human_character 'peach'"),
        (("--replay", "none.slp"), "No such file"),
        (("--colour", "red"), "unrecognized arguments"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, capsys, monkeypatch, arguments, line):
    monkeypatch.chdir(tmp_path)
    assert line in mistake(capsys, PROGRAM, lambda: main(["folder", *arguments]))
    assert not (tmp_path / "folder").exists()


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert "file" in mistake(capsys, PROGRAM, lambda: main([str(tmp_path / "file" / "folder")]))
