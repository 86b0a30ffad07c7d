import pytest

from scripts.studies.bench.replays import write_games
from tests.run.conftest import _short_waits, _torch_as_before  # noqa: F401  (fixtures)


@pytest.fixture(scope="session")
def replays(tmp_path_factory):
    """Four short games."""
    folder = tmp_path_factory.mktemp("replays")
    write_games(folder, games=4, frames=400)
    return folder


@pytest.fixture(scope="session")
def alone(tmp_path_factory, replays):
    """One of them."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "game.slp").write_bytes((replays / "game_0.slp").read_bytes())
    return folder
