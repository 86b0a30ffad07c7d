import json
import sys

import pytest

from selfplay.commands.cli import export
from tests.run.policies import save
from tests.run.policies import save_other as saved
from tests.scripts.commands import mistake, run


@pytest.fixture
def trained(tmp_path):
    return save(tmp_path / "run", 0, 5).path


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["selfplay export", *map(str, arguments)])
    return export.main()


def test_it_writes_a_file_and_says_how_near_it_is(trained, tmp_path):
    done = run("export", trained, "--format", "torch", "--out", "policy.pt2", "--check", 100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first.startswith("wrote policy.pt2 (")
    assert "largest difference from the policy: " in second
    assert "on 100 observations (allowed: 0.0001)" in second
    assert json.loads((tmp_path / "policy.pt2.json").read_text())["policy"] == "gen_5"


def test_a_game_of_one_s_own_is_named_again(tmp_path):
    path = saved(tmp_path / "run", "tests.games.games:Duel")
    flags = ("--format", "torch", "--out", "policy.pt2", "--check", 50, "--game-type", "tests.games.games:Duel")
    done = run("export", path, *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "policy.pt2.json").read_text())["game"] == "tests.games.games:Duel"


@pytest.mark.parametrize("name", ["onnx", "onnxruntime", "onnxscript"])
def test_without_the_extra_it_names_the_command_that_installs_it(trained, tmp_path, monkeypatch, capsys, name):
    for other in ("onnx", "onnxruntime", "onnxscript"):
        monkeypatch.setitem(sys.modules, other, None if other == name else sys)
    assert call(monkeypatch, trained, "--format", "onnx", "--out", tmp_path / "policy.onnx") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"selfplay export: an ONNX file needs {name}, which is not installed: pip install -e '.[export]'; "
        "--format torch needs nothing more\n"
    )
    assert not (tmp_path / "policy.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere/gen_1", "--format", "torch", "--out", "a.pt2"], "nowhere/gen_1 holds no policy"),
        (["nosuch", "--format", "onnx", "--out", "a.onnx"], "nosuch holds no policy"),
        (["RUN", "--format", "tflite", "--out", "a.pt2"], "--format tflite: unknown"),
        (["RUN", "--format", "torch"], "--out is missing: file to write"),
        (["RUN", "--format", "torch", "--out", "RUN"], "it is a folder"),
        (["RUN", "--format", "torch", "--out", "a.pt2", "--check", "0"], "--check 0: at least 1 observation"),
    ],
)
def test_mistakes_are_one_clear_line(trained, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "onnx", None)  # a package that is missing is the last thing to be told
    assert words in mistake(
        capsys,
        "selfplay export",
        lambda: call(monkeypatch, *[str(trained) if argument == "RUN" else argument for argument in arguments]),
    )
    assert not (tmp_path / "a.pt2").exists()
