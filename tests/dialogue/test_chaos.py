"""Faults on purpose in dialogue runs."""

import json

import pytest

from selfplay.dialogue.cli.flags import parse
from selfplay.errors import ConfigError
from selfplay.runner import chaos
from tests.dialogue.test_app import run


def test_each_is_noticed_and_mended(kuhn_start, tmp_path, monkeypatch):
    monkeypatch.setattr(chaos, "SLOW_S", 0.1)
    folder = tmp_path / "run"
    plan = ("--chaos", "crash=0.25,nan=0.3,slow=0.2")
    code, text = run(folder, kuhn_start, "--games", 320, "--evaluation-states", 0, *plan)
    assert code == 0
    summary = json.loads((folder / "summary.json").read_text())
    told = summary["chaos"]
    assert all(counts["injected"] > 0 for counts in told.values())
    assert all(counts["recovered"] == counts["injected"] for counts in told.values())
    for kind in ("crash", "nan"):
        assert told[kind]["detected"] == told[kind]["injected"]
    assert summary["restarts"] == told["crash"]["lost"] == told["crash"]["injected"]
    assert summary["lost"] == told["nan"]["injected"]  # one game each, and no segment
    assert summary["games"] == 320 - summary["lost"]
    assert "the games crashed on purpose (--chaos)" in text
    assert "a reward or a log-probability is not finite" in text
    assert "Faults on purpose:" in text


@pytest.mark.parametrize(
    ("plan", "words"),
    [("hang=0.1", "hang needs games in processes of their own: add --host ray"), ("fire=1", "valid kinds: crash")],
)
def test_what_cannot_be_is_refused(plan, words):
    with pytest.raises(ConfigError, match=words):
        parse(["--game-type", "kuhn_text", "--chaos", plan])
