"""What the sources of the package may and may not use."""

import ast
import sys
from pathlib import Path

import pytest

import selfplay.supervision
from tests.support.processes import finish

FOLDER = Path(selfplay.supervision.__file__).parent
MODULES = sorted(FOLDER.glob("*.py"))
FORBIDDEN = {
    "TaskGroup": "waits for ever on a child that swallows its cancellation",
    "wait_for": "so does this, and on Python 3.11 it can lose cancellations",
    "timeout": "so does this",
    "gather": "ends with the first error",
    "ensure_future": "makes tasks without an owner",
}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_asyncio_is_used_with_care(module):
    used = {node.attr for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Attribute)}
    assert not used & FORBIDDEN.keys()
    assert "create_task" not in used or module.stem == "tasks"


def test_only_the_standard_library_is_imported():
    code = "import sys; old = set(sys.modules); import selfplay.supervision; print(*(set(sys.modules) - old))"
    root = FOLDER.parents[1]
    done = finish([sys.executable, "-c", code], cwd=root, check=True)
    foreign = {name.partition(".")[0] for name in done.stdout.split()} - set(sys.stdlib_module_names)
    assert foreign == {"selfplay"}
    ours = {name for name in done.stdout.split() if name.startswith("selfplay")}
    assert ours == {"selfplay", *(name for name in ours if name.startswith("selfplay.supervision"))}


def test_what_takes_either_kind_of_supervisor_can_be_typed_by_public_names():
    from selfplay.supervision import Node, Pool, Supervisor

    assert issubclass(Pool, Node)
    assert issubclass(Supervisor, Node)
