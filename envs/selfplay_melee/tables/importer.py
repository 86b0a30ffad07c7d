"""Convert published move data into the generated part of a character file.

Two sources are joined: a move dump (pfirsich/meleeFrameDataExtractor: frames, damage, angles, knockback) and
libmelee's ``framedata.csv`` (where each hit circle is on each frame, and how far the animation moves the player).
Nothing else imports this module; ``python -m scripts.studies.import_character`` is its command line.
"""

from __future__ import annotations

import dataclasses
import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from selfplay_melee import actions as a
from selfplay_melee.errors import TableError
from selfplay_melee.tables.frames import MAX_FRAMES, Frame, Frames, read_frames
from selfplay_melee.tables.row import Row

if TYPE_CHECKING:
    from pathlib import Path

MARK: Final = "# Everything below is written by scripts.studies.import_character; values above win, field by field.\n"

# Names of the dump -> action states.
MOVES: Final[dict[str, int]] = {
    "jab1": a.JAB_1, "jab2": a.JAB_2, "jab3": a.JAB_3,
    "rapidjabs_start": a.RAPID_JAB_START, "rapidjabs_loop": a.RAPID_JAB_LOOP, "rapidjabs_end": a.RAPID_JAB_END,
    "dashattack": a.DASH_ATTACK,
    "ftilt_h": a.FTILT_HIGH, "ftilt_mh": a.FTILT_HIGH_MID, "ftilt_m": a.FTILT, "ftilt_ml": a.FTILT_LOW_MID,
    "ftilt_l": a.FTILT_LOW, "utilt": a.UTILT, "dtilt": a.DTILT,
    "fsmash_h": a.FSMASH_HIGH, "fsmash_mh": a.FSMASH_HIGH_MID, "fsmash_m": a.FSMASH, "fsmash_ml": a.FSMASH_LOW_MID,
    "fsmash_l": a.FSMASH_LOW, "usmash": a.USMASH, "dsmash": a.DSMASH,
    "nair": a.NAIR, "fair": a.FAIR, "bair": a.BAIR, "uair": a.UAIR, "dair": a.DAIR,
    "grab": a.CATCH, "dashgrab": a.CATCH_DASH, "pummel": a.CATCH_ATTACK,
    "fthrow": a.THROW_F, "bthrow": a.THROW_B, "uthrow": a.THROW_U, "dthrow": a.THROW_D,
}  # fmt: skip
# Where libmelee has no frames of an action, those of the first of these that it has are near enough.
_LIKE: Final[dict[int, tuple[int, ...]]] = {
    a.FTILT_HIGH: (a.FTILT_HIGH_MID, a.FTILT),
    a.FTILT_HIGH_MID: (a.FTILT_HIGH, a.FTILT),
    a.FTILT_LOW_MID: (a.FTILT_LOW, a.FTILT),
    a.FTILT_LOW: (a.FTILT_LOW_MID, a.FTILT),
    a.FSMASH_HIGH: (a.FSMASH_HIGH_MID, a.FSMASH),
    a.FSMASH_HIGH_MID: (a.FSMASH_HIGH, a.FSMASH),
    a.FSMASH_LOW_MID: (a.FSMASH_LOW, a.FSMASH),
    a.FSMASH_LOW: (a.FSMASH_LOW_MID, a.FSMASH),
    a.DOWN_STAND_UP: (a.DOWN_STAND,),
    a.DOWN_STAND: (a.DOWN_STAND_UP,),
    a.DOWN_ROLL_F_UP: (a.DOWN_ROLL_F,),
    a.DOWN_ROLL_F: (a.DOWN_ROLL_F_UP,),
    a.DOWN_ROLL_B_UP: (a.DOWN_ROLL_B,),
    a.DOWN_ROLL_B: (a.DOWN_ROLL_B_UP,),
    a.CLIFF_ATTACK_SLOW: (a.CLIFF_ATTACK_QUICK,),
    a.TAUNT_RIGHT: (a.TAUNT_LEFT,),
    a.TAUNT_LEFT: (a.TAUNT_RIGHT,),
}
# Actions that only libmelee has; their attacks have the same numbers for all characters, unless the file gives others.
_GET_UPS: Final[dict[int, dict[str, float]]] = {
    a.DOWN_ATTACK_UP: {"damage": 6, "angle": 361, "kbGrowth": 50, "baseKb": 80},
    a.DOWN_ATTACK: {"damage": 6, "angle": 361, "kbGrowth": 50, "baseKb": 80},
    a.CLIFF_ATTACK_SLOW: {"damage": 8, "angle": 361, "kbGrowth": 100, "weightDepKb": 90},
    a.CLIFF_ATTACK_QUICK: {"damage": 8, "angle": 361, "kbGrowth": 100, "weightDepKb": 90},
}
_PLAIN: Final[tuple[int, ...]] = (
    a.DOWN_BOUND_UP, a.DOWN_STAND_UP, a.DOWN_ROLL_F_UP, a.DOWN_ROLL_B_UP, a.DOWN_BOUND, a.DOWN_STAND, a.DOWN_ROLL_F,
    a.DOWN_ROLL_B, a.TECH, a.TECH_F, a.TECH_B, a.ROLL_F, a.ROLL_B, a.SPOT_DODGE, a.TAUNT_RIGHT, a.TAUNT_LEFT,
    a.CLIFF_CLIMB_SLOW, a.CLIFF_CLIMB_QUICK, a.CLIFF_ROLL_SLOW, a.CLIFF_ROLL_QUICK,
)  # fmt: skip
_BACKWARDS: Final = (a.ROLL_B, a.TECH_B, a.DOWN_ROLL_B, a.DOWN_ROLL_B_UP)  # libmelee gives distances without a sign
_ROUNDING: Final = 0.0015  # units to which two frames of libmelee's table may disagree
_NUMBERS: Final = {name.lower(): number for name, number in vars(a).items() if isinstance(number, int)}
_NAMES: Final = {number: name for name, number in _NUMBERS.items()}
_TECHS: Final = tuple(_NAMES[action] for action in (a.TECH, a.TECH_F, a.TECH_B))

Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hints:
    """Data that neither source has, from the table ``[import]`` of a character file.

    ``moves``: names of special moves in the dump, by number of the action. ``again``: those whose hits connect one
    after the other although no frame lies between them.
    ``figures``: by action, first frame of a hit and damage in the dump, figures that the dump has wrong.
    ``circles``: by action, which of a hit's figures each circle takes, because the dump lists equal figures once; a
    list of lists gives each hit its own. By default the first circles take one each and the others the last.
    ``releases``: the frame on which a throw lets go; after it, where it is known, how far forward and up.
    """

    circles: Mapping[str, Sequence[Any]]
    releases: Mapping[str, Sequence[float]]
    moves: Mapping[str, str] = dataclasses.field(default_factory=dict)
    again: Sequence[int] = ()
    figures: Mapping[str, Mapping[str, Mapping[str, Table]]] = dataclasses.field(default_factory=dict)


def convert(moves: Mapping[str, Any], frames: Frames, hints: Hints, traction: float) -> dict[str, Table]:
    """The generated actions of a character, by name; hits without a known circle are left out.

    libmelee measured motions in play. A motion that decreases by ``traction`` a frame is a sliding player, not an
    animation: it is left out. The first frame of a tech, on which players land, is extrapolated from the next two.
    """
    made: dict[str, Table] = {}
    dump = Row("the move dump", "", moves)
    for source, action in MOVES.items():
        name, move = _NAMES[action], dump.table(source) if moves.get(source) else None
        if move and "throw" in move.left:
            made[name] = _throw(move, *hints.releases.get(name, (1,)))
        elif move:
            made[name] = _attack(action, move, frames, hints.circles.get(name, ()))
    for name, source in hints.moves.items():
        made[name] = _attack(int(name), dump.table(source), frames, hints.circles.get(name, ()))
        if int(name) in hints.again:
            _connect_again(made[name].get("hits", []))
    for action, figures in _GET_UPS.items():
        if shown := _shown(action, frames):
            made[_NAMES[action]] = _get_up(shown, figures, climbs=action >= a.CLIFF_CLIMB_SLOW)
    for action in _PLAIN:
        if shown := _shown(action, frames):
            made[_NAMES[action]] = _plain(shown, climbs=action >= a.CLIFF_CLIMB_SLOW, back=action in _BACKWARDS)
    for name, corrected in hints.figures.items():
        for hit in made[name]["hits"]:
            hit |= corrected.get(str(hit["start"]), {}).get(str(hit["damage"]), {})
    for name, table in made.items():
        tech = name in _TECHS
        motion = table.get("motion", [])
        if _slides(motion[1:] if tech else motion, traction):
            del table["motion"]
        elif motion and tech:
            motion[0] = [round(2 * motion[1][0] - motion[2][0], 4) if motion[1][0] else 0.0, 0.0]
    return dict(sorted(made.items(), key=lambda item: _NUMBERS.get(item[0]) or int(item[0])))


def _connect_again(hits: list[Table]) -> None:
    """Mark the first circle of each hit after the first."""
    for before, hit in itertools.pairwise(hits):
        if hit["start"] != before["start"]:
            hit["again"] = 1


def _slides(motion: list[list[float]], traction: float) -> bool:
    """Whether a motion is only friction, single or double, until the player stands."""
    speeds = [abs(x) for x, _ in motion]
    for before, speed in itertools.pairwise(speeds):
        slower = (max(before - traction, 0.0), max(before - 2 * traction, 0.0))
        if min(abs(speed - expected) for expected in slower) > _ROUNDING:
            return False
    return bool(speeds)


def _shown(action: int, frames: Frames) -> dict[int, Frame]:
    return next((frames[other] for other in (action, *_LIKE.get(action, ())) if other in frames), {})


def _attack(action: int, move: Row, frames: Frames, shares: Sequence[Any]) -> Table:
    shown = _shown(action, frames)
    total = move.whole("totalFrames", highest=MAX_FRAMES)
    table: Table = {"frames": total}
    for key, source in (
        ("iasa", "iasa"),
        ("charge", "chargeFrame"),
        ("landing_lag", "landingLag"),
        ("autocancel_before", "autoCancelBefore"),
        ("autocancel_after", "autoCancelAfter"),
    ):
        if move.left.get(source):
            table[key] = move.whole(source)
    airborne = a.NAIR <= action <= a.DAIR or "Air" in str(move.left.get("subactionName", ""))
    if not airborne:  # animations do not move players in the air
        _add_motion(table, shown, total, climbs=False)
    hits: list[Table] = []
    spans = list(_spans(move, total, shown))
    if action == a.RAPID_JAB_LOOP and len(spans) == 1:  # the dump has only the first of its jabs
        spans = [(start, end, spans[0][2]) for start, end in _out(shown)]
    for i, (start, end, figures) in enumerate(spans):
        share = shares[i % len(shares)] if shares and isinstance(shares[0], list) else shares
        if action == a.CATCH_ATTACK:
            hits.extend(_held(start, figures[0]))
        else:
            hits.extend(_hits(start, end, figures, shown, share))
    if hits:
        table["hits"] = hits
    return table


def _out(shown: dict[int, Frame]) -> list[tuple[int, int]]:
    """First and last frame of each time that circles are out."""
    out = [frame for frame in sorted(shown) if shown[frame].circles]
    return [(first, next(i for i in out if i >= first and i + 1 not in out)) for first in out if first - 1 not in out]


def _spans(move: Row, total: int, shown: dict[int, Frame]) -> Iterator[tuple[int, int, list[Row]]]:
    """First frame, last frame and figures of each hit; hits follow each other, so that all have ``total`` frames.

    Where a dump has figures but no frames, the hit lasts from the first to the last frame with circles.
    """
    figures = move.tables("hitboxes")
    last = 0
    listed = move.tables("hitFrames")
    if figures and not listed and (out := _out(shown)):
        yield out[0][0], min(out[-1][1], total), figures
    for hit in listed:
        start, end = hit.whole("start", highest=total), hit.whole("end", highest=total)
        if not last < start <= end:
            raise hit.fail("start", f"is {start}, must be from {last + 1} to end, which is {end}")
        last = end
        chosen: Any = hit.take("hitboxes")
        if not isinstance(chosen, list) or not chosen or not all(k in range(len(figures)) for k in chosen):
            raise hit.fail("hitboxes", f"must list numbers of hitboxes, 0 to {len(figures) - 1}, got {chosen!r:.40}")
        yield start, end, [figures[k] for k in chosen]


def _throw(move: Row, release: float, *place: float) -> Table:
    """A throw and the hits before its release; the dump cuts the base knockback into two of its fields."""
    figures, total = move.table("throw"), move.whole("totalFrames", highest=MAX_FRAMES)
    base = (figures.whole("baseKb") << 2) | (figures.whole("element") >> 2)
    hits = [hit for start, _, held in _spans(move, total, {}) if start < release for hit in _held(start, held[0])]
    figures.left |= {"baseKb": base, "element": "normal"}
    hits.append({"kind": "throw", "start": release, "end": release, **_figures(figures)})
    if place:
        hits[-1]["path"] = [[*place]]
    return {"frames": total, "hits": hits}


def _held(frame: int, figures: Row) -> list[Table]:
    """A pummel, or a hit of a throw before the release: it hits the held player."""
    return [{"start": frame, "end": frame, "radius": 3.0, **_figures(figures), "path": [[9.0, 8.0]]}]


def _figures(source: Row) -> Table:
    row = Row(source.file, source.name, source.left)  # several circles may take the same figures
    table: Table = {
        "damage": row.whole("damage"),
        "angle": row.whole("angle"),
        "kb_growth": row.whole("kbGrowth"),
        "kb_base": row.whole("baseKb", 0),
    }
    if fixed := row.whole("weightDepKb", 0):
        table["kb_fixed"] = fixed
    if shield := row.whole("shieldDamage", 0):
        table["shield_damage"] = shield
    if row.left.get("element") == "electric":
        table["electric"] = 1
    if not row.left.get("hitAirborne", True):
        table["targets"] = "grounded"
    if not row.left.get("hitGrounded", True):
        table["targets"] = "airborne"
    return table


def _hits(start: int, end: int, figures: list[Row], shown: dict[int, Frame], share: Sequence[int]) -> list[Table]:
    """Circles of one hit that stay the same over its frames; where libmelee lacks a frame, the one before counts."""
    paths: list[tuple[tuple[float, float, float], ...]] = []
    for frame in range(start, end + 1):
        circles = shown[frame].circles if frame in shown else ()
        paths.append(circles or (paths[-1] if paths else _last_circles(shown, frame, len(figures))))
    number = min(len(circles) for circles in paths)
    hits = []
    for k in range(number):
        source = figures[min(share[k] if k < len(share) else k, len(figures) - 1)]
        grab = source.left.get("element") == "grab"
        table: Table = {"kind": "grab"} if grab else {}
        table |= {"start": start, "end": end, "radius": round(paths[0][k][0], 3)}
        if not grab:
            table |= _figures(source)
        hits.append(table | {"path": [[round(c[k][1], 2), round(c[k][2], 2)] for c in paths]})
    return hits


def _last_circles(shown: dict[int, Frame], frame: int, at_least: int) -> tuple[tuple[float, float, float], ...]:
    earlier = [shown[f].circles for f in sorted(shown) if f < frame and len(shown[f].circles) >= at_least]
    return earlier[-1] if earlier else ()


def _get_up(shown: dict[int, Frame], figures: Mapping[str, float], *, climbs: bool) -> Table:
    table = _plain(shown, climbs=climbs)
    row = Row("the importer", "get-ups", figures)
    if hits := [hit for start, end in _out(shown) for hit in _hits(start, end, [row], shown, ())]:
        table["hits"] = hits
    return table


def _plain(shown: dict[int, Frame], *, climbs: bool, back: bool = False) -> Table:
    table: Table = {"frames": max(shown)}
    _add_motion(table, shown, max(shown), climbs=climbs, back=back)
    return table


def _add_motion(table: Table, shown: dict[int, Frame], frames: int, *, climbs: bool, back: bool = False) -> None:
    """Add the forward motion of the animation; the upward one only on the way up from a ledge."""
    turns = next((i for i in range(1, frames + 1) if i in shown and shown[i].turned), 0)
    motion: list[list[float]] = []
    for i in range(1, frames + 1):
        x, y = shown[i].motion if i in shown else (0.0, 0.0)
        sign = -1.0 if back != (0 < turns <= i) else 1.0
        motion.append([round(sign * x, 4) + 0.0, round(y, 4) + 0.0 if climbs else 0.0])
    if turns:
        table["turns"] = turns
    if any(x != 0.0 or y != 0.0 for x, y in motion):
        table["motion"] = motion


def update(text: str, made: Mapping[str, Table]) -> str:
    """A character file with its generated part replaced; what stands above the mark stays as it is."""
    return text.partition(MARK)[0].rstrip("\n") + "\n\n" + MARK + "".join(_render(n, t) for n, t in made.items())


def renew(text: str, file: str, moves: Mapping[str, Any], frames: Path) -> str:
    """A character file with its generated part made anew; ``file`` is its name for messages.

    Raises:
        TableError: what stands above the mark is not valid TOML or lacks the character's id.
    """
    try:
        hand = tomllib.loads(text.partition(MARK)[0])
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{file}: not valid TOML: {error}") from error
    number = hand.get("character", {}).get("id")
    if not isinstance(number, int):
        raise TableError(f"{file}: character: id is missing")
    traction = hand.get("attributes", {}).get("traction")
    if not isinstance(traction, float):
        raise TableError(f"{file}: attributes: traction is missing")
    found = hand.get("import", {})
    hints = Hints(
        found.get("circles", {}),
        found.get("releases", {}),
        found.get("moves", {}),
        found.get("again", []),
        found.get("figures", {}),
    )
    return update(text, convert(moves, read_frames(frames, number), hints, traction))


def _render(name: str, table: Table) -> str:
    lines = [f"\n[imported.{name}]"]
    for key, value in table.items():
        if key == "hits":
            lines += ["hits = [", *(f"  {{{_inline(hit)}}}," for hit in value), "]"]
        else:
            lines.append(f"{key} = {value}")
    return "\n".join(lines) + "\n"


def _inline(hit: Table) -> str:
    return ", ".join(f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in hit.items())
