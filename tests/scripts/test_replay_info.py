"""What is in a replay file, from the command line."""

import dataclasses

from tests.melee.slp_files import file_bytes, synthetic
from tests.scripts.commands import run


def test_it_says_what_is_in_a_file(tmp_path):
    replay = synthetic()
    seats = (dataclasses.replace(replay.seats[0], code="ANNA#1"), replay.seats[1])
    file_bytes(tmp_path, dataclasses.replace(replay, seats=seats))
    done = run("replay-info", "made.slp", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("made.slp: version 3.18.0, stage 25, 20 frames, -123 to -104\n")
    assert "port 1: character 1, human Anna (ANNA#1)\n" in done.stdout
    assert "complete: True" in done.stdout


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    data = file_bytes(tmp_path, synthetic())
    (tmp_path / "cut.slp").write_bytes(data[:-500])
    (tmp_path / "bad.slp").write_bytes(b"nothing")
    done = run("replay-info", "bad.slp", "cut.slp", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "bad.slp: byte 0: not a .slp file\n"
    assert "problem: truncated: " in done.stdout
