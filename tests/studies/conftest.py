import pytest


@pytest.fixture(scope="session")
def kuhn_start(tmp_path_factory):
    """Folder of a small model that was trained on games of poker."""
    from tests.dialogue.conftest import make_start

    return make_start(tmp_path_factory.mktemp("starts"), "kuhn_text", 60_000)
