"""Fault injection (``--chaos``): segments fail at random, and the outcome of each fault is counted.

A wrapper around the games of a runner, such as ``FaultyGame``, draws at most one fault for each segment,
from the seed of the run, the runner, its incarnation and the segment. The fault strikes at a step that is drawn, too:

crash  the game raises
nan    the game gives an observation or a reward that is not finite
slow   the game takes ``SLOW_S`` longer over a step
hang   the game's process is stopped, and never answers; needs the process host
kill   the game's process is killed; needs the process host

Only segments of training are struck. A run without ``--chaos`` has no wrapper.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from selfplay.errors import ConfigError, InjectedFaultError, RunnerError
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.games.api import Actions, Bool, ScriptedGame, StepBatch

Kind = Literal["crash", "nan", "slow", "hang", "kill"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FORCED: Final[tuple[Kind, ...]] = ("hang", "kill")  # those that need a process of the game's own
SLOW_S: Final = 5.0
_REMEMBERED: Final = 8  # unnoticed faults that are kept for each runner: some are noticed a little later

Plan = Mapping[Kind, float]


def parse_plan(text: str | None) -> dict[Kind, float]:
    """The probabilities of a plan such as ``crash=1e-3,hang=1e-4``, by kind; of none, none."""
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


def check_plan(text: str | None, *, processes: bool, host: str = "process") -> None:
    """Refuse a plan that is none, or that this run could not carry out; ``host`` names one with processes."""
    for kind in parse_plan(text):
        if kind in FORCED and not processes:
            raise ConfigError(f"--chaos {text}: {kind} needs games in processes of their own: add --host {host}")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in one segment."""

    kind: Kind
    at: float  # fraction of the segment before the fault, 0 <= at < 1
    chance: float  # decides what else the kind leaves open, 0 <= chance < 1

    def step(self, steps: int) -> int:
        """The step in which it strikes, of a segment of ``steps``."""
        return min(int(self.at * steps), steps - 1)


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Draws the faults of one incarnation of a runner. JSON-able, and equal on both ends of a link."""

    probabilities: Plan
    seed: int
    steps: int = 0  # of a segment

    def draw(self, segment: int) -> Fault | None:
        """The fault of a segment, counted from 0."""
        chance, at, rest = np.random.default_rng(derive(self.seed, segment)).random(3)
        for kind, p in self.probabilities.items():
            if chance < p:
                return Fault(kind, float(at), float(rest))
            chance -= p
        return None


OnFault = Callable[[Kind], object]  # called when a fault strikes


@dataclass(slots=True)
class Tally:
    """Counts of the faults of one kind."""

    injected: int = 0
    detected: int = 0  # the runner was replaced, or what it gave was noticed
    recovered: int = 0  # the runner made a whole segment again
    lost: int = 0  # segments that were thrown away


@dataclass(slots=True)
class _InjectedFault:
    kind: Kind
    detected: bool = False
    recovered: bool = False


class Chaos:
    """Plans the faults of a run and counts their outcomes.

    ``plan_of``, ``injected`` and ``completed`` are called in threads of runners, everything else on the event loop.
    ``plan`` is empty for a run without faults. ``counts`` are the ``document`` of a resumed run when it was saved.
    """

    def __init__(self, plan: Plan, seed: int, counts: Mapping[str, Any] | None = None) -> None:
        self._plan = dict(plan)
        self._seed = seed
        self._lock = threading.Lock()
        self._open: dict[str, list[_InjectedFault]] = {}  # by runner: faults whose outcome is not known yet
        self._tallies: dict[Kind, Tally] = {kind: Tally() for kind in self._plan}
        names = [field.name for field in fields(Tally)]
        for kind in KINDS:
            found = (counts or {}).get(kind)
            if isinstance(found, Mapping):
                self._tallies[kind] = Tally(*(int(found[name]) for name in names))

    def plan_of(self, runner: str, incarnation: int, iteration: int, steps: int) -> FaultPlan | None:
        """The faults of an incarnation of a runner that begins in an iteration; None where nothing is planned."""
        if not self._plan:
            return None
        return FaultPlan(self._plan, derive(self._seed, "chaos", runner, incarnation, iteration), steps)

    def injected(self, runner: str, kind: Kind) -> None:
        with self._lock:
            self._tallies[kind].injected += 1
            self._open.setdefault(runner, []).append(_InjectedFault(kind))

    def completed(self, runner: str) -> None:
        """A runner has made a whole segment. Called in its thread, before a fault of the next segment can strike."""
        with self._lock:
            faults = self._open.get(runner, [])
            for fault in faults:
                self._tallies[fault.kind].recovered += not fault.recovered
                fault.recovered = True
            self._open[runner] = [fault for fault in faults if not fault.detected][-_REMEMBERED:]

    def failed(self, runner: str) -> None:
        """A runner has failed and its segment is lost."""
        with self._lock:
            for fault in self._open.get(runner, ()):
                if not (fault.detected or fault.recovered):
                    fault.detected = True
                    self._tallies[fault.kind].detected += 1
                    self._tallies[fault.kind].lost += 1

    def noticed(self, runner: str, kind: Kind) -> None:
        """Count an open fault of this kind as detected, if there is one: the runner's result showed it."""
        with self._lock:
            fault = next((f for f in self._open.get(runner, ()) if f.kind == kind and not f.detected), None)
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
    """A game in which planned faults strike; everything else is the game's (``ScriptedGame``).

    ``on_fault`` is called when a fault strikes. ``hang`` stops the process ``pid``, ``kill`` kills it.
    """

    def __init__(self, game: ScriptedGame, plan: FaultPlan, on_fault: OnFault, pid: int | None = None) -> None:
        self._game = game
        self._plan = plan
        self._on_fault = on_fault
        self._pid = pid
        self._steps = 0  # so far
        self._fault: Fault | None = None  # of this segment
        self._end = threading.Event()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._game, name)

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        segment, step = divmod(self._steps, self._plan.steps)
        if step == 0:
            self._fault = self._plan.draw(segment)
        self._steps += 1
        if self._fault is None or step != self._fault.step(self._plan.steps):
            return self._game.step(actions, acts)
        strike(self._fault, self._on_fault, self._pid, "the game", self._end.wait)
        batch = self._game.step(actions, acts)
        if self._fault.kind == "nan":
            _poison(batch, self._fault)
        return batch

    def kill(self) -> bool:
        """See ``ScriptedGame.kill``; a slow step continues at once."""
        self._end.set()
        return self._game.kill()


def strike(fault: Fault, on_fault: OnFault, pid: int | None, what: str, wait: Callable[[float], object]) -> None:
    """Report a fault and carry it out, but for one of kind ``nan``; ``what`` is said to crash, ``wait`` is slow."""
    on_fault(fault.kind)
    if fault.kind == "crash":
        raise InjectedFaultError(f"{what} crashed on purpose (--chaos)")
    if fault.kind in FORCED:
        send_signal(fault.kind, pid)
    elif fault.kind == "slow":
        wait(SLOW_S)


def send_signal(kind: Kind, pid: int | None) -> None:
    """Stop or kill a process; RunnerError if there is none of the game's own."""
    if pid is None:
        raise RunnerError(f"{kind} needs a game in a process of its own")
    os.kill(pid, signal.SIGSTOP if kind == "hang" else signal.SIGKILL)


def _poison(batch: StepBatch, fault: Fault) -> None:
    """Put a NaN or an infinity into an observation or a reward."""
    bad = math.nan if fault.chance < 0.5 else math.inf
    numbers = batch.obs if int(fault.chance * 8) % 2 else batch.reward
    numbers.flat[int(fault.at * numbers.size)] = bad


class CountedFaults:
    """Counts the faults of games on the other end of a link as their orders are sent: a kill cannot be reported."""

    def __init__(self, games: Any, plan: FaultPlan, on_fault: OnFault) -> None:  # noqa: ANN401
        self._games = games
        self._plan = plan
        self._on_fault = on_fault
        self._segments = 0  # so far

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._games, name)

    def collect(self, order: object, *more: object) -> Any:  # noqa: ANN401
        fault = self._plan.draw(self._segments)
        self._segments += 1
        if fault is not None:
            self._on_fault(fault.kind)
        return self._games.collect(order, *more)
