import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.dialogue.learner.one_of_several import train
from tests.dialogue.learner.token_models import TinyTransformer, games_of
from tests.support.processes import Process

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).parent / "one_of_several.py"


SIZES = [3, 1000]  # rows of a forward pass; the second leaves nothing to do for all but one process


def run(processes, folder):
    """Weights and statistics that each of some processes ended with, for each of the sizes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    commands = [
        [sys.executable, str(PROGRAM), str(number), str(processes), str(folder), *map(str, SIZES)]
        for number in range(processes)
    ]
    with contextlib.ExitStack() as stack:
        pipe = {"stderr": subprocess.PIPE}
        for process in [stack.enter_context(Process(each, env=environment, **pipe)) for each in commands]:
            _, errors = process.communicate()
            assert process.returncode == 0, errors.decode()
    return [
        [
            (json.loads((folder / f"{name}.json").read_text()), np.load(folder / f"{name}.npy", allow_pickle=False))
            for name in (f"{number}_{size}" for number in range(processes))
        ]
        for size in SIZES
    ]


@pytest.mark.full
def test_two_processes_make_the_update_of_one(tmp_path):
    expected, alone = train(games_of(TinyTransformer()), SIZES[0])
    assert expected["steps"] == 6
    for (first, weights), (second, others) in run(2, tmp_path):
        assert np.array_equal(weights, others)
        assert first == second
        assert np.abs(weights - alone).max() < 1e-5
        assert first == pytest.approx(expected, abs=1e-5)
