"""The score by mechanic, character, kind of hit and so on: one row for each group with enough cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity import contacts, coverage, hits, landings
from scripts.studies.fidelity.figures import HEADLINE, file_weights
from scripts.studies.fidelity.windows import CHECKS
from selfplay_melee.actions import FIRST_SPECIAL
from selfplay_melee.tables import CHARACTERS

if TYPE_CHECKING:
    from scripts.studies.fidelity.measure import Measured

LEAST_WINDOWS: Final = 30  # that make a row
LEAST_CASES: Final = 10  # contacts, landings or hits that make a row
QUANTILES: Final = (0.5, 0.9)

Row = dict[str, Any]
Select = Callable[[NDArray[np.void]], NDArray[np.bool_]]
_NAMES: Final = {number: name for name, number in CHARACTERS.items()}


def mechanic_rows(files: Sequence[Measured]) -> list[Row]:
    """Windows in which a mechanic occurs: same actions, and quantiles of the error."""
    groups: list[tuple[str, Select]] = [
        ("all windows", lambda w: w["t"] >= 0),
        ("movement windows", lambda w: w["moves"]),
        *((coverage.character_group(_NAMES[c]), _equal("character", c, "moves")) for c in _characters(files)),
        *((name, _column("mechanics", i)) for i, name in enumerate(coverage.NAMES)),
        ("projectile", lambda w: w["projectile"]),
    ]
    return [row for name, select in groups if (row := _window_row(files, name, select))]


def special_rows(files: Sequence[Measured]) -> list[Row]:
    """Windows in which a special move occurs, by character."""
    groups = [
        (coverage.special_name(_NAMES[c], i), _equal("character", c, "specials", i))
        for c in _characters(files)
        for i in range(len(coverage.DIRECTIONS))
    ]
    return [row for name, select in groups if (row := _window_row(files, name, select))]


def _characters(files: Sequence[Measured]) -> list[int]:
    return sorted({int(c) for file in files for c in np.unique(file.windows["character"])}, key=lambda c: _NAMES[c])


def _column(field: str, i: int) -> Select:
    return lambda windows: np.asarray(windows[field][:, i])


def _equal(field: str, value: int, flag: str, i: int | None = None) -> Select:
    return lambda windows: (windows[field] == value) & (windows[flag] if i is None else windows[flag][:, i])


def _window_row(files: Sequence[Measured], name: str, select: Select) -> Row | None:
    parts = [part for part in (file.windows[select(file.windows)] for file in files) if len(part)]
    counts = np.array([len(part) for part in parts], float)
    if counts.sum() < LEAST_WINDOWS:
        return None
    windows, weights = np.concatenate(parts), np.repeat(file_weights(counts), counts.astype(int))
    covered = [file.groups[name] for file in files if name in file.groups]
    frames = sum(n for n, _ in covered)
    return {
        "name": name,
        "covered": sum(n for _, n in covered) / frames if frames else None,
        "windows": len(windows),
        "files": len(parts),
        "same_actions": float(np.average(windows["same"], weights=weights)),
        "error": {
            str(check): [float(x) for x in _quantiles(windows["error"][:, i], weights)]
            for i, check in enumerate(CHECKS)
        },
    }


def _quantiles(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    found: NDArray[np.float64] = values[order][np.searchsorted(total, np.array(QUANTILES) * total[-1])]
    return found


def contact_rows(files: Sequence[Measured]) -> list[Row]:
    """Contacts by the victim's state and character, and by the attacker's action."""
    everything = np.concatenate([np.zeros(0, contacts.CONTACT), *(file.contacts for file in files)])
    attacks = everything[~everything["grab"]]
    groups = [("all attacks", attacks), ("grabs", everything[everything["grab"]])]
    groups += [(f"victim {name}", attacks[attacks["state"] == i]) for i, name in enumerate(contacts.STATES)]
    groups += [(f"victim {_NAMES[int(c)]}", part) for c, part in _by(attacks, "character")]
    groups += [
        (f"attack {coverage.action_name(int(i))}", part) for i, part in _by(attacks, "action") if i < FIRST_SPECIAL
    ]
    groups += [
        (f"attack {_NAMES[int(c)]} {int(action)}", by_action)
        for c, by_character in _by(attacks[attacks["action"] >= FIRST_SPECIAL], "attacker_character")
        for action, by_action in _by(by_character, "action")
    ]
    return [_contact_row(name, part) for name, part in groups if len(part) >= LEAST_CASES]


def _by(rows: NDArray[np.void], field: str) -> Iterator[tuple[Any, NDArray[np.void]]]:
    for value in np.unique(rows[field]):
        yield value, rows[rows[field] == value]


def _contact_row(name: str, part: NDArray[np.void]) -> Row:
    real, claimed = part[part["real"]], part[part["found"] & ~part["early"]]
    return {
        "name": name,
        "contacts": len(real),
        "recall": _share(real["found"]),
        "precision": _share(claimed["real"]),
        "missed": int((~real["found"]).sum()),
        "invented": int((~claimed["real"]).sum()),
        "early": int(part["early"].sum()),
    }


def landing_rows(files: Sequence[Measured]) -> list[Row]:
    """Landings by what comes before, by surface and by character."""
    everything = np.concatenate([np.zeros(0, landings.LANDING), *(file.landings for file in files)])
    groups = [("all", everything)]
    groups += [(coverage.NAMES[int(i)], part) for i, part in _by(everything, "mechanic")]
    groups += [(f"on a {landings.SURFACES[int(i)]}", part) for i, part in _by(everything, "surface")]
    groups += [(_NAMES[int(c)], part) for c, part in _by(everything, "character")]
    return [
        {"name": name, "landings": len(part), "exact": float(part["exact"].mean())}
        for name, part in groups
        if len(part) >= LEAST_CASES
    ]


def hit_rows(files: Sequence[Measured]) -> list[Row]:
    """Hits by kind."""
    keys = ("knockback_within_1pct", "hitlag_exact", "hitstun_within_1", "damage_within_1pct")
    chosen = [figure for figure in HEADLINE if figure.key in keys]
    rows = []
    for kind, name in enumerate(hits.KINDS):
        parts = [replace(file, hits=file.hits[file.hits["kind"] == kind]) for file in files]
        part = np.concatenate([np.zeros(0, hits.HIT), *(file.hits for file in parts)])
        row: Row = {"name": name, "hits": len(part), "known": _share(part["known"] == 1)}
        for figure in chosen:
            row[figure.key] = _share(np.concatenate([np.zeros(0), *(figure.values(file) for file in parts)]))
        row["circle_found"] = _share(part["found"] == 1) if name in ("attack", "special") else None
        rows.append(row)
    return [row for row in rows if row["hits"]]


def _share(flags: NDArray[Any]) -> float | None:
    return float(flags.mean()) if len(flags) else None
