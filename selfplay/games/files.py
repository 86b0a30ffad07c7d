"""Files and texts that others may have made: plain files of a bounded size, and JSON that has one meaning.

Nothing here runs, follows or waits for anything that a file names. Callers turn the errors into their own.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn

MAX_TEXT_BYTES: Final = 8 * 2**20  # parsed JSON may take 20 times its size in memory
MAX_TOML_BYTES: Final = 2**18
_MANY_PARTS: Final = re.compile(rb"(?:[A-Za-z0-9_\"'-]{1,64}[ \t]*\.[ \t]*){100}")
"""A key of TOML of so many parts: reading it takes the square of them in time."""
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/v1"
_PACKED: Final = {
    b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "an archive of gzip", b"7z\xbc\xaf\x27\x1c": "an archive of 7-Zip",
    b"Rar!": "an archive of RAR", b"\x28\xb5\x2f\xfd": "an archive of Zstandard",
}  # fmt: skip
_PAGE: Final = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
CHUNK: Final = 2**20
_LAST_BYTES: Final = 2**14  # maximum number of bytes at the end of a log in which its last line is searched


class NotPlain(OSError):
    """No plain file, or too large a one; the message goes behind the path: ``is a link, ...``."""


@contextmanager
def opened(path: Path, *, follow: bool = False) -> Iterator[int]:
    """A descriptor to read a plain file with.

    Pipes, devices and pointers of Git LFS are refused, and links unless they are to be followed.

    Raises:
        OSError: it cannot be opened; ``NotPlain``: it is no plain file.
    """
    if not follow and path.is_symlink():
        raise NotPlain("is a link, which is not followed")
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # opening a pipe must not block
    handle = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotPlain("is not a plain file")
        if os.pread(handle, len(_LFS_POINTER), 0) == _LFS_POINTER:
            raise NotPlain("is a Git LFS pointer in place of the file; run `git lfs pull` where it was cloned")
        yield handle
    finally:
        os.close(handle)


def chunks(handle: int, limit: int, most: int = CHUNK) -> Iterator[bytes]:
    """The content of an open file, never more than ``limit`` bytes even if it grows meanwhile, ``most`` at once."""
    while limit > 0 and (chunk := os.read(handle, min(most, limit))):
        limit -= len(chunk)
        yield chunk


def read_plain(path: Path, limit: int, *, follow: bool = False) -> bytes:
    """The content of a plain file of at most ``limit`` bytes; see ``opened``."""
    with opened(path, follow=follow) as handle:
        size = os.fstat(handle).st_size
        if size > limit:
            raise NotPlain(f"has {size} bytes, the limit is {limit}")
        return b"".join(chunks(handle, limit, size + 1))  # one chunk unless the file grows: nothing is copied


def kind_of(data: bytes) -> str:
    """What a file of the wrong kind is, and what to do; "" where that is not known."""
    for start, name in _PACKED.items():
        if data.startswith(start):
            return f"it is {name}: unpack it first"
    return "it is a web page: download the file that the page shows" if _PAGE.match(data) else ""


def last_line(log: Path) -> str:
    """The last line of a log that is not empty; "" if there is none or the log cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _LAST_BYTES, 0))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def is_writable(folder: Path) -> bool:
    """Return True if files can be made in a folder; some file systems refuse them although its mode allows them."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def user_cache() -> Path | None:
    """Folder for files that this user's programs can make again; None for a user without a home folder."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "selfplay"
    except RuntimeError:
        return None


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Wait until no other process is in such a block with the same file; where files cannot be locked, do not wait."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):  # Windows, and file systems without locks
            import fcntl

            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def replacing(path: Path, temporary: Path) -> Iterator[Path]:
    """Write ``path`` atomically: the block writes the file ``temporary`` beside it, which then replaces ``path``.

    After an error ``path`` is unchanged and the temporary file is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def parse_json(text: str | bytes, limit: int = MAX_TEXT_BYTES) -> Any:  # noqa: ANN401
    """The value of a JSON text.

    Raises:
        ValueError: longer than ``limit``, not UTF-8, not JSON, nested too deeply, with a key twice, or with a number
            that is NaN, infinite or absurdly long.
    """
    if len(text) > limit:
        raise ValueError(f"{len(text)} bytes of JSON, the limit is {limit}")
    try:
        return _DECODER.decode(_text(text) if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def parse_toml(data: bytes) -> dict[str, Any]:
    """The tables of a TOML text."""
    if len(data) > MAX_TOML_BYTES:
        raise ValueError(f"{len(data)} bytes of TOML, the limit is {MAX_TOML_BYTES}")
    if _MANY_PARTS.search(data):
        raise ValueError("TOML that is nested too deeply")
    try:
        return tomllib.loads(_text(data))
    except RecursionError:
        raise ValueError("TOML that is nested too deeply") from None


def _text(data: bytes) -> str:
    """The text of a file, without the byte-order mark that some editors write."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("the text is UTF-16; save it as UTF-8")
    if kind := kind_of(data):
        raise ValueError(kind)
    return data.decode("utf-8-sig")


def printable(text: str) -> str:
    """The text with everything escaped that a terminal may take for a command; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def _finite(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError(f"{digits[:20]} is no number that JSON can mean")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key occurs twice")
    return document


_DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant, object_pairs_hook=_unique)
