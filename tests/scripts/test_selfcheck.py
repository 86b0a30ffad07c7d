import json

import pytest

from selfplay.commands.cli import selfcheck
from selfplay.commands.selfcheck import SelfcheckResult


def fake(monkeypatch, recommended):
    """Runs that are judged at once."""

    def check(game, case, seed, progress, before):
        return SelfcheckResult(game, seed, case.band, 1.0, 0.5, recommended.get((game, seed), 0.0), 9)

    monkeypatch.setattr("selfplay.commands.selfcheck.check", check)


def main(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["selfplay selfcheck", *arguments])
    return selfcheck.main()


def test_all_inside_is_a_success(monkeypatch, capsys):
    fake(monkeypatch, {})
    assert main(monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 4 * 3 + 1
    assert lines[0].split() == ["game", "seed", "last", "average", "recommended", "band"]
    assert lines[1].split() == ["rps", "0", "1.000", "0.500", "0.000", "0.06"]
    assert lines[-1].startswith("All inside their bands")


def test_one_run_outside_its_band_is_a_failure(monkeypatch, capsys):
    fake(monkeypatch, {("kuhn", 7): 0.051})
    assert main(monkeypatch, "--games", "rps,kuhn", "--seeds", "3,7") == 1
    out = capsys.readouterr().out
    assert out.count("outside") == 1
    assert "Not all inside their bands" in out


def test_as_json(monkeypatch, capsys):
    fake(monkeypatch, {("kuhn", 1): 9.0})
    assert main(monkeypatch, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is False
    assert len(document["runs"]) == 12
    assert {run["game"] for run in document["runs"] if not run["passed"]} == {"kuhn"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seeds", "a"), "whole numbers"),
        (("--seeds", "1,"), "whole numbers"),
        (("--games", "chess"), "chess: unknown (valid: rps, pennies, kuhn, mixup)"),
    ],
)
def test_mistakes_are_one_line(monkeypatch, capsys, arguments, words):
    fake(monkeypatch, {})
    assert main(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
