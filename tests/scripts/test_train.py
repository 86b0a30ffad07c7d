import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
import torch

from selfplay import load_checkpoint, load_policy
from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.commands.cli import train
from selfplay.league.ledger import read_records
from tests.run.runs import assert_equal_runs, hashes, rows
from tests.scripts.commands import children_of, is_alive, mistake, read_until, run, run_process, start, wait_for

SCRIPT = "train_self_play.py"
SIZE = ("--num-games", 4, "--rollout-length", 64, "--max-episode-frames", 240, "--hidden", "16")
FIRST = ("--game-type", "mock", "--timesteps", 2000, *SIZE, "--save-interval", 3, "--track-elo")
FIGHTS = ("--timesteps", 10**6, "--num-games", 4, "--rollout-length", 32, "--max-episode-frames", 120)
LONG = ("--game-type", "kuhn", *FIGHTS[:-2])  # whose processes start soon

TIME = r"\[\d\d:\d\d:\d\d\]"
COLLECTED = re.compile(TIME + r" Iter (\d+): Collected (\d+) experiences \((\d+) total steps\)")
NUMBER = r"-?\d+\.\d{4}"
UPDATED = re.compile(TIME + rf"   PPO update: loss={NUMBER}, policy={NUMBER}, value={NUMBER}, entropy={NUMBER}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def first(folder):
    """The main command, typed in an empty folder."""
    return run_process(SCRIPT, *FIRST, cwd=folder)


@pytest.fixture(scope="module")
def path(first, folder):
    return folder / "checkpoints" / "self_play"


def call(monkeypatch, *arguments):
    """The script in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", [SCRIPT, *map(str, arguments)])
    return train.main()


# ---- the main command


def test_it_ends_well(first):
    assert first.returncode == 0, first.stderr
    assert first.stderr == ""
    assert "Finished after 8 iterations, 2,048 steps" in first.stdout


def test_every_file_is_there(first, path):
    names = {entry.name for entry in path.iterdir()} - {".lock"}
    assert names == {
        "run.json", "summary.json", "log.txt", "metrics.jsonl", "generations", "learner", "ledger.jsonl", "events",
        "tree.json",
    }  # fmt: skip
    assert list(hashes(path)) == ["gen_0", "gen_3", "gen_6", "gen_8"]
    assert (path / "learner" / "iter_8").is_dir()
    assert json.loads((path / "run.json").read_text())["config"]["run"]["timesteps"] == 2000
    summary = json.loads((path / "summary.json").read_text())
    assert (summary["finished"], summary["iteration"], summary["newest"]) == (True, 8, "gen_8")
    assert (summary["restarts"], summary["abandoned"]) == (0, 0)
    assert any((path / "events").iterdir())


def test_it_speaks_as_the_guide_does(first, path):
    collected = [match for match in map(COLLECTED.fullmatch, first.stdout.splitlines()) if match]
    updated = [line for line in first.stdout.splitlines() if UPDATED.fullmatch(line)]
    assert [int(match[1]) for match in collected] == list(range(1, 9))
    assert [int(match[3]) for match in collected] == [256 * i for i in range(1, 9)]
    assert all(256 <= int(match[2]) <= 512 for match in collected)
    assert len(updated) == 8
    header = first.stdout.partition("\n\n")[0].splitlines()
    assert header[:2] == ["═══ Self-Play Training ═══", "Configuration:"]
    for line in (
        "Mode: latest",
        "Num games: 4",
        "run.timesteps: 2000",
        "ppo.rollout_length: 64",
    ):
        assert f"    {line}" in header
    assert COLLECTED.search((path / "log.txt").read_text())
    assert "\x1b" not in first.stdout  # no terminal, no colours


def test_experiences_are_those_of_the_learner(path):
    for row in rows(path / "metrics.jsonl"):
        assert 256 <= row["charts/experiences"] <= 512
        assert all(row[f"losses/{name}"] is not None for name in ("policy", "value", "total", "entropy", "approx_kl"))


def test_it_ends_with_the_leaderboard_and_what_to_do_next(first, path):
    table, _, after = first.stdout.partition("═══ Elo Leaderboard ═══")[2].partition("What next:")
    assert re.search(r"\| *\d+ \| random \(bot\) *\| 1500 \| fixed", table)
    assert "gen_8" in table
    assert "gen_0" in table
    for verb in ("evaluate", "watch", "play", "train --resume"):
        assert f"python -m selfplay {verb} " in after
    assert "tensorboard --logdir checkpoints" in after
    (row,) = re.findall(r"\| gen_8 \(newest\) *\| *(\d+) \|", table)
    assert re.findall(r"Progress: iteration 8, .* Elo (\d+) ", first.stdout) == [row]  # the rating after training
    games = list(read_records(path / "ledger.jsonl"))
    assert games
    assert all(game.seats[0].player != game.seats[1].player for game in games)
    assert not {seat.player for game in games for seat in game.seats} & {"current", "idle"}


def test_a_bare_call_begins_with_its_limits(monkeypatch, capsys, tmp_path):
    assert call(monkeypatch, "--game-type", "kuhn", "--max-minutes", 0.001, "--checkpoint", tmp_path / "run") == 0
    first = capsys.readouterr().out.partition("\n")[0]
    assert re.fullmatch(TIME + " Preset board: 0.001 min, 256 games at once. --preset none has .*", first)
    assert load_checkpoint(tmp_path / "run").config["net"]["hidden"] == [256, 256]


def test_what_to_do_next_can_be_pasted_into_a_shell(tmp_path):
    done = run(
        "train_self_play.py", "--game-type", "kuhn", "--timesteps", 512, "--checkpoint", "my run (1)", cwd=tmp_path
    )
    lines = done.stdout.partition("What next:\n")[2].splitlines()
    evaluate, resume, _, play = (shlex.split(line, comments=True) for line in lines)
    assert play[-1] == "my run (1)"
    assert any(word.startswith("my run (1)/generations/gen_") for word in evaluate)
    assert resume[resume.index("--checkpoint") + 1] == "my run (1)"
    again = run("train_self_play.py", "--checkpoint", "my run (1)", cwd=tmp_path)
    assert "continue it with --resume --checkpoint 'my run (1)'" in again.stderr


def test_a_run_folder_whose_name_is_not_utf_8(tmp_path):
    place = ("--checkpoint", os.fsdecode(b"run \xff"))
    done = run("train_self_play.py", "--game-type", "kuhn", "--timesteps", 512, *place, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the run is in run \\udcff" in done.stdout
    again = run("train_self_play.py", "--resume", "--timesteps", 1024, *place, cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_checkpoints_load_as_the_guide_says(path):
    checkpoint = load_checkpoint(path)
    assert (checkpoint.iteration, checkpoint.total_steps) == (8, 2048)
    assert checkpoint.config["run"]["num_games"] == 4
    assert checkpoint.params
    policy = load_policy(path / "generations" / "gen_8")
    assert policy.meta.parent == "gen_6"
    assert policy.body.character == "mewtwo"


def test_typed_again_it_takes_the_next_name(first, folder, path):
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
    again = run(SCRIPT, "--timesteps", 256, *SIZE, "--mode", "latest", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert "Run folder: checkpoints/self_play-2" in again.stdout
    assert list(hashes(folder / "checkpoints" / "self_play-2")) == ["gen_0", "gen_1"]
    assert [int(match[2]) for match in COLLECTED.finditer(again.stdout)] == [512]  # all mirrors
    assert {p: p.read_bytes() for p in before} == before


def test_the_newest_run_is_resumed_by_default(first, folder, path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert call(monkeypatch, "--resume", "--timesteps", 512, "--checkpoint", path) == 0  # it has more already
    assert "has reached its end" in capsys.readouterr().out
    assert call(monkeypatch, "--resume") == 0
    assert "Run folder: checkpoints/self_play\n" in capsys.readouterr().out


# ---- refusals: exit code 2, one line, and nothing left behind


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--timestep", "9"], ["unknown flag --timestep", "did you mean --timesteps?"]),
        (["--num-games", "0"], ["--num-games 0", "at least 1 is needed"]),
        (["--mode", "best"], ["--mode best", "simple_mix", "latest"]),
        (["--preset", "desktop"], ["--preset desktop", "laptop"]),
        (["--gamma"], ["--gamma needs a value: F"]),
        (["--game-type", "dolphin"], ["--game-type dolphin needs --dolphin PATH"]),
        (["--iso", "melee.iso"], ["--iso goes with --game-type dolphin", "--game-type mock has no use for it"]),
        (["--set", "emulator.frame_timeout=3"], ["--set emulator.frame_timeout goes with --game-type dolphin"]),
        (["--device", "cuda:77"], ["--device cuda:77", "valid: auto, cpu"]),
        (["--device", "gpu"], ["--device gpu", "did you mean cuda?", "valid: auto, cpu"]),
        (["--deterministic", "--max-minutes", "1"], ["--deterministic refuses --max-minutes"]),
        (["--pretrained", "old/self_play.bin"], ["self_play.bin", "checkpoints/self_play/generations/gen_8"]),
        (["--pretrained", "self_play.axon"], ["self_play.axon", "checkpoints/self_play/generations/gen_8"]),
        (["--pretrained", "nowhere"], ["nowhere holds no policy", "the newest policy folder is"]),
        (["--pretrained", "RUN", "--frame-skip", "3"], ["--frame-skip is 3", "was made with 4"]),
        (["--pretrained", "RUN", "--hidden", "8,8"], ["--hidden is 8,8,", "was made with 16"]),
        (["--checkpoint", "RUN"], ["already holds a run", "--resume --checkpoint", "self_play"]),
        (
            ["--resume", "--checkpoint", "RUN", "--stage", "battlefield"],
            ["--stage is battlefield,", "started with final_destination;"],
        ),
        (["--num-games", "1e9"], ["the run needs about 43", " TB of memory", "lower --num-games 1000000000"]),
        (["--num-games", "1e7"], ["the run needs about 4.3 TB of memory", "lower --num-games 10000000"]),
        (["--rollout-length", "1e9"], ["of memory", "lower --rollout-length 1000000000"]),
        (["--game-type", "kuhn", "--num-games", "1e9"], ["of memory", "lower --num-games 1000000000"]),
        (["--resume", "--checkpoint", "nowhere"], ["nowhere holds no run", "the newest run is checkpoints/self_play"]),
        (["--resume", "--preset", "laptop", "--checkpoint", "RUN"], ["but the run to resume was started with"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "",
)
def test_mistakes_are_one_clear_line(path, folder, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(folder)
    before = sorted(Path("checkpoints").rglob("*"))
    named = [str(path.relative_to(folder)) if argument == "RUN" else argument for argument in arguments]
    line = mistake(capsys, "train_self_play.py", lambda: call(monkeypatch, *named))
    assert [word for word in words if word not in line] == []
    assert sorted(Path("checkpoints").rglob("*")) == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_on_a_machine_without(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "--device", "cuda") == 2
    assert "--device cuda: not on this machine (valid: auto, cpu)" in capsys.readouterr().err


# ---- interruptions


def test_ctrl_c_once_saves_and_stops_in_order(tmp_path):
    with start(SCRIPT, *LONG, "--checkpoint", "run", "--host", "process", "--runners", 2, cwd=tmp_path) as process:
        read_until(process, "Iter 4: ")
        games = children_of(process.pid)
        assert len(games) == 4  # two, and the keeper of each
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait() == 130
        assert not any(map(is_alive, games))
    assert "Ctrl-C again stops at once" in rest
    assert "Interrupted, and saved," in rest
    assert "Traceback" not in rest
    run_dir = RunDir(tmp_path / "run")
    summary = run_dir.read_summary()
    assert not summary["finished"]
    assert summary["newest"] == list(hashes(run_dir.path))[-1] == f"gen_{summary['iteration']}"
    assert load_latest_learner(run_dir).meta.iteration == summary["iteration"]
    assert rows(run_dir.metrics)[-1]["iteration"] == summary["iteration"]


@pytest.mark.full
def test_ctrl_c_twice_stops_at_once(tmp_path):
    with start(SCRIPT, *LONG, "--checkpoint", "run", "--rollout-length", 10**5, cwd=tmp_path) as process:
        read_until(process, "Run folder")
        wait_for((tmp_path / "run" / "learner" / "iter_0").is_dir)
        process.send_signal(signal.SIGINT)
        read_until(process, "again stops at once")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert "Stopped at once; the last checkpoint is run/learner/iter_" in rest


@pytest.mark.full
def test_kill_9_loses_nothing_that_was_saved(tmp_path):
    iteration = 5
    flags = ("--save-interval", 2, "--track-elo", "--rating-share", 0.5, "--host", "process", "--checkpoint", "run")
    with start(SCRIPT, *LONG, *flags, cwd=tmp_path) as process:
        read_until(process, f"Iter {iteration}: ")
        games = children_of(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_for(lambda: not any(map(is_alive, games)))
    folder = tmp_path / "run"
    saved, ledger = hashes(folder), (folder / "ledger.jsonl").read_bytes()
    resumed = run(SCRIPT, "--resume", "--checkpoint", "run", "--timesteps", 128 * (iteration + 3), cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    begun = int(re.search(r"Resumed at: iteration (\d+)", resumed.stdout)[1])
    assert begun >= iteration - 2
    after = hashes(folder)
    for name, digest in saved.items():
        assert after[name] == digest or int(name.removeprefix("gen_")) > begun
    assert [row["iteration"] for row in rows(folder / "metrics.jsonl")] == list(range(1, iteration + 4))
    whole = ledger[: ledger.rfind(b"\n") + 1]
    assert (folder / "ledger.jsonl").read_bytes().startswith(whole)


@pytest.mark.full
def test_kill_9_of_a_deterministic_run_leaves_no_trace(tmp_path):
    """Killed, resumed: the ledger, the opponents to come and the weights are those of a run that nothing disturbed."""
    iteration = 128
    flags = ("--deterministic", "--save-interval", 4, "--track-elo", "--rating-share", 1, "--gate", "sprt")
    with start(SCRIPT, *FIGHTS, *flags, "--mode", "pfsp", "--checkpoint", "killed", cwd=tmp_path) as process:
        read_until(process, "Iter 7: ")
        os.kill(process.pid, signal.SIGKILL)
    assert (tmp_path / "killed" / "ledger.jsonl").stat().st_size  # there was something to lose
    end = ("--timesteps", 10 * iteration)
    resumed = run(SCRIPT, "--resume", "--checkpoint", "killed", *end, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    whole = run(SCRIPT, *FIGHTS, *flags, *end, "--mode", "pfsp", "--checkpoint", "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    names = ["gen_0", "gen_4", "gen_8", "gen_10"]
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed", generations=names)


@pytest.mark.full
def test_kill_9_counts_no_game_twice_and_forgets_none(tmp_path):
    flags = ("--save-interval", 4, "--track-elo", "--rating-share", 0.2, "--checkpoint", "run")
    with start(SCRIPT, *LONG, *flags, cwd=tmp_path) as process:
        for line in process.stdout:
            iteration = int(found[1]) if (found := COLLECTED.search(line)) else 0
            if iteration and (tmp_path / "run" / "ledger.jsonl").exists() and len(_matches(tmp_path / "run")) >= 16:
                break
        os.kill(process.pid, signal.SIGKILL)
    before = _matches(tmp_path / "run")
    onwards = ("--timesteps", 128 * (iteration + 8), "--rating-share", 0.1)
    resumed = run(SCRIPT, "--resume", "--checkpoint", "run", *onwards, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    after = _matches(tmp_path / "run")
    assert after[: len(before)] == before
    assert len(set(after)) == len(after) > len(before) >= 16


def _matches(folder):
    """Match ids of all whole rows."""
    text = (folder / "ledger.jsonl").read_text()
    return [json.loads(line)["match"] for line in text[: text.rfind("\n") + 1].splitlines()]


@pytest.mark.full
def test_a_second_trainer_is_refused_and_told_who_the_first_is(tmp_path):
    with start(SCRIPT, *LONG, "--checkpoint", "run", cwd=tmp_path) as process:
        read_until(process, "Iter 2: ")
        second = run(SCRIPT, "--resume", "--checkpoint", "run", cwd=tmp_path)
        process.kill()
    assert second.returncode == 2
    assert f"another trainer (process {process.pid}) works in run" in second.stderr
    assert "Traceback" not in second.stderr
