"""What a stranger may put in place of a file: contents, changed documents, and files that are none."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

HUGE = "1" + "0" * 5_000
TERMINAL = "\x1b]0;owned\x07\x1b[2J\r\x00‮"
NAMES = (
    "../victim",
    "../../victim/precious",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/../../b",
    "con\x00",
    TERMINAL,
    "~root/x",
)

CONTENTS: dict[str, bytes] = {
    "nothing": b"",
    "zeros": bytes(4096),
    "no UTF-8": b"\xff\xfe\x00\xd8" * 64,
    "a byte order mark": b"\xef\xbb\xbf{}",
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "deep TOML": b"a = " + b"[" * 100_000,
    "NaN": b'{"format": NaN}\n{"format": 1}\n',
    "infinity": b'{"format": 1e999}\n{"format": 1}\n',
    "a huge number": b'{"format": ' + HUGE.encode() + b"}\n{}\n",
    "a key twice": b'{"format": 1, "format": 2}\n{}\n',
    "a list": b"[]\n[]\n",
    "a text": b'"x"\n"y"\n',
    "null": b"null\nnull\n",
    "a long line": b'{"a": "' + b"x" * (9 * 2**20) + b'"}\n{}\n',
    "many lines": b"{}\n" * 20_000,
    "commands for a terminal": json.dumps({TERMINAL: TERMINAL}).encode() + b"\n" + TERMINAL.encode() + b"\n",
    "a pickle": b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "a header of a safetensors file": (2**63 - 1).to_bytes(8, "little") + b"{}",
    "the magic of parquet": b"PAR1" + b"\xff" * 64 + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
}

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 2**64, 10**400, -0.0, 1e308, "", "1", [], {}, [[]], [None] * 3, {"a": {"a": {}}},
    "x" * 100_000, *NAMES,
)  # fmt: skip

HUGE_COUNTS = (10**9, 2**63, 10**400)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON document, by the keys that lead to it."""
    if path:
        yield path
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in list(inner)[:8]:
        yield from places(value, (*path, key))


def numbers(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place that has a whole number."""
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from numbers(value, (*path, key))
    elif type(document) is int and path:
        yield path


def changed(document: Any, path: tuple[Any, ...], value: Any, rename: str | None = None) -> Any:
    """A copy with another value at a place, or with another key there."""
    copy = json.loads(json.dumps(document))
    owner = copy
    for key in path[:-1]:
        owner = owner[key]
    if rename is not None and isinstance(owner, dict):
        owner[rename] = owner.pop(path[-1])
    else:
        owner[path[-1]] = value
    return copy


@st.composite
def documents(draw: st.DrawFn, document: Any) -> Any:
    """The document with one to three changes."""
    for _ in range(draw(st.integers(1, 3))):
        options = list(places(document))
        if not options:
            break
        path = draw(st.sampled_from(options))
        document = changed(document, path, draw(st.sampled_from(VALUES)), draw(st.sampled_from((None, None, *NAMES))))
    return document


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes cut off, with a part exchanged, doubled or put in again elsewhere."""
    place = draw(st.integers(0, max(0, len(data) - 1)))
    match draw(st.sampled_from(("cut", "flip", "insert", "double", "drop"))):
        case "cut":
            return data[:place]
        case "flip":
            return data[:place] + bytes([data[place] ^ draw(st.integers(1, 255))]) + data[place + 1 :] if data else b"x"
        case "insert":
            return data[:place] + draw(st.binary(min_size=1, max_size=16)) + data[place:]
        case "double":
            return data + data
    return data[:place] + data[place + draw(st.integers(1, 64)) :]


def _link_out(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def _link_to_nothing(path: Path, victim: Path) -> None:
    path.symlink_to(victim.with_name("made by a reader"))


def _link_to_itself(path: Path, victim: Path) -> None:
    path.symlink_to(path)


def _device(path: Path, victim: Path) -> None:
    path.symlink_to("/dev/zero")


def _pipe(path: Path, victim: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, victim: Path) -> None:
    path.mkdir()


def _sparse(path: Path, victim: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 * 2**30)  # takes no room on the disk


KINDS = {
    "a link out of the folder": _link_out,
    "a link to nothing": _link_to_nothing,
    "a link to itself": _link_to_itself,
    "a device": _device,
    "a pipe": _pipe,
    "a folder": _folder,
    "5 GiB of nothing": _sparse,
}
