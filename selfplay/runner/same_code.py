"""Whether the code on the other end of a link is that of this end."""

from __future__ import annotations

import hashlib
from functools import cache

from selfplay.errors import RunnerError
from selfplay.runner.process_game import ROOT


@cache
def code_hash() -> str:
    """SHA-256 of the sources of both packages."""
    digest = hashlib.sha256()
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
        raise RunnerError("a node of the cluster has another version of this project: install the same one everywhere")
