import shutil

import pytest

from tests.run.runs import train


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "run"
    code, text = train(folder, "--timesteps", 256)
    assert code == 0, text
    return folder


@pytest.fixture
def trained(trained_once, tmp_path):
    return shutil.copytree(trained_once, tmp_path / "run")
