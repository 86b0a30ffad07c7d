"""What the tests beside verl and TRL need, and what those leave behind."""

import importlib.util

import pytest

NAMES = ("verl", "trl")  # their versions are the Makefile's
MISSING = [name for name in NAMES if importlib.util.find_spec(name) is None]
MARKS = [
    pytest.mark.extras,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (make test-extras)"),
    pytest.mark.filterwarnings("default"),  # of other people's code
    pytest.mark.leaves("thread", "verl and TRL start helpers of their own"),
    pytest.mark.leaves("process", "verl and TRL start helpers of their own"),
    pytest.mark.timeout(600),  # verl takes its time to import
]
