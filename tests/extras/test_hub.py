"""Policies to a stand-in for the Hugging Face Hub and back."""

import json
import os
import shutil
from pathlib import Path

import pytest

from selfplay.checkpoint import load_checkpoint, shipped_policies
from selfplay.checkpoint.store import MANIFEST
from tests.checkpoint.samples import forge
from tests.scripts.commands import command
from tests.support.hub import TOKEN, USER, Repo, hub
from tests.support.processes import finish

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub, which is not installed")
pytestmark = [pytest.mark.extras, pytest.mark.timeout(1800)]

LIMIT_S = 900.0  # a film takes ten seconds of a processor
FILES = ("params.safetensors", "policy.json", MANIFEST)
WEAK = shipped_policies()["weak"]


@pytest.fixture
def server():
    with hub() as made:
        yield made


@pytest.fixture
def call(server, tmp_path):
    """Run a command beside the stand-in."""

    def run(*words, **environment):
        env = {
            **os.environ, "HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": TOKEN,
            "HF_HUB_DISABLE_XET": "1", "PYTHONPATH": str(Path(__file__).parents[2]), **environment,
        }  # fmt: skip
        return finish(command(*words), cwd=tmp_path, env=env, limit_s=LIMIT_S)

    return run


@pytest.fixture
def kuhn(call, tmp_path):
    """The folder of a rated run."""
    words = ("--game-type", "kuhn", "--preset", "none", "--num-games", "8", "--timesteps", "2048", "--seed", "7")
    done = call("train", *words, "--track-elo", "--save-interval", "1", "--checkpoint", "run")
    assert done.returncode == 0, done.stderr[-2000:]
    return tmp_path / "run"


def uploaded(server, folder, name="weak"):
    server.commit(f"{USER}/{name}", {file.name: file.read_bytes() for file in folder.iterdir()})
    return f"hf://{USER}/{name}"


def line_of(done):
    """The one line of a command that was refused."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr[-2000:]
    (line,) = done.stderr.splitlines()
    return line


def test_a_policy_goes_there_and_back_and_plays(server, call, kuhn, tmp_path):
    done = call("push", "run", "kuhn")
    assert (done.returncode, done.stdout.strip()) == (0, f"{server.url}/{USER}/kuhn"), done.stderr[-2000:]
    name, generation = f"hf://{USER}/kuhn", kuhn / "generations" / "gen_2"
    done = call("evaluate", name, "random", "--games", "20", "--json")
    assert (done.returncode, json.loads(done.stdout)["a"]) == (0, name), done.stderr[-2000:]
    (folder,) = (tmp_path / "hf" / "selfplay").glob("*/*")
    assert {path.name for path in folder.iterdir()} == {*FILES}
    assert all((folder / file).read_bytes() == (generation / file).read_bytes() for file in FILES)
    assert not any(path.is_symlink() for path in folder.iterdir())
    ours, theirs = load_checkpoint(generation), load_checkpoint(folder)
    assert ours.meta == theirs.meta
    assert call("exploit", name, "--json").returncode == 0
    assert call("export", name, "--format", "torch", "--out", "kuhn.pt2", "--check", "10").returncode == 0
    words = ("--game-type", "kuhn", "--preset", "none", "--num-games", "8", "--timesteps", "1024")
    assert call("train", *words, "--opponent", name, "--pretrained", name, "--checkpoint", "next").returncode == 0
    (copy,) = (tmp_path / "next" / "external_opponents").iterdir()
    assert copy.name == f"external.{USER}--kuhn"
    assert (copy / "params.safetensors").read_bytes() == (generation / "params.safetensors").read_bytes()


def test_the_card_says_how_strong_it_is_and_how_it_was_made(server, call, kuhn):
    assert call("push", "run", f"{USER}/kuhn", "--private").returncode == 0
    repo = server.repos[f"{USER}/kuhn"]
    assert repo.private
    card = repo.files["README.md"].decode()
    assert card.startswith("---\nlibrary_name: selfplay\n")
    assert f"selfplay evaluate hf://{USER}/kuhn random" in card
    assert "| Seed | 7 |" in card
    (row,) = (line for line in card.splitlines() if "**gen_2**" in line)
    low, high = row.split("|")[4].split(" to ")
    assert float(low) < float(row.split("|")[3]) < float(high)
    (trained,) = (line for line in card.splitlines() if line.startswith("selfplay train"))
    again = call(*trained.split()[1:], "--checkpoint", "again")
    assert again.returncode == 0, again.stderr[-2000:]
    config = [json.loads((kuhn.with_name(name) / "run.json").read_text())["config"] for name in ("run", "again")]
    for each in config:
        del each["run"]["checkpoint"]
    assert config[0] == config[1]


def test_a_revision_may_be_named_and_what_was_downloaded_needs_no_network(server, call, tmp_path):
    first = server.commit(f"{USER}/weak", {file.name: file.read_bytes() for file in WEAK.iterdir()})
    server.commit(f"{USER}/weak", {"README.md": b"newer"})
    name = f"hf://{USER}/weak@{first}"
    words = ("evaluate", name, "random", "--games", "2", "--json")
    one = call(*words)
    assert one.returncode == 0, one.stderr[-2000:]
    (folder,) = (tmp_path / "hf" / "selfplay").iterdir()
    assert folder.name == first
    other = call(*words, HF_ENDPOINT="http://127.0.0.1:9")
    assert other.stdout == one.stdout, other.stderr[-2000:]


def test_a_fight_has_a_film(server, call):
    done = call("push", "weak", "weak")
    assert done.returncode == 0, done.stderr[-2000:]
    files = server.repos[f"{USER}/weak"].files
    assert files["film.gif"].startswith(b"GIF89a")
    assert b"(film.gif)" in files["README.md"]
    assert {file: files[file] for file in FILES} == {file: (WEAK / file).read_bytes() for file in FILES}


def test_what_cannot_be_downloaded_is_one_line(server, call, tmp_path):
    server.commit(f"{USER}/other", {"model.bin": b"x", "policy.json": b"{}"})
    server.repos[f"{USER}/secret"] = Repo(private=True)
    cases = {
        f"hf://{USER}/none": "no such repository, or a private one",
        f"hf://{USER}/other": "is no policy of selfplay",
        f"{uploaded(server, WEAK)}@nothing": "no such revision",
        "hf://weak": "a name of the Hub is hf://OWNER/NAME",
        "hf://a/../b": "a name of the Hub is hf://OWNER/NAME",
    }
    for name, words in cases.items():
        line = line_of(call("evaluate", name, "random", "--games", "2", HF_TOKEN=""))
        assert name in line
        assert words in line
    line = line_of(call("evaluate", f"hf://{USER}/weak", "random", "--games", "2", HF_ENDPOINT="http://127.0.0.1:9"))
    assert "the Hub cannot be reached, and it was not downloaded before" in line
    assert not (tmp_path / "hf" / "selfplay").exists()


def test_only_the_files_of_a_policy_are_downloaded_and_they_are_verified(server, call, tmp_path):
    name = uploaded(server, WEAK)
    server.commit(f"{USER}/weak", {"payload.py": b"raise SystemExit(1)", "pytorch_model.bin": b"x"})
    assert call("evaluate", name, "random", "--games", "2").returncode == 0
    asked = {line.rpartition("/")[2] for line in server.asked if "/resolve/" in line}
    assert asked == {*FILES}
    damaged = tmp_path / "damaged"
    shutil.copytree(WEAK, damaged)
    weights = bytearray((damaged / "params.safetensors").read_bytes())
    weights[-1] ^= 1
    forge(damaged, params__safetensors=bytes(weights))
    assert "do not have the hash" in line_of(call("evaluate", uploaded(server, damaged, "forged"), "random"))
    (damaged / "params.safetensors").write_bytes((WEAK / "params.safetensors").read_bytes())
    assert "wrong sha256" in line_of(call("evaluate", uploaded(server, damaged, "damaged"), "random", "--games", "2"))


def test_a_push_without_a_login_or_of_a_secret_is_refused(server, call, kuhn):
    assert "needs a login: hf auth login" in line_of(call("push", "run", "kuhn", HF_TOKEN=""))
    policy = kuhn / "generations" / "gen_2" / "policy.json"
    document = json.loads(policy.read_text())
    document["config"]["run"]["ray_address"] = "ray://me:hunter2@head:1"
    forge(policy.parent, policy__json=json.dumps(document).encode())
    assert "has a secret of this environment, or a login" in line_of(call("push", "run", "kuhn"))
    assert server.repos == {}


def test_a_language_model_goes_there_and_is_trained_on(server, call, tmp_path):
    pytest.importorskip("transformers", reason="needs transformers, which is not installed")
    game = ("--game-type", "kuhn_text", "--preset", "none", "--num-games", "16", "--games-per-state", "4")
    few = ("--games", "16", "--evaluation-states", "0", "--start-tokens", "0")
    assert call("train", *game, *few, "--checkpoint", "run").returncode == 0
    done = call("push", "run", "talk")
    assert done.returncode == 0, done.stderr[-2000:]
    name, generation = f"hf://{USER}/talk", tmp_path / "run" / "generations" / "gen_1"
    done = call("train", *game, *few, "--model", name, "--opponent", name, "--checkpoint", "next")
    assert done.returncode == 0, done.stderr[-2000:]
    (folder,) = (tmp_path / "hf" / "selfplay").glob("*/*")
    assert all((folder / path.name).read_bytes() == path.read_bytes() for path in generation.iterdir())
    start = tmp_path / "next" / "generations" / "gen_0" / "model.safetensors"
    assert start.read_bytes() == (generation / "model.safetensors").read_bytes()
