"""Games of the next iteration that are played during an update."""

import selfplay
from selfplay.ppo.learner import Learner
from tests.run.runs import ITERATION, assert_equal_runs, rows, train

LAST, INTERVAL = 8, 4
LAG = ("--max-policy-lag", 1, "--deterministic", "--runners", 2, "--save-interval", INTERVAL)


def watch(monkeypatch, fail_at=None):
    """By update, how many iterations older than the learner's weights those are that played."""
    found, original, failed = [], Learner.update, []

    def update(self, rollouts, age, *more):
        found.append({age - rollout.version for rollout in rollouts})
        if age == fail_at and not failed:
            failed.append(age)
            raise RuntimeError("an update that fails once")
        return original(self, rollouts, age, *more)

    monkeypatch.setattr(Learner, "update", update)
    return found


def test_weights_that_play_are_one_iteration_old_but_for_save_points(tmp_path, monkeypatch):
    lags = watch(monkeypatch)
    assert train(tmp_path / "whole", *LAG, "--timesteps", LAST * ITERATION)[0] == 0
    assert lags == [{0}, {1}, {1}, {1}, {0}, {1}, {1}, {1}]
    assert train(tmp_path / "parts", *LAG, "--timesteps", INTERVAL * ITERATION)[0] == 0
    assert train(tmp_path / "parts", "--timesteps", LAST * ITERATION, resume=True)[0] == 0
    assert_equal_runs(tmp_path / "whole", tmp_path / "parts", generations=["gen_0", "gen_4", "gen_8"])


def test_a_learner_that_crashes_leaves_the_games_ahead(tmp_path, monkeypatch):
    lags = watch(monkeypatch, fail_at=6)
    assert train(tmp_path, *LAG, "--timesteps", LAST * ITERATION)[0] == 0
    assert [row["iteration"] for row in rows(tmp_path / "metrics.jsonl")] == [*range(1, LAST + 1)]
    assert lags[6:] == [{1}, {0}, {1}, {1}, {1}]


def test_a_run_that_ends_early_saves_and_goes_on(tmp_path):
    told = []

    def callback(report):
        told.append(report.iteration)
        return report.iteration < 2

    config = {
        "ppo": {"max_policy_lag": 1, "rollout_length": 8},
        "run": {"num_games": 4, "save_interval": 4, "timesteps": 8 * 32},
    }
    run = selfplay.train(config, game="rps", checkpoint=tmp_path / "run", callbacks=[callback])
    assert not run.finished
    assert told == [1, 2]
    assert train(run.path, size=(), resume=True)[0] == 0
    assert [row["iteration"] for row in rows(run.path / "metrics.jsonl")] == [*range(1, LAST + 1)]
