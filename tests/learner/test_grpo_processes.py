import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.processes import Process

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "one_of_several.py"


def run(processes, micro_rows, folder):
    """Weights and statistics that each of some processes ended with."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    commands = [
        [sys.executable, str(PROGRAM), str(number), str(processes), str(micro_rows), str(folder)]
        for number in range(processes)
    ]
    with contextlib.ExitStack() as stack:
        pipe = {"stderr": subprocess.PIPE}
        for process in [stack.enter_context(Process(each, env=environment, **pipe)) for each in commands]:
            _, errors = process.communicate()
            assert process.returncode == 0, errors.decode()
    return [
        (np.load(folder / f"{number}.npy", allow_pickle=False), json.loads((folder / f"{number}.json").read_text()))
        for number in range(processes)
    ]


# the second leaves nothing to do for all but one process
@pytest.mark.full
@pytest.mark.parametrize("micro_rows", [3, 1000])
def test_two_processes_make_the_update_of_one(micro_rows, tmp_path):
    ((alone, expected),) = run(1, 3, tmp_path / "one")
    found = run(2, micro_rows, tmp_path / "two")
    assert expected["steps"] == 6
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    assert np.abs(found[0][0] - alone).max() < 1e-5
    assert found[0][1] == pytest.approx(expected, abs=1e-5)
