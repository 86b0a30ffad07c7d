import pytest

from tests.trainer.runs import train


@pytest.fixture
def trained(tmp_path):
    code, text = train(tmp_path / "run", "--timesteps", 256)
    assert code == 0, text
    return tmp_path / "run"
