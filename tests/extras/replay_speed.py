"""How fast .slp files are read: CPU time of our reader and of peppi-py, in turn, each in a process of its own.

taskset -c 0 python tests/extras/replay_speed.py FILE...   # prints the log that stands in docs/data/replay_speed.txt

Files that one of the two cannot read are named and left out. All values that both give are compared as well.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from selfplay_melee.replay import read_replay
from tests.support.processes import finish

ROUNDS = 7
COLUMNS = ("pre", "post", "items", "timing")  # what peppi-py gives, and items
READERS = {
    "peppi-py: read_slippi": None,
    "ours: read_replay": (),
    "ours: and state": ("state",),
    "ours: and recorded columns": COLUMNS,
    "ours: and both": ("state", *COLUMNS),
}


def read(reader, path):
    """Read a file."""
    if READERS[reader] is None:
        import peppi_py

        peppi_py.read_slippi(str(path))
        return
    replay = read_replay(path)
    for part in READERS[reader]:
        getattr(replay, part)


def cpu_seconds(reader, paths):
    """Of reading all files once, after reading them once, and the peak memory in MiB."""
    for path in paths:
        read(reader, path)
    before = time.process_time()
    for path in paths:
        read(reader, path)
    seconds = time.process_time() - before
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return seconds, int(peak.split()[1]) / 1024


def in_a_process(reader, paths):
    """CPU seconds of a reader, and its peak memory in MiB."""
    done = finish([sys.executable, __file__, "--one", reader, *paths], check=True)
    return tuple(float(number) for number in done.stdout.split())


def shared(paths):
    """The files that both read, lines about the others, and how many of the values that both give agree."""
    from tests.extras.replay_peers import Tally, with_peppi

    kept, lines, tally, frames = [], [], Tally(), 0
    for path in paths:
        try:
            replay = read_replay(path)
            with_peppi(replay, path, tally)
        except (KeyboardInterrupt, AssertionError):
            raise
        except BaseException as error:  # peppi-py panics with a BaseException
            lines.append(f"left out {path.stem}: {type(error).__name__}: {str(error).splitlines()[0][-60:]}")
            continue
        kept.append(path)
        frames += len(replay.rolled_back)
    equal, compared = sum(tally.equal.values()), sum(tally.compared.values())
    lines.append(f"values equal: {equal} of {compared}, in {len(tally.compared)} fields")
    return kept, lines, frames


def log_of(paths):
    """The log as text."""
    kept, lines, frames = shared(paths)
    size = sum(path.stat().st_size for path in kept)
    lines.append(
        f"{len(kept)} files, {frames} frames, {size / 1e6:.0f} MB; CPU time, median of {ROUNDS} rounds in turn"
    )
    rounds = [{reader: in_a_process(reader, kept) for reader in READERS} for _ in range(ROUNDS)]
    base = statistics.median(measured["peppi-py: read_slippi"][0] for measured in rounds)
    for reader in READERS:
        seconds = statistics.median(measured[reader][0] for measured in rounds)
        peak = max(measured[reader][1] for measured in rounds)
        lines.append(
            f"{reader:28} {1e3 * seconds:6.0f} ms  {frames / seconds:9.0f} frames/s  "
            f"{seconds / base:4.2f} of peppi-py's time  peak {peak:3.0f} MiB"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        sys.stdout.write("{} {}".format(*cpu_seconds(sys.argv[2], [Path(name) for name in sys.argv[3:]])))
    else:
        sys.stdout.write(log_of([Path(name) for name in sys.argv[1:]]))
