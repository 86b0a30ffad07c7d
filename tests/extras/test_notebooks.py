"""The notebook runs from its first cell to its last, in an empty folder.

``python -m tests.extras.test_notebooks`` writes what its cells print into it.
"""

import json
import os
import tempfile
from pathlib import Path

import pytest

from tests.scripts.commands import ROOT

NOTEBOOK = ROOT / "docs/notebooks/own_game.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
EXAMPLE = (ROOT / "selfplay/examples/tic_tac_toe.py").read_text(encoding="utf-8")
LIMIT_S = 600


def test_the_notebook_writes_the_example():
    written = next("".join(cell["source"]) for cell in CELLS if "%%writefile" in "".join(cell["source"]))
    assert written == f"%%writefile tic_tac_toe.py\n{EXAMPLE.rstrip()}"


def executed(folder):
    """The notebook after its cells have run in a folder."""
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])))}
    client = nbclient.NotebookClient(notebook, timeout=LIMIT_S, resources={"metadata": {"path": str(folder)}})
    return client.execute(env=env)


@pytest.mark.extras
@pytest.mark.timeout(LIMIT_S)
@pytest.mark.filterwarnings("ignore")  # of Jupyter's packages
def test_the_notebook_ends_with_a_rated_player(tmp_path):
    pytest.importorskip("nbclient", reason="no nbclient: make test-extras installs it")
    cells = executed(tmp_path).cells
    printed = "".join(output.get("text", "") for cell in cells for output in cell.get("outputs", ()))
    assert "═══ Elo Leaderboard ═══" in printed
    assert "the policy against random: +" in printed


if __name__ == "__main__":
    import nbformat

    with tempfile.TemporaryDirectory() as made:
        notebook = executed(Path(made))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
    nbformat.write(notebook, NOTEBOOK)
