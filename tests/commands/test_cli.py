"""The command ``selfplay``: its verbs, what it says of unknown ones, and the wheel that installs it."""

import json
import os
import shutil
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import selfplay
from selfplay.__main__ import main
from selfplay.commands.doctor import software
from selfplay.verbs import find_verb, respelled, verb_names
from tests.scripts.commands import run
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]


def call(monkeypatch, *arguments, command="/venv/bin/selfplay"):
    monkeypatch.setattr(sys, "argv", [command, *arguments])
    return main()


@pytest.mark.parametrize("arguments", [(), ("--help",), ("help",)])
def test_verbs_are_listed(monkeypatch, capsys, arguments):
    assert call(monkeypatch, *arguments) == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: selfplay VERB")
    assert all(f"  {verb} " in text for verb in verb_names())


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("leaderbord", ", did you mean leaderboard?"),
        ("train_from_replays.py", ", did you mean imitate?"),
        ("resume", ", did you mean train --resume?"),
        ("list", ": selfplay --help lists the verbs, ls checkpoints the runs, selfplay leaderboard RUN"),
        ("check_game.py", ", did you mean check-game?"),
        ("x", "; see"),
    ],
)
def test_an_unknown_verb_is_one_line(monkeypatch, capsys, verb, words):
    assert call(monkeypatch, verb) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"selfplay: {verb!r} is no verb{words}")


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_the_version_is_printed(monkeypatch, capsys, argument):
    assert call(monkeypatch, argument) == 0
    assert capsys.readouterr().out == f"selfplay {selfplay.__version__}\n"


def test_help_with_a_verb_is_that_of_the_verb(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        call(monkeypatch, "help", "tree")
    assert capsys.readouterr().out.startswith("usage: selfplay tree ")


@pytest.mark.parametrize("verb", verb_names())
def test_every_verb_has_help_in_its_name(monkeypatch, capsys, verb):
    with pytest.raises(SystemExit) as end:
        call(monkeypatch, verb, "--help", command="/here/selfplay/__main__.py")
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: python -m selfplay {verb} ")
    assert "scripts/" not in text


SCRIPTS = {
    "train_self_play": "train",
    "train_from_replays": "imitate",
    "generate_selfplay_games": "generate_games",
    "convert_selfplay_to_verl": "convert_games",
    "train_dialogue": "train_dialogue",
    "inspect_dialogue": "inspect_dialogue",
    "dialop_game_init": "initial_states",
}


@pytest.mark.parametrize(("script", "verb"), SCRIPTS.items())
def test_scripts_call_the_same(monkeypatch, tmp_path, script, verb):
    monkeypatch.setattr(import_module(find_verb(verb.replace("_", "-")).module), "main", lambda: 7)
    assert run(f"{script}.py", cwd=tmp_path).returncode == 7


def test_there_are_no_other_scripts():
    assert {path.stem for path in (ROOT / "scripts").glob("*.py")} == {"__init__", *SCRIPTS}


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("selfplay train", "selfplay"),
        ("python -m selfplay train", "python -m selfplay"),
        ("scripts/train_self_play.py", "python -m selfplay"),
    ],
)
def test_texts_name_commands_as_the_user_can_type_them(monkeypatch, typed, command):
    monkeypatch.setattr(sys, "argv", [typed])
    text = respelled("selfplay watch /my/selfplay rate; selfplay doctor helps, and selfplay itself")
    assert text == f"{command} watch /my/selfplay rate; {command} doctor helps, and selfplay itself"
    assert respelled(f"{command} watch: unknown") == f"{command} watch: unknown"


@pytest.mark.full
def test_the_wheel_has_the_command_and_types(tmp_path):
    pytest.importorskip("setuptools")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("selfplay", "envs", "scripts", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    code = "import setuptools.build_meta as build; build.build_wheel('.')"
    done = finish([sys.executable, "-c", code], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        (entries,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "selfplay = selfplay.__main__:main" in content.read(entries).decode()
        for name in names:
            content.extract(name, tmp_path / "installed")
    assert wheel.name.startswith("selfplay_arena-")
    kept = {"selfplay/py.typed", "selfplay_melee/py.typed", "selfplay/commands/cli/train.py"}
    kept |= {"selfplay/policy/browser/policy.js", "selfplay_melee/browser/scene.js"}
    assert kept <= set(names)
    assert not [name for name in names if name.startswith(("scripts/", "tests/"))]
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    done = finish([sys.executable, "-m", "selfplay", "doctor", "--json"], cwd=empty, env=environment)
    assert done.stderr == ""
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert found["packages"] == {"level": "ok", "name": "packages", "found": "all 10 that are needed", "remedy": ""}
    assert found["libmelee"]["found"] != software.UNKNOWN
