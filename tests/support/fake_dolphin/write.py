"""Writes the two files of a stand-in: the program and its disc."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from selfplay.games.errors import GameError
from tests.support.fake_dolphin.disc import Disc, write_disc

ROOT: Final = Path(__file__).resolve().parents[3]
PROGRAM: Final = "tests.support.fake_dolphin.emulator"
LAUNCHER: Final = """\
#!/bin/sh
# A stand-in for Dolphin, see docs/melee/internals/stand_in.md. --disc names whose persona --version tells.
PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {python} -P -m {program} --disc {disc}{rules} "$@"
"""


def write_stand_in(folder: Path, disc: Disc, *, compiled: bool = True) -> tuple[Path, Path]:
    """Write ``dolphin``, which can be started, and ``disc.json``; both paths, absolute.

    The rules of the mock are compiled now if they are not yet: libmelee would not wait for that. Without compiled rules
    a start takes a quarter, and a frame ten times as long.

    Raises:
        GameError: the disc names what there is not, or the folder cannot be written.
    """
    from tests.support.fake_dolphin.engine import warm_up
    from tests.support.fake_dolphin.machine import check_disc
    from tests.support.fake_dolphin.uncompiled import write_tables

    check_disc(disc)
    folder = folder.resolve()
    program, image, tables = folder / "dolphin", folder / "disc.json", folder / "tables.npz"
    quoted = {"root": str(ROOT), "python": sys.executable, "disc": str(image)}
    rules = "" if compiled else f" --uncompiled {shlex.quote(str(tables))}"
    names = {name: shlex.quote(value) for name, value in quoted.items()}
    text = LAUNCHER.format(program=PROGRAM, rules=rules, **names)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for mark in folder.glob(f"{image.name}.*"):  # of faults that happened once
            mark.unlink()
        write_disc(image, disc)
        if not compiled:
            write_tables(tables)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    except OSError as error:
        raise GameError(f"{folder}: {error.strerror}") from error
    if compiled:
        warm_up()
    return program, image
