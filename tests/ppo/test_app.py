import json
import signal

import numpy as np
import pytest

from selfplay import load_policy
from selfplay.checkpoint import RunDir
from selfplay.config.resume import trained_on
from selfplay.errors import ConfigError
from selfplay.league.ledger import read_records
from selfplay.ppo.learner import Learner
from tests.run.ends import before, signalled
from tests.run.runs import ITERATION, hashes, rows, train


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A run whose newest generation others start from."""
    folder = tmp_path_factory.mktemp("runs") / "teacher"
    size = ("--timesteps", ITERATION, "--hidden", "12,6", "--set", "net.activation=relu", "--frame-skip", 3)
    assert train(folder, *size, "--delay", 2)[0] == 0
    return folder / "generations" / "gen_1"


@pytest.fixture
def pretrained(teacher, tmp_path):
    folder = tmp_path / "pupil"
    # TINY names a width of its own, which a pretrained policy would refuse
    assert train(folder, "--hidden", "12,6", "--timesteps", ITERATION, "--pretrained", teacher)[0] == 0
    return folder


def test_a_pretrained_policy_plays_at_iteration_0_as_it_did(pretrained, teacher):
    before, start = load_policy(teacher), load_policy(pretrained / "generations" / "gen_0")
    obs = np.random.default_rng(0).normal(size=(50, before.meta.network.obs_width)).astype(np.float32)
    np.testing.assert_array_equal(before.act(obs, greedy=True), start.act(obs, greedy=True))
    assert start.meta.weights_hash == before.meta.weights_hash
    assert start.meta.parent == "gen_1"
    assert load_policy(pretrained).meta.weights_hash != before.meta.weights_hash  # and it learned


def test_what_a_pretrained_policy_was_made_with_comes_with_it(pretrained):
    policy = load_policy(pretrained)
    meta = policy.meta
    assert (meta.network.hidden, meta.network.activation) == ((12, 6), "relu")
    assert (policy.body.frame_skip, policy.body.delay) == (3, 2)
    game = RunDir(pretrained).read_run()["config"]["game"]
    assert (game["frame_skip"], game["delay"]) == (3, 2)


def test_a_resumed_run_no_longer_needs_it(pretrained, teacher):
    config = json.loads((pretrained / "run.json").read_text())["config"]
    assert config["run"]["pretrained"] == str(teacher)
    hidden = teacher.rename(teacher.with_name(".moved"))
    try:
        assert train(pretrained, "--timesteps", 2 * ITERATION, resume=True)[0] == 0
    finally:
        hidden.rename(teacher)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--hidden", "12,6", "--frame-skip", "4"), "--frame-skip is 4, but .* was made with 3"),
        (("--hidden", "12,6", "--delay", "0"), "--delay is 0, but .* was made with 2"),
        ((), "--hidden is 8, but .* was made with 12,6$"),
        (("--hidden", "12,6", "--set", "net.activation=tanh"), "--set net.activation is tanh, but .* relu$"),
    ],
)
def test_settings_of_a_pretrained_policy_cannot_be_changed(teacher, tmp_path, arguments, words):
    with pytest.raises(ConfigError, match=words):
        train(tmp_path / "pupil", "--pretrained", teacher, *arguments)
    assert not (tmp_path / "pupil").exists()


def test_two_characters_are_both_learned_and_rated_both_ways(tmp_path):
    folder = tmp_path / "run"
    flags = ("--opponent-character", "fox", "--stage", "battlefield", "--track-elo")
    code, text = train(folder, "--timesteps", 3 * ITERATION, "--save-interval", 1, *flags)
    assert code == 0
    assert "game.opponent_character: fox" in text
    assert trained_on(load_policy(folder).meta).characters == ("mewtwo", "fox")
    games = list(read_records(folder / "ledger.jsonl"))
    assert all(game.facts["stage"] == "battlefield" for game in games)
    seatings = {}
    for game in games:
        seatings.setdefault(game.match.partition("-")[0], set()).add(
            tuple(zip((seat.player for seat in game.seats), game.facts["characters"], strict=True))
        )
    for pair in seatings.values():  # both seats, and each player with each character
        assert len(pair) == 4
        assert {character for first, _ in pair for character in [first[1]]} == {"mewtwo", "fox"}
        assert all({a[1], b[1]} == {"mewtwo", "fox"} for a, b in pair)


def test_time_alone_ends_a_run(tmp_path):
    code, text = train(tmp_path / "run", "--max-minutes", 0.01, "--save-interval", 1000)
    assert code == 0
    summary = RunDir(tmp_path / "run").read_summary()
    assert summary["finished"]
    assert summary["iteration"] > 0
    assert summary["elapsed_s"] > 0  # without the start, which counts as well
    assert "run.max_minutes: 0.01" in text
    assert "Timesteps" not in text
    assert list(hashes(tmp_path / "run")) == ["gen_0", f"gen_{summary['iteration']}"]


def test_whichever_limit_comes_first(tmp_path):
    assert train(tmp_path / "run", "--max-minutes", 60, "--timesteps", 2 * ITERATION)[0] == 0
    assert RunDir(tmp_path / "run").read_summary()["iteration"] == 2


def test_a_held_out_player_is_rated_but_never_met(tmp_path):
    folder = tmp_path / "run"
    only = [f"--set=league.{name}=0" for name in ("current", "recent", "any_past")]
    held = ("--held-out", "rusher,random", "--track-elo", "--rating-share", 1)
    assert train(folder, "--timesteps", 3 * ITERATION, "--save-interval", 1, *only, *held)[0] == 0
    met = {name for row in rows(folder / "metrics.jsonl") for name in row if name.startswith("opponents/")}
    assert met
    assert not met & {"opponents/rusher", "opponents/random", "opponents/idle", "opponents/current"}
    assert "random" in {seat.player for game in read_records(folder / "ledger.jsonl") for seat in game.seats}


def test_latest_mode_plays_mirrors_alone(tmp_path):
    folder = tmp_path / "run"
    assert train(folder, "--timesteps", 2 * ITERATION, "--mode", "latest")[0] == 0
    for row in rows(folder / "metrics.jsonl"):
        assert row["charts/experiences"] == 2 * ITERATION
        assert {name for name in row if name.startswith("opponents/")} <= {"opponents/current"}
        assert not any(name.startswith("winrate/") for name in row)


def test_nothing_of_a_game_is_rewarded_where_the_rewards_are_zero(tmp_path):
    folder = tmp_path / "run"
    zero = ("--set", "reward.stock=0", "--set", "reward.damage=0")
    assert train(folder, "--timesteps", 2 * ITERATION, *zero)[0] == 0
    returns = [row["play/return_mean"] for row in rows(folder / "metrics.jsonl") if "play/return_mean" in row]
    assert returns
    assert set(returns) == {0.0}


def onwards(text):
    """The flags behind ``--resume --checkpoint RUN`` in what a run suggests at its end."""
    (line,) = (line for line in text.splitlines() if "selfplay train --resume" in line)
    return line.partition("--checkpoint ")[2].split()[1:]


def test_what_is_suggested_next_leads_to_the_goal_that_was_asked_for_or_further(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    both = ("--timesteps", 3 * ITERATION, "--max-minutes", 60)
    before(monkeypatch, Learner, "update", 2, signalled(signal.SIGINT))
    code, text = train(folder, *both)
    assert (code, onwards(text)) == (130, [])
    code, text = train(folder, *onwards(text), resume=True)
    assert code == 0
    assert "Finished after 3 iterations" in text
    assert onwards(text) == ["--timesteps", str(6 * ITERATION), "--max-minutes", "60"]


def test_more_steps_are_suggested_than_a_run_has(tmp_path):
    folder = tmp_path / "run"
    assert train(folder, "--timesteps", 3 * ITERATION)[0] == 0
    code, text = train(folder, "--timesteps", ITERATION, resume=True)
    assert (code, onwards(text)) == (0, ["--timesteps", str(4 * ITERATION)])


def test_after_a_limit_of_time_more_time_is_suggested(tmp_path):
    code, text = train(tmp_path / "run", "--timesteps", 10**6, "--max-minutes", 0.01)
    assert code == 0
    *steps, minutes = onwards(text)
    assert steps == ["--timesteps", str(10**6), "--max-minutes"]
    assert 60 * float(minutes) >= RunDir(tmp_path / "run").read_summary()["elapsed_s"]  # which is rounded
