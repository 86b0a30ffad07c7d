"""The check of the JavaScript finds what it is there for."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.processes import finish

ROOT = Path(__file__).parent.parent
OXLINT = shutil.which("oxlint", path=f"{Path(sys.executable).parent}")
pytestmark = pytest.mark.skipif(OXLINT is None, reason="oxlint is not installed: pip install -e '.[dev]'")


def problems(folder, **modules):
    """What is found in modules by name."""
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return finish([OXLINT, "-c", ROOT / ".oxlintrc.json", "-f", "unix", folder], cwd=folder).stdout


def test_sound_modules_have_no_problem(tmp_path):
    found = problems(tmp_path, a="export const one = 1;\n", b='import { one } from "./a.js";\nconsole.log(one);\n')
    assert "problem" not in found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("console.log(missing);\n", "'missing' is not defined"),
        ('import { two } from "./a.js";\nconsole.log(two);\n', 'named import "two" not found'),
        ("const unused = 1;\n", "'unused' is declared but never used"),
        ("console.log(process.argv == 1);\n", "Expected ==="),
    ],
)
def test_mistakes_are_found(tmp_path, text, problem):
    assert problem in problems(tmp_path, a="export const one = 1;\n", b=text)
