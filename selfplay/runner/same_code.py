"""Whether the code on the other end of a link is that of this end."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from typing import Final

from selfplay.errors import RunnerError
from selfplay.runner.process_game import ROOT

ARITHMETIC: Final = ("numpy", "numba", "torch")  # others compute other bits


@cache
def code_hash() -> str:
    """SHA-256 of the sources of both packages and of the releases of what computes, whatever device those are for."""
    digest = hashlib.sha256()
    for library in ARITHMETIC:
        digest.update(f"{library} {version(library).partition('+')[0]}\n".encode())
    for package in ("envs", "selfplay"):
        for file in sorted((ROOT / package).rglob("*.py")):
            digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def refuse_other_code(theirs: str) -> None:
    """Compare with the other end, whose ``code_hash`` this is.

    Raises:
        RunnerError: it is another version, which might read what we send as something else.
    """
    if theirs != code_hash():
        raise RunnerError(
            f"a node of the cluster has another version of this project, or of {', '.join(ARITHMETIC)}: install the "
            "same ones everywhere"
        )
