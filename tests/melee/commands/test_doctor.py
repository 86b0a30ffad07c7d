import platform
import shutil
import socket
from pathlib import Path

import pytest

from selfplay import distribution
from selfplay.commands.doctor import software
from selfplay.memory_limits import Available
from selfplay_melee.commands import doctor as emulator
from selfplay_melee.commands.doctor import FoundDolphin
from selfplay_melee.dolphin.disc import DISC_MAGIC, Verdict
from selfplay_melee.dolphin.install import DolphinVersion, free_port
from tests.commands.doctor.packages import installed, project
from tests.melee.commands.plans import plan

EXI_AI = DolphinVersion(mainline=False, exi_ai=True, text="3.4.0")
MAINLINE = DolphinVersion(mainline=True, exi_ai=False, text="mainline-beta.8")
ISHIIRUKA = DolphinVersion(mainline=False, exi_ai=False, text="3.4.0")
SOMEWHERE = Path("/opt/dolphin")


@pytest.fixture(autouse=True)
def a_bare_linux(monkeypatch, tmp_path):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


def program(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    path.chmod(0o755)
    return path


ANSWERS = b"#!/bin/sh\necho 'Faster Melee - Slippi (3.4.0) - ExiAI' >&2\nexit 1\n"
REFUSES = b"#!/bin/sh\nexit 3\n"


def test_dolphin_that_is_named(tmp_path):
    made = program(tmp_path / "AppRun", ANSWERS)
    finding, there = emulator.dolphin(plan(dolphin=str(tmp_path)))
    assert finding.line() == f"ok    Dolphin: {made}: 3.4.0 (Ishiiruka, ExiAI)"
    assert there == FoundDolphin(made, EXI_AI)


def test_dolphin_of_the_launcher():
    made = program(emulator.launcher_folder() / "netplay" / "Slippi_Online-x86_64.AppImage", ANSWERS)
    finding, there = emulator.dolphin(plan())
    assert finding.level == "ok"
    assert there.executable == made


def test_no_dolphin():
    finding, there = emulator.dolphin(plan())
    assert finding.level == "warn"
    assert str(emulator.launcher_folder()) in finding.found
    assert "--dolphin PATH" in finding.remedy
    assert there == FoundDolphin()


def test_dolphin_that_does_not_answer(tmp_path):
    made = program(tmp_path / "dolphin", REFUSES)
    finding, there = emulator.dolphin(plan(dolphin=str(made)))
    assert finding.level == "FAIL"
    assert "exit code 3" in finding.found
    assert there == FoundDolphin(made)
    assert emulator.dolphin(plan(dolphin=str(tmp_path / "none")))[0].level == "FAIL"
    program(emulator.launcher_folder() / "netplay" / "AppRun", REFUSES)
    assert emulator.dolphin(plan())[0].level == "warn"  # nobody asked for it


@pytest.mark.parametrize(
    ("version", "asked", "level", "said"),
    [
        (EXI_AI, {"headless": True, "fast_forward": True}, "ok", "headless only, fast-forward"),
        (MAINLINE, {"headless": True}, "ok", "windowed or headless, no fast-forward"),
        (MAINLINE, {"fast_forward": True}, "FAIL", "--fast-forward needs an ExiAI build"),
        (ISHIIRUKA, {}, "ok", "windowed only, no fast-forward"),
        (ISHIIRUKA, {"headless": True}, "FAIL", "--headless needs ExiAI"),
    ],
)
def test_build(version, asked, level, said):
    finding = emulator.build(plan(**asked), FoundDolphin(SOMEWHERE, version))
    assert finding.level == level
    assert said in finding.line()


def test_build_of_nothing():
    assert emulator.build(plan(headless=True), FoundDolphin()) is None


@pytest.mark.parametrize(
    ("fuse", "tool", "level", "said"),
    [
        (True, "fusermount3", "warn", "libfuse.so.2"),
        (True, None, "FAIL", "without fusermount;"),
        (False, "fusermount", "FAIL", "dev_fuse;"),
        (False, None, "FAIL", "dev_fuse and fusermount;"),
    ],
)
def test_app_image_that_does_not_run(monkeypatch, tmp_path, fuse, tool, level, said):
    device = tmp_path / "dev_fuse"
    if fuse:
        device.touch()
    monkeypatch.setattr(emulator, "DEV_FUSE", device)
    monkeypatch.setattr(shutil, "which", lambda name: name if name == tool else None)
    made = program(tmp_path / "dolphin", b"\x7fELF\x02\x01\x01\x00AI\x02 and the rest")
    finding = emulator.app_image(FoundDolphin(made))
    assert finding.level == level
    assert said in finding.line()
    assert "--appimage-extract" in finding.remedy
    assert emulator.app_image(FoundDolphin(made, EXI_AI)).level == "ok"


def test_no_app_image(tmp_path):
    assert emulator.app_image(FoundDolphin()) is None
    assert emulator.app_image(FoundDolphin(program(tmp_path / "dolphin", REFUSES))) is None
    assert emulator.app_image(FoundDolphin(tmp_path / "gone")) is None


def test_disc(tmp_path):
    assert emulator.disc(plan(), FoundDolphin()).level == "warn"
    assert "--iso PATH" in emulator.disc(plan(), FoundDolphin()).remedy
    image = tmp_path / "melee.iso"
    assert emulator.disc(plan(iso=str(image)), FoundDolphin()).level == "FAIL"
    image.write_bytes(b"GALE01\x00\x00".ljust(28, b"\0") + DISC_MAGIC)
    assert emulator.disc(plan(iso=str(image)), FoundDolphin()).level == "warn"
    image.write_bytes(b"\x01\xc0\x0b\xb1")
    assert emulator.disc(plan(iso=str(image)), FoundDolphin()).level == "ok"


@pytest.mark.parametrize(("version", "level"), [(MAINLINE, "ok"), (EXI_AI, "FAIL"), (None, "ok")])
def test_disc_that_older_builds_cannot_read(tmp_path, version, level):
    image = tmp_path / "melee.rvz"
    image.write_bytes(b"RVZ\x01" + bytes(0x58 - 4) + b"GALE01\x00\x02".ljust(28, b"\0") + DISC_MAGIC)
    finding = emulator.disc(plan(iso=str(image)), FoundDolphin(SOMEWHERE, version))
    assert finding.level == level
    assert ("Ishiiruka cannot read it" in finding.found) == (level == "FAIL")


@pytest.mark.parametrize("hash_disc", [True, False])
def test_disc_is_hashed_as_asked(monkeypatch, hash_disc):
    asked = []

    def judge(path, *, hash_it):
        asked.append((path, hash_it))
        return Verdict("ok", "as it should be")

    monkeypatch.setattr(emulator, "judge_disc", judge)
    assert (
        emulator.disc(plan(iso="melee.iso", hash_disc=hash_disc), FoundDolphin()).line()
        == "ok    disc: as it should be"
    )
    assert asked == [("melee.iso", hash_disc)]


def test_ports():
    base = free_port(50000, 0, 1)
    finding = emulator.ports(plan(slippi_port=base))
    assert finding.line() == f"ok    ports: UDP {base}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", base))
        finding = emulator.ports(plan(slippi_port=base, num_games=3))
        assert finding.level == "ok"
        assert "moved" in finding.found
    assert emulator.ports(plan(slippi_port=65000, num_games=1000)).level == "FAIL"


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_display(monkeypatch, name):
    monkeypatch.setenv(name, ":7")
    assert emulator.display(plan(), FoundDolphin(SOMEWHERE, ISHIIRUKA)).line() == f"ok    display: {name}=:7"


@pytest.mark.parametrize(
    ("asked", "version", "level"),
    [
        ({}, None, "ok"),
        ({"dolphin": "x"}, EXI_AI, "ok"),
        ({"dolphin": "x", "headless": True}, MAINLINE, "ok"),
        ({"dolphin": "x"}, MAINLINE, "FAIL"),
        ({}, ISHIIRUKA, "warn"),
    ],
)
def test_no_display(asked, version, level):
    assert emulator.display(plan(**asked), FoundDolphin(SOMEWHERE, version)).level == level


def test_display_of_macos(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert emulator.display(plan(dolphin="x"), FoundDolphin(SOMEWHERE, ISHIIRUKA)).level == "ok"


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({}, "melee is not installed"),
        ({"melee": "0.46.9"}, "melee 0.46.9 is not >=0.47.6,<0.48"),
        ({"melee": "0.48.0"}, "melee 0.48.0 is not >=0.47.6,<0.48"),
    ],
)
def test_libmelee_is_a_fault_only_where_real_games_are_asked_for(monkeypatch, tmp_path, versions, said):
    project(monkeypatch, tmp_path, 'optional-dependencies.dolphin = ["melee>=0.47.6,<0.48"]')
    installed(monkeypatch, **versions)
    assert emulator.libmelee(plan()).level == "warn"
    finding = emulator.libmelee(plan(iso="melee.iso"))
    assert finding.level == "FAIL"
    assert finding.found == said
    assert "pip install -e '.[dolphin]'" in finding.remedy
    installed(monkeypatch, melee="0.47.9")
    assert emulator.libmelee(plan(iso="melee.iso")).line() == "ok    libmelee: 0.47.9"


def test_libmelee_of_a_copy_without_metadata_and_pyproject(monkeypatch, tmp_path):
    monkeypatch.setattr(distribution, "CHECKOUT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(distribution, "NAME", "not-installed")
    finding = emulator.libmelee(plan())
    assert (finding.level, finding.found) == ("warn", software.UNKNOWN)
    assert "pip install" in finding.remedy


def test_emulators(monkeypatch):
    monkeypatch.setattr(emulator, "available_memory", lambda: None)
    monkeypatch.setattr(emulator, "usable_cores", lambda: 2)
    finding = emulator.emulators(plan(num_games=2))
    assert finding.line() == "ok    emulators: 920 MB for --num-games 2 in Dolphin (about 460 MB each)"
    finding = emulator.emulators(plan(num_games=3))
    assert finding.level == "warn"
    assert finding.found.endswith("which share 2 cores")
    monkeypatch.setattr(emulator, "available_memory", lambda: Available(1 << 30, "this machine"))
    assert emulator.emulators(plan(num_games=2)).level == "ok"
    finding = emulator.emulators(plan(num_games=3))
    assert finding.level == "warn"
    assert "1.0 GB free" in finding.found
    assert finding.remedy == "lower --num-games"
