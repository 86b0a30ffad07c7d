"""The commands of the dialogue files, as a person types them: shells over scripts, in a folder of their own."""

import json
import os
import sys

import pytest

from selfplay.dialogue.cli import convert_games, generate_games, inspect_dialogue, train_dialogue
from selfplay.dialogue.files.table import read_table
from selfplay.dialogue.models import read_model
from tests.dialogue.models import model_folder
from tests.scripts.commands import ROOT, mistake, run_shell
from tests.support.processes import finish

SMALL = {"GAME": "kuhn_text", "GAMES_PER_STATE": 4, "TRAIN_BATCH_SIZE": 8}


def shell(script, folder, **variables):
    """Run it in a folder, with relative paths; nothing of ours in the environment."""
    ours = {"DATA_DIR": "data", "PYTHON": sys.executable, **variables}
    environment = {**os.environ, **{name: str(value) for name, value in ours.items()}}
    return finish([str(ROOT / "scripts" / script)], cwd=folder, env=environment)


def shell_alone(script, folder, **variables):
    """The same, with the Python programs in this process."""
    environment = {**os.environ, "DATA_DIR": "data", **{name: str(value) for name, value in variables.items()}}
    return run_shell([ROOT / "scripts" / script], folder=folder / "bin", cwd=folder, env=environment)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.full
@pytest.mark.timeout(500)  # three processes, each of which loads torch
def test_generation_then_training(tmp_path):
    model_folder(tmp_path / "model")
    done = shell("run_selfplay_generation.sh", tmp_path, MODEL_NAME="model", NUM_GAMES=13, EXP_NAME="mine", **SMALL)
    assert done.returncode == 0, done.stderr
    assert "the default is tiny, that of the verl scripts Qwen/Qwen2.5-7B-Instruct" in done.stdout.splitlines()[0]
    folder = tmp_path / "data" / "kuhn_text_game_selfplay"
    assert names(folder) == ["selfplay_games.jsonl", "settings.json", "train.parquet", "val.parquet"]
    games = [json.loads(line) for line in (folder / "selfplay_games.jsonl").read_text().splitlines()]
    assert len(games) == 13
    assert {game["exp_name"] for game in games} == {"mine"}
    assert read_table(folder / "train.parquet").states == {1, 2}
    assert read_table(folder / "val.parquet").states == {0}
    done = shell("run_selfplay_training.sh", tmp_path, EPOCHS=1, **SMALL)
    assert done.returncode == 0, done.stderr
    assert "preset of the embedded model: learning rate 0.0001, no KL" in done.stdout
    assert read_model(folder / "checkpoint").config["training"]["epochs"] == 1
    assert read_model(folder / "checkpoint").config["training"]["batch_rows"] == 8


@pytest.mark.full
@pytest.mark.timeout(500)  # eight commands
def test_iterations_go_on_from_each_other_and_finished_ones_are_kept(tmp_path, monkeypatch, capsys):
    model = model_folder(tmp_path / "model")
    base = tmp_path / "data" / "kuhn_text_game_selfplay_iterations"
    first = ("--folder", base / "iter_1", "--resume")
    played = ("--model", model, "--num-games", 8, "--games-per-state", 4, "--game", "kuhn_text", "--iteration", 1)
    assert call(monkeypatch, generate_games, *first, *played, "--exp-name", "selfplay_iter") == 0
    assert call(monkeypatch, convert_games, *first) == 0
    assert call(monkeypatch, train_dialogue, *first, "--batch-rows", 8) == 0
    capsys.readouterr()
    kept = {path: path.stat().st_mtime_ns for path in base.rglob("*") if path.is_file()}
    small = {**SMALL, "INITIAL_MODEL": "model", "GAMES_PER_ITER": 8, "NUM_ITERATIONS": 2}
    done = shell_alone("run_selfplay_iteration.sh", tmp_path, **small)
    assert done.returncode == 0, done.stderr
    assert "the default is tiny, that of the verl scripts Qwen/Qwen2.5-7B-Instruct" in done.stdout.splitlines()[0]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    for folder in (base / "iter_1", base / "iter_2"):
        assert names(folder) == [
            "checkpoint", "selfplay_games.jsonl", "settings.json", "train.parquet", "val.parquet"
        ]  # fmt: skip
    second = json.loads((base / "iter_2" / "settings.json").read_text())
    assert second["model"] == str(base / "iter_1" / "checkpoint")
    assert read_model(base / "iter_2" / "checkpoint").parent == read_model(base / "iter_1" / "checkpoint").id
    other = shell_alone("run_selfplay_iteration.sh", tmp_path, **{**small, "TEMPERATURE": 0.9})
    assert other.returncode == 2
    assert "iter_1 was made with sampling" in other.stderr


@pytest.mark.parametrize(
    ("script", "variables", "words"),
    [
        ("run_selfplay_generation.sh", {"NUM_GAMES": "0"}, "NUM_GAMES=0: must be a whole number, 1 or more"),
        ("run_selfplay_generation.sh", {"TEMPERATURE": "abc"}, "TEMPERATURE=abc: must be a number above 0"),
        (
            "run_selfplay_generation.sh",
            {"TEMPERATURE": "0.0e1"},
            "TEMPERATURE=0.0e1: must be a number above 0, 10 at most",
        ),
        ("run_selfplay_training.sh", {"LEARNING_RATE": "2"}, "LEARNING_RATE=2: must be a number above 0, 1 at most"),
        ("run_selfplay_generation.sh", {"TEMPERATURE": "0.0"}, "TEMPERATURE=0.0: "),
        ("run_selfplay_generation.sh", {"MAX_LENGTH": "-3"}, "MAX_LENGTH=-3: "),
        ("run_selfplay_generation.sh", {"MAX_NEW_TOKENS": "few"}, "MAX_NEW_TOKENS=few: "),
        ("run_selfplay_generation.sh", {"BF16": "yes"}, "BF16=yes: must be 1 or 0"),
        ("run_selfplay_training.sh", {"EPOCHS": "1.5"}, "EPOCHS=1.5: "),
        ("run_selfplay_training.sh", {"LORA_RANK": "0"}, "LORA_RANK=0: "),
        ("run_selfplay_iteration.sh", {"SERVER_URL": "http://h"}, "SERVER_URL=http://h: that server would play with"),
        ("run_selfplay_training.sh", {"LEARNING_RATE": "0e-3"}, "LEARNING_RATE=0e-3: "),
        ("run_selfplay_training.sh", {"MICRO_BATCH_SIZE": "x"}, "MICRO_BATCH_SIZE=x: "),
        ("run_selfplay_training.sh", {}, "no data to train on; run_selfplay_generation.sh makes it"),
        ("run_selfplay_iteration.sh", {"NUM_ITERATIONS": "0"}, "NUM_ITERATIONS=0: "),
        ("run_selfplay_iteration.sh", {"EPOCHS_PER_ITER": "two"}, "EPOCHS_PER_ITER=two: "),
    ],
)
def test_impossible_variables_are_one_line_and_leave_nothing(tmp_path, script, variables, words):
    done = shell(script, tmp_path, **variables)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{script}: ")
    assert words in line
    assert list(tmp_path.iterdir()) == []


def call(monkeypatch, module, *words):
    name = module.__name__.rpartition(".")[2]
    monkeypatch.setattr("sys.argv", [f"{name}.py", *map(str, words)])
    return module.main()


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        (generate_games, ("--temperature", "11"), "--temperature 11: "),
        (generate_games, ("--num-games", "1"), "--num-games 1: "),
        (generate_games, ("--games-per-state", "1"), "one game's pair has one reward, and so advantage zero"),
        (generate_games, ("--game", "chess"), "--game chess: "),
        (generate_games, ("--games", "1"), "unknown flag --games: did you mean"),
        (generate_games, ("--server", "sglang"), "--server needs --model NAME or FOLDER"),
        (generate_games, ("--server", "ollama"), "--server ollama: "),
        (convert_games, (), "selfplay_games.jsonl: no games; run_selfplay_generation.sh plays them"),
        (train_dialogue, (), "no data to train on; run_selfplay_generation.sh makes it"),
        (train_dialogue, ("--kl", "much"), "--kl much: "),
        (train_dialogue, ("--lora-rank", "0"), "--lora-rank 0: "),
    ],
)
def test_mistakes_are_one_line(tmp_path, monkeypatch, capsys, module, words, message):
    name = f"{module.__name__.rpartition('.')[2]}.py"
    line = mistake(capsys, name, lambda: call(monkeypatch, module, "--folder", tmp_path / "none", *words))
    assert message in line
    assert not (tmp_path / "none").exists()


def test_one_game_is_printed_with_its_masks(tmp_path, monkeypatch, capsys):
    model = model_folder(tmp_path / "model")
    assert call(monkeypatch, inspect_dialogue, "--model", model, "--game", "kuhn_text") == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("game 0-0-0-0 of kuhn_text, state 0: ended by ")
    assert "attention position label reward  log-prob" in next(line for line in told if "place" in line)
    where = ("--folder", tmp_path / "out", "--model", model, "--game", "kuhn_text", "--num-games", 4)
    assert call(monkeypatch, generate_games, *where) == 0
    capsys.readouterr()
    games = tmp_path / "out" / "selfplay_games.jsonl"
    assert call(monkeypatch, inspect_dialogue, "--games", games, "--game-id", "0-0-1-1") == 0
    assert capsys.readouterr().out.startswith("game 0-0-1-1 of kuhn_text, state 1")
    line = mistake(
        capsys, "inspect_dialogue.py", lambda: call(monkeypatch, inspect_dialogue, "--games", games, "--game-id", "x")
    )
    assert "--game-id x: " in line
