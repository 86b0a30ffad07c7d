import pytest

from selfplay.report.health import MIN_ITERATIONS, RULES, WINDOW, Health, entropy_collapse, value_function
from selfplay.report.metrics import Play
from tests.report.make import UPDATE, report

OF_GAMES = {"entropy_collapse": entropy_collapse, "value_function": value_function}
GOOD = UPDATE.model_copy(update={"entropy": 8.0})


def run(count=WINDOW, health=None, first=1, **changes):
    """What is said over some iterations that are well but for ``changes``; the names, in order."""
    health = health or Health(OF_GAMES)
    said = [
        finding.name for number in range(first, first + count) for finding in health.observe(row(number, **changes))
    ]
    return health, said


def row(iteration, **changes):
    made = report(iteration, **{"update": GOOD, **changes})
    return {"iteration": iteration, "critic_only": made.update.critic_only, **made.flat()}


def update(**changes):
    return {"update": GOOD.model_copy(update=changes)}


BAD = {
    "entropy_collapse": update(entropy=0.2),
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
    health = Health(OF_GAMES)
    for number in range(1, 4):
        health.observe(row(number) | {"losses/value": None})
    assert [finding.name for finding in health.findings()] == ["reward_scale"]


def test_every_rule_is_tested():
    assert {*BAD, "restarts"} == {*RULES, *OF_GAMES}


def test_crashes_within_the_window_count():
    health = Health(OF_GAMES)
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


def test_iterations_that_are_played_again_start_a_new_window():
    health, _ = run(30, **BAD["common_gain"])
    _, said = run(MIN_ITERATIONS - 1, health, first=10)
    assert said == []
    assert health.findings() == ()
