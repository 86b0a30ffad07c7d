"""Fixtures have a time limit, as tests do."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.processes import finish

pytestmark = pytest.mark.full
CONFTEST = """
import tests.conftest
from tests.conftest import pytest_runtest_setup, pytest_runtest_teardown

tests.conftest.SETUP_S = 0.5
"""
SUITE = """
import time, pytest

@pytest.fixture
def never_made():
    time.sleep(600)

@pytest.fixture
def never_removed():
    yield
    time.sleep(600)

def test_setup(never_made):
    pass

def test_teardown(never_removed):
    pass

def test_good():
    pass
"""


def test_fixtures_that_hang_are_errors_of_their_tests(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 2\ntimeout_func_only = true\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = finish([sys.executable, "-m", "pytest", "-rE", "-p", "no:cacheprovider"], cwd=tmp_path, env=environment)
    assert "ERROR test_it.py::test_setup - Failed: Timeout (>0.5s)" in done.stdout
    assert "ERROR test_it.py::test_teardown - Failed: Timeout (>2.0s)" in done.stdout
    assert "2 passed, 2 errors" in done.stdout
