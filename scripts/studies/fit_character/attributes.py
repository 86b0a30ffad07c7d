"""Measure the attributes of a character in replays, and with ``--check`` compare its table with them.

It needs no table of the character: NAME is libmelee's name, or Melee's internal number.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.studies.command_line import Command, notify
from scripts.studies.fidelity.coverage import action_name
from scripts.studies.fit_character.air_attributes import air_attributes
from scripts.studies.fit_character.ground_attributes import ground_attributes
from scripts.studies.fit_character.lengths import action_lengths, hurt_lengths, intangible_spans, landing_lags
from scripts.studies.fit_character.samples import Frames, Measured, Runs, character_frames, runs_of
from selfplay.errors import ConfigError
from selfplay_melee.dolphin.roster import CHARACTERS as ALL
from selfplay_melee.replay import read_replay
from selfplay_melee.tables import CHARACTERS, load_tables
from selfplay_melee.tables.layout import ATTRIBUTES

if TYPE_CHECKING:
    import argparse

SLACK: Final = 5e-3  # units of a table, beyond the uncertainty of what was measured
SURE: Final = 5  # frames that must agree before a table is called wrong


def main() -> int:
    command = Command("fit_character.attributes", __doc__)
    command.add_argument("names", nargs="+", metavar="NAME", help="characters")
    command.add_argument("--replays", nargs="+", type=Path, required=True, metavar="FILE", help=".slp files")
    command.add_argument("--check", action="store_true", help="print only where the tables disagree")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    replays = [read_replay(path) for path in options.replays]
    for name in options.names:
        frames = character_frames(replays, number_of(name))
        runs = runs_of(frames)
        notify(f"# {name}: {len(frames.p)} frames")
        if options.check:
            for line in disagreements(name, frames, runs):
                notify(line)
            continue
        for attribute, measured in attributes(frames, runs).items():
            notify(_shown(attribute, measured))
        _tell_actions(frames, runs)


def number_of(name: str) -> int:
    """Melee's internal number of a character.

    Raises:
        ConfigError: no character has this name.
    """
    if name.isdigit():
        return int(name)
    known = ALL | CHARACTERS
    if name not in known:
        raise ConfigError(f"NAME {name}: unknown (valid: {', '.join(sorted(known))})")
    return known[name]


def attributes(frames: Frames, runs: Runs) -> dict[str, Measured]:
    """By name, in the order of ``ATTRIBUTES``; those that replays do not show are left out."""
    made = ground_attributes(frames, runs) | air_attributes(frames, runs)
    return {name: made[name] for name in ATTRIBUTES if name in made}


def disagreements(name: str, frames: Frames, runs: Runs) -> list[str]:
    """Where the table of a character is not what replays show."""
    if name not in CHARACTERS:
        raise ConfigError(f"NAME {name}: has no table to check (valid: {', '.join(sorted(CHARACTERS))})")
    tables = load_tables()
    row = tables.character_rows[CHARACTERS[name]]
    found = []
    for attribute, measured in attributes(frames, runs).items():
        written = float(tables.characters[row][attribute])
        if measured.frames >= SURE and _differs(measured, written):
            found.append(f"{_shown(attribute, measured)}, the table has {written:g}")
    actions = tables.actions[row]
    for action, measured in (action_lengths(frames, runs) | hurt_lengths(frames, runs)).items():
        written = float(actions["frames"][action])
        if measured.frames >= SURE and written > 0 and measured.value != written:
            found.append(f"{_shown(f'frames of {action_name(action)}', measured)}, the table has {written:g}")
    for action, pair in landing_lags(frames, runs).items():
        lag = float(actions["landing_lag"][action])
        for measured, expected in zip(pair, (lag, float(int(lag / 2))), strict=True):
            if measured.frames >= SURE and measured.value != expected:
                found.append(f"{_shown(f'landing of {action_name(action)}', measured)}, the table has {expected:g}")
    for action, span in intangible_spans(frames, runs).items():
        first, last = int(actions["intangible_from"][action]), int(actions["intangible_to"][action])
        if span.sure and span.uses >= SURE and (max(span.first, 1), span.last) != (max(first, 1), last):
            found.append(f"intangible in {action_name(action)} {span}, the table has {first} to {last}")
    return found


def _differs(measured: Measured, written: float) -> bool:
    return measured.value is not None and abs(measured.value - written) > (measured.uncertainty or 0.0) + SLACK


def _shown(name: str, measured: Measured) -> str:
    value = "unknown" if measured.value is None else f"{measured.value:g} ± {measured.uncertainty:g}"
    note = f"; {measured.note}" if measured.note else ""
    return f"{name} = {value}  # {measured.frames} of {measured.of} frames{note}"


def _tell_actions(frames: Frames, runs: Runs) -> None:
    spans = intangible_spans(frames, runs)
    lengths = action_lengths(frames, runs) | hurt_lengths(frames, runs)
    lags = landing_lags(frames, runs)
    for action in sorted({*spans, *lengths, *lags}):
        parts = []
        if action in lengths:
            parts.append(_shown("frames", lengths[action]))
        if action in lags:
            parts += [_shown("landing_lag", lags[action][0]), _shown("cancelled", lags[action][1])]
        if action in spans:
            span = spans[action]
            parts.append(
                f"intangible {span.first} to {span.last} ({span.uses} uses{'' if span.sure else ', ends not seen'})"
            )
        notify(f"[{action_name(action)}] " + "; ".join(parts))


if __name__ == "__main__":
    sys.exit(main())
