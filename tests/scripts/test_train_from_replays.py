import signal

import pytest

from scripts.studies.bench.replays import write_games
from selfplay import load_policy
from tests.scripts.commands import read_until, run, start

SCRIPT = "train_from_replays.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with replays in it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "replays").mkdir()
    write_games(folder / "replays", games=3, frames=300)
    return folder


@pytest.fixture(scope="module")
def first(folder):
    """The command as a person types it first."""
    return run(SCRIPT, "--replays", "replays", "--preset", "quick", cwd=folder)


def test_it_ends_with_a_policy(first, folder):
    assert first.returncode == 0, first.stderr
    assert first.stderr == ""
    assert "Finished, all 2 epochs are done" in first.stdout
    assert "\x1b" not in first.stdout
    assert load_policy(folder / "checkpoints" / "imitation_best_policy").meta.config["imitation"]


def test_the_policy_plays(first, folder):
    played = run("evaluate", "checkpoints/imitation_best_policy", "random", "--games", 2, cwd=folder)
    assert played.returncode == 0, played.stderr
    assert "imitation_best_policy against random: 2 games" in played.stdout


def test_self_play_goes_on_from_it_and_takes_no_imitation_for_a_run(first, folder):
    size = ("--num-games", 4, "--rollout-length", 16, "--timesteps", 64, "--set", "ppo.critic_burn_in=0")
    trained = run("train_self_play.py", "--pretrained", "checkpoints/imitation_best_policy", *size, cwd=folder)
    assert trained.returncode == 0, trained.stderr
    run(SCRIPT, "--replays", "replays", "--preset", "quick", "--epochs", 1, cwd=folder)
    resumed = run("train_self_play.py", "--resume", cwd=folder)
    assert resumed.returncode == 0, resumed.stderr
    assert "Run folder: checkpoints/self_play\n" in resumed.stdout


@pytest.mark.full
def test_an_interrupted_training_is_saved_and_goes_on(folder):
    arguments = ("--replays", "replays", "--hidden", "16", "--epochs", 10_000, "--patience", 0)
    with start(SCRIPT, *arguments, "--checkpoint", "interrupted", cwd=folder) as process:
        read_until(process, "Epoch 2/")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130, rest
    assert "Stopped, and saved, after" in rest
    assert load_policy(folder / "interrupted" / "imitation_latest_policy").meta.iteration >= 2
    resumed = run(SCRIPT, "--resume", "--checkpoint", "interrupted", "--epochs", 1, cwd=folder)
    assert resumed.returncode == 0, resumed.stderr
    assert "all 1 epochs are done" in resumed.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--replays PATH is needed"),
        (("--replays", "nowhere"), "nowhere: no such folder"),
        (("--replays", "replays", "--backbone", "gruu"), "did you mean gru?"),
        (("--replays", "replays", "--device", "cuda:99"), "--device cuda:99: not on this machine"),
        (("--resume", "--checkpoint", "elsewhere"), "elsewhere holds no training"),
        (("--replays", "replays", "--backbone", "gru", "--hidden", "32,64"), "--backbone gru with --hidden 32,64: gru"),
        (("--replays", "replays", "--hidden", "5000000000"), "--hidden 5000000000: at most 8192 is possible"),
        (("--replays", "replays", "--checkpoint", __file__), f"{__file__} is a file"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path, folder, arguments, words):
    (tmp_path / "replays").symlink_to(folder / "replays")
    refused = run(SCRIPT, *arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith("train_from_replays.py: ")
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"replays"}
