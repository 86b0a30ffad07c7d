"""Faults on purpose (``--chaos``): segments break by chance, and what became of each is counted.

A fault is drawn for every attempt at a segment, by the run's seed, the runner, the iteration and the attempt. It
strikes at a step of the segment that is drawn, too:

crash  the game raises
nan    the game gives an observation or a reward that is not finite
slow   the game takes ``SLOW_S`` longer over a step
hang   the game's process is stopped, and never answers; needs the process host
kill   the game's process is killed; needs the process host

Only segments of training are struck. Nothing here costs anything where no fault is due.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

import numpy as np

from selfplay.errors import ConfigError, RunnerError
from selfplay.runner.process_game import ProcessGame
from selfplay.seeding import derive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from envs.api import Actions, ScriptedGame, StepBatch
    from selfplay.runner.block import Block

Kind = Literal["crash", "nan", "slow", "hang", "kill"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FORCED: Final[tuple[Kind, ...]] = ("hang", "kill")  # those that need a process of the game's own
SLOW_S: Final = 5.0
_REMEMBERED: Final = 8  # faults of a runner that nobody noticed: some are, a little later
ON_PURPOSE: Final = "on purpose (--chaos)"

Plan = Mapping[Kind, float]


def parse_plan(text: str | None) -> dict[Kind, float]:
    """The probabilities of a plan such as ``crash=1e-3,hang=1e-4``, by kind; of none, none.

    Raises:
        ConfigError: it is none; says what is valid.
    """
    plan: dict[Kind, float] = {}
    for part in () if text is None else text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in KINDS:
            raise ConfigError(f"--chaos {text}: {part!r} is no KIND=P (valid kinds: {', '.join(KINDS)})")
        if name in plan:
            raise ConfigError(f"--chaos {text}: {name} stands there twice")
        try:
            plan[name] = float(value)
        except ValueError:
            raise ConfigError(f"--chaos {text}: {value!r} is no probability") from None
    if not all(0 <= p <= 1 for p in plan.values()) or not sum(plan.values()) <= 1:  # NaN is no probability either
        raise ConfigError(f"--chaos {text}: probabilities are between 0 and 1, and 1 at most together")
    return plan


def check_plan(text: str | None, *, processes: bool) -> None:
    """Refuse a plan that this run could not carry out.

    Raises:
        ConfigError: it is no plan, or needs games in processes of their own where they are not.
    """
    for kind in parse_plan(text):
        if kind in FORCED and not processes:
            raise ConfigError(f"--chaos {text}: {kind} needs games in processes of their own: add --host process")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is to happen in a segment."""

    kind: Kind
    at: float  # how far into the segment, 0 <= at < 1
    chance: float  # of whatever else the kind leaves open, 0 <= chance < 1
    struck: Callable[[], None]  # to be called when it happens
    pid: int | None = None  # of the process that is stopped or killed where the game has none of its own

    def step(self, steps: int) -> int:
        """Before or in which step of a segment of so many it happens."""
        return min(int(self.at * steps), steps - 1)


@dataclass(slots=True)
class Tally:
    """What became of the faults of one kind."""

    injected: int = 0
    detected: int = 0  # the runner was replaced, or what it gave was noticed
    recovered: int = 0  # the runner made a whole segment again
    lost: int = 0  # segments that were thrown away


@dataclass(slots=True)
class _Struck:
    kind: Kind
    detected: bool = False
    recovered: bool = False


class Chaos:
    """Draws the faults of a run and keeps account of them.

    ``draw``, ``Fault.struck`` and ``completed`` are called in threads of runners, everything else on the event loop.

    Args:
        plan: Probabilities by kind; none for a run without faults.
        seed: Of the run.
        told: What ``document`` said when the run was saved, where it is resumed.
    """

    def __init__(self, plan: Plan, seed: int, told: Mapping[str, Any] | None = None) -> None:
        self._plan = dict(plan)
        self._seed = seed
        self._lock = threading.Lock()
        self._attempts: dict[str, tuple[int, int]] = {}  # runner -> its latest iteration, and attempts since
        self._struck: dict[str, list[_Struck]] = {}  # by runner: those of which not everything is known yet
        self._tallies: dict[Kind, Tally] = {kind: Tally() for kind in self._plan}
        names = [field.name for field in fields(Tally)]
        for kind in KINDS:
            counts = (told or {}).get(kind)
            if isinstance(counts, Mapping):
                self._tallies[kind] = Tally(*(int(counts[name]) for name in names))

    def draw(self, runner: str, iteration: int) -> Fault | None:
        """What happens in the attempt of a runner at the segment of an iteration that begins now."""
        if not self._plan:
            return None
        latest, attempts = self._attempts.get(runner, (iteration, 0))
        attempt = attempts + 1 if iteration <= latest else 1  # below it: the learner has gone back
        self._attempts[runner] = (max(latest, iteration), attempt)
        chance, at, rest = np.random.default_rng(derive(self._seed, "chaos", runner, iteration, attempt)).random(3)
        for kind, p in self._plan.items():
            if chance < p:
                return Fault(kind, float(at), float(rest), lambda kind=kind: self._strike(runner, kind))  # type: ignore[misc]
            chance -= p
        return None

    def _strike(self, runner: str, kind: Kind) -> None:
        with self._lock:
            self._tallies[kind].injected += 1
            self._struck.setdefault(runner, []).append(_Struck(kind))

    def completed(self, runner: str) -> None:
        """A runner has made a whole segment; in its thread, so that what strikes the next one comes after this."""
        with self._lock:
            struck = self._struck.get(runner, [])
            for fault in struck:
                self._tallies[fault.kind].recovered += not fault.recovered
                fault.recovered = True
            self._struck[runner] = [fault for fault in struck if not fault.detected][-_REMEMBERED:]

    def failed(self, runner: str) -> None:
        """A runner has failed and its segment is lost."""
        with self._lock:
            for fault in self._struck.get(runner, ()):
                if not (fault.detected or fault.recovered):
                    fault.detected = True
                    self._tallies[fault.kind].detected += 1
                    self._tallies[fault.kind].lost += 1

    def noticed(self, runner: str, kind: Kind) -> None:
        """What a runner delivered showed a fault of this kind, if there was one."""
        with self._lock:
            fault = next((f for f in self._struck.get(runner, ()) if f.kind == kind and not f.detected), None)
            if fault is not None:
                fault.detected = True
                self._tallies[kind].detected += 1

    def document(self) -> dict[str, JsonValue]:
        """The account so far: kind -> name of a count -> count; empty for a run without faults."""
        with self._lock:
            return {kind: asdict(tally) for kind, tally in self._tallies.items()}

    def lines(self) -> list[str]:
        """The account for people."""
        with self._lock:
            found = [
                f"  {kind:<6} {tally.injected:>6} injected, {tally.detected} detected, {tally.recovered} recovered; "
                f"{tally.lost} segments lost"
                for kind, tally in self._tallies.items()
            ]
        return ["Faults on purpose:", *found] if found else []


class FaultyGame:
    """A game for the length of one segment, in which one fault strikes; everything else is the game's."""

    def __init__(self, game: ScriptedGame, fault: Fault, steps: int) -> None:
        self._game = game
        self._fault = fault
        self._left = fault.step(steps)
        self._end = threading.Event()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._game, name)

    def step(self, actions: Actions) -> StepBatch:
        """See ``VectorGame.step``."""
        self._left -= 1
        if self._left != -1:
            return self._game.step(actions)
        self._fault.struck()
        if self._fault.kind == "crash":
            raise RunnerError(f"the game crashed {ON_PURPOSE}")
        if self._fault.kind in FORCED:
            self._signal(signal.SIGSTOP if self._fault.kind == "hang" else signal.SIGKILL)
        elif self._fault.kind == "slow":
            self._end.wait(SLOW_S)
        batch = self._game.step(actions)
        if self._fault.kind == "nan":
            self._poison(batch)
        return batch

    def kill(self) -> bool:
        """See ``ScriptedGame.kill``; a slow step goes on at once."""
        self._end.set()
        return self._game.kill()

    def _signal(self, number: signal.Signals) -> None:
        pid = self._game.pid if isinstance(self._game, ProcessGame) else self._fault.pid
        if pid is None:
            raise RunnerError(f"{self._fault.kind} needs a game in a process of its own")
        os.kill(pid, number)

    def _poison(self, batch: StepBatch) -> None:
        """Put a number that is not finite into an observation or a reward."""
        bad = math.nan if self._fault.chance < 0.5 else math.inf
        numbers = batch.obs if int(self._fault.chance * 8) % 2 else batch.reward
        numbers.flat[int(self._fault.at * numbers.size)] = bad


@contextmanager
def broken(block: Block, fault: Fault | None, steps: int) -> Iterator[None]:
    """A block whose games have a fault in the segment of so many steps that is played meanwhile."""
    if fault is None:
        yield
        return
    game = block.game
    block.game = cast("ScriptedGame", FaultyGame(game, fault, steps))
    try:
        yield
    finally:
        block.game = game
