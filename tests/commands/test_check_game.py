import json

import pytest

from selfplay.commands.check_game import examine
from selfplay.commands.cli.check_game import main
from selfplay.league.rewards import BY_WINS


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr("selfplay.commands.check_game.STEPS", 20)
    monkeypatch.setattr("selfplay.commands.check_game.ROLLOUT", 8)


def check(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["selfplay check-game", *arguments])
    code = main()
    return code, capsys.readouterr()


def test_a_game_that_is_right_is_measured(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "tests.envs.games:Nim", "--json")
    found = json.loads(shown.out)
    assert code == 0
    assert found["broken"] == []
    assert found["notes"] == []
    assert 3 < found["episode_length"] < 12
    assert found["shares"].keys() == {"step", "observe", "legal", "to_act", "block"}
    assert sum(found["trained_shares"].values()) == pytest.approx(1)
    assert found["trained_steps_per_s"] < found["steps_per_s"]


def test_a_slow_game_is_measured_with_fewer_games(monkeypatch, capsys):
    monkeypatch.setattr("selfplay.commands.check_game.SLOW", 0.0)
    monkeypatch.setattr("selfplay.commands.check_game.TRAINING", 0.0)
    code, shown = check(monkeypatch, capsys, "tests.envs.games:Nim", "--json")
    found = json.loads(shown.out)
    assert code == 0
    assert found["steps_per_s"] > 0
    assert found["trained_steps_per_s"] > 0
    assert 3 < found["episode_length"] < 12


def test_what_is_no_mistake_is_noted(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "tests.envs.games:Duel")
    assert code == 0
    assert "do not always sum to zero (up to 0.25 in a step)" in shown.out
    assert "the contract is kept" in shown.out


def test_games_that_cannot_be_copied_are_measured(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "tests.envs.vector_environments:Duels")
    assert code == 0
    assert "its games cannot be copied, so the contract was not checked" in shown.out
    assert "the contract is kept" not in shown.out
    assert "random games last 3.0 steps" in shown.out
    assert "in training" in shown.out


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("tests.envs.games:Uncounted", "the same seed and the same actions do not give the same game"),
        ("tests.envs.games:Remembers", "games of the same seeds go different ways"),
        ("tests.envs.games:Cheated", "broken: scripted player cheat: game 0, player cheat: [99] is not legal"),
    ],
)
def test_what_is_broken_is_told(monkeypatch, capsys, game, message):
    code, shown = check(monkeypatch, capsys, game)
    assert code == 1
    assert message in shown.out


def test_a_built_in_game_can_be_checked():
    found = examine("kuhn")
    assert found.broken == []
    assert found.shares == {}
    assert found.notes == [f"ratings, evaluate and exploit: {BY_WINS}"]


def test_no_such_game(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "kuun")
    assert code == 2
    assert "did you mean kuhn?" in shown.err
