"""Fit what no public table says about a character to real replays.

``fit`` writes one file a character, ``fitted/NAME.toml``, which ``selfplay_melee.tables`` reads beside
``characters/NAME.toml``. Each module of ``PARTS`` turns all replays into tables of these files: ``loops`` the
lengths of falls, ``hull`` the heights of the point that meets floors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import selfplay_melee.tables
from scripts.studies.fidelity.coverage import CHARACTER, STAGE, reasons
from scripts.studies.fidelity.reconstruct import read_scored
from scripts.studies.fit_character.hull import fit_hulls
from scripts.studies.fit_character.loops import fit_loops
from scripts.studies.fit_character.samples import NEEDED
from scripts.studies.fit_character.write import text
from selfplay_melee.tables.fits import FOLDER

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

OWN: Final = Path(selfplay_melee.tables.__file__).parent
PARTS: Final[dict[str, Callable[[Sequence[Replay]], dict[str, dict[str, object]]]]] = {
    "loops": fit_loops,
    "hull": fit_hulls,
}
"""By name of the table in a file: from replays to the content of that table, by name of the character."""


def fit(replays: Sequence[Path], folder: Path = OWN, names: Sequence[str] = ()) -> list[Path]:
    """Fit the characters ``names`` (default: all that play) to replays; the files written, ``folder/fitted/NAME.toml``.

    Raises:
        ReplayError: a file is no replay.
    """
    played = [replay for path in replays if _is_usable(replay := read_scored(path))]
    parts = {part: measure(played) for part, measure in PARTS.items()}
    written = []
    for name in sorted(set().union(*parts.values())):
        if names and name not in names:
            continue
        path = folder / FOLDER / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        head = {"sources": [f"measured from {len(played)} replays by scripts.studies.fit_character"]}
        path.write_text(text({"fit": head} | {part: made[name] for part, made in parts.items() if name in made}))
        written.append(path)
    return written


def _is_usable(replay: Replay) -> bool:
    """Whether the mock has its stage and characters, and the file has speeds."""
    return not {CHARACTER, STAGE} & set(reasons(replay).tolist()) and not NEEDED & set(replay.absent)
