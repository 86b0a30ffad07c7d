"""The table of behaviour from the command line."""

import json
import sys

import pytest

from selfplay.league.schedule import pairings_of
from selfplay.runner.match import Contender
from selfplay_melee.commands.behaviour import RATES
from selfplay_melee.commands.cli import behaviour
from selfplay_melee.commands.record import orders_of, record
from tests.run.policies import save
from tests.scripts.commands import mistake, run_process
from tests.support.fight_rules import fight_rules

RULES = fight_rules(stage="battlefield", max_episode_frames=300)


@pytest.fixture
def folder(tmp_path):
    players = {name: Contender(name) for name in ("rusher", "idle")}
    pairings = pairings_of(["rusher"], ["idle"], 2, ("fox", "mewtwo"), 0)
    list(record(orders_of(pairings, RULES, 0, tmp_path / "games"), players, RULES))
    (tmp_path / "games" / "bad.slp").write_bytes(b"nothing")
    return tmp_path / "games"


@pytest.fixture
def trained(tmp_path):
    return save(tmp_path / "run", 0)


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["selfplay behaviour", *map(str, arguments)])
    return behaviour.main()


def test_a_policy_stands_beside_a_folder(folder, trained, monkeypatch, capsys):
    assert call(monkeypatch, "--replays", folder, "--policy", trained.path, "--games", 2) == 0
    told = capsys.readouterr()
    head, about, *rows = told.out.splitlines()
    assert str(folder) in head
    assert "gen_0-" in head
    assert about.split() == ["2", "games,", "0.3", "min", "2", "games,", "0.1", "min"]
    assert len(rows) == len(RATES)
    assert told.err == f"left out: {folder / 'bad.slp'}: byte 0: not a .slp file\n"


def test_json_is_json_alone(folder, trained, monkeypatch, capsys):
    flags = ("--policy", trained.path, "--opponent", "idle", "--games", 3, "--json")
    assert call(monkeypatch, "--replays", folder, "--player", "rusher", *flags) == 0
    told = json.loads(capsys.readouterr().out)
    people, policy = told["columns"]
    assert (people["title"], people["games"], people["minutes"]) == ("rusher", 2, pytest.approx(2 * 300 / 3600))
    assert policy["title"].endswith(" against idle")
    assert policy["minutes"] == pytest.approx(3 * 120 / 3600)  # the cap that it was trained with
    for part in told["columns"]:
        assert set(part["rates"]) == set(RATES)
    assert people["rates"]["damage"]["low"] <= people["rates"]["damage"]["mean"] <= people["rates"]["damage"]["high"]
    assert len(told["unreadable"]) == 1


def test_flags_have_an_effect(folder, trained, monkeypatch, capsys):
    told = []
    for flags in ((), (), ("--seed", 1), ("--character", "mewtwo")):
        assert call(monkeypatch, "--policy", trained.path, "--games", 2, "--json", *flags) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert len(set(told)) == 3
    assert call(monkeypatch, "--replays", folder, "--character", "mewtwo", "--json") == 0
    assert json.loads(capsys.readouterr().out)["columns"][0]["rates"]["attacks"]["mean"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--replays, --policy or both"),
        (["--replays", "nowhere"], "no such folder of replays"),
        (["--policy", "nowhere/gen_1"], "nowhere/gen_1 holds no policy"),
        (["--replays", "FOLDER", "--player", "rushr"], "nobody called 'rushr'"),
        (["--replays", "FOLDER", "--character", "foxx"], "did you mean 'fox'"),
        (["--policy", "RUN", "--games", "0"], "--games 0: at least 1"),
        (["--policy", "RUN", "--opponent", "rushr"], "did you mean 'rusher'"),
        (["--policy", "RUN", "--player", "rusher"], "--replays is missing"),
        (["--replays", "FOLDER", "--opponent", "rusher"], "--policy is missing"),
        (["--write"], "unknown flag --write"),
    ],
)
def test_mistakes_are_one_clear_line(folder, trained, monkeypatch, capsys, arguments, words):
    places = {"FOLDER": str(folder), "RUN": str(trained.path)}
    named = [places.get(argument, argument) for argument in arguments]
    assert words in mistake(capsys, "selfplay behaviour", lambda: call(monkeypatch, *named))


@pytest.mark.full
def test_it_runs_from_anywhere(folder, tmp_path):
    done = run_process("behaviour", "--replays", "games", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["columns"][0]["games"] == 2
