import pytest

from selfplay.report import health as rules
from selfplay.report.health import EPISODES, GAME_RULES, MIN_ITERATIONS, MIRROR_GAMES, RULES, WINDOW, Health
from selfplay.report.metrics import Pace, Play
from tests.report.make import UPDATE, report

GOOD = UPDATE.model_copy(update={"entropy": 8.0})


@pytest.fixture(autouse=True)
def _without_a_beginning(monkeypatch):
    monkeypatch.setattr(rules, "BEGINNING", 0)


def run(count=WINDOW, health=None, first=1, **changes):
    """What is said over some iterations that are well but for ``changes``; the names, in order."""
    health = health or Health()
    said = [
        finding.name for number in range(first, first + count) for finding in health.observe(row(number, **changes))
    ]
    return health, said


def row(iteration, **changes):
    made = report(iteration, **{"update": GOOD, **changes})
    return {"iteration": iteration, "critic_only": made.update.critic_only, **made.flat()}


def update(**changes):
    return {"update": GOOD.model_copy(update=changes)}


def mirror(games=1, finished=0.0, stocks=0.2, kind="mirror"):
    """Fights of one kind that ended in an iteration, two minutes each."""
    rates = {"finished": finished, "stocks_per_minute": stocks, "damage_per_minute": 20.0, "seconds_without_hit": 30.0}
    pace = Pace(games=games, minutes=2.0 * games, rates=rates)
    return {"play": Play(pace={kind: pace})}


BAD = {
    "entropy_collapse": update(entropy=0.2),
    "few_results": {"play": Play(episodes=10, draws=6)},
    "stalling": mirror(),
    "stale_data": update(clip_fraction=0.5),
    "value_function": update(explained_variance=-0.5),
    "reverted": update(reverted=1),
    "not_finite": update(skipped=1),
    "reward_scale": update(value_loss=2e6),
    "common_gain": {"common_gain": 0.5},
}


def test_a_good_run_is_left_alone():
    health, said = run()
    assert said == []
    assert health.findings() == ()


@pytest.mark.parametrize("name", BAD)
def test_each_fault_is_named_once_while_it_lasts(name):
    health, said = run(200, **BAD[name])
    assert said == [name]
    (finding,) = health.findings()
    assert finding.name == name
    assert finding.text.endswith(".")


def test_who_was_taught_may_be_as_sure_as_the_players():
    taught = {"teacher_kl": 0.3}
    assert run(200, **update(entropy=0.2, **taught))[1] == []
    assert run(200, **update(entropy=0.05, **taught))[1] == ["entropy_collapse"]


def test_a_critic_that_learns_alone_has_time():
    assert run(WINDOW, **update(explained_variance=-0.5, critic_only=True))[1] == []
    health, _ = run(WINDOW, **update(explained_variance=-0.5, critic_only=True))
    assert run(MIN_ITERATIONS - 1, health, first=WINDOW + 1, **update(explained_variance=-0.5))[1] == []
    assert run(1, health, first=WINDOW + MIN_ITERATIONS, **update(explained_variance=-0.5))[1] == ["value_function"]


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
    assert run(**mirror(**changes))[1] == told


def test_the_first_games_are_not_judged(monkeypatch):
    monkeypatch.setattr(rules, "BEGINNING", 150)
    told = run(150, **mirror())
    assert told[1] == []
    assert run(1, told[0], first=151, **mirror(MIRROR_GAMES))[1] == ["stalling"]


def test_stalling_weighs_games_and_minutes_and_needs_enough_of_them():
    health = Health()
    run(1, health, **mirror(1, finished=1.0, stocks=10.0))
    run(MIN_ITERATIONS - 2, health, first=2, play=Play())
    assert run(1, health, first=MIN_ITERATIONS, **mirror(MIRROR_GAMES - 2))[1] == []  # 19 games
    assert run(1, health, first=MIN_ITERATIONS + 1, **mirror(181, stocks=0.2))[1] == ["stalling"]
    (finding,) = health.findings()
    assert "0% of the last 200 mirror games ended" in finding.text
    assert "0.25 stocks a minute a player (people: 1.2)" in finding.text


@pytest.mark.parametrize(
    "changes",
    [
        update(value_loss=float("inf")),
        update(value_loss=float("nan")),
        {**update(skipped=8), "play": Play(return_mean=-1.1e19)},  # every minibatch was skipped, so no loss is known
    ],
)
def test_rewards_that_are_too_large_are_told_after_three_iterations(changes):
    health, said = run(3, **changes)
    assert said == ["reward_scale"]
    assert health.findings()[0].text.startswith("The rewards are too large to learn from (")
    assert "Divide them by a constant" in health.findings()[0].text
    assert health.end() == ()  # it was told
    assert [finding.name for finding in run(1, **changes)[0].end()] == ["reward_scale"]


def test_large_returns_that_the_critic_predicts_are_no_problem():
    assert run(play=Play(return_mean=-1e9))[1] == []


def test_a_loss_that_was_not_finite_is_null_on_disk():
    health = Health()
    for number in range(1, 4):
        health.observe(row(number) | {"losses/value": None})
    assert [finding.name for finding in health.findings()] == ["reward_scale"]


def test_every_rule_is_tested():
    assert {*BAD, "restarts"} == {*RULES, *GAME_RULES}


def test_crashes_within_the_window_count():
    health = Health()
    said = [f.name for i in range(1, 41) for f in health.observe(row(i, restarts=i // 6))]
    assert said == ["restarts"]
    assert run(200, restarts=40)[1] == []  # all of them before it


def test_what_went_away_may_come_back():
    health, said = run(**BAD["entropy_collapse"])
    health, good = run(60, health, first=51)
    assert health.findings() == ()
    _, again = run(60, health, first=111, **BAD["entropy_collapse"])
    assert (said, good, again) == (["entropy_collapse"], [], ["entropy_collapse"])


def test_nothing_is_said_of_too_little():
    assert run(MIN_ITERATIONS - 1, **BAD["entropy_collapse"])[1] == []
    assert run(play=Play(episodes=(EPISODES - 1) // WINDOW, draws=(EPISODES - 1) // WINDOW))[1] == []


def test_iterations_that_are_played_again_start_a_new_window():
    health, _ = run(30, **BAD["few_results"])
    _, said = run(MIN_ITERATIONS - 1, health, first=10)
    assert said == []
    assert health.findings() == ()
