"""Finds the valid name that was probably meant. Imports the standard library only."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

CUTOFF: Final = 0.7  # similarity of difflib below which a suggestion would only confuse
SHORTEST: Final = 3  # letters of a part of a name that stands for the whole


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name nearest to a mistyped one, or the only one that begins or ends with it; None if none is near."""
    names = {plain(one): one for one in valid}
    wanted = plain(name)
    package = wanted.rpartition(".")[0] + "."
    if all(one.startswith(package) for one in names):  # names are not alike for being in one package
        wanted = wanted.removeprefix(package)
        names = {one.removeprefix(package): whole for one, whole in names.items()}
    if near := difflib.get_close_matches(wanted, names, n=1, cutoff=CUTOFF):
        return names[near[0]]
    whole = [one for one in names if one.startswith(wanted) or one.endswith((f"_{wanted}", f".{wanted}"))]
    return names[whole[0]] if len(whole) == 1 and len(wanted) >= SHORTEST else None


def plain(name: str) -> str:
    """A name without what is easily confused: leading dashes, case, and hyphens for underscores."""
    return name.lstrip("-").replace("-", "_").lower()
