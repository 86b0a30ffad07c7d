import json

import pytest

from selfplay.cli.game_type import game_of_line, training_of


def is_text(arguments):
    return training_of(game_of_line(arguments)) == "dialogue"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], False),
        (["--game-type", "mock"], False),
        (["--game-type", "matching"], True),
        (["--game-type=kuhn_text"], True),
        (["--game-type", "kuhn"], False),
        (["--game-type", "matching", "--game-type", "mock"], False),
        (["--set", "game.type=matching"], True),
        (["--set", "game.type=matching", "--game-type", "mock"], False),
        (["--set"], False),
        (["--game-type"], False),
        (["--config", "missing.toml"], False),
    ],
)
def test_the_game_of_line_decides(arguments, words):
    assert is_text(arguments) is words


def test_a_file_of_settings_decides_where_no_flag_does(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('[game]\ntype = "matching"\n')
    assert is_text(["--config", str(file)])
    file.write_text('[game]\ntype = "matching"\n', "utf-8-sig")  # as Notepad saves it
    assert is_text(["--config", str(file)])
    assert not is_text(["--config", str(file), "--game-type", "mock"])


def test_a_resumed_run_decides(tmp_path):
    for name, game in (("words", "matching"), ("fight", "mock")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps({"config": {"game": {"type": game}}}))
    assert is_text(["--resume", "--checkpoint", str(tmp_path / "words")])
    assert not is_text(["--resume", "--checkpoint", str(tmp_path / "fight")])
    assert not is_text(["--resume", "--checkpoint", str(tmp_path / "nothing")])


def test_the_run_to_resume_may_be_named_by_a_setting(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "run.json").write_text(json.dumps({"config": {"game": {"type": "matching"}}}))
    file = tmp_path / "settings.toml"
    file.write_text(f'[run]\ncheckpoint = "{tmp_path / "words"}"\n')
    assert is_text(["--resume", "--config", str(file)])
    assert is_text(["--resume", "--set", f"run.checkpoint={tmp_path / 'words'}"])
    assert not is_text(["--resume", "--config", str(file), "--set", f"run.checkpoint={tmp_path / 'nothing'}"])
    assert not is_text(["--config", str(file)])
