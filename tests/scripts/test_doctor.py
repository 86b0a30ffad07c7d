import json
import sys
from types import SimpleNamespace

import pytest

from selfplay.commands.cli import doctor
from selfplay.commands.doctor.finding import Check, GuestChecks
from selfplay_melee.commands import doctor as emulator
from tests.scripts.commands import ROOT, mistake, run
from tests.support.processes import finish


def main(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["selfplay doctor", *arguments])
    return doctor.main()


def finds(monkeypatch, *levels):
    """An examination that finds these; the folders of checkpoints that it was given."""
    folders = []

    def examine(checkpoints, of_games):
        folders.append(checkpoints)
        return (Check(level, f"check {i}", "this", "do that") for i, level in enumerate(levels))

    monkeypatch.setattr(doctor, "examine", examine)
    return folders


def test_warnings_are_no_failure(monkeypatch, capsys):
    finds(monkeypatch, "ok", "warn")
    assert main(monkeypatch) == 0
    assert capsys.readouterr().out == "ok    check 0: this; do that\nwarn  check 1: this; do that\n"


def test_failure(monkeypatch, capsys):
    finds(monkeypatch, "FAIL", "ok")
    assert main(monkeypatch) == 1
    assert capsys.readouterr().out.startswith("FAIL  check 0: ")


def test_as_json(monkeypatch, capsys):
    finds(monkeypatch, "ok", "FAIL")
    assert main(monkeypatch, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is False
    assert document["checks"][1] == {"level": "FAIL", "name": "check 1", "found": "this", "remedy": "do that"}


def test_flags(monkeypatch):
    folders = finds(monkeypatch)
    plans = []
    monkeypatch.setattr(emulator, "examine", plans.append)
    words = "--dolphin d --iso i --slippi-port 2000 --num-games 3 --headless --fast-forward --fast --checkpoint c"
    main(monkeypatch)
    main(monkeypatch, *words.split())
    assert (plans[0].real_games, plans[0].hash_disc, plans[0].headless) == (False, True, False)
    assert (plans[1].dolphin, plans[1].iso, plans[1].slippi_port, plans[1].num_games) == ("d", "i", 2000, 3)
    assert (plans[1].headless, plans[1].fast_forward, plans[1].hash_disc) == (True, True, False)
    assert [str(folder) for folder in folders] == ["checkpoints", "c"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--slippi-port", "80"), "--slippi-port 80: 1024 to 65000 is valid"),
        (("--num-games", "0"), "--num-games 0: at least 1"),
        (("--num-games", "many"), "--num-games"),
        (("--port", "5"), "--port"),
    ],
)
def test_mistakes_are_one_line(monkeypatch, capsys, arguments, words):
    assert words in mistake(capsys, "selfplay doctor", lambda: main(monkeypatch, *arguments))


def test_this_machine(tmp_path):
    """All checks as they are, with a Dolphin that is none and a disc that is another game."""
    (tmp_path / "melee.iso").write_bytes(b"GALP01".ljust(28, b"\x00") + b"\xc2\x33\x9f\x3d")
    done = run("doctor", "--dolphin", tmp_path, "--iso", "melee.iso", "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    levels = {check["name"]: check["level"] for check in json.loads(done.stdout)["checks"]}
    assert (levels["Dolphin"], levels["disc"]) == ("FAIL", "warn")
    assert levels["Python"] == levels["packages"] == levels["torch"] == levels["game rules"] == levels["ports"] == "ok"
    assert {"system", "libmelee", "display", "checkpoints", "temporary files", "shared memory"} < levels.keys()
    assert {"memory", "cores", "emulators"} < levels.keys()


def test_without_packages():
    """An interpreter that has only itself is told what it lacks."""
    done = finish([sys.executable, "-E", "-S", "-m", "selfplay", "doctor"], cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "FAIL  packages: " in done.stdout
    assert "torch is not installed" in done.stdout


def test_an_installed_package_brings_checks_and_their_flags(monkeypatch, capsys):
    def add_flags(made):
        made.add_argument("--board", default="none")

    guest = GuestChecks(add_flags, lambda options: iter([Check("ok", "board", options.board)]))
    monkeypatch.setattr(doctor, "entry_points", lambda group: {group: SimpleNamespace(load=lambda: guest)})
    assert main(monkeypatch, "--board", "wood") == 0
    said = capsys.readouterr().out
    assert "ok    board: wood\n" in said
    assert "Dolphin" not in said
    assert "--iso" in mistake(capsys, "selfplay doctor", lambda: main(monkeypatch, "--iso", "melee.iso"))
