"""Games by name, for the length of a test."""

from types import SimpleNamespace

from selfplay.games import plugins, registry


def bring(monkeypatch, name, kind):
    """Install a game under a name, as an entry point of this project would."""
    points = plugins.installed() | {name: SimpleNamespace(name=name, load=lambda: kind, dist=None)}
    monkeypatch.setattr(plugins, "installed", lambda: points)
    monkeypatch.setattr(registry, "_described", getattr(registry._described, "__wrapped__", registry._described))
