"""The flags of ``selfplay rate`` for programs that games start."""

import json

import pytest

from selfplay.commands.cli import rate


@pytest.fixture
def run(tmp_path):
    def write(game):
        (tmp_path / "run.json").write_text(json.dumps({"config": {"game": {"type": game}}}))
        return tmp_path

    return write


def test_a_run_of_real_games_has_flags_for_their_programs(run, monkeypatch):
    folder = str(run("dolphin"))
    monkeypatch.setattr("sys.argv", ["selfplay rate", folder, "--dolphin", "a", "--iso", "b"])
    found = vars(rate.parser().parse_args())
    assert (found["run"], found["game.dolphin"], found["game.iso"]) == (folder, "a", "b")


@pytest.mark.parametrize("game", ["mock", "kuhn", "kuhn_text"])
def test_other_runs_say_whose_they_are(run, game, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["selfplay rate", str(run(game)), "--iso", "b"])
    with pytest.raises(SystemExit):
        rate.main()
    assert "--iso is a flag of runs of --game-type dolphin" in capsys.readouterr().err
