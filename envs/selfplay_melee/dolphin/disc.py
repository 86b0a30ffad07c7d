"""Check that a disc image is Melee 1.02, NTSC, compressed or not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from selfplay.games.files import parse_json
from selfplay_melee.dolphin.install import check_disc
from selfplay_melee.errors import DolphinError

if TYPE_CHECKING:
    from io import BufferedReader

DISC_BYTES: Final = 1_459_978_240  # size of every complete GameCube disc
DISC_MD5: Final = "0e63d4223b01d9aba596259dc155a174"  # of Melee 1.02, NTSC
_GAME, _REVISION = b"GALE01", 2  # the first six bytes of the disc, and its byte 7
DISC_MAGIC: Final = b"\xc2\x33\x9f\x3d"  # of every GameCube disc, at its byte 28; Dolphin takes nothing else for one
_WII_MAGIC: Final = b"\x5d\x1c\x9e\xa3"  # at byte 24
_HEADER_BYTES: Final = 32
_COMPRESSED: Final = {  # magic: name, and where the disc's own header stands; None: compressed too
    b"CISO": ("CISO", 0x8000),
    b"\x01\xc0\x0b\xb1": ("GCZ", None),
    b"\xae\x0f\x38\xa2": ("TGC", None),
    b"WBFS": ("WBFS", None),
    b"RVZ\x01": ("RVZ", 0x58),
    b"WIA\x01": ("WIA", 0x58),
}
_MAINLINE_ONLY: Final = ("RVZ", "WIA")  # Ishiiruka is older than these
_MAX_SETTINGS: Final = 1 << 22  # bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of the check of a disc image."""

    level: Literal["ok", "warning"]
    text: str
    mainline_only: bool = False  # in a format that Ishiiruka, and so its ExiAI build, cannot read


def judge_disc(path: str | Path, *, hash_it: bool) -> Verdict:
    """Check a disc image as far as possible; ``hash_it`` reads all of it, 1.4 GB.

    Compressed images cannot be hashed. A warning does not mean that games fail: some modified games work.

    Raises:
        DolphinError: as of ``check_disc``; it is no disc image; or it cannot be read to its end.
    """
    disc = check_disc(path)
    try:
        with disc.open("rb") as file:
            return _judge(file, disc.stat().st_size, hash_it)
    except OSError as error:
        raise DolphinError(f"{disc}: cannot be read ({error.strerror}); copy the image again") from error
    except DolphinError as error:
        raise DolphinError(f"{disc}: {error}") from error


def _judge(file: BufferedReader, size: int, hash_it: bool) -> Verdict:
    magic = file.read(4)
    if magic.lstrip()[:1] == b"{":
        return _judge_settings(file)
    name, begin = _COMPRESSED.get(magic, ("", 0))
    if begin is None:
        return Verdict("ok", f"compressed ({name}): which game it is cannot be checked")
    file.seek(begin)
    header = file.read(_HEADER_BYTES)
    if header[28:] != DISC_MAGIC and header[24:28] != _WII_MAGIC:
        raise DolphinError(
            f"is no disc image (it begins with {magic!r}); valid are images of a GameCube disc as ISO or GCM, "
            f"{', '.join(kind for kind, _ in _COMPRESSED.values())}; give your image of Melee 1.02"
        )
    if wrong := _wrong_game(header):
        wanted = f"{_GAME.decode()}, revision {_REVISION}"
        return Verdict("warning", f"{wrong}; games need an image of Melee 1.02, NTSC ({wanted})")
    if name:
        text = f"Melee 1.02 by its header; compressed ({name}), so its hash cannot be checked"
        return Verdict("ok", text, name in _MAINLINE_ONLY)
    if size != DISC_BYTES:
        return Verdict("warning", f"{size:,} bytes instead of {DISC_BYTES:,}: cut or padded; make the image again")
    if not hash_it:
        return Verdict("ok", "Melee 1.02 by its header and size; not hashed")
    file.seek(0)
    if (found := hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False)).hexdigest()) != DISC_MD5:
        return Verdict(
            "warning", f"MD5 {found} instead of {DISC_MD5}: altered or damaged; if games fail, make the image again"
        )
    return Verdict("ok", "Melee 1.02 by its hash")


def _wrong_game(header: bytes) -> str:
    """The game that the header of a disc names if it is not Melee 1.02, else ""."""
    game, revision = header[:6], header[7]
    if game != _GAME:
        return f"another game ({game.decode(errors='backslashreplace')})"
    return "" if revision == _REVISION else f"another edition of Melee (revision {revision})"


def _judge_settings(file: BufferedReader) -> Verdict:
    """Check that a file is a JSON object: the settings of the tests' program in place of Dolphin, which reads them."""
    file.seek(0)
    try:
        parse_json(file.read(_MAX_SETTINGS))
    except ValueError as error:
        raise DolphinError(f"is no disc image, and no JSON either: {error}") from error
    return Verdict("warning", "settings of the stand-in for Dolphin; a real game needs an image of Melee 1.02, NTSC")
