"""The "disc" of the stand-in: what it plays and how, as a JSON file in place of a game image."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from selfplay.games.errors import GameError, UnknownNameError

PERSONAS: Final = ("exi_ai_mainline", "mainline", "ishiiruka", "exi_ai_ishiiruka")
# Kind of fault -> what its moments are counted in.
CLOCKS: Final = {
    "no_start": "start",
    "dead_port": "start",
    "slow_boot": "start",
    "menu_crash": "menu frame",
    "wrong_character": "game",
    "wrong_stage": "game",
    "old_version": "game",
    "crash": "frame",
    "hang": "frame",
    "disconnect": "frame",
    "garbage": "frame",
    "truncated": "frame",
    "bad_json": "frame",
}
MAX_SEED: Final = 2**62 - 1
MIN_FRAME: Final = -123

_Made = TypeVar("_Made", "Disc", "Fault")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong, and when: at one moment (``at``), or at random ones (``every``).

    Moments are counted as ``CLOCKS`` says: starts of the program (all of them, if ``at`` is absent), menu frames since
    the start, games since the start from 0, frames of a game by their number (the first game that gets so far).
    """

    kind: str
    at: int | None = None  # by default the first moment
    every: float | None = None  # one moment in so many, on average
    once: bool = False  # never again once it happened, in later starts with this disc either


@dataclass(frozen=True, slots=True, kw_only=True)
class Disc:
    """All that can be set; every field has a default."""

    seed: int = 0  # game number g of a start is episode g of this seed
    persona: str = "exi_ai_mainline"  # which Dolphin ``--version`` tells of
    pace: float = 0.0  # frames a second; 0: as fast as the controllers are flushed
    boot_s: float = 0.0  # seconds before the port is opened
    slp_version: str = "3.18.0"  # of the events
    faults: tuple[Fault, ...] = ()
    fault_seed: int | None = None  # of random moments; None: other ones at every start
    replay: str | None = None  # path of a .slp file that is served in place of menus and mock
    rollback_every: int = 0  # every so many frames, one is sent wrong and then once more; 0: none
    leak_mb_per_1000_frames: float = 0.0  # memory that is taken and never given back
    journal: str | None = None  # path of a file to which starts, games and faults are added
    human: str = "idle"  # scripted player who plays where a real controller is plugged in
    human_character: str = "fox"

    @property
    def version(self) -> tuple[int, int, int]:
        """Of the events, as numbers."""
        major, minor, build = map(int, self.slp_version.split("."))
        return major, minor, build


_WORDS: Final = {
    "int": "a whole number",
    "int | None": "a whole number or null",
    "float": "a number",
    "float | None": "a number or null",
    "str": "a text",
    "str | None": "a text or null",
    "bool": "true or false",
}
_RANGES: Final = {
    "seed": (0, MAX_SEED),
    "pace": (0, 1000),
    "boot_s": (0, 3600),
    "fault_seed": (0, MAX_SEED),
    "rollback_every": (0, 1_000_000),
    "leak_mb_per_1000_frames": (0, 100_000),
    "at": (MIN_FRAME, 1 << 30),
    "every": (1, 1 << 30),
}


def read_disc(path: Path) -> Disc:
    """The settings in a file; the defaults where it holds no JSON object, as any other game image does.

    Raises:
        GameError: the file cannot be read, or holds a setting or a value that there is not; one line.
    """
    try:
        with path.open("rb") as file:
            data = file.read(1 << 20)
    except OSError as error:
        raise GameError(f"{path}: {error.strerror}") from error
    try:
        found = json.loads(data)
    except ValueError:
        return Disc()
    if not isinstance(found, dict):
        return Disc()
    try:
        return disc_of(found)
    except GameError as error:
        raise GameError(f"{path}: {error}") from None


def disc_of(found: Mapping[str, Any]) -> Disc:
    """Checked settings of a JSON object.

    Raises:
        GameError: a setting or value that there is not.
    """
    faults = found.get("faults", [])
    if not isinstance(faults, list) or not all(isinstance(fault, dict) for fault in faults):
        raise GameError(f"faults must be a list of objects, got {faults!r}")
    disc = _checked(Disc, {**found, "faults": tuple(_fault(fault) for fault in faults)})
    if disc.persona not in PERSONAS:
        raise UnknownNameError("persona", disc.persona, PERSONAS)
    try:
        version = disc.version
    except ValueError:
        version = (0, 0, 0)
    if not (1, 0, 0) <= version <= (3, 19, 255) or max(version) > 255:
        raise GameError(f"slp_version must be a version from 1.0.0 to 3.19.x, got {disc.slp_version!r}")
    return disc


def _fault(found: Mapping[str, Any]) -> Fault:
    if "kind" not in found:
        raise GameError(f"a fault needs a kind (valid: {', '.join(CLOCKS)})")
    fault = _checked(Fault, found)
    if fault.kind not in CLOCKS:
        raise UnknownNameError("fault", fault.kind, CLOCKS)
    if fault.at is not None and fault.every is not None:
        raise GameError(f"fault {fault.kind}: at one moment (at) or at random ones (every), not both")
    if fault.at is not None and CLOCKS[fault.kind] == "start":
        raise GameError(f"fault {fault.kind} happens as the program starts: no at, but it may have every or once")
    return fault


def _checked(made: type[_Made], found: Mapping[str, Any]) -> _Made:
    """An object of a dataclass whose field types are simple enough to be compared by name."""
    known = {f.name: str(f.type) for f in fields(made)}
    for name, value in found.items():
        if name not in known:
            raise UnknownNameError("setting", name, known)
        if not _is_a(value, known[name]):
            raise GameError(f"{name} must be {_WORDS[known[name]]}, got {json.dumps(value)}")
        low, high = _RANGES.get(name, (-math.inf, math.inf))
        if name in _RANGES and value is not None and not low <= value <= high:
            raise GameError(f"{name} must be from {low} to {high}, got {value!r}")
    return made(**found)


def _is_a(value: object, kind: str) -> bool:
    if value is None:
        return "None" in kind
    if isinstance(value, bool):
        return kind == "bool"
    if isinstance(value, int):
        return "int" in kind or "float" in kind
    if isinstance(value, float):
        return "float" in kind
    return isinstance(value, tuple) if kind.startswith("tuple") else isinstance(value, str) and "str" in kind


def write_disc(path: Path, disc: Disc) -> None:
    """Write what ``read_disc`` reads, without the settings that have their default."""
    default = asdict(Disc())
    chosen = {name: value for name, value in asdict(disc).items() if value != default[name]}
    if disc.faults:
        chosen["faults"] = [{k: v for k, v in asdict(f).items() if v not in (None, False)} for f in disc.faults]
    path.write_text(json.dumps(chosen, indent=2) + "\n", encoding="utf-8")
