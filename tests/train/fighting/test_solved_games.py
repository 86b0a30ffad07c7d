"""Small games through the whole trainer: what they share with fights, and what they have no use for."""

import json

import numpy as np
import pytest

from envs.registry import GAMES, SOLVED
from selfplay.checkpoint import RunDir, list_generations
from selfplay.commands.players import contender
from selfplay.commands.selfcheck import known_table, strategy
from selfplay.commands.watch import fight
from selfplay.config.fighting import Config
from selfplay.errors import ConfigError
from selfplay.policy.opponent import load_opponent
from selfplay.policy.policy import game_of, load_fighter, load_policy
from selfplay.report.health import ENOUGH, Health
from selfplay.train.fighting.rating import config_of, settings_of
from tests.report.make import report
from tests.train.runs import assert_equal_runs, rows
from tests.train.runs import train as train_fight

SMALL = (
    *("--num-games", 8, "--rollout-length", 16, "--hidden", "8", "--ppo-epochs", 2, "--batch-size", 64),
    *("--threads", 1, "--save-interval", 2),
)
ITERATION = 8 * 16


def train(folder, game, *arguments, resume=False):
    return train_fight(folder, "--game-type", game, *SMALL, *arguments, resume=resume, size=())


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "kuhn"
    code, text = train(folder, "kuhn", "--timesteps", 6 * ITERATION, "--deterministic")
    assert code == 0
    return folder, text


@pytest.mark.parametrize("name", SOLVED)
def test_every_small_game_trains(tmp_path, name):
    assert train(tmp_path / name, name, "--timesteps", 2 * ITERATION)[0] == 0
    policy = load_policy(tmp_path / name)
    assert game_of(policy.meta) == name
    assert (policy.meta.network.obs_width, policy.meta.actions.sizes) == (
        GAMES[name].obs_width,
        GAMES[name].actions.sizes,
    )
    assert (policy.meta.frame_skip, policy.meta.delay, policy.meta.characters) == (1, 0, ("none",))


def test_reports_say_what_there_is_and_nothing_of_stocks(kuhn):
    folder, text = kuhn
    metrics = rows(folder / "metrics.jsonl")
    assert len(metrics) == 6
    assert all(row["reward/payoff"] == pytest.approx(row["play/return_mean"]) for row in metrics)
    assert all(2 <= row["play/episode_length"] <= 3 for row in metrics)
    assert not any("stock" in name or "damage" in name or "destruct" in name for row in metrics for name in row)
    for word in ("stock", "Stage", "Character", "Frame skip", "Track Elo", "evaluate.py", "watch.py", "Compil"):
        assert word not in text
    assert "Game type: kuhn" in text
    json.loads((folder / "summary.json").read_text())


def test_a_resumed_run_equals_an_uninterrupted_one_in_either_host(kuhn, tmp_path):
    folder = tmp_path / "run"
    assert train(folder, "kuhn", "--timesteps", 4 * ITERATION, "--deterministic", "--host", "process")[0] == 0
    with pytest.raises(ConfigError, match="--game-type is rps, but the run"):
        train_fight(folder, "--game-type", "rps", resume=True)
    with pytest.raises(ConfigError, match="--track-elo is a setting of fights; --game-type kuhn"):
        train_fight(folder, "--track-elo", resume=True)
    assert train_fight(folder, "--timesteps", 6 * ITERATION, "--host", "thread", resume=True)[0] == 0
    assert_equal_runs(kuhn[0], folder, generations=["gen_0", "gen_2", "gen_4", "gen_6"])


def test_policies_are_asked_in_every_state_and_never_choose_what_is_not_legal(kuhn):
    table = known_table("kuhn")
    shares = strategy(table, load_policy(kuhn[0]))
    np.testing.assert_allclose(shares.sum(-1), 1.0, atol=1e-6)
    assert not shares[~table.legal].any()
    assert (shares[table.legal] > 0).all()


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("--track-elo",), "--track-elo"),
        (("--character", "fox"), "--character"),
        (("--stage", "battlefield"), "--stage"),
        (("--frame-skip", 1), "--frame-skip"),
        (("--delay", 0), "--delay"),
        (("--gate", "sprt"), "--gate"),
        (("--held-out", "rusher"), "--held-out"),
        (("--set", "reward.stock=1"), "--set reward.stock"),
    ],
)
def test_settings_of_fights_are_refused_by_name(tmp_path, arguments, flag):
    with pytest.raises(ConfigError, match=f"^{flag} is a setting of fights; --game-type kuhn") as caught:
        train(tmp_path / "run", "kuhn", *arguments)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "run").exists()


def test_what_only_fights_can_do_is_refused(kuhn):
    folder, _ = kuhn
    words = "kuhn, which is no fight that could be watched, evaluated or rated"
    for refused in (
        lambda: contender(str(folder)),
        lambda: fight(folder, [], 0),
        lambda: settings_of(config_of(RunDir(folder))),
        lambda: load_opponent(folder),
        lambda: load_fighter(folder),
    ):
        with pytest.raises(ConfigError, match=words) as caught:
            refused()
        assert caught.value.exit_code == 2


def test_a_policy_starts_runs_of_its_own_game_only(kuhn, tmp_path):
    parent = list_generations(RunDir(kuhn[0]))[-1].path
    assert train(tmp_path / "pupil", "kuhn", "--pretrained", parent, "--timesteps", ITERATION)[0] == 0
    for game in ("rps", "mock"):
        with pytest.raises(ConfigError, match=f"plays kuhn, not {game}"):
            train(tmp_path / "other", game, "--pretrained", parent)
        with pytest.raises(ConfigError, match=f"--opponent .* plays kuhn, not {game}"):
            train(tmp_path / "other", game, "--opponent", parent)


def test_health_of_small_games_does_not_ask_for_exploration():
    one = report()
    sure = one.model_copy(update={"update": one.update.model_copy(update={"entropy": 0.1, "approx_kl": 9.0})})
    found = {}
    for fights in (True, False):
        health = Health(fights=fights)
        for i in range(ENOUGH):
            health.observe(sure.model_copy(update={"iteration": i + 1}))
        found[fights] = {finding.name for finding in health.findings()}
    assert found[True] - found[False] == {"entropy_collapse"}
    assert "stale_data" in found[False]


def test_every_game_can_be_configured():
    for name in GAMES:
        assert Config.model_validate({"game": {"type": name}}).game.type == name
