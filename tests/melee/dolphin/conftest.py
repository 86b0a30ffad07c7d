import tempfile

import pytest


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files, of this test alone."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
