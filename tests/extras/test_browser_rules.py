"""A thousand games in WebAssembly, with modules that the oldest and the newest supported Numba make.

``.venv/old-numba`` has the oldest, with a NumPy that it takes (``make test-extras``). Python plays with the newest.
"""

import os
import sys
from pathlib import Path

import pytest

from selfplay_melee.browser.assets import PROGRAM, rules_module
from tests.melee.browser.comparer import Comparer, results
from tests.melee.browser.recording import record
from tests.support.node import needs_node
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
OLD = Path(sys.prefix) / "old-numba"
PARTS, GAMES, FRAMES = 20, 50, 2000  # parts, so that no test takes long

pytestmark = [pytest.mark.extras, needs_node, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def comparers(tmp_path_factory):
    """Of the module of this Numba and, where it is installed, of that of the oldest."""
    folder = tmp_path_factory.mktemp("modules")
    modules = {"new": rules_module()}
    if OLD.is_dir():
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (OLD, ROOT)))}
        command = [sys.executable, "-m", "selfplay_melee.wasm", PROGRAM, folder / "old.wasm"]
        finish(command, cwd=ROOT, env=environment, check=True, limit_s=500.0)
        modules["old"] = (folder / "old.wasm").read_bytes()
        assert modules["old"] != modules["new"]
    with Comparer(modules["new"], folder / "new") as new:
        if "old" not in modules:
            yield [new]
            return
        with Comparer(modules["old"], folder / "old") as old:
            yield [new, old]


@pytest.mark.parametrize("part", range(PARTS))
def test_games_are_equal_in_every_byte_at_every_frame(comparers, part):
    numbers = range(1000 + GAMES * part, 1000 + GAMES * (part + 1))
    found = list(results((record(number, FRAMES) for number in numbers), comparers))
    assert [result for result in found if result["difference"]] == []
    assert len(found) == GAMES * len(comparers)
    assert sum(result["frames"] for result in found) == GAMES * FRAMES * len(comparers)


@pytest.mark.skipif(not OLD.is_dir(), reason="no oldest Numba beside ours (make test-extras)")
def test_the_oldest_numba_is_among_them(comparers):
    assert len(comparers) == 2
