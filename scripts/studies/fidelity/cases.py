"""Single cases in which mock and game differ, to look at: contacts, landings and hits, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from envs.melee.tables import CHARACTERS
from scripts.studies.fidelity.contacts import STATES
from scripts.studies.fidelity.coverage import NAMES, action_name
from scripts.studies.fidelity.figures import WITHIN
from scripts.studies.fidelity.hits import KINDS
from scripts.studies.fidelity.landings import SURFACES

if TYPE_CHECKING:
    from scripts.studies.fidelity.measure import Measured

_CHARACTERS: Final = {number: name for name, number in CHARACTERS.items()}


def cases(name: str, files: Sequence[Measured]) -> list[str]:
    """Lines about what is wrong, by file and frame (rows of the replay, from 0)."""
    return [f"{file.name} frame {line}" for file in files for line in CASES[name](file)]


def _contacts(file: Measured) -> Iterable[str]:
    for c in file.contacts:
        if c["real"] and c["found"]:
            continue
        fault = "missed" if c["real"] else "early" if c["early"] else "invented"
        attack = f"{_CHARACTERS[int(c['attacker_character'])]} {action_name(int(c['action']))} frame {c['frame']}"
        victim = f"{_CHARACTERS[int(c['character'])]} {STATES[c['state']]}, {action_name(int(c['victim_action']))}"
        yield f"{c['t']} seat {c['attacker']}: {fault}: {attack} on {victim}"


def _landings(file: Measured) -> Iterable[str]:
    for x in file.landings[file.landings["exact"] < 1.0]:
        where = f"{_CHARACTERS[int(x['character'])]} {NAMES[x['mechanic']]} on {SURFACES[x['surface']]}"
        yield f"{x['t']} seat {x['seat']}: {where}: {x['exact']:.0%} of windows on the same frame"


def _hits(file: Measured) -> Iterable[str]:
    for hit in file.hits:
        pairs = {
            name: (hit[f"real_{name}"], hit[f"mock_{name}"]) for name in ("damage", "knockback", "hitlag", "hitstun")
        }
        wrong = [f"{name} {real:.2f}, mock {mock:.2f}" for name, (real, mock) in pairs.items() if _differ(real, mock)]
        if wrong:
            move = f"{_CHARACTERS[int(hit['character'])]} {action_name(int(hit['action']))} ({KINDS[hit['kind']]})"
            faults = "; ".join(wrong) if hit["known"] else "not in the tables"
            yield f"{hit['t']} seat {hit['attacker']}: {move}: {faults}"


def _differ(real: float, mock: float) -> bool:
    return abs(mock - real) > WITHIN * max(abs(real), 1e-9)


CASES: Final[dict[str, Callable[[Measured], Iterable[str]]]] = {
    "contacts": _contacts,
    "landings": _landings,
    "hits": _hits,
}
