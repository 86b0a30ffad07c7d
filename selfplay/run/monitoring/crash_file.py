"""``crashes.jsonl``: a line for each child that died. It is bounded: when it is full, the older half goes."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from selfplay.checkpoint.documents import decode_json, parse
from selfplay.checkpoint.store import write_file
from selfplay.errors import CheckpointError, CorruptError, boundary
from selfplay.files import read_file
from selfplay.report.tree_status import Crash

FULL: Final = 4 * 2**20  # bytes; some thousand crashes
LIMIT: Final = 4 * FULL  # bytes read at most; this program writes no more


def append_crash(path: Path, crash: Crash) -> None:
    """Add a line; one that a kill or a full disk tore stays alone. Blocks; CheckpointError if it cannot be written."""
    line = crash.model_dump_json().encode() + b"\n"
    with boundary(CheckpointError, f"cannot write {path}"):
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(path, flags, 0o644)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise CheckpointError(f"{path} is no plain file")
            if status.st_size and os.pread(handle, 1, status.st_size - 1) != b"\n":
                line = b"\n" + line
            if os.write(handle, line) != len(line):  # one write: the watchdog's thread may append at the same time
                os.ftruncate(handle, status.st_size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if status.st_size + len(line) > FULL:
                tail = os.pread(handle, FULL // 2, status.st_size + len(line) - FULL // 2)
                write_file(path, tail[tail.index(b"\n") + 1 :])
        finally:
            os.close(handle)


def read_crashes(path: Path, count: int) -> tuple[list[Crash], int]:
    """The newest ``count`` crashes, the newest first, and how many lines on the way to them say nothing."""
    if not path.exists():
        return [], 0
    found: list[Crash] = []
    unreadable = 0
    for line in reversed(read_file(path, LIMIT).split(b"\n")):
        if len(found) >= count:
            break
        if not line:
            continue
        try:
            found.append(parse(Crash, decode_json(line, str(path)), str(path), CorruptError))
        except CorruptError:
            unreadable += 1
    return found, unreadable
