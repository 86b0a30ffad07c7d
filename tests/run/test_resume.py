import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from selfplay.checkpoint import RunDir
from selfplay.errors import CorruptError, IncompatibleError, NotARunError, RunLockedError, SelfPlayError
from selfplay.games.registry import find_game
from tests.checkpoint.samples import forge
from tests.run.runs import ITERATION, hashes, rows, train
from tests.support.kinds import bring

EVERY_2 = ("--save-interval", 2)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run of three iterations, with checkpoints after the second and at its end."""
    folder = tmp_path_factory.mktemp("runs") / "stopped"
    assert train(folder, *EVERY_2, "--timesteps", 3 * ITERATION)[0] == 0
    return folder


@pytest.fixture
def run(stopped, tmp_path):
    """A copy that a test may go on with."""
    return Path(shutil.copytree(stopped, tmp_path / "run"))


def test_it_goes_on_where_it_was(run):
    before = hashes(run)
    code, text = train(run, "--timesteps", 5 * ITERATION, resume=True)
    assert code == 0
    assert "Resumed at: iteration 3\n" in text
    assert f"Finished after 5 iterations, {5 * ITERATION:,} steps" in text
    assert [row["iteration"] for row in rows(run / "metrics.jsonl")] == [1, 2, 3, 4, 5]
    after = hashes(run)
    assert list(after) == ["gen_0", "gen_2", "gen_3", "gen_4", "gen_5"]
    assert {name: after[name] for name in before} == before  # what is saved is never changed
    assert RunDir(run).read_summary()["total_steps"] == 5 * ITERATION


def test_a_new_interval_and_rating_take_effect(run):
    code, text = train(
        run, "--timesteps", 4 * ITERATION, "--save-interval", 1, "--track-elo", "--host", "process", resume=True
    )
    assert code == 0
    assert "gen_4" in hashes(run)
    assert "Elo Leaderboard" in text
    assert "Host: process" in text


def test_a_finished_run_says_what_to_type(run):
    before = {p: p.read_bytes() for p in run.rglob("*.safetensors")}
    code, text = train(run, resume=True)
    assert code == 0
    assert "has reached its end" in text
    assert "--timesteps" in text
    assert {p: p.read_bytes() for p in run.rglob("*.safetensors")} == before


def test_a_damaged_state_is_skipped_and_later_generations_are_set_aside(run):
    (run / "learner" / "iter_3" / "params.safetensors").write_bytes(b"torn")
    before = hashes(run)
    code, text = train(run, "--timesteps", 3 * ITERATION, resume=True)
    assert code == 0
    assert "Resumed at: iteration 2; iteration 3 is repeated, since later states are damaged; gen_3" in text
    assert "iter_3: " in text
    assert [row["iteration"] for row in rows(run / "metrics.jsonl")] == [1, 2, 3]
    assert list(hashes(run)) == list(before)
    assert (run / "generations" / ".set-aside" / "gen_3-1").is_dir()


def test_what_was_killed_between_a_generation_and_its_state_is_repeated_and_told(run):
    shutil.rmtree(run / "learner" / "iter_3")
    code, text = train(run, "--timesteps", 3 * ITERATION, resume=True)
    assert code == 0
    assert (
        "Resumed at: iteration 2; iteration 3 is repeated, since the run ended before it saved a later state; gen_3 "
        "without a state: moved to generations/.set-aside\n"
    ) in text


def test_iterations_since_the_last_save_are_told(run):
    shutil.rmtree(run / "learner" / "iter_3")
    shutil.rmtree(run / "generations" / "gen_3")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 4, "total_steps": 1}\n{"iteration": 5, "tot')
    text = train(run, "--timesteps", 3 * ITERATION, resume=True)[1]
    assert "Resumed at: iteration 2; iterations 3 to 4 are repeated, since the run ended before it saved a" in text


def flip(data):
    """One bit, in the middle."""
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("learner.json", flip),
        ("games.safetensors", flip),
        ("optimizer.safetensors", lambda data: data[:-1]),
        ("rng.safetensors", lambda data: b""),
        ("MANIFEST.json", lambda data: data[: len(data) // 2]),
    ],
)
def test_damage_anywhere_is_found_and_named(run, file, damage):
    path = run / "learner" / "iter_3" / file
    path.write_bytes(damage(path.read_bytes()))
    code, text = train(run, "--timesteps", 3 * ITERATION, resume=True)
    assert code == 0
    assert "Resumed at: iteration 2" in text
    (told,) = [line for line in text.splitlines() if "iter_3: " in line]
    assert f"iter_3/{file}" in told


def test_where_no_state_is_whole_each_fault_is_named(run):
    for number in (2, 3):
        (run / "learner" / f"iter_{number}" / "MANIFEST.json").unlink()
    with pytest.raises(CorruptError, match=r"no state can be used: iter_3: .*MANIFEST.*; iter_2: .*MANIFEST"):
        train(run, resume=True)


def test_another_machine_may_have_other_cores(tmp_path, monkeypatch):
    games = ("--num-games", 32, "--rollout-length", 2)
    monkeypatch.setattr("selfplay.config.resolve.usable_cores", lambda: 2)
    code, text = train(tmp_path / "run", *games, "--timesteps", 64)
    assert code == 0
    assert "2 runners" in text
    monkeypatch.setattr("selfplay.config.resolve.usable_cores", lambda: 1)
    code, text = train(tmp_path / "run", "--timesteps", 128, resume=True)
    assert code == 0
    assert "2 runners" in text


def test_only_one_trainer_at_a_time(run):
    with RunDir(run).lock(), pytest.raises(RunLockedError, match=f"process {os.getpid()}"):
        train(run, "--timesteps", 9 * ITERATION, resume=True)
    assert len(rows(run / "metrics.jsonl")) == 3


def test_there_must_be_a_run(tmp_path):
    with pytest.raises(NotARunError, match="nowhere holds no run"):
        train(tmp_path / "nowhere", resume=True)


def test_a_run_that_ended_before_its_first_checkpoint_says_so(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(NotARunError, match="before its first checkpoint"):
        train(tmp_path, resume=True)


def test_a_run_of_other_observations_is_refused(run, monkeypatch):
    other = replace(find_game("mock"), encoder_version=find_game("mock").encoder_version + 1)
    bring(monkeypatch, "mock", other)
    with pytest.raises(IncompatibleError, match=r"made for observations of version 2, here is 3$"):
        train(run, "--timesteps", 5 * ITERATION, resume=True)


def test_a_damaged_generation_is_left_out_and_training_goes_on(run):
    (run / "generations" / "gen_0" / "params.safetensors").write_bytes(b"torn")
    code, text = train(run, "--timesteps", 4 * ITERATION, resume=True)
    assert code == 0
    assert "Left out of the pool: " in text
    assert "gen_0" in text


def test_a_state_of_a_stranger_deletes_nothing_outside_of_the_run(run, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    state = run / "learner" / "iter_3"
    document = json.loads((state / "learner.json").read_text())
    document["extra"]["leaving"] = [str(victim)]
    forge(state, learner__json=json.dumps(document).encode())
    with pytest.raises(SelfPlayError, match="is no name of a policy of a run"):
        train(run, "--timesteps", 4 * ITERATION, resume=True)
    assert victim.is_dir()
