"""Checks before a start: Dolphin's executable, the disc image, a port.

Uses the standard library only, so that it can report a missing libmelee. File names and the answers to ``--version``
are those that libmelee knows; unlike libmelee's, this call of ``--version`` has a timeout.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from selfplay_melee.errors import DolphinError

# File names of the launcher's two builds, of the ExiAI build as published, and of an extracted AppImage.
_LINUX: Final = (
    "Slippi_Online-x86_64.AppImage",
    "Slippi_Netplay_Mainline-x86_64.AppImage",
    "Slippi_Online-x86_64-ExiAI.AppImage",
    "AppRun",
)
_INSIDE_APP: Final = ("Contents/MacOS/Slippi Dolphin", "Contents/MacOS/Slippi_Dolphin")
_MACOS: Final = (*(f"{inside.rpartition('/')[2]}.app/{inside}" for inside in _INSIDE_APP), *_INSIDE_APP)
_LAUNCHER_FOLDERS: Final = ("netplay", "netplay-beta")
_WHAT_IS_VALID: Final = "give Dolphin's executable or the folder that holds it, such as the launcher's netplay"

_EXI_AI: Final = re.compile(r"Faster Melee - Slippi \((?P<version>[^)]*)\) - ExiAI")
_KILL_GRACE_S: Final = 1.0  # for an AppImage to unmount itself
_ANSWER_BYTES: Final = 1 << 16

SLIPPI_PORT: Final = 51441  # libmelee's own default
FIRST_PORT, LAST_PORT = 1024, 65000  # valid first ports of a run
PORT_TRIES: Final = 50


@dataclass(frozen=True, slots=True)
class DolphinVersion:
    """Answer of an executable to ``--version``."""

    mainline: bool  # of the newer line of Slippi Dolphin; the older one is Ishiiruka
    exi_ai: bool  # takes inputs past the emulated controller ports, which fast-forward needs, and draws nothing
    text: str

    @property
    def can_be_headless(self) -> bool:
        """Whether it can run without a window: ExiAI always can; whether a mainline build can is unknown."""
        return self.mainline or self.exi_ai

    @property
    def can_show(self) -> bool:
        return not self.exi_ai

    @property
    def can_fast_forward(self) -> bool:
        return self.exi_ai


def launcher_folder() -> Path:
    """Folder of Slippi Launcher's Dolphins on this system; it need not exist."""
    parent = "Library/Application Support" if platform.system() == "Darwin" else ".config"
    return Path(os.path.expanduser("~")) / parent / "Slippi Launcher"  # a user without a home folder keeps the ~


def find_executable(path: str | Path) -> Path:
    """The executable that ``--dolphin`` means, as an absolute path with its links kept.

    ``path`` is the executable, a folder that holds one known executable, or the launcher's folder above such folders;
    ``~`` is the home folder.

    Raises:
        DolphinError: there is no executable, there are several, or it cannot be executed.
    """
    given = Path(os.path.expanduser(path)).absolute()
    if stat.S_ISDIR(_status(given, _WHAT_IS_VALID).st_mode):
        given = _in_folder(given)
    if not stat.S_ISREG(_status(given, _WHAT_IS_VALID).st_mode):
        raise DolphinError(f"{given}: is no file; {_WHAT_IS_VALID}")
    if not os.access(given, os.X_OK):
        raise DolphinError(f"{given}: is not executable; chmod +x '{given}'")
    return given


def _in_folder(folder: Path) -> Path:
    names = _MACOS if platform.system() == "Darwin" else _LINUX
    places = (folder, *(folder / name for name in _LAUNCHER_FOLDERS))
    found = [place / name for place in places for name in names if (place / name).exists()]
    if not found:
        raise DolphinError(f"{folder}: no Dolphin in this folder (looked for {', '.join(names)}); {_WHAT_IS_VALID}")
    if len(found) > 1:
        held = ", ".join(str(one.relative_to(folder)) for one in found)
        raise DolphinError(f"{folder}: holds {len(found)} Dolphins ({held}); give one of them")
    return found[0]


def version_of(executable: Path, timeout_s: float = 30.0) -> DolphinVersion:
    """Ask an executable which Dolphin it is.

    It runs in its own process group, which is killed at the timeout.

    Raises:
        DolphinError: it cannot be run, times out, or gives an unknown answer.
    """
    code, out, err = _ask(executable, timeout_s)
    told = _first_line(err) or _first_line(out) or "nothing"
    if code < 0:
        raise DolphinError(f"{executable}: --version ended by {_signal_name(-code)}; it said: {told}")
    if code in (126, 127) or "fuse" in err.lower():
        raise DolphinError(f"{executable}: cannot run (exit code {code}): {told}{_remedy(err)}")
    version = _classify(code, out.strip(), err.strip())
    if version is None:
        raise DolphinError(
            f"{executable}: unknown answer to --version (exit code {code}): {told}; is it Slippi Dolphin?{_remedy(err)}"
        )
    return version


def _classify(code: int, out: str, err: str) -> DolphinVersion | None:
    """Libmelee's interpretation of an answer; None if it would refuse it, or without an answer."""
    if platform.system() == "Darwin":
        text = err if code else out
        return DolphinVersion("mainline" in text, False, text) if text else None
    if code == 0 and "mainline" in out:
        return DolphinVersion(True, "ExiAI" in out, out)
    if code == 255 and out:  # without a display the code is the same, but there is no output
        return DolphinVersion(False, False, out)
    if code == 1 and (match := _EXI_AI.match(err)):
        return DolphinVersion(False, True, match["version"])
    return None


def _ask(executable: Path, timeout_s: float) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of ``--version``; in files, since its children may keep pipes open."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                [executable, "--version"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            raise DolphinError(f"{executable}: cannot run: {error.strerror}; {_WHAT_IS_VALID}") from error
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise DolphinError(
                f"{executable}: no answer to --version within {timeout_s:g} s; does it start by hand?"
            ) from error
        finally:
            if process.poll() is None:
                _kill_group(process)
        return code, _start(out), _start(err)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started; it leads their group."""
    with suppress(ProcessLookupError, PermissionError):  # macOS raises the latter for a group that has ended
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _start(file: BinaryIO) -> str:
    file.seek(0)
    return file.read(_ANSWER_BYTES).decode(errors="replace")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _remedy(err: str) -> str:
    """Advice for frequent errors of loaders, AppImages and windows, to append to a message."""
    text = err.lower()
    if "fuse" in text:
        return "; extract it with --appimage-extract and give the folder squashfs-root"
    if "shared librar" in text:
        return "; install the library that is missing"
    if "display" in text:
        return "; it needs a display even for this: start it under xvfb-run, or take a build without a window"
    return ""


def check_disc(path: str | Path) -> Path:
    """The disc image that ``--iso`` means, as an absolute path; ``~`` is the home folder.

    Raises:
        DolphinError: it is no file, is empty or cannot be read.
    """
    disc = Path(os.path.expanduser(path)).absolute()
    valid = "give your image of Melee 1.02"
    found = _status(disc, valid)
    if not stat.S_ISREG(found.st_mode):
        raise DolphinError(f"{disc}: is no file; {valid}")
    if not found.st_size:
        raise DolphinError(f"{disc}: is empty; {valid}")
    if not os.access(disc, os.R_OK):
        raise DolphinError(f"{disc}: may not be read; chmod u+r '{disc}'")
    return disc


def claim_port(base: int, slot: int, slots: int) -> tuple[int, socket.socket]:
    """The first free UDP port of base + slot, base + slot + slots and so on, so that slots never share a port.

    The port is claimed until the socket is closed: it holds the TCP port of the same number, which Dolphin does not
    use. So two runs never choose the same port, although Dolphin opens the UDP port much later.

    Raises:
        DolphinError: none in ``PORT_TRIES`` tries, or below 65536.
    """
    tries = range(base + slot, 65536, slots)[:PORT_TRIES]
    for port in tries:
        claim = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if _binds(claim, port) and is_free(port):
            return port, claim
        claim.close()
    raise DolphinError(
        f"emulator.slippi_port={base}: no free UDP port for game {slot} in {len(tries)} tries; "
        "give another from 1024 to 65535"
    )


def check_build(executable: Path, version: DolphinVersion, *, headless: bool, fast_forward: bool, person: bool) -> None:
    """Check that a build supports the given flags.

    Raises:
        DolphinError: it cannot; names the flag.
    """
    if fast_forward and not version.can_fast_forward:
        raise DolphinError(f"--fast-forward needs an ExiAI build, which {executable} is not")
    if headless and not version.can_be_headless:
        raise DolphinError(f"--headless needs ExiAI or a mainline build made for it; {executable} is Ishiiruka")
    if person and not version.can_show:
        raise DolphinError(f"--human-port needs a Dolphin with a window; {executable} is ExiAI, which draws nothing")


def free_port(base: int, slot: int, slots: int) -> int:
    """The port that ``claim_port`` would give now, without claiming it.

    Raises:
        DolphinError: as of ``claim_port``.
    """
    port, claim = claim_port(base, slot, slots)
    claim.close()
    return port


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return _binds(probe, port)


def _binds(one: socket.socket, port: int) -> bool:
    try:
        one.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def _status(path: Path, valid: str) -> os.stat_result:
    """The file status of a path.

    Raises:
        DolphinError: it does not exist or has no readable status; the message ends with ``valid``.
    """
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DolphinError(f"{path}: does not exist; {valid}") from error
    except (OSError, ValueError) as error:
        raise DolphinError(f"{path}: cannot be looked at ({getattr(error, 'strerror', error)}); {valid}") from error
