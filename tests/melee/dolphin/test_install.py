import os
import platform
import pwd
import socket
import time
from pathlib import Path

import pytest

from selfplay_melee.dolphin import install
from selfplay_melee.dolphin.install import (
    check_disc,
    claim_port,
    find_executable,
    free_port,
    launcher_folder,
    version_of,
)
from selfplay_melee.errors import DolphinError
from tests.support.processes import LIMIT_S

ONLINE = "Slippi_Online-x86_64.AppImage"
MAINLINE = "Slippi_Netplay_Mainline-x86_64.AppImage"
EXI_AI = "Faster Melee - Slippi (3.4.0) - ExiAI"


@pytest.fixture(autouse=True)
def on_linux(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")


def script(path, body="exit 0"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def told(action):
    """The message of the error, which is one line."""
    with pytest.raises(DolphinError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------- the executable


@pytest.mark.parametrize("name", [ONLINE, MAINLINE, "Slippi_Online-x86_64-ExiAI.AppImage", "AppRun"])
def test_folder_with_one_known_executable(tmp_path, name):
    made = script(tmp_path / name)
    assert find_executable(tmp_path) == made
    assert find_executable(str(made)) == made


@pytest.mark.parametrize(("folder", "name"), [("netplay", ONLINE), ("netplay-beta", MAINLINE)])
def test_launcher_folder_and_the_one_inside(tmp_path, folder, name):
    made = script(tmp_path / folder / name)
    assert find_executable(tmp_path) == made
    assert find_executable(tmp_path / folder) == made


def test_executable_of_any_name_by_its_path(tmp_path):
    made = script(tmp_path / "dolphin-emu-headless")
    assert find_executable(made) == made
    assert "no Dolphin" in told(lambda: find_executable(tmp_path))


def test_home_and_relative_paths(tmp_path, monkeypatch):
    made = script(tmp_path / "netplay" / ONLINE)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_executable("~/netplay") == made
    assert launcher_folder() == tmp_path / ".config" / "Slippi Launcher"
    monkeypatch.chdir(tmp_path / "netplay")
    assert find_executable(ONLINE) == made  # without a folder, the system would look in PATH


def test_link_is_kept(tmp_path):
    script(tmp_path / "usr" / "dolphin-emu")
    (tmp_path / "AppRun").symlink_to("usr/dolphin-emu")
    assert find_executable(tmp_path) == tmp_path / "AppRun"


def test_macos_names(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    made = script(tmp_path / "netplay" / "Slippi Dolphin.app" / "Contents" / "MacOS" / "Slippi Dolphin")
    for path in (tmp_path, tmp_path / "netplay", tmp_path / "netplay" / "Slippi Dolphin.app"):
        assert find_executable(path) == made
    assert launcher_folder().parts[-3:] == ("Library", "Application Support", "Slippi Launcher")


def test_a_user_without_a_home_folder_has_no_launcher(monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert not launcher_folder().is_dir()


def test_nothing_there(tmp_path):
    missing = tmp_path / "Slippi"
    message = told(lambda: find_executable(missing))
    assert message.startswith(f"{missing}: does not exist; ")
    assert "netplay" in message


def test_folder_without_an_executable_names_what_was_looked_for(tmp_path):
    message = told(lambda: find_executable(tmp_path))
    assert str(tmp_path) in message
    assert all(name in message for name in (ONLINE, MAINLINE, "AppRun"))


def test_two_executables(tmp_path):
    script(tmp_path / "netplay" / ONLINE)
    script(tmp_path / "netplay-beta" / MAINLINE)
    message = told(lambda: find_executable(tmp_path))
    assert "holds 2 Dolphins" in message
    assert f"netplay/{ONLINE}" in message
    assert f"netplay-beta/{MAINLINE}" in message


def test_not_executable(tmp_path):
    made = script(tmp_path / ONLINE)
    made.chmod(0o644)
    assert told(lambda: find_executable(tmp_path)) == f"{made}: is not executable; chmod +x '{made}'"


def test_folder_where_the_executable_should_be(tmp_path):
    (tmp_path / ONLINE).mkdir()
    assert told(lambda: find_executable(tmp_path)).startswith(f"{tmp_path / ONLINE}: is no file; ")


def test_path_that_the_system_refuses(tmp_path):
    assert "cannot be looked at" in told(lambda: find_executable(tmp_path / ("x" * 5000)))
    assert "cannot be looked at" in told(lambda: find_executable("a\0b"))


# ---------------------------------------------------------------- the version


@pytest.mark.parametrize(
    ("body", "mainline", "exi_ai", "text"),
    [
        ('echo "Slippi Dolphin (mainline-beta.8)"', True, False, "Slippi Dolphin (mainline-beta.8)"),
        ('echo "mainline-beta.8 ExiAI"', True, True, "mainline-beta.8 ExiAI"),
        ('echo "Faster Melee - Slippi (3.4.0)"; exit 255', False, False, "Faster Melee - Slippi (3.4.0)"),
        (f'echo "{EXI_AI}" >&2; exit 1', False, True, "3.4.0"),
    ],
)
def test_version(tmp_path, body, mainline, exi_ai, text):
    found = version_of(script(tmp_path / "dolphin", f'[ "$1" = --version ] || exit 9\n{body}'))
    assert (found.mainline, found.exi_ai, found.text) == (mainline, exi_ai, text)
    assert found.can_be_headless == (mainline or exi_ai)
    assert found.can_fast_forward == exi_ai
    assert found.can_show != exi_ai


def test_version_on_macos(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert version_of(script(tmp_path / "new", "echo mainline-beta.8")).mainline
    old = version_of(script(tmp_path / "old", "echo 'Faster Melee' >&2; exit 255"))
    assert (old.mainline, old.text) == (False, "Faster Melee")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("echo 'GNU tar 1.3'; echo more", ["unknown answer", "exit code 0", "GNU tar 1.3"]),
        ("exit 0", ["unknown answer", "nothing"]),
        ("echo 'Faster Melee - Slippi (3.4.0)' >&2; exit 1", ["unknown answer", "exit code 1"]),
        ("echo 'Error: Unable to initialize GTK+, is DISPLAY set?' >&2; exit 255", ["GTK+", "xvfb-run"]),
        (
            "echo 'error while loading shared libraries: libasound.so.2' >&2; exit 127",
            ["cannot run", "libasound.so.2", "install the library"],
        ),
        ("echo 'dlopen(): error loading libfuse.so.2' >&2; exit 1", ["cannot run", "libfuse", "--appimage-extract"]),
        ("kill -SEGV $$", ["SIGSEGV"]),
    ],
)
def test_other_answers(tmp_path, body, expected):
    made = script(tmp_path / "dolphin", body)
    message = told(lambda: version_of(made))
    assert message.startswith(f"{made}: ")
    assert all(part in message for part in expected), message


def test_file_that_is_no_program(tmp_path):
    made = tmp_path / "dolphin"
    made.write_bytes(b"\x7fELF, but no more")
    made.chmod(0o755)
    assert "cannot run: Exec format error" in told(lambda: version_of(made))
    made.chmod(0o644)
    assert "cannot run: Permission denied" in told(lambda: version_of(made))


def ended(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"  # where nobody adopts orphans, they stay in the table


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs the /proc of Linux")
def test_late_answer_kills_the_whole_group(tmp_path, monkeypatch):
    monkeypatch.setattr(install, "_KILL_GRACE_S", 0.05)
    child = tmp_path / "child"
    made = script(tmp_path / "dolphin", f"trap '' TERM\nsleep 600 &\necho $! > {child}\nwait\nsleep 600")
    message = told(lambda: version_of(made, timeout_s=3.0))
    assert message.startswith(f"{made}: no answer to --version within 3 s")
    pid = int(child.read_text())
    deadline = time.monotonic() + LIMIT_S
    while not ended(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended(pid)


# ---------------------------------------------------------------- the disc and the port


def test_disc(tmp_path, monkeypatch):
    disc = tmp_path / "melee.iso"
    assert told(lambda: check_disc(disc)).startswith(f"{disc}: does not exist; ")
    assert told(lambda: check_disc(tmp_path)).startswith(f"{tmp_path}: is no file; ")
    disc.touch()
    assert told(lambda: check_disc(disc)).startswith(f"{disc}: is empty; ")
    disc.write_bytes(b"GALE01")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert check_disc("~/melee.iso") == disc
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read everything
    assert told(lambda: check_disc(disc)) == f"{disc}: may not be read; chmod u+r '{disc}'"


def taken(port):
    held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    held.bind(("127.0.0.1", port))
    return held


def test_port_of_a_slot_and_the_next_of_its_own():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        base = min(probe.getsockname()[1], 60000)
    first = free_port(base, 1, 4)
    assert (first - base) % 4 == 1
    with taken(first):
        assert free_port(base, 1, 4) > first
        assert (free_port(base, 1, 4) - base) % 4 == 1


def test_two_runs_never_choose_the_same_port():
    """Also while neither Dolphin has opened its port yet."""
    base = free_port(50200, 0, 1)
    first, claim = claim_port(base, 0, 1)
    second, other = claim_port(base, 0, 1)
    assert first == base < second
    other.close()
    claim.close()
    assert free_port(base, 0, 1) == base


def test_no_port_left(monkeypatch):
    with taken(free_port(65530, 0, 1)) as held:
        last = held.getsockname()[1]
        message = told(lambda: free_port(last, 0, 65536))
    assert "in 1 tries" in message
    assert f"emulator.slippi_port={last}" in message
    assert "in 0 tries" in told(lambda: free_port(65535, 1, 4))
