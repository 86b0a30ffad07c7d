"""The exponential moving average of the weights: what it is, what it is for, and that it survives a resume."""

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, group, list_generations, load_latest_learner
from selfplay.cli.ppo import parse
from selfplay.commands.exploit import _config
from selfplay.errors import ConfigError
from selfplay.evaluation.exact import exact_figures
from selfplay.policy.policy import load_policy
from tests.run.runs import ITERATION, MATRIX, assert_equal_runs, rows, train

AVERAGE = ("--deterministic", "--save-interval", 1, "--set", "ppo.average=0.6")
PULL = ("--set", "ppo.teacher_kl_reverse=2.0")


def run(folder, iterations, *arguments, **options):
    code, _ = train(folder, "--timesteps", iterations * ITERATION, *arguments, **options)
    assert code == 0
    return folder


def test_generations_have_the_average_of_the_weights(tmp_path):
    folder, average = tmp_path / "run", None
    for iteration in range(1, 5):
        resume = iteration > 1
        run(folder, iteration, *(() if resume else AVERAGE), resume=resume, size=MATRIX)
        arrays = load_latest_learner(RunDir(folder)).arrays
        weights = group(arrays, "params")
        share = max(0.4, 1 / iteration)
        average = weights if average is None else {k: v + share * (weights[k] - v) for k, v in average.items()}
        saved = load_policy(list_generations(RunDir(folder))[-1].path).network.state_dict()
        for name, tensor in saved.items():
            np.testing.assert_allclose(tensor.numpy(), average[name], atol=1e-6)
    assert any(not np.allclose(weights[name], average[name], atol=1e-6) for name in weights)


def test_a_resumed_run_has_the_same_average_and_the_same_teacher(tmp_path):
    whole = run(tmp_path / "whole", 4, *AVERAGE, *PULL, size=MATRIX)
    parts = run(tmp_path / "parts", 2, *AVERAGE, *PULL, size=MATRIX)
    run(parts, 4, resume=True)
    assert_equal_runs(whole, parts, generations=["gen_2", "gen_3", "gen_4"])
    assert any(name.startswith("average/") for name in load_latest_learner(RunDir(whole)).arrays)


def test_the_average_is_the_teacher_where_that_has_a_weight(tmp_path):
    pulled = rows(run(tmp_path / "pulled", 4, *AVERAGE, *PULL, size=MATRIX) / "metrics.jsonl")
    free = rows(run(tmp_path / "free", 4, *AVERAGE, size=MATRIX) / "metrics.jsonl")
    assert all(row["losses/teacher_kl_reverse"] > 0 for row in pulled)
    assert all(row["losses/teacher_kl_reverse"] == 0 for row in free)


def test_without_an_average_a_weight_needs_a_policy_to_start_from(tmp_path):
    with pytest.raises(ConfigError, match="teacher_kl_reverse needs a policy to start from: --pretrained PATH"):
        train(tmp_path / "run", *PULL, size=MATRIX)


def test_an_exploiter_of_such_a_policy_has_neither_average_nor_teacher(tmp_path):
    folder = run(tmp_path / "run", 1, *AVERAGE, *PULL, size=MATRIX)
    ppo = _config(load_policy(folder).meta, folder, 100).ppo
    assert (ppo.average, ppo.teacher_kl_reverse) == (0, 0)


def test_the_preset_comes_near_the_equilibrium_of_kuhn_poker(tmp_path):
    preset = ("--game-type", "kuhn", "--preset", "equilibrium", "--set", "ppo.average=0.8", "--runners", 1)
    assert parse(["--preset", "equilibrium"]).config.ppo.teacher_kl_reverse > 0
    folder = run(tmp_path / "kuhn", 400, *preset, "--set", "run.threads=1", size=())
    assert exact_figures("kuhn", load_policy(folder)).nash_conv < 0.5  # 0.92 at random
