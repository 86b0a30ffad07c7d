"""Self-play that starts from imitation: what comes with the policy, and how it is kept from forgetting."""

import numpy as np
import pytest
import torch

from selfplay import load_policy
from selfplay.checkpoint import RunDir
from selfplay.cli.ppo import parse
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.policy.backbones import LAYERS
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.ppo.pretrained import with_pretrained
from selfplay_melee.observation import ENCODER_VERSION, OBS_WIDTH
from selfplay_melee.settings import learned_characters
from tests.run.policies import save_imitation
from tests.run.runs import CAP, GAMES, ITERATION, STEPS, assert_equal_runs, rows, train
from tests.support.cases import first_alone

SIZE = (
    *("--num-games", GAMES, "--rollout-length", STEPS, "--max-episode-frames", CAP, "--batch-size", "128"),
    *("--ppo-epochs", "2", "--set", "run.threads=2", "--save-interval", "1", "--learning-rate", "1e-3", "--seed", "3"),
)


def start(folder, policy, *arguments, iterations=1):
    """Train from a policy, with no setting of a network; the exit code and what a person sees."""
    steps = ("--timesteps", iterations * ITERATION)
    return train(folder, *arguments, *steps, "--pretrained", policy, resume=False, size=SIZE)


@pytest.fixture(params=["mlp", *sorted(LAYERS)])
def policy(request, tmp_path):
    return save_imitation(tmp_path / "imitation", request.param)


def decisions(policy):
    """What a policy draws, decision after decision, and how likely it was."""
    torch.set_num_threads(1)
    obs = np.random.default_rng(0).normal(size=(6, 5, OBS_WIDTH)).astype(np.float32)
    memory, generator = RecurrentState(5), torch.Generator().manual_seed(0)
    return np.stack([policy.act(row, generator, memory=memory) for row in obs])


def test_two_steps_need_no_other_flag_and_begin_as_the_policy_plays(policy, tmp_path):
    code, text = start(tmp_path / "run", policy)
    assert code == 0
    before, first = load_policy(policy), load_policy(tmp_path / "run" / "generations" / "gen_0")
    assert first.meta.weights_hash == before.meta.weights_hash
    assert first.meta.network == before.meta.network
    assert (first.body.frame_skip, first.body.delay) == (3, 2)
    np.testing.assert_array_equal(decisions(before), decisions(first))
    for line in ("ppo.teacher_kl: 0.01", "ppo.critic_burn_in: 0"):
        assert f"    {line}\n" in text
    assert "teacher_kl_reverse" not in text  # as it is without an effect
    assert "has learned fox; this run plays mewtwo" in text


def test_the_policy_stands_still_while_the_critic_learns(policy, tmp_path):
    folder = tmp_path / "run"
    assert start(folder, policy, "--set", "ppo.critic_burn_in=2", iterations=3)[0] == 0
    params = [
        load_policy(folder / "generations" / f"gen_{i}").network.state_dict() for i in range(4)
    ]  # fmt: skip
    for i in (1, 2):
        assert all(torch.equal(params[0][name], params[i][name]) for name in params[0] if not name.startswith("out."))
        assert torch.equal(params[0]["out.weight"][:-1], params[i]["out.weight"][:-1])
        assert not torch.equal(params[i - 1]["out.weight"][-1], params[i]["out.weight"][-1])
    assert not torch.equal(params[2]["out.weight"][:-1], params[3]["out.weight"][:-1])
    metrics = rows(folder / "metrics.jsonl")
    assert metrics[0]["losses/teacher_kl"] == pytest.approx(0.0, abs=1e-4)
    assert metrics[2]["losses/teacher_kl"] > 1e-4
    assert metrics[2]["losses/teacher_kl_reverse"] > 1e-4
    assert metrics[2]["losses/step_kl"] > 0


@pytest.mark.parametrize(("iterations", "alone"), [(8, 2), (79, 19), (400, 20), (None, 20)])
def test_by_default_the_critic_is_alone_for_a_quarter_of_the_run_at_most(tmp_path, iterations, alone):
    policy = save_imitation(tmp_path / "imitation")
    length = ("--max-minutes", "5") if iterations is None else ("--timesteps", str(iterations * ITERATION))
    invocation = parse([*map(str, SIZE), *length, "--pretrained", str(policy)])
    said = []
    assert with_pretrained(invocation.config, invocation.explicit, said.append).ppo.critic_burn_in == alone
    assert len(said) == 1  # of another character


def test_who_lets_the_critic_learn_alone_to_the_end_is_told(tmp_path):
    policy = save_imitation(tmp_path / "imitation")
    text = start(tmp_path / "run", policy, "--set", "ppo.critic_burn_in=2", iterations=2)[1]
    assert "The run has 2 iterations, in all of which the critic alone learns (ppo.critic_burn_in)" in text


def test_a_strong_teacher_holds_the_policy(tmp_path):
    policy = save_imitation(tmp_path / "imitation")
    moved = {}
    for weight in ("0", "3"):
        folder = tmp_path / f"run{weight}"
        start(folder, policy, "--set", "ppo.critic_burn_in=0", "--teacher-kl", weight, iterations=4)
        moved[weight] = rows(folder / "metrics.jsonl")[-1]["losses/teacher_kl"]
    assert moved["3"] < 0.7 * moved["0"]


@pytest.mark.parametrize("kind", first_alone(sorted(LAYERS)))
def test_a_resumed_run_of_a_policy_that_remembers_equals_an_uninterrupted_one(kind, tmp_path):
    policy = save_imitation(tmp_path / "imitation", kind)
    flags = ("--deterministic", "--runners", "2", "--set", "ppo.critic_burn_in=1", "--mode", "simple_mix")
    start(tmp_path / "whole", policy, *flags, iterations=4)
    start(tmp_path / "halves", policy, *flags, iterations=2)
    policy.rename(policy.with_name("gone"))
    assert train(tmp_path / "halves", "--timesteps", 4 * ITERATION, resume=True)[0] == 0
    policy.with_name("gone").rename(policy)
    assert_equal_runs(tmp_path / "whole", tmp_path / "halves", generations=[f"gen_{i}" for i in range(5)])


@pytest.mark.full
def test_a_policy_that_remembers_is_rated_and_meets_its_past(tmp_path):
    folder = tmp_path / "run"
    policy = save_imitation(tmp_path / "imitation", "gru")
    flags = ("--track-elo", "--rating-share", "1", "--set", "ppo.critic_burn_in=0", "--mode", "delta_uniform")
    assert start(folder, policy, *flags, iterations=3)[0] == 0
    games = rows(folder / "ledger.jsonl")
    assert {seat["player"] for game in games for seat in game["seats"]} >= {"gen_0", "gen_3", "random"}
    assert RunDir(folder).read_run()["config"]["net"]["backbone"] == "gru"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--backbone", "lstm"), "--backbone is lstm, but --pretrained .* was made with attention$"),
        (("--set", "net.window=9"), "--set net.window is 9, but --pretrained .* was made with 5"),
        (("--hidden", "16,16,16"), "--hidden is 16,16,16, but .* was made with 16,16$"),
        (("--frame-skip", "4"), "--frame-skip is 4, but .* was made with 3"),
        (("--delay", "1"), "--delay is 1, but .* was made with 2"),
        (("--set", "net.rest=0.5"), "--set net.rest applies to new networks only; leave it out with --pretrained "),
    ],
)
def test_a_flag_that_differs_names_both_sides(arguments, words, tmp_path):
    policy = save_imitation(tmp_path / "imitation", "attention")
    with pytest.raises(ConfigError, match=words):
        start(tmp_path / "run", policy, *arguments)
    assert not (tmp_path / "run").exists()


def test_a_policy_of_another_encoder_is_refused_with_both_versions(tmp_path):
    other = save_imitation(tmp_path / "other", encoder_version=77)
    with pytest.raises(IncompatibleError, match=f"made for observations of version 77, here is {ENCODER_VERSION}"):
        start(tmp_path / "run", other)


def test_a_network_that_self_play_has_no_settings_for_is_refused(tmp_path):
    policy = save_imitation(tmp_path / "imitation", "attention", window=2000)
    with pytest.raises(IncompatibleError, match=r"imitation: self-play has no settings for its network: .*1024"):
        start(tmp_path / "run", policy)
    assert not (tmp_path / "run").exists()


def test_an_opponent_that_does_not_fit_the_policy_names_both(tmp_path):
    policy = save_imitation(tmp_path / "imitation")
    other = save_imitation(tmp_path / "other", frame_skip=4)
    words = "--opponent .*other was made with --frame-skip 4, --pretrained .*imitation with 3: these two cannot"
    with pytest.raises(ConfigError, match=words):
        start(tmp_path / "run", policy, "--opponent", other)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", sorted(LAYERS))
@pytest.mark.parametrize("hidden", ["32", "32,64", "48,48"])
def test_widths_that_do_not_fit_are_refused_before_anything_is_made(kind, hidden, tmp_path):
    with pytest.raises(ConfigError, match=f"^--backbone {kind} with --hidden {hidden}: {kind} needs a dense layer"):
        train(tmp_path / "run", "--backbone", kind, "--hidden", hidden)
    assert list(tmp_path.iterdir()) == []


def test_who_was_learned_stands_with_the_replays(tmp_path):
    meta = load_policy(save_imitation(tmp_path / "imitation")).meta
    replays = {"rows_by_character": {"fox": 9, "character 19": 5, "marth": 1}}
    whole = meta.model_copy(update={"config": {"imitation": {"replays": replays}}})
    assert learned_characters(whole) == ("fox", "character 19", "marth")
    assert learned_characters(meta) == ("fox",)  # nothing is said of its replays


@pytest.mark.parametrize("flag", ["--teacher-kl", "--set ppo.teacher_kl_reverse", "--set ppo.critic_burn_in"])
def test_what_needs_a_teacher_says_so(flag, tmp_path):
    with pytest.raises(ConfigError, match=f"{flag} needs a policy to start from: --pretrained PATH"):
        train(tmp_path / "run", *f"{flag}=1".split())


@pytest.mark.parametrize("kind", sorted(LAYERS))
def test_games_that_are_judged_state_by_state_refuse_a_memory(kind, tmp_path):
    with pytest.raises(ConfigError, match=f"--backbone {kind}: --game-type kuhn is judged exactly"):
        train(tmp_path / "run", "--game-type", "kuhn", "--backbone", kind, "--hidden", "16,16", size=())
