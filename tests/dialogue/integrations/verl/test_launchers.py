"""What the launchers ask of verl, and what they refuse."""

import os
from pathlib import Path

import pytest

from selfplay.dialogue.integrations import verl
from tests.support.processes import finish

FOLDER = Path(verl.__file__).parent
GENERAL = "run_dialop_selfplay_custom.sh"


@pytest.fixture
def launch(tmp_path):
    """Starts a launcher with an interpreter that only says what it was asked to do."""
    told = tmp_path / "python"
    told.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    told.chmod(0o755)

    def run(name, *arguments, **variables):
        env = {"PATH": os.environ["PATH"], "PYTHON": str(told), "DATA_DIR": "states", "N_GPUS": "2"} | variables
        command = ["bash", str(FOLDER / name), *arguments]
        return finish(command, cwd=tmp_path, env=env)

    return run


@pytest.mark.parametrize(
    ("name", "model"),
    [
        (GENERAL, "Qwen/Qwen2.5-7B-Instruct"),
        ("run_qwen2.5-0.5b_dialop_optimization_selfplay.sh", "Qwen/Qwen2.5-0.5B-Instruct"),
        ("run_qwen2.5-7b_dialop_optimization_selfplay.sh", "Qwen/Qwen2.5-7B-Instruct"),
    ],
)
def test_a_launcher_makes_states_and_starts_verl_with_games_for_each(launch, tmp_path, name, model):
    said = launch(name, "trainer.total_epochs=7", ENGINE="vllm")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[1:3] == ["--output_dir", str(tmp_path / "states")]
    assert lines[lines.index("-m") + 1] == "verl.trainer.main_ppo"
    assert {
        f"actor_rollout_ref.model.path={model}", "actor_rollout_ref.rollout.name=vllm", "trainer.n_gpus_per_node=2",
        "actor_rollout_ref.rollout.n=8", f"data.train_files={tmp_path / 'states'}/train.parquet",
    } <= set(lines)  # fmt: skip
    assert lines[-1] == "trainer.total_epochs=7"


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"N_GPUS": "0"}, "N_GPUS=0: 1 to 8 GPUs are needed"),
        ({"N_GPUS": "9"}, "N_GPUS=9"),
        ({"ENGINE": "hf"}, "ENGINE=hf: must be sglang or vllm"),
        ({"GAMES_PER_STATE": "1"}, "teaches nothing"),
        ({"TENSOR_PARALLEL": "3"}, "must divide the 2 GPUs"),
        ({"NUM_TRAIN": "many"}, "NUM_TRAIN=many: must be a whole number"),
    ],
)
def test_impossible_values_are_refused_in_a_line(launch, variables, told):
    said = launch(GENERAL, **variables)
    assert said.returncode == 2
    assert said.stderr.startswith(f"{GENERAL}: ")
    assert told in said.stderr
    assert said.stderr.count("\n") == 1
