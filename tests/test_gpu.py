"""Every path through a CUDA device, once: ``make test-gpu``.

``SELFPLAY_TEST_DEVICE=cpu`` runs the same tests on the processor, to check the tests themselves.
"""

import json
import os

import pytest
import torch

from selfplay.checkpoint import RunDir, list_generations, load_checkpoint
from selfplay.commands.exploit import exploit
from tests.dialogue.models import model_folder
from tests.run.runs import ITERATION, assert_equal_runs, rows, train
from tests.scripts.commands import run

DEVICE = os.environ.get("SELFPLAY_TEST_DEVICE", "cuda")
ON_CUDA = DEVICE != "cpu"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(600),
    pytest.mark.skipif(ON_CUDA and not torch.cuda.is_available(), reason="needs a CUDA device"),
]
ON_DEVICE = ("--device", DEVICE)
SMALL = ("--hidden", "16,16", "--batch-size", 64, "--epochs", 1, *ON_DEVICE)


def steps(iterations):
    return ("--timesteps", iterations * ITERATION)


def used(folder):
    return RunDir(folder).read_run()["device"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    code, shown = train(folder, *steps(2), *ON_DEVICE, "--track-elo", "--save-interval", 1)
    assert code == 0, shown
    return folder


@pytest.fixture(scope="module")
def replays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("games")
    done = run("record", "--bot", "rusher", "--games", 2, "--max-episode-frames", 900, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "replays"


def test_a_run_trains_on_the_device(trained):
    assert used(trained).startswith(DEVICE)
    last = rows(trained / "metrics.jsonl")[-1]
    assert last["losses/grad_norm"] > 0


def test_a_resumed_run_goes_on(trained):
    before = len(list_generations(RunDir(trained)))
    code, shown = train(trained, *steps(3), resume=True)
    assert code == 0, shown
    assert len(list_generations(RunDir(trained))) == before + 1


@pytest.mark.parametrize("backbone", [("mlp", "8"), ("gru", "8,8"), ("attention", "8,8"), ("mamba", "8,8")])
def test_an_update_equals_that_of_the_processor(tmp_path, backbone):
    """The first iteration plays the same games on both; what is learned from them may differ by rounding."""
    weights = []
    for name, device in (("here", DEVICE), ("there", "cpu")):
        network = ("--backbone", backbone[0], "--hidden", backbone[1])
        code, shown = train(tmp_path / name, *steps(1), *network, "--device", device, "--deterministic")
        assert code == 0, shown
        weights.append(load_checkpoint(tmp_path / name).params)
    for key, values in weights[0].items():
        torch.testing.assert_close(torch.as_tensor(values), torch.as_tensor(weights[1][key]), atol=1e-4, rtol=1e-3)


def test_deterministic_runs_are_equal_also_after_a_resume(tmp_path):
    flags = ("--deterministic", "--runners", 2, "--save-interval", 1, *ON_DEVICE)
    for name in ("one", "other"):
        assert train(tmp_path / name, *flags, *steps(2))[0] == 0
    assert train(tmp_path / "parts", *flags, *steps(1))[0] == 0
    assert train(tmp_path / "parts", *steps(2), resume=True)[0] == 0
    generations = [f"gen_{i}" for i in range(3)]
    assert_equal_runs(tmp_path / "one", tmp_path / "other", generations=generations)
    assert_equal_runs(tmp_path / "one", tmp_path / "parts", generations=generations)


def test_games_in_processes_and_a_league(tmp_path):
    code, shown = train(tmp_path / "processes", *steps(1), *ON_DEVICE, "--host", "process")
    assert code == 0, shown
    code, shown = train(tmp_path / "league", *steps(1), *ON_DEVICE, "--mode", "league", "--runners", 4)
    assert code == 0, shown


def test_a_trained_run_is_rated_evaluated_and_exported(trained, tmp_path):
    for words in (
        ("rate", trained, "--budget", 8),
        ("evaluate", trained, "random", "--games", 4),
        ("leaderboard", trained),
        ("export", trained, "--format", "torch", "--out", tmp_path / "policy.pt2"),
    ):
        done = run(*words, cwd=tmp_path)
        assert done.returncode == 0, (words[0], done.stderr)


def test_a_trained_run_is_exploited(trained, tmp_path):
    found = exploit(trained, ITERATION, tmp_path / "exploiters", seeds=(0,), games=4)
    assert [attempt.start for attempt in found.attempts] == ["scratch", "victim"]
    assert used(tmp_path / "exploiters" / "scratch_0").startswith(DEVICE)


@pytest.mark.parametrize("form", [(), ("--backbone", "gru", "--temporal")], ids=["single", "temporal"])
def test_replays_are_imitated_and_self_play_starts_from_the_policy(replays, tmp_path, form):
    done = run("imitate", "--replays", replays, *SMALL, *form, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    start = ("--pretrained", tmp_path / "checkpoints" / "imitation_best_policy", "--set", "ppo.critic_burn_in=0")
    size = ("--num-games", 4, "--rollout-length", 16, "--max-episode-frames", 120)
    code, shown = train(tmp_path / "run", "--timesteps", 64, *start, *ON_DEVICE, size=size)
    assert code == 0, shown


@pytest.mark.parametrize("form", [(), ("--lora-rank", 4), ("--bf16",), ("--lora-rank", 4, "--bf16")], ids=str)
def test_dialogue_games_are_trained_and_resumed(tmp_path, form):
    model = model_folder(tmp_path / "model")
    size = ("--num-games", 16, "--evaluation-states", 0, "--save-interval", 1)
    words = ("--game-type", "kuhn_text", "--model", model, *size, *form, *ON_DEVICE)
    done = run("train", *words, "--games", 32, "--checkpoint", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert used(tmp_path / "run").startswith(DEVICE)
    done = run("train", "--resume", "--checkpoint", "run", "--games", 48, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not ON_CUDA, reason="is about the memory of a CUDA device")
def test_memory_that_runs_out_names_a_setting(tmp_path):
    torch.cuda.set_per_process_memory_fraction(1e-6)
    try:
        torch.cuda.empty_cache()
        done = run("train", "--game-type", "kuhn", "--timesteps", 64, *ON_DEVICE, "--batch-size", 10**6, cwd=tmp_path)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert done.returncode == 1
    assert "--batch-size" in done.stderr


@pytest.mark.blocking("the benchmark opens its reporters on the event loop")
def test_the_benchmark_says_where_the_time_goes(capsys):
    from scripts.studies.bench.device import measure_device

    figures = measure_device(DEVICE, rounds=1, games=16)
    assert json.loads(json.dumps(figures)) == figures
    assert figures["update_s"] > 0
    assert sum(figures[f"update_{part}"] for part in ("copies", "kernels", "rest")) == pytest.approx(1.0, abs=0.05)
