"""Environments of peers are made once, by exact versions."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.studies.rivals import venvs
from scripts.studies.rivals.venvs import PEERS, PeerError, last_error, prepared


class Commands:
    """In place of the commands that make an environment."""

    def __init__(self, fails=None):
        self.calls, self._fails = [], fails

    def __call__(self, words, env=None, **_):
        self.calls.append((words, env))
        if words[2] == "venv":
            (Path(words[3]) / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
            return subprocess.CompletedProcess(words, 0, "", "")
        self.names = [path.read_text() for path in self.folder(words).rglob("names_for_building.pth")]
        failed = self._fails is not None and self._fails in words
        said = "Collecting\nERROR: No matching distribution found for it\n" if failed else ""
        return subprocess.CompletedProcess(words, int(failed), "", said)

    def folder(self, words):
        return Path(words[0]).parents[1]


@pytest.fixture
def commands(monkeypatch):
    made = Commands()
    monkeypatch.setattr(venvs.subprocess, "run", made)
    return made


def test_an_environment_is_made_once(commands, tmp_path):
    python = prepared(PEERS["cleanrl"], tmp_path)
    assert python == tmp_path / "cleanrl" / "bin" / "python"
    (_, (words, environment)) = commands.calls
    assert words[-4:] == list(PEERS["cleanrl"].packages)
    assert environment["PATH"].startswith(str(tmp_path / "cleanrl" / "bin"))
    assert prepared(PEERS["cleanrl"], tmp_path) == python
    assert len(commands.calls) == 2


def test_other_versions_are_another_environment(commands, tmp_path):
    prepared(PEERS["cleanrl"], tmp_path)
    prepared(replace(PEERS["cleanrl"], packages=("other==1",)), tmp_path)
    assert len(commands.calls) == 4


def test_what_a_build_needs_is_there_while_it_builds(commands, tmp_path):
    prepared(PEERS["pufferlib"], tmp_path)
    (_, _, (words, environment)) = commands.calls
    assert "--no-build-isolation" in words
    assert environment["NO_OCEAN"] == "1"
    assert commands.names == ["import builtins; builtins.c_extension_paths = []\n"]
    assert not list(tmp_path.rglob("names_for_building.pth"))


def test_a_failed_installation_says_why_and_is_tried_again(monkeypatch, tmp_path):
    made = Commands(fails="stable-baselines3==2.9.2")
    monkeypatch.setattr(venvs.subprocess, "run", made)
    for calls in (2, 4):
        with pytest.raises(PeerError, match="No matching distribution found for it"):
            prepared(PEERS["stable-baselines3"], tmp_path)
        assert len(made.calls) == calls


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("a\nERROR: no such version\n", "ERROR: no such version"),
        (
            "    URLError: <name not known>\n  note: This error originates from a subprocess\n"
            "error: metadata-generation-failed\n\nhint: See above",
            "URLError: <name not known>",
        ),
        ("error: subprocess-exited-with-error\nhint: above", "error: subprocess-exited-with-error"),
        ("killed", "killed"),
        ("", "no output"),
    ],
)
def test_the_last_error_is_the_telling_one(said, error):
    assert last_error(said) == error


def test_all_versions_are_exact():
    for peer in PEERS.values():
        assert all("==" in package for package in (*peer.packages, *peer.first)), peer.name
        assert "torch==2.13.0" in peer.packages
