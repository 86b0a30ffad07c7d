"""Runs of these tests wait, and leave torch, as those of ``tests/run``."""

from tests.run.conftest import _short_waits, _torch_as_before  # noqa: F401  (fixtures)
