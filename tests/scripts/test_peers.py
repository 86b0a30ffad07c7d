"""The scripts that measure and race peers say what is wrong in one line."""

import sys

import pytest

from scripts import bench_peers, learning_race
from tests.scripts.commands import mistake


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--peers", "tianshou"), "tianshou: unknown"),
        (("--rounds", "0"), "--rounds must be at least 1"),
        (("--games", "4,0"), "--games must be whole numbers from 1"),
        (("--games", "4", "--write"), "--write replaces the whole table"),
        (("--peers", "rllib,cleanrl", "--write"), "--write replaces the whole table"),
    ],
)
def test_bench_peers(arguments, told, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench_peers.py", *arguments])
    assert told in mistake(capsys, "bench_peers.py", bench_peers.main)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--peers", "tianshou"), "tianshou: unknown"),
        (("--minutes", "0"), "--minutes must be above 0"),
        (("--evaluation-games", "1"), "--evaluation-games at least 2"),
    ],
)
def test_learning_race(arguments, told, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["learning_race.py", *arguments])
    assert told in mistake(capsys, "learning_race.py", learning_race.main)
