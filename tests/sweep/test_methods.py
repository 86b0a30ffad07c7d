from dataclasses import replace

from selfplay.sweep.methods import JudgedRound, next_round
from selfplay.sweep.settings import Halving
from tests.sweep.test_settings import planned


def rounds_of(plan, strength):
    """All rounds, where ``strength`` says how strong a setting is."""
    done = []
    while (planned_round := next_round(plan, done, [])) is not None:
        done.append(JudgedRound(planned_round, tuple(map(strength, planned_round.settings))))
    return [each.round for each in done]


def test_a_grid_is_one_round_of_all(tmp_path):
    plan = planned(tmp_path)
    (only,) = rounds_of(plan, lambda _: None)
    assert (only.settings, only.share) == (plan.first, 1.0)


def test_halving_trains_the_best_for_longer(tmp_path):
    plan = planned(
        tmp_path, settings__ppo="{ gamma = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] }", method='"halving"'
    )
    plan = replace(plan, asked=plan.asked.model_copy(update={"method": Halving(name="halving", reduction=2)}))
    rounds = rounds_of(plan, lambda values: values["ppo.gamma"])
    assert [[values["ppo.gamma"] for values in each.settings] for each in rounds][1:] == [
        [0.9, 0.8, 0.7, 0.6, 0.5],
        [0.9, 0.8, 0.7],
    ]
    assert [(len(each.settings), each.share) for each in rounds] == [(9, 0.25), (5, 0.5), (3, 1.0)]


def test_halving_leaves_failed_settings_behind(tmp_path):
    plan = planned(tmp_path, method='"halving"')
    rounds = rounds_of(plan, lambda values: None if values["ppo.epochs"] == 2 else -values["ppo.learning_rate"])
    assert [values["ppo.learning_rate"] for values in rounds[-1].settings] == [1e-3, 1e-2]  # two, to compare
    assert len(rounds) == 3
    assert [each.share for each in rounds] == [1 / 9, 1 / 3, 1.0]
    assert len(rounds_of(plan, lambda _: None)) == 1
