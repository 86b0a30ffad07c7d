"""Plain lines for logs and non-interactive output, in the format of the guide.

[03:05:02] Iter 1: Collected 2048 experiences (1024 total steps)
[03:05:04]   PPO update: loss=0.1234, policy=0.0456, value=0.0789, entropy=0.0123

Each session starts with these two lines an iteration. Then they come with the line of progress, every ``EVERY_S``:

[03:05:05] Progress: iteration 41, 41,984 steps, 512 steps/s, Elo 2103 (1953 to 2253), ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from selfplay import console
from selfplay.appending import Appender
from selfplay.errors import DiskError, boundary
from selfplay.games.columns import NONE, Columns
from selfplay.games.files import printable
from selfplay.report.metrics import MIRROR, PHASES, Recent, TimeShares

if TYPE_CHECKING:
    from selfplay.report.metrics import IterationReport

EVERY_S = 15.0
FIRST = 10  # iterations of a session whose lines are all written
SHORT = 100  # planned iterations of a run whose lines are all written
BOTH_SEATS = "An experience is a decision of a seat that learns: a step of a game of the policy against itself has two"
LOG_BYTES = 5_000_000
LOG_FILES = 3


class Sink(Protocol):
    """Output for lines."""

    def write(self, line: str) -> None:
        """Write one line, given without the newline."""

    def close(self) -> None:
        """Flush or close the output."""


class PlainReporter:
    """Writes one line per event; ``clock`` returns local time.

    ``verbose``: write the lines of all iterations, and details with each line of progress. ``columns`` are the figures
    of the game.
    """

    def __init__(
        self,
        sink: Sink,
        clock: Callable[[], datetime] = datetime.now,
        *,
        verbose: bool = False,
        columns: Columns = NONE,
    ) -> None:
        self._sink = sink
        self._clock = clock
        self._verbose = verbose
        self._columns = columns
        self._next_progress = clock()
        self._iterations = 0  # of this session
        self._recent = Recent()
        self._time = TimeShares()

    def header(self, lines: Sequence[str]) -> None:
        for line in (*lines, ""):
            self._sink.write(line)

    def notice(self, text: str) -> None:
        self._sink.write(f"{_stamp(self._clock())} {text}")

    def playing(self, text: str) -> None:
        self.notice(text)

    def iteration(self, report: IterationReport) -> None:
        """Write the iteration's two lines if they are due, and a line of progress at most every ``EVERY_S`` seconds."""
        self._recent.add(report)
        self._time.add(report.phase_s)
        self._iterations += 1
        now = self._clock()
        due = now >= self._next_progress
        short = report.iterations is not None and report.iterations <= SHORT
        if due or short or self._verbose or self._iterations <= FIRST:
            self._write_iteration(report, now)
        if due:
            self._next_progress = now + timedelta(seconds=EVERY_S)
            self._sink.write(f"{_stamp(now)} {progress_line(report, self._recent, self._columns)}")
            if self._verbose:
                self._sink.write(f"{_stamp(now)}   {details_line(self._recent, self._time, self._columns)}")

    def rated(self, report: IterationReport) -> None:
        self._sink.write(f"{_stamp(self._clock())} {progress_line(report, self._recent, self._columns)}")

    def _write_iteration(self, report: IterationReport, now: datetime) -> None:
        after_update = timedelta(seconds=sum(report.phase_s.get(phase, 0.0) for phase in PHASES[2:]))
        updated = now - after_update
        collected = updated - timedelta(seconds=report.phase_s.get("update", 0.0))
        if self._iterations == 1 and report.experiences > report.steps:
            self._sink.write(f"{_stamp(collected)} {BOTH_SEATS}")
        line = f"Collected {report.experiences} experiences ({report.total_steps} total steps)"
        self._sink.write(f"{_stamp(collected)} Iter {report.iteration}: {line}")
        self._sink.write(f"{_stamp(updated)}   {update_line(report)}")

    def leaderboard(self, text: str) -> None:
        for line in ("", *text.splitlines()):
            self._sink.write(line)

    def close(self) -> None:
        self._sink.close()


class StreamSink:
    """A terminal or a pipe. What it cannot encode is printed in ASCII. The stream stays open."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(printable(line.encode(encoding, console.ERRORS).decode(encoding)) + "\n")
        self._stream.flush()

    def close(self) -> None:
        self._stream.flush()


class LogFileSink:
    """A log file, rotated at ``LOG_BYTES``; ``LOG_FILES`` old files are kept. Invalid Unicode is escaped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = Appender.open(path)

    def write(self, line: str) -> None:
        """See ``Sink``. On DiskError the line is lost."""
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        if self._file.size and self._file.size + len(data) > LOG_BYTES:
            self._rotate()
        self._file.write(data)

    def close(self) -> None:
        self._file.close()

    def _rotate(self) -> None:
        """Start a new file. It is created before old files move, so that a full disk loses nothing."""
        names = [self._path, *(self._path.with_name(f"{self._path.name}.{i + 1}") for i in range(LOG_FILES))]
        fresh = self._path.with_name(f"{self._path.name}.new")
        file = Appender.open(fresh)
        try:
            with boundary(DiskError, f"cannot rotate {self._path}"):
                for newer, older in reversed([*pairwise(names)]):
                    if newer.exists():
                        newer.replace(older)
                fresh.replace(self._path)
        except BaseException:
            file.close()
            raise
        self._file.close()
        self._file = file


def update_line(report: IterationReport) -> str:
    update = report.update
    line = (
        f"PPO update: loss={update.loss:.4f}, policy={update.policy_loss:.4f}, "
        f"value={update.value_loss:.4f}, entropy={update.entropy:.4f}"
    )
    if update.teacher_kl > 0:
        line += f", teacher_kl={update.teacher_kl:.4f}"
    if update.critic_only:
        line += "; critic only"
    if update.reverted:
        line += f"; reverted, the policy had moved by KL {update.step_kl:.2f}"
    return line


def progress_line(report: IterationReport, recent: Recent, columns: Columns) -> str:
    parts = [f"iteration {report.iteration:,}", f"{report.total_steps:,} steps", f"{recent.steps_per_s:,.0f} steps/s"]
    if (rating := report.rating) is not None:
        parts.append(str(rating))
        if rating.beats is not None:
            parts.append(f"beats {rating.beats.text(rating.scale)}")
    if recent.pace and columns.progress:
        kind = MIRROR if MIRROR in recent.pace else min(recent.pace)
        parts.append(f"{kind} games: {columns.progress.format(**recent.pace[kind])}")
    elif "return_mean" in recent.play:
        parts.append(f"return {recent.play['return_mean']:+.2f}")
    parts.append(f"{report.done:.0%} done")
    if (left := report.remaining_s(recent.steps_per_s)) is not None:
        parts.append(f"ETA {duration(left)}")
    if (gate := report.gate) is not None:
        parts.append(f"{gate.candidate} against {gate.best} LLR {gate.llr:+.2f} of {gate.low:.1f} to {gate.high:.1f}")
    if report.restarts or report.abandoned:
        parts.append(f"runner restarts {report.restarts}, abandoned {report.abandoned}")
    if report.late or report.dropped:
        parts.append(f"segments late {report.late}, too late {report.dropped}")
    if report.cuda_used is not None and report.cuda_peak is not None:
        parts.append(f"CUDA {report.cuda_used / 2**20:,.0f} MiB, peak {report.cuda_peak / 2**20:,.0f} MiB")
    return f"Progress: {', '.join(parts)}"


def details_line(recent: Recent, time: TimeShares, columns: Columns) -> str:
    """Time shares of the phases, and results by opponent."""
    parts = [f"time: {', '.join(f'{name} {share:.0%}' for name, share in time.shares.items())}"]
    if "return_mean" in recent.play:
        parts.append(f"return {recent.play['return_mean']:+.2f}")
    if recent.win_rate:
        parts.append(f"wins: {', '.join(f'{name} {share:.0%}' for name, share in sorted(recent.win_rate.items()))}")
    if recent.payoff:
        parts.append(f"payoffs: {', '.join(f'{name} {paid:+z.2f}' for name, paid in sorted(recent.payoff.items()))}")
    for kind, pace in sorted(recent.pace.items()):
        rates = (f"{rate.form.format(pace[rate.name])} {rate.label}" for rate in columns.rates)
        parts.append(f"{kind} games: {', '.join(rates)}")
    return f"Details: {'; '.join(parts)}"


def duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _stamp(time: datetime) -> str:
    return f"[{time:%H:%M:%S}]"
