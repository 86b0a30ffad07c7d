"""Other packages than are installed, for the length of a test."""

import importlib.metadata

from selfplay import distribution


def installed(monkeypatch, **versions):
    """Only these packages are installed."""

    def version(name):
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)


def project(monkeypatch, tmp_path, text):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[project]\n{text}\n")
    monkeypatch.setattr(distribution, "CHECKOUT", path)
    monkeypatch.setattr(distribution, "NAME", "not-installed")
