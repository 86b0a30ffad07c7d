"""States of the matching in bulk, from the command line."""

import json

import pytest

from selfplay.dialogue.cli import initial_states
from selfplay_dialogue.registry import MATCHING
from selfplay_dialogue.states import MatchingRules, MatchingState
from tests.scripts.commands import mistake, run

parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow (the extra dialogue)")

SMALL = ("--num_train", 30, "--num_test", 10, "--size", 3)


def rows(folder, part):
    return parquet.read_table(folder / f"{part}.parquet").to_pylist()


def test_it_writes_states_without_conversations(tmp_path):
    done = run("dialop_game_init.py", "--output_dir", "made/here", *SMALL, "--rows", "player", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote made/here/train.parquet\nwrote made/here/test.parquet\n"
    folder = tmp_path / "made" / "here"
    assert sorted(path.name for path in folder.iterdir()) == ["test.parquet", "train.parquet"]
    train, test = rows(folder, "train"), rows(folder, "test")
    assert [(row["index"], row["player_index"]) for row in train] == [(i, seat) for i in range(30) for seat in range(2)]
    for row in (*train, *test):
        rules = MatchingRules(**json.loads(row["game_rules"]))
        assert rules == MatchingRules(size=3)
        state = MatchingState.from_json(json.loads(row["game_state"]))
        game = MATCHING.start(rules, state)
        seat = row["player_index"]
        assert row["prompt"] == [
            {"role": "system", "content": game.system(seat)}, {"role": "user", "content": game.observe(seat)}
        ]  # fmt: skip
        assert row["data_source"] == "matching_game_selfplay"
    assert len({row["game_id"] for row in (*train, *test)}) == 40
    assert not {row["game_state"] for row in train} & {row["game_state"] for row in test}


def call(monkeypatch, folder, *words):
    monkeypatch.setattr("sys.argv", ["dialop_game_init.py", "--output_dir", str(folder), *map(str, words)])
    return initial_states.main()


def test_a_state_depends_on_seed_part_and_number_alone(tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, tmp_path / "a", *SMALL) == 0
    assert call(monkeypatch, tmp_path / "b", *SMALL, "--num_train", 5) == 0
    assert call(monkeypatch, tmp_path / "c", *SMALL, "--seed", 1) == 0
    capsys.readouterr()
    assert [row["player_index"] for row in rows(tmp_path / "a", "train")] == [0] * 30
    assert rows(tmp_path / "b", "train") == rows(tmp_path / "a", "train")[:5]
    assert rows(tmp_path / "b", "test") == rows(tmp_path / "a", "test")
    assert rows(tmp_path / "c", "test") != rows(tmp_path / "a", "test")


def test_other_settings_and_no_states(tmp_path, monkeypatch, capsys):
    words = ("--num_train", 0, "--num_test", 2, "--size", 2, "--set", "scaled=false", "--set", "table=triples")
    assert call(monkeypatch, tmp_path, *words) == 0
    assert "wrote" in capsys.readouterr().out
    assert rows(tmp_path, "train") == []
    assert all(json.loads(row["game_state"])["scale1"] == 1 for row in rows(tmp_path, "test"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--size", 9), "matching: size is 9 (valid: 2 to 8)"),
        (("--size", "x"), "--size x: a whole number is needed"),
        (("--num_train", -1), "--num_train -1: must be at least 0"),
        (("--num_test", -2), "--num_test -2: must be at least 0"),
        (("--set", "known"), "--set known: NAME=VALUE is needed"),
        (("--set", "known=much"), "matching: known is 'much' (valid: numbers)"),
        (("--set", "knwn=1"), "unknown setting of matching 'knwn'; did you mean 'known'?"),
        (("--set", "hardness=NaN"), "matching: hardness is nan (valid: at least 1)"),
        (("--size", 3, "--set", "known=1"), "matching: no state is as hard as 1.25 with known 1"),
        (("--rows", "game"), "--rows game: unknown (valid: state, player)"),
        (("--num-train", 1), "unknown flag --num-train: did you mean --num_train?"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, monkeypatch, capsys, words, message):
    line = mistake(capsys, "dialop_game_init.py", lambda: call(monkeypatch, tmp_path / "out", *words))
    assert message in line
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_is_told_before_the_work(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    line = mistake(capsys, "dialop_game_init.py", lambda: call(monkeypatch, tmp_path / "file" / "out"))
    assert f"--output_dir {tmp_path}/file/out: {tmp_path}/file is a file, a folder is needed" in line


def test_earlier_files_stay_whole_where_states_cannot_be_made(tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, tmp_path, *SMALL) == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert call(monkeypatch, tmp_path, *SMALL, "--set", "known=1") == 2
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    capsys.readouterr()
