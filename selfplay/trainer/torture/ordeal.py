"""Kill a run, look, resume it, look again; as often as asked."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint import RunDir
from selfplay.checkpoint.learner_state import has_state
from selfplay.trainer.cli import parse
from selfplay.trainer.dialogue.config import LanguageConfig
from selfplay.trainer.rating import config_of
from selfplay.trainer.torture.checks import Book, differences, faults_of, faults_of_restart
from selfplay.trainer.torture.survey import saving, survey
from selfplay.trainer.torture.victim import Moment, Victim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

VICTIMS: Final = {
    "mock": (
        *("--game-type", "mock", "--num-games", "2", "--rollout-length", "32", "--max-episode-frames", "120"),
        *("--hidden", "8", "--ppo-epochs", "1", "--batch-size", "64", "--threads", "1", "--runners", "1"),
        *("--save-interval", "1", "--population", "4", "--track-elo", "--rating-share", "0.5"),
    ),
    "matching": (
        *("--game-type", "matching", "--num-games", "4", "--games-per-state", "2", "--game-size", "2"),
        *("--max-turns", "4", "--start-tokens", "20000", "--evaluation-states", "0", "--runners", "1"),
        *("--threads", "1", "--save-interval", "1", "--track-elo", "--rating-share", "0.5"),
    ),
}
"""What is trained, as small as can be, so that much of the time is spent on saving."""
FOR_EVER: Final = {"mock": ("--timesteps", "1000000000"), "matching": ("--games", "1000000000")}
AFTERWARDS: Final = 3  # iterations that the run is allowed after the last kill
START_S: Final = 4.0  # within which a kill hits a start
RUNNING_S: Final = 3.0  # after the first save, within which one hits at random
SAVES: Final = 8  # one of so many first saves of a start is hit
PER_KILL: Final = 30  # iterations of a run that is killed until it is done, for each kill


@dataclass(frozen=True, slots=True)
class Ordeal:
    """What is to be done.

    Attributes:
        folder: Of the runs and what they show; it must not exist.
        kills: How many; with ``deterministic`` at most.
        seed: Of the moments.
        game: One of ``VICTIMS``.
        deterministic: Compare with a run that is not killed, bit for bit.
        arguments: More flags of the trainer.
    """

    folder: Path
    kills: int
    seed: int
    game: str = "mock"
    deterministic: bool = False
    arguments: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What came of it."""

    kills: int = 0
    in_a_save: int = 0  # of them: a half-written file or folder was left
    moments: Counter[str] = field(default_factory=Counter)
    before_first_state: int = 0  # kills before there was anything to resume from
    restarts_checked: int = 0  # that came to say where they went on from
    orphans: int = 0
    iterations: int = 0
    generations: int = 0
    ledger_rows: int = 0
    set_aside: int = 0  # generations that were saved, but not their states
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def endure(ordeal: Ordeal, tell: Callable[[str], object] = lambda _: None) -> Outcome:
    """Do it. Blocks for about three seconds a kill.

    Args:
        ordeal: What.
        tell: Is told of each kill.

    Raises:
        RunnerError: a run hangs.
    """
    started = time.monotonic()
    ordeal.folder.mkdir(parents=True)
    run = RunDir(ordeal.folder / "run")
    torture = _Torture(ordeal, run, tell)
    torture.kill_and_resume()
    if ordeal.deterministic:
        torture.compare()
    torture.outcome.seconds = round(time.monotonic() - started, 1)
    return torture.outcome


class _Torture:
    def __init__(self, ordeal: Ordeal, run: RunDir, tell: Callable[[str], object]) -> None:
        self.outcome = Outcome()
        self._ordeal = ordeal
        self._run = run
        self._tell = tell
        self._rng = random.Random(ordeal.seed)
        self._book = Book()
        self._last = survey(run)
        self._starts = 0

    def kill_and_resume(self) -> None:
        outcome = self.outcome
        ended = False
        while outcome.kills < self._ordeal.kills and not ended:
            moment = self._moment()
            victim = self._start()
            code = victim.kill(moment)
            ended = code == 0
            if code is None:
                outcome.kills += 1
                outcome.moments[moment.kind] += 1
                outcome.in_a_save += any(saving(self._run))
            elif code:
                self._fault(f"a start ended with exit code {code}: {victim.said()[-300:]}")
                break
            self._look(victim, f"killed at {moment.kind}" if code is None else "ended")
        if not ended:
            self._let_end()
        outcome.iterations = self._last.newest or 0
        outcome.generations, outcome.ledger_rows = len(self._last.generations), len(self._last.rows)
        outcome.set_aside = len(self._last.aside)

    def compare(self) -> None:
        """With a run that nobody kills."""
        whole = RunDir(self._ordeal.folder / "whole")
        victim = Victim(whole, self._arguments(resume=False), self._ordeal.folder / "whole.txt")
        if (code := victim.end()) != 0:
            self._fault(f"the run that nobody killed ended with exit code {code}")
            return
        for difference in differences(whole, self._run):
            self._fault(f"killed and resumed, the run ends with {difference}")

    def _moment(self) -> Moment:
        """Half of the kills in a save, a few in a start, the others at any time after the first save."""
        rng = self._rng
        kind = rng.choices(("save", "any", "start"), (5, 4, 1))[0]
        if kind == "save":
            return Moment("save", nth=rng.randint(1, SAVES))
        return Moment("any", rng.uniform(0, RUNNING_S)) if kind == "any" else Moment("start", rng.uniform(0, START_S))

    def _arguments(self, *, resume: bool) -> list[str]:
        ordeal = self._ordeal
        limit: Sequence[str] = FOR_EVER[ordeal.game]
        if ordeal.deterministic:
            return self._determined(resume=resume)
        return ["--resume", *limit] if resume else [*VICTIMS[ordeal.game], *ordeal.arguments, *limit]

    def _determined(self, *, resume: bool) -> list[str]:
        """Of a run that ends by itself; rating games, which it counts by their frames, are to come while it lasts."""
        ordeal = self._ordeal
        if resume:
            return ["--resume"]
        new = [*VICTIMS[ordeal.game], "--deterministic", "--rating-share", "0.9", *ordeal.arguments]
        steps = parse(new).config.steps_per_iteration
        return [*new, "--timesteps", str(steps * PER_KILL * ordeal.kills)]

    def _start(self, *more: str) -> Victim:
        resume = self._run.holds_run() and has_state(self._run)
        if not resume:
            shutil.rmtree(self._run.path, ignore_errors=True)
            self.outcome.before_first_state += self._starts > 0
            self._last, self._book = survey(self._run), Book()
        self._starts += 1
        arguments = [*self._arguments(resume=resume), *more]
        return Victim(self._run, arguments, self._ordeal.folder / f"start-{self._starts:04}.txt")

    def _let_end(self) -> None:
        """The last restart goes to a near end, where everything is saved."""
        more = () if self._ordeal.deterministic else self._near_end()
        victim = self._start(*more)
        if (code := victim.end()) != 0:
            self._fault(f"the last restart ended with exit code {code}: {victim.said()[-300:]}")
        self._look(victim, "ended")
        if self._last.hidden:
            self._fault(f"left behind at the end: {sorted(self._last.hidden)}")

    def _near_end(self) -> tuple[str, ...]:
        iterations = (self._last.newest or 0) + AFTERWARDS
        if self._ordeal.game == "mock":
            return ("--timesteps", str(iterations * config_of(self._run).steps_per_iteration))
        games = LanguageConfig.model_validate(self._run.read_run()["config"]).run.num_games
        return ("--games", str(iterations * games))

    def _look(self, victim: Victim, how: str) -> None:
        """At what is left, and whether the restart before it went on from the right place."""
        outcome, before = self.outcome, self._last
        orphans = victim.orphans()
        outcome.orphans += len(orphans)
        now = survey(self._run)
        self._book.note(now)
        resumed_at = victim.resumed_at
        outcome.restarts_checked += resumed_at is not None
        faults = faults_of(before, now, self._book, replays=self._ordeal.deterministic)
        if resumed_at is not None:
            faults += faults_of_restart(before, resumed_at, now)
        for text in [*faults, *(f"process {pid} was left behind" for pid in orphans)]:
            self._fault(text)
        self._last = now
        self._tell(
            f"start {self._starts}: {how}, {'in a save, ' if now.hidden else ''}resumed at {resumed_at}, newest state "
            f"{now.newest}, {len(now.rows)} games in the ledger"
        )

    def _fault(self, text: str) -> None:
        self.outcome.faults.append(f"start {self._starts}: {text}")
        self._tell(f"FAULT: {text}")
