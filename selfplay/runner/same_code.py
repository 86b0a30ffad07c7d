"""Whether the code on the other end of a link is that of this end."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

from selfplay.errors import RunnerError
from selfplay.runner.process_game import ROOT

if TYPE_CHECKING:
    from selfplay.runner.remote import Link


@cache
def code_hash() -> str:
    """SHA-256 of the sources of both packages."""
    digest = hashlib.sha256()
    for package in ("envs", "selfplay"):
        for file in sorted((ROOT / package).rglob("*.py")):
            digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def refuse_other_code(link: Link) -> None:
    """Compare with the other end, which has a method ``code``.

    Raises:
        RunnerError: it is another version, which might read what we send as something else.
    """
    if link.call("code") != code_hash():
        raise RunnerError("a node of the cluster has another version of this project: install the same one everywhere")
