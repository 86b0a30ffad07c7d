"""The ini files of a Dolphin user folder: what libmelee writes there, and this program honours."""

from __future__ import annotations

import configparser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from selfplay.games.errors import GameError

NUM_PORTS: Final = 4
STANDARD, ADAPTER = "6", "12"  # what may be plugged into a port: a controller of a pipe, or a person's
PIPE: Final = "Pipe/0/"
INSTANT_MATCH: Final = "$Optional: Instant Match"
INFINITE_TIME: Final = "$Optional: Infinite Time Mode"
SAME_STAGE: Final = "00000000 7C0802A6"  # third line of the code for instant matches
_TRUE: Final = ("true", "1", "yes", "on")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the program is told by its user folder."""

    spectator_port: int
    blocking: bool  # wait for a FLUSH of every pipe before each frame
    replay_folder: Path | None  # None: replays are not saved
    monthly: bool  # in a folder for each month
    pipes: dict[int, Path] = field(default_factory=dict)  # by port, 0..3
    people: tuple[int, ...] = ()  # ports with a person's controller
    instant_match: bool = False
    same_stage: bool = False  # of instant matches; else a random one
    infinite_time: bool = False


def read_settings(home: Path) -> Settings:
    """Read Dolphin.ini (of mainline or of Ishiiruka), GCPadNew.ini and GALE01r2.ini.

    Raises:
        GameError: a file cannot be read, or no port for spectators can be found in it.
    """
    dolphin, pads = (_read(home / "Config" / name) for name in ("Dolphin.ini", "GCPadNew.ini"))
    plugged = {port: dolphin.get("Core", f"SIDevice{port}", fallback="0") for port in range(NUM_PORTS)}
    devices = {port: pads.get(f"GCPad{port + 1}", "Device", fallback="") for port in plugged}
    codes = _enabled_codes(home / "GameSettings" / "GALE01r2.ini")
    return Settings(
        spectator_port=_port(dolphin),
        blocking=_blocking(dolphin),
        replay_folder=_replay_folder(dolphin, home),
        monthly=_slippi(dolphin, "ReplayMonthlyFolders").lower() in _TRUE,
        pipes={
            port: home / "Pipes" / device.removeprefix(PIPE)
            for port, device in devices.items()
            if plugged[port] == STANDARD and device.startswith(PIPE)
        },
        people=tuple(port for port, kind in plugged.items() if kind == ADAPTER),
        instant_match=INSTANT_MATCH in codes,
        same_stage=f"\n{SAME_STAGE}" in _code(home / "GameSettings" / "GALE01r2.ini", f"{INSTANT_MATCH} ["),
        infinite_time=INFINITE_TIME in codes,
    )


def _read(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise GameError(f"{path}: {str(error).splitlines()[0]}") from error
    return parser


def _slippi(parser: configparser.ConfigParser, name: str) -> str:
    """A setting as mainline spells it, else as Ishiiruka does, else ""."""
    ours = parser.get("Slippi", name, fallback=None)
    return ours if ours is not None else parser.get("Core", f"Slippi{name}", fallback="")


def _blocking(parser: configparser.ConfigParser) -> bool:
    """Ishiiruka spells this one without the word before it."""
    found = _slippi(parser, "BlockingPipes") or parser.get("Core", "BlockingPipes", fallback="")
    return found.lower() in _TRUE


def _port(parser: configparser.ConfigParser) -> int:
    if _slippi(parser, "EnableSpectator").lower() not in _TRUE:
        raise GameError("Dolphin.ini: EnableSpectator must be True, or nobody can look on")
    text = _slippi(parser, "SpectatorLocalPort")
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise GameError(f"Dolphin.ini: SpectatorLocalPort must be a port, got {text!r}")
    return int(text)


def _replay_folder(parser: configparser.ConfigParser, home: Path) -> Path | None:
    if _slippi(parser, "SaveReplays").lower() not in _TRUE:
        return None
    return Path(_slippi(parser, "ReplayDir") or home / "Slippi" / "Replays")


def _code(path: Path, name: str) -> str:
    """Notes and lines of a code whose first line begins so; "" if there is none."""
    try:
        _, _, code = path.read_text(encoding="utf-8", errors="replace").partition(f"\n{name}")
    except OSError:
        return ""
    return code.partition("\n$")[0]


def _enabled_codes(path: Path) -> frozenset[str]:
    """Names of the codes that the file switches on; it is no ini file, since codes stand in it line by line."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    section, names = "", set()
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line
        elif section == "[Gecko_Enabled]" and line.startswith("$"):
            names.add(line)
    return frozenset(names)
