"""What libmelee, peppi-py and slippi-js read of .slp files, field by field beside our reader.

python tests/extras/replay_peers.py FILE...   # prints the log that stands in docs/data/replay_peers.txt
"""

import importlib.metadata
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from selfplay_melee.replay import read_replay
from tests.extras.libmelee_columns import in_its_conventions, libmelee
from tests.extras.peer_columns import SLIPPI_JS, Columns, peppi, slippi_js

WHAT = "Written by tests/extras/replay_peers.py; docs/melee/replays.md says what the differences are."
PEERS = ("libmelee", "peppi-py", "slippi-js")


def ours(replay):
    """Our columns: everything that the file records."""
    state = replay.state
    players = {f"players.{n}": state.players[n] for n in state.players.dtype.names}
    players |= {f"controllers.{n}": state.controllers[n] for n in state.controllers.dtype.names}
    for part in ("pre", "post"):
        table = getattr(replay, part)
        players |= {f"{part}.{n}": table[n] for n in table.dtype.names}
    for n in replay.timing.dtype.names:
        players[f"timing.{n}"] = np.stack([replay.timing[n]] * 2, axis=-1)
    players["fod_platforms"] = replay.fod_platforms
    frames = state.game["frame"]
    items = {f"items.{n}": replay.items[n] for n in replay.items.dtype.names if n != "t"}
    items["frame"] = frames[replay.items["t"]]
    recorded = {n: c for n, c in players.items() if n not in replay.absent}
    facts = {
        "start.stage": replay.external_stage,
        "start.ports": [seat.port for seat in replay.seats],
        "start.characters": [seat.external_character for seat in replay.seats],
        "start.costumes": [seat.costume for seat in replay.seats],
        "start.humans": [seat.human for seat in replay.seats],
        "start.names": [seat.name for seat in replay.seats],
        "end.method": replay.end.method if replay.end else None,
        "end.placements": list(replay.end.placements) if replay.end and replay.end.placements else None,
    }
    return Columns(frames, recorded, {n: c for n, c in items.items() if n not in replay.absent}, facts)


class Tally:
    """Values that agree, of those compared, by field."""

    def __init__(self):
        self.compared = defaultdict(int)
        self.equal = defaultdict(int)

    def add(self, field, mine, theirs):
        """Count equal values; NaN equals NaN."""
        mine, theirs = np.asarray(mine, float), np.asarray(theirs, float)
        same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
        self.compared[field] += same.size
        self.equal[field] += int(same.sum())

    def differing(self):
        """Fields of which some values differ."""
        return {field for field in self.compared if self.equal[field] < self.compared[field]}


def compare(tally, mine, theirs, where=None, items_where=None):
    """Count all columns that both have, on frames that both have (and where they count)."""
    _, rows, their_rows = np.intersect1d(mine.frames, theirs.frames, return_indices=True)
    if where is not None:
        counts = where[rows]
        rows, their_rows = rows[counts], their_rows[counts]
    for field in sorted(mine.players.keys() & theirs.players.keys()):
        known = ~np.isnan(mine.players[field][rows].astype(float))
        if field == "fod_platforms":  # before the first event only defaults are there
            tally.add(field, mine.players[field][rows][known], theirs.players[field][their_rows][known])
        else:
            tally.add(field, mine.players[field][rows], theirs.players[field][their_rows])
    for fact in sorted(mine.facts.keys() & theirs.facts.keys()):
        tally.compared[fact] += 1
        tally.equal[fact] += mine.facts[fact] == theirs.facts[fact]
    if theirs.items and mine.items:
        numbers = mine.frames[rows if items_where is None else rows[items_where[rows]]]
        kept = {n: c[np.isin(mine.items["frame"], numbers)] for n, c in mine.items.items()}
        theirs_kept = {n: c[np.isin(theirs.items["frame"], numbers)] for n, c in theirs.items.items()}
        for field in sorted(kept.keys() & theirs_kept.keys()):
            tally.add(field if field != "frame" else "items (frames)", kept[field], theirs_kept[field])


def with_peppi(replay, path, tally):
    """Compare one file with peppi-py."""
    compare(tally, ours(replay), peppi(path))


def with_slippi_js(replay, path, tally):
    """Compare one file with slippi-js, which keeps the items of all recordings of a frame."""
    compare(tally, ours(replay), slippi_js(path), items_where=~replay.rolled_back)


def with_libmelee(replay, path, tally):
    """Compare one file with libmelee: as it is, and apart what its conventions concern."""
    theirs, zero_indices = libmelee(path)
    mine = ours(replay)
    mine.players = in_its_conventions(mine.players, replay)
    if "items.timer" in mine.items:
        mine.items["items.timer"] = np.trunc(mine.items["items.timer"])
    by_hand = np.array([seat.human for seat in replay.seats])
    buttons, their_buttons = mine.players.pop("controllers.buttons"), theirs.players.pop("controllers.buttons")
    once = ~replay.rolled_back
    compare(tally, mine, theirs, once)
    _, rows, their_rows = np.intersect1d(mine.frames, theirs.frames, return_indices=True)
    again, again_theirs = rows[~once[rows]], their_rows[~once[rows]]
    rows, their_rows = rows[once[rows]], their_rows[once[rows]]
    tally.add("controllers.buttons, people", buttons[rows][:, by_hand], their_buttons[their_rows][:, by_hand])
    tally.add("controllers.buttons, computers", buttons[rows][:, ~by_hand], their_buttons[their_rows][:, ~by_hand])
    listed = np.array(
        [[int(p["action"]) in zero_indices[int(p["character"])] for p in row] for row in replay.state.players[rows]]
    )
    frame = mine.players["players.action_frame"][rows] + listed
    tally.add("players.action_frame, 1 added where listed", frame, theirs.players["players.action_frame"][their_rows])
    for field in ("players.x", "players.action", "controllers.main_x"):
        tally.add(f"{field}, rolled back", mine.players[field][again], theirs.players[field][again_theirs])


def versions():
    """Of the peers that were compared."""
    package = json.loads((SLIPPI_JS / "package.json").read_text())
    return {
        "libmelee": f"melee {importlib.metadata.version('melee')}",
        "peppi-py": f"peppi-py {importlib.metadata.version('peppi-py')}",
        "slippi-js": f"@slippi/slippi-js {package['version']}",
    }


def measure(paths):
    """Tallies of all peers over files, and what each peer says of files that it cannot read."""
    tallies = {peer: Tally() for peer in PEERS}
    failures = {peer: {} for peer in PEERS}
    for path in paths:
        replay = read_replay(path)
        for peer, compare_with in zip(PEERS, (with_libmelee, with_peppi, with_slippi_js), strict=True):
            try:
                compare_with(replay, path, tallies[peer])
            except (KeyboardInterrupt, AssertionError):
                raise
            except BaseException as error:  # peppi-py panics with a BaseException
                failures[peer][path.stem] = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
    return tallies, failures


def log_of(paths, tallies, failures):
    """The log as text."""
    lines = ["Our reader of .slp files beside others: values that agree, field by field.", WHAT, ""]
    lines += [f"files: {', '.join(path.stem for path in paths)}"]
    for peer, version in versions().items():
        lines += ["", f"{version}", "-" * len(version)]
        lines += [f"cannot read {file}: {reason}" for file, reason in failures[peer].items()]
        tally = tallies[peer]
        lines += [
            f"{field:44} {tally.equal[field]:8} of {tally.compared[field]:8}  {share(tally, field)}"
            for field in sorted(tally.compared)
        ]
    return "\n".join(lines) + "\n"


def share(tally, field):
    """Percent that agree; 100 % only where all do."""
    if tally.equal[field] == tally.compared[field]:
        return "all"
    return f"{100 * tally.equal[field] / tally.compared[field]:.2f} %"


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]]
    sys.stdout.write(log_of(files, *measure(files)))
