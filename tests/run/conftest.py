from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from selfplay.run import tree


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child of a run's root that fails again and again waits as often as ever, but not as long."""
    monkeypatch.setattr(tree, "ROOT_PARK", replace(tree.ROOT_PARK, backoff_s=0.01, max_backoff_s=0.01))


@pytest.fixture(autouse=True)
def _torch_as_before() -> Iterator[None]:
    """Runs set these for their process."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    if torch.are_deterministic_algorithms_enabled() != deterministic:  # the setter alone imports for seconds
        torch.use_deterministic_algorithms(deterministic)
