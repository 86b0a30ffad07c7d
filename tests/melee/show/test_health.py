import pytest

from selfplay.report.health import MIN_ITERATIONS, RULES, WINDOW, Health
from selfplay.report.metrics import Pace, Play
from selfplay_melee.show import health
from selfplay_melee.show.health import EPISODES, MIRROR_GAMES, rules
from tests.report.test_health import OF_GAMES, run


@pytest.fixture(autouse=True)
def _without_a_beginning(monkeypatch):
    monkeypatch.setattr(health, "BEGINNING", 0)


def mirror(games=1, finished=0.0, stocks=0.2, kind="mirror"):
    """Fights of one kind that ended in an iteration, two minutes each."""
    rates = {"finished": finished, "stocks_per_minute": stocks, "damage_per_minute": 20.0, "seconds_without_hit": 30.0}
    pace = Pace(games=games, minutes=2.0 * games, rates=rates)
    return {"play": Play(pace={kind: pace})}


BAD = {"few_results": {"play": Play(episodes=10, draws=6)}, "stalling": mirror()}


@pytest.mark.parametrize("name", BAD)
def test_each_fault_is_named_once_while_it_lasts(name):
    judge, said = run(200, Health(rules()), **BAD[name])
    assert said == [name]
    (finding,) = judge.findings()
    assert finding.name == name
    assert finding.text.endswith(".")


def test_few_episodes_are_not_judged():
    few = (EPISODES - 1) // WINDOW
    assert run(health=Health(rules()), play=Play(episodes=few, draws=few))[1] == []


def test_every_rule_is_tested():
    assert {*BAD, *OF_GAMES} == {*rules()}
    assert not {*RULES} & {*rules()}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ["stalling"]),
        ({"finished": 0.49, "stocks": 0.49}, ["stalling"]),
        ({"finished": 0.5}, []),
        ({"stocks": 0.5}, []),  # a short cap ends games before a player is out of stocks
        ({"kind": "scripted"}, []),
    ],
)
def test_stalling_is_few_stocks_and_few_finished_games_in_mirror_games(changes, told):
    assert run(health=Health(rules()), **mirror(**changes))[1] == told


def test_the_first_games_are_not_judged(monkeypatch):
    monkeypatch.setattr(health, "BEGINNING", 150)
    told = run(150, Health(rules()), **mirror())
    assert told[1] == []
    assert run(1, told[0], first=151, **mirror(MIRROR_GAMES))[1] == ["stalling"]


def test_stalling_weighs_games_and_minutes_and_needs_enough_of_them():
    judge = Health(rules())
    run(1, judge, **mirror(1, finished=1.0, stocks=10.0))
    run(MIN_ITERATIONS - 2, judge, first=2, play=Play())
    assert run(1, judge, first=MIN_ITERATIONS, **mirror(MIRROR_GAMES - 2))[1] == []  # 19 games
    assert run(1, judge, first=MIN_ITERATIONS + 1, **mirror(181, stocks=0.2))[1] == ["stalling"]
    (finding,) = judge.findings()
    assert "0% of the last 200 mirror games ended" in finding.text
    assert "0.25 stocks a minute a player (people: 1.2)" in finding.text
