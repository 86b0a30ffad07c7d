"""Training from tables: what is learned, what is left, and that several processes are as good as one."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from selfplay.dialogue.files.rows import TRAIN, VAL, convert
from selfplay.dialogue.files.table import read_table
from selfplay.dialogue.files.training import CHECKPOINT, TrainingSettings, train, training_settings
from selfplay.dialogue.language.loading import load_model
from selfplay.dialogue.models import read_model
from selfplay.errors import ConfigError, CorruptError
from tests.dialogue.files.written import lines, written
from tests.support.processes import Process

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).parent / "one_of_several.py"


def tables(folder, games=None):
    folder.mkdir(exist_ok=True)
    written(folder, games)
    convert(folder, states=False, resume=False, notice=lambda line: None)
    return folder


def trained(folder, *, resume=False, **wanted):
    told = []
    train(folder, TrainingSettings(**wanted), "cpu", resume, told.append)
    return told


def weights(folder):
    state = load_model(str(folder)).module.state_dict()
    return torch.cat([value.flatten() for value in state.values()]).numpy()


def chances(folder, instances):
    """Log-probability of what was sampled in each of them."""
    model = load_model(str(folder))
    found = []
    for instance in instances:
        ids, sampled = torch.from_numpy(instance.ids)[None].long(), torch.from_numpy(instance.sampled)[None]
        with torch.no_grad():
            scores = torch.log_softmax(model.logits(ids, sampled), -1)
        found.append(float(scores.gather(1, ids[sampled][:, None]).sum()))
    return np.array(found)


def test_what_won_becomes_likelier_than_what_lost(tmp_path):
    folder = tables(tmp_path)
    told = trained(folder, batch_rows=8, micro_rows=4, epochs=4, learning_rate=3e-3)
    assert "preset of the embedded model: learning rate 0.0001, no KL; as given: learning rate 0.003" in told[0]
    assert told[-1] == f"{folder / CHECKPOINT}: the trained model"
    instances = read_table(folder / TRAIN).instances
    gained = chances(folder / CHECKPOINT, instances) - chances(folder / "model", instances)
    rewards = np.array([instance.reward for instance in instances])
    for index, seat in {(i.index, i.seat) for i in instances}:
        group = np.array([(i.index, i.seat) == (index, seat) for i in instances])
        assert (
            gained[group & (rewards == rewards[group].max())].mean()
            > gained[group & (rewards == rewards[group].min())].mean()
        )
    meta = read_model(folder / CHECKPOINT)
    assert (meta.base, meta.parent, meta.game, meta.iteration) == ("tiny", "start", "kuhn_text", 0)
    assert meta.total_steps == read_table(folder / TRAIN).turns
    assert meta.config["statistics"]["steps"] == 8
    assert meta.config["validation"]["kl"] > 0


def test_one_reward_everywhere_leaves_the_model_as_it_was(tmp_path):
    games = [g.model_copy(update={"outcome": g.outcome.model_copy(update={"rewards": (0.5, 0.5)})}) for g in lines()]
    folder = tables(tmp_path, games)
    told = trained(folder)
    assert told[-2].startswith("All groups have equal rewards")
    assert np.array_equal(weights(folder / CHECKPOINT), weights(folder / "model"))


def test_a_reference_is_held_near_where_kl_is_asked_for(tmp_path):
    folder = tables(tmp_path)
    instances = read_table(folder / TRAIN).instances
    moved = {}
    for kl in (0.0, 10.0):
        trained(folder, batch_rows=8, learning_rate=3e-3, epochs=4, kl=kl)
        moved[kl] = np.abs(chances(folder / CHECKPOINT, instances) - chances(folder / "model", instances)).mean()
        assert (read_model(folder / CHECKPOINT).config["statistics"]["kl"] > 0) == (kl > 0)
    assert moved[10.0] < moved[0.0]


def test_presets():
    given = TrainingSettings()
    assert (given.batch_rows, given.micro_rows, given.epochs) == (64, 8, 2)
    tiny, other = given.completed(embedded=True), given.completed(embedded=False)
    assert (tiny.learning_rate, tiny.kl) == (1e-4, 0.0)
    assert (other.learning_rate, other.kl) == (1e-6, 0.001)
    assert TrainingSettings(learning_rate=0.1, kl=0.0).completed(embedded=False).kl == 0.0


def test_resume_keeps_what_is_finished_and_refuses_what_differs(tmp_path):
    folder = tables(tmp_path)
    trained(folder)
    before = weights(folder / CHECKPOINT)
    (told,) = trained(folder, resume=True)
    assert told == f"{folder / CHECKPOINT}: exists, with the same games and settings"
    with pytest.raises(ConfigError, match="was made with epochs 2, not 3"):
        trained(folder, resume=True, epochs=3)
    tables(folder, lines(2, 4))  # other games: trained anew
    assert len(trained(folder, resume=True, epochs=3)) > 1
    assert not np.array_equal(weights(folder / CHECKPOINT), before)


def test_a_damaged_table_leaves_the_checkpoint_as_it_was(tmp_path):
    folder = tables(tmp_path)
    trained(folder)
    before = weights(folder / CHECKPOINT)
    (folder / VAL).write_bytes(b"PAR1")
    with pytest.raises(CorruptError):
        trained(folder, epochs=1)
    assert np.array_equal(weights(folder / CHECKPOINT), before)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_without_data_the_script_that_makes_it_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"no data to train on; run_selfplay_generation\.sh makes it"):
        trained(tmp_path)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"epochs": "0"}, "--epochs 0: "),
        ({"batch_rows": "x"}, "--batch-rows x: "),
        ({"learning_rate": "2"}, "--learning-rate 2: "),
        ({"kl": "-1"}, "--kl -1: "),
        ({"advantage": "best"}, "--advantage best: "),
    ],
)
def test_impossible_values_name_the_flag(values, words):
    with pytest.raises(ConfigError) as caught:
        training_settings(values)
    assert str(caught.value).startswith(words)


@contextlib.contextmanager
def another(folder, monkeypatch, wanted):
    """A second process beside this one, as torchrun starts two; what it writes is empty in the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for name, value in (told | {"RANK": 0, "LOCAL_RANK": 0}).items():
        monkeypatch.setenv(name, str(value))
    environment = {**os.environ, "RANK": "1", "LOCAL_RANK": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, PROGRAM, folder, json.dumps(wanted)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Process(command, env=environment, **pipes) as process:
        yield
        out, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    assert out == b""  # one tells, one writes


@pytest.mark.full
@pytest.mark.parametrize("more", [{}, {"kl": 0.1}, {"kl": 0.1, "lora_rank": 2}], ids=["plain", "kl", "adapter"])
def test_two_processes_leave_the_weights_of_one(tmp_path, monkeypatch, more):
    folder = tables(tmp_path)
    wanted = {"batch_rows": 7, "micro_rows": 2, "learning_rate": 1e-3, **more}
    trained(folder, **wanted)
    alone = weights(folder / CHECKPOINT)
    before = weights(folder / "model")
    with another(folder, monkeypatch, wanted):
        told = trained(folder, **wanted)
    together = weights(folder / CHECKPOINT)
    assert np.abs(alone - together).max() < 1e-5
    assert alone.size > before.size or np.abs(alone - before).max() > 1e-3
    assert "the trained model" in told[-1]


def test_an_adapter_is_trained_beside_the_model_and_then_goes_on(tmp_path):
    folder = tables(tmp_path)
    told = trained(folder, epochs=1, learning_rate=1e-2, lora_rank=2, lora_alpha=8, kl=0.1)
    assert "reward" in told[1]
    adapter = load_model(str(folder / CHECKPOINT)).adapter
    assert adapter.peft_config["default"].r == 2
    assert adapter.peft_config["default"].lora_alpha == 8
    instances = read_table(folder / TRAIN).instances
    assert not np.allclose(chances(folder / CHECKPOINT, instances), chances(folder / "model", instances))
    with pytest.raises(ConfigError, match="lora_rank 2, not 4"):
        trained(folder, resume=True, epochs=1, learning_rate=1e-2, lora_rank=4, lora_alpha=8, kl=0.1)
