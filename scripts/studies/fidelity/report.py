"""The score as a JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scripts.studies.fidelity import groups
from scripts.studies.fidelity.figures import HEADLINE, of_file, pooled

if TYPE_CHECKING:
    from scripts.studies.fidelity.measure import Measured


def report(files: Sequence[Measured], folds: int = 0) -> dict[str, Any]:
    """The score of all judged files together, by file and by group; None or nothing where no case is.

    ``folds`` is the number of parts of which each was scored with tables fitted on the others, 0 none.
    """
    judged = [file for file in files if file.judged]
    headline = {figure.key: pooled(figure, judged) for figure in HEADLINE}
    return {
        **{key: None if made is None else made["value"] for key, made in headline.items()},
        "folds": folds,
        "headline": headline,
        "files": [_file(file) for file in files],
        "mechanics": groups.mechanic_rows(judged),
        "specials": groups.special_rows(judged),
        "contacts": groups.contact_rows(judged),
        "landings": groups.landing_rows(judged),
        "hits": groups.hit_rows(judged),
        "left_out": left_out(judged),
    }


def _file(file: Measured) -> dict[str, Any]:
    return {
        "file": file.name,
        "version": ".".join(map(str, file.version)),
        "judged": file.judged,
        "frames": file.counted,
        "movement_windows": int(file.windows["moves"].sum()),
        **of_file(file),
    }


def left_out(files: Sequence[Measured]) -> dict[str, int]:
    """Frames that are not covered, by reason, the most frequent first."""
    total: Counter[str] = Counter()
    for file in files:
        total.update(file.left_out)
    return dict(total.most_common())
