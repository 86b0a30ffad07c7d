"""Kill a run, inspect it, resume it, and so on."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scripts.studies.kill_resume.checks import (
    SeenGenerations,
    differences,
    find_faults,
    find_metrics_faults,
    find_restart_faults,
)
from scripts.studies.kill_resume.inspect_run import inspect_run, unfinished_saves
from scripts.studies.kill_resume.trainer_process import KillTime, TrainerProcess
from selfplay.checkpoint import RunDir
from selfplay.checkpoint.learner_state import has_state
from selfplay.cli.ppo import parse
from selfplay.dialogue.settings import DialogueConfig
from selfplay.ppo.rating import config_of
from selfplay.report.leaderboard_page.records import RunRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TRAININGS: Final = {
    "mock": (
        *("--game-type", "mock", "--num-games", "2", "--rollout-length", "32", "--max-episode-frames", "120"),
        *("--hidden", "8", "--ppo-epochs", "1", "--batch-size", "64", "--set", "run.threads=1", "--runners", "1"),
        *("--save-interval", "1", "--set", "league.population=4", "--track-elo", "--rating-share", "0.5"),
    ),
    "matching": (
        *("--game-type", "matching", "--num-games", "4", "--games-per-state", "2", "--game-size", "2"),
        *("--max-turns", "4", "--start-tokens", "20000", "--evaluation-states", "0", "--runners", "1"),
        *("--set", "run.threads=1", "--save-interval", "1", "--track-elo", "--rating-share", "0.5"),
    ),
}
"""Arguments of small trainings, which spend much of the time on saving."""
ENDLESS: Final = {"mock": ("--timesteps", "1000000000"), "matching": ("--games", "1000000000")}
LAST_ITERATIONS: Final = 3  # iterations after the last kill
START_S: Final = 4.0  # within which a kill during the start comes
RUNNING_S: Final = 3.0  # after the first save, within which a kill at a random time comes
SAVES: Final = 8  # one of the first so many saves of a start is killed
PER_KILL: Final = 30  # iterations of a deterministic run for each kill


@dataclass(frozen=True, slots=True)
class KillTest:
    """Settings of a test.

    Attributes:
        folder: Of the runs and their output; it must not exist.
        kills: Number of kills; with ``deterministic`` the maximum.
        seed: Of the kill times.
        game: One of ``TRAININGS``.
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
class KillTestResult:
    """Figures and faults of a test."""

    kills: int = 0
    in_a_save: int = 0  # kills that left a half-written file or folder
    before_first_state: int = 0  # kills before the first state
    restarts_checked: int = 0  # restarts that printed where they resumed
    orphans: int = 0
    iterations: int = 0
    ledger_rows: int = 0
    rows_lost: int = 0  # of metrics.jsonl
    set_aside: int = 0  # generations that were saved without their states
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run_kill_test(test: KillTest, notify: Callable[[str], object] = lambda _: None) -> KillTestResult:
    """Run a test. Blocks for about three seconds a kill.

    Args:
        test: Its settings.
        notify: Prints progress.

    Raises:
        RunnerError: a run hangs.
    """
    started = time.monotonic()
    test.folder.mkdir(parents=True)
    run = RunDir(test.folder / "run")
    runner = _Runner(test, run, notify)
    runner.kill_and_resume()
    if test.deterministic:
        runner.compare()
    runner.result.seconds = round(time.monotonic() - started, 1)
    return runner.result


class _Runner:
    def __init__(self, test: KillTest, run: RunDir, notify: Callable[[str], object]) -> None:
        self.result = KillTestResult()
        self._test = test
        self._run = run
        self._notify = notify
        self._rng = random.Random(test.seed)
        self._seen_generations = SeenGenerations()
        self._last = inspect_run(run)
        self._starts = 0
        self._resumed: set[int] = set()  # iterations at which it was resumed

    def kill_and_resume(self) -> None:
        result = self.result
        ended = False
        while result.kills < self._test.kills and not ended:
            when = self._choose_time()
            trainer = self._start()
            code = trainer.kill(when)
            ended = code == 0
            if code is None:
                result.kills += 1
                result.in_a_save += any(unfinished_saves(self._run))
            elif code:
                self._fault(f"a start ended with exit code {code}: {trainer.output()[-300:]}")
                break
            self._inspect(trainer, f"killed at {when.kind}" if code is None else "ended")
        if not ended:
            self._let_end()
        result.iterations = self._last.newest or 0
        result.ledger_rows = len(self._last.rows)
        result.set_aside = len(self._last.aside)
        records = RunRecords.of(self._run.path)
        result.rows_lost = sum(last - first + 1 for first, last in records.gaps)
        for text in find_metrics_faults(records, self._resumed):
            self._fault(text)

    def compare(self) -> None:
        """Compare with a run that is not killed."""
        whole = RunDir(self._test.folder / "whole")
        trainer = TrainerProcess(whole, self._arguments(resume=False), self._test.folder / "whole.txt")
        if (code := trainer.end()) != 0:
            self._fault(f"the run that was not killed ended with exit code {code}")
            return
        for difference in differences(whole, self._run):
            self._fault(f"killed and resumed, the run ends with {difference}")

    def _choose_time(self) -> KillTime:
        """Half of the kills come in a save, a tenth in a start, the others at any time after the first save."""
        rng = self._rng
        kind = rng.choices(("save", "any", "start"), (5, 4, 1))[0]
        if kind == "save":
            return KillTime("save", nth=rng.randint(1, SAVES))
        return (
            KillTime("any", rng.uniform(0, RUNNING_S)) if kind == "any" else KillTime("start", rng.uniform(0, START_S))
        )

    def _arguments(self, *, resume: bool) -> list[str]:
        test = self._test
        limit: Sequence[str] = ENDLESS[test.game]
        if test.deterministic:
            return self._determined(resume=resume)
        return ["--resume", *limit] if resume else [*TRAININGS[test.game], *test.arguments, *limit]

    def _determined(self, *, resume: bool) -> list[str]:
        """Arguments of a run of limited length, with enough rating games in it."""
        test = self._test
        if resume:
            return ["--resume"]
        new = [*TRAININGS[test.game], "--deterministic", "--rating-share", "0.9", *test.arguments]
        steps = parse(new).config.steps_per_iteration
        return [*new, "--timesteps", str(steps * PER_KILL * test.kills)]

    def _start(self, *more: str) -> TrainerProcess:
        resume = self._run.holds_run() and has_state(self._run)
        if not resume:
            shutil.rmtree(self._run.path, ignore_errors=True)
            self.result.before_first_state += self._starts > 0
            self._last, self._seen_generations, self._resumed = inspect_run(self._run), SeenGenerations(), set()
        elif self._last.newest is not None:
            self._resumed.add(self._last.newest)
        self._starts += 1
        arguments = [*self._arguments(resume=resume), *more]
        return TrainerProcess(self._run, arguments, self._test.folder / f"start-{self._starts:04}.txt")

    def _let_end(self) -> None:
        """Restart for the last time and let the run end, which saves everything."""
        more = () if self._test.deterministic else self._near_end()
        trainer = self._start(*more)
        if (code := trainer.end()) != 0:
            self._fault(f"the last restart ended with exit code {code}: {trainer.output()[-300:]}")
        self._inspect(trainer, "ended")
        if self._last.hidden:
            self._fault(f"left behind at the end: {sorted(self._last.hidden)}")

    def _near_end(self) -> tuple[str, ...]:
        iterations = (self._last.newest or 0) + LAST_ITERATIONS
        if self._test.game == "mock":
            return ("--timesteps", str(iterations * config_of(self._run).steps_per_iteration))
        games = DialogueConfig.model_validate(self._run.read_run()["config"]).run.num_games
        return ("--games", str(iterations * games))

    def _inspect(self, trainer: TrainerProcess, how: str) -> None:
        """Inspect the run, and check where the restart resumed."""
        result, before = self.result, self._last
        orphans = trainer.orphans()
        result.orphans += len(orphans)
        now = inspect_run(self._run)
        self._seen_generations.add(now)
        resumed_at = trainer.resumed_at
        result.restarts_checked += resumed_at is not None
        faults = find_faults(before, now, self._seen_generations, replays=self._test.deterministic)
        if resumed_at is not None:
            faults += find_restart_faults(before, resumed_at, now)
        for text in [*faults, *(f"process {pid} was left behind" for pid in orphans)]:
            self._fault(text)
        self._last = now
        self._notify(
            f"start {self._starts}: {how}, {'in a save, ' if now.hidden else ''}resumed at {resumed_at}, newest state "
            f"{now.newest}, {len(now.rows)} games in the ledger"
        )

    def _fault(self, text: str) -> None:
        self.result.faults.append(f"start {self._starts}: {text}")
        self._notify(f"FAULT: {text}")
