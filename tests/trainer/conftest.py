from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _torch_as_before() -> Iterator[None]:
    """Runs set these for their process."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    if torch.are_deterministic_algorithms_enabled() != deterministic:  # the setter alone imports for seconds
        torch.use_deterministic_algorithms(deterministic)
