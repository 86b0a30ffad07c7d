"""Which cases of a test run in every run of the tests."""

import pytest


def first_alone(cases):
    """The first case in every run of the tests, all of them in the full suite; tuples are several arguments."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.full] if number else ())
        for number, case in enumerate(cases)
    ]
