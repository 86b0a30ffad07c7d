"""The notebook on ratings of another trainer's games runs, and its stored tables are those of its code."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from selfplay.league import rate, read_results
from tests.support.processes import finish

NOTEBOOK = Path(__file__).parents[2] / "docs/notebooks/ratings_of_another_trainer.ipynb"
NEEDED = ("stable_baselines3", "nbclient", "ipykernel")
PROGRAM = "from nbclient.cli import main; main()"

pytestmark = [
    pytest.mark.extras,
    *(
        pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"needs {name}: pip install {name}")
        for name in NEEDED
    ),
]


def tables(path):
    """The words of the tables that it printed; their figures differ between versions of torch."""
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    lines = [line for cell in cells for output in cell["outputs"] for line in output["text"]]
    return sorted(re.findall(r"[A-Za-z_]\w*", "".join(line for line in lines if line.startswith("|"))))


@pytest.mark.timeout(900)
def test_it_runs_and_rates_both_agents(tmp_path):
    copy = tmp_path / "notebook.ipynb"
    copy.write_bytes(NOTEBOOK.read_bytes())
    done = finish([sys.executable, "-c", PROGRAM, "--inplace", str(copy)], cwd=tmp_path, limit_s=800)
    assert done.returncode == 0, done.stderr
    assert tables(copy) == tables(NOTEBOOK) != []
    ratings = rate(read_results(tmp_path / "games.csv"))
    assert set(ratings.players) == {"ppo_512", "ppo_20480", "random"}
    assert ratings.games.tolist() == [400] * 3
    assert ratings.difference("ppo_20480", "random").superiority > 0.9  # it learned
