"""The metrics of one iteration, the input of all reporters, and their moving averages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import BaseModel, Field

from selfplay.league.rows import Beaten
from selfplay.league.scale import ELO_SCALE, Ends, Scale
from selfplay.update_metrics import Count, UpdateMetrics

if TYPE_CHECKING:
    from selfplay.games.columns import Rate

Seconds = Annotated[float, Field(ge=0)]
ELO = "charts/elo"  # tag, before those of all other metrics, so that TensorBoard shows it first
PAYOFF = "charts/payoff_rating"  # tag of the rating where payoffs count
PHASES = ("collect", "update", "rate", "save")  # phases of an iteration, in order
NEW = 0.25  # weight of the newest value in a moving average
TIME_S = 60.0  # of the last minute, roughly, is how phases share the time: rating comes every few iterations


class Figures(Protocol):
    """The part of a report that metrics files need."""

    @property
    def iteration(self) -> int: ...

    @property
    def total_steps(self) -> int:
        """Position on the horizontal axis."""

    def flat(self) -> dict[str, float]:
        """All metrics by tag."""


MIRROR = "mirror"  # kind of games in which the learner plays both seats


class Pace(BaseModel, frozen=True, extra="forbid"):
    """Games against one kind of opponent that ended in the iteration. Rates are a player's, mean of both."""

    games: Annotated[int, Field(ge=1)]
    minutes: Annotated[float, Field(gt=0)]  # of play, sum
    rates: dict[str, float]  # of all rates of the game

    @classmethod
    def from_row(cls, row: Mapping[str, Any], kind: str, rates: Sequence[Rate]) -> Pace | None:
        """Pace against a kind of opponent, from a row of metrics by tag; None if no such game ended.

        ValidationError if a figure is not possible.
        """
        found = {name: row.get(f"{name}/{kind}") for name in ("games", "minutes", *(rate.name for rate in rates))}
        if None in found.values():
            return None
        return cls.model_validate({"games": found.pop("games"), "minutes": found.pop("minutes"), "rates": found})

    @classmethod
    def joined(cls, paces: Sequence[Pace], rates: Sequence[Rate]) -> Pace:
        """Pace of the games of one or more paces together."""
        total = {name: sum(getattr(pace, name) for pace in paces) for name in ("games", "minutes")}
        means = {
            rate.name: sum(pace.rates[rate.name] * getattr(pace, rate.per) for pace in paces) / total[rate.per]
            for rate in rates
        }
        return cls(**total, rates=means)

    def flat(self) -> dict[str, float]:
        """All figures by name."""
        return {"games": self.games, "minutes": self.minutes, **self.rates}


class Play(BaseModel, frozen=True, extra="forbid"):
    """Episodes of the learner's seats that ended in the iteration. Means are None without episodes."""

    episodes: Count = 0
    return_mean: float | None = None  # sum of rewards of an episode, undiscounted
    episode_length: float | None = None  # see ``Columns.unit``
    decisive_share: float | None = None  # share of episodes with a winner
    draws: Count = 0
    means: dict[str, float] = Field(default_factory=dict)  # of the game's columns, those that it counts
    win_rate: dict[str, float] = Field(default_factory=dict)  # opponent id -> mean score, a draw counts half
    payoff: dict[str, float] = Field(default_factory=dict)  # opponent id -> mean payoff, in games judged by payoffs
    reward_terms: dict[str, float] = Field(default_factory=dict)  # sum per episode
    pace: dict[str, Pace] = Field(default_factory=dict)  # kind of opponent -> games


class GateReport(BaseModel, frozen=True, extra="forbid"):
    """A sequential test in progress."""

    candidate: str
    best: str
    llr: float
    low: float  # the candidate is rejected below
    high: float  # the candidate is promoted above


class ScoreAgainst(BaseModel, frozen=True, extra="forbid"):
    """Rating games of recent generations against a scripted player or shipped policy."""

    player: str
    games: Annotated[int, Field(ge=1)]
    score: float  # mean, a draw counts half; where payoffs count the mean payoff
    low: float  # 95% interval
    high: float


class RatingReport(BaseModel, frozen=True, extra="forbid"):
    """The last rating of a run's newest rated generation."""

    generation: str
    rating: float
    ends: Ends  # of the 95% interval; equal where the generation has the weights of a pinned policy
    iteration: Annotated[int, Field(ge=0)]  # after which it was made
    elapsed_s: Seconds  # of the run, when it was made
    scale: Scale = ELO_SCALE
    beats: Beaten | None = None  # the strongest player that it beats
    scores: tuple[ScoreAgainst, ...] = ()  # against players with enough games, the strongest first

    def __str__(self) -> str:
        scale, value = self.scale, f"{self.rating:{self.scale.form}}"
        words = f"rating {value} {scale.unit}" if scale.by_payoff else f"{scale.unit} {value}"
        return f"{words} ({scale.interval(self.ends)})"


def rated_now(rating: RatingReport | None, iteration: int) -> dict[str, float]:
    """A rating that was made in this iteration, by tag, so that curves have a point for each rating."""
    if rating is None or rating.iteration != iteration:
        return {}
    return {PAYOFF if rating.scale.by_payoff else ELO: rating.rating}


def ratings_of(report: Figures) -> dict[str, float]:
    """The rating among the figures of a report, by tag."""
    return {tag: value for tag, value in report.flat().items() if tag in (ELO, PAYOFF)}


class TrainingReport(BaseModel, frozen=True, extra="forbid"):
    """What all reports have. Totals count from the start of the run, across resumptions."""

    iteration: Annotated[int, Field(ge=1)]
    iterations: int | None  # planned; None if another limit ends the run
    total_steps: Count
    timesteps: int | None = None  # planned
    elapsed_s: Seconds = 0.0
    limit_s: float | None = None  # --max-minutes
    phase_s: dict[str, Seconds]  # PHASES -> seconds
    restarts: Count = 0  # of runners, in the whole run
    tasks: Count | None = None  # asyncio tasks at the end of the iteration
    rating: RatingReport | None = None  # the last one

    @property
    def done(self) -> float:
        """Progress of the run in [0, 1]: the largest of iterations, steps and time."""
        planned = (
            (self.iteration, self.iterations), (self.total_steps, self.timesteps), (self.elapsed_s, self.limit_s)
        )  # fmt: skip
        return min(1.0, max(part / whole if whole else 0.0 for part, whole in planned))


class IterationReport(TrainingReport):
    """One iteration of a PPO run."""

    steps: Count  # in this iteration
    experiences: Count
    update: UpdateMetrics
    play: Play = Play()
    common_gain: float | None = None  # largest sum of both seats' rewards in a step; None if they share rewards
    opponents: dict[str, Count] = Field(default_factory=dict)  # id -> episodes
    exploiters: dict[str, float] = Field(default_factory=dict)  # role -> mean score, in a league
    abandoned: Count = 0  # threads that were abandoned, in the whole run
    late: Count | None = None  # segments used one iteration late in this session; None if impossible
    dropped: Count | None = None  # segments that were too late to use, in this session
    cuda_used: Count | None = None  # bytes
    cuda_peak: Count | None = None  # bytes
    gate: GateReport | None = None

    @property
    def seconds(self) -> float:
        return sum(self.phase_s.values())

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    def remaining_s(self, steps_per_s: float) -> float | None:
        """Seconds to the end at this speed; None if the run has no limit or the speed is unknown."""
        left = []
        if self.timesteps is not None and steps_per_s > 0:
            left.append((self.timesteps - self.total_steps) / steps_per_s)
        if self.limit_s is not None:
            left.append(self.limit_s - self.elapsed_s)
        return max(min(left), 0.0) if left else None

    def flat(self) -> dict[str, float]:
        update = self.update
        values: dict[str, float | None] = {
            "charts/iteration": self.iteration,
            "charts/steps_per_s": self.steps_per_s,
            "charts/experiences": self.experiences,
            "charts/learning_rate": update.learning_rate,
            **rated_now(self.rating, self.iteration),
            "gate/llr": None if self.gate is None else self.gate.llr,
            **update.losses(),
            "reward/common_gain": self.common_gain,
            "runners/restarts": self.restarts,
            "runners/abandoned": self.abandoned,
            "runners/tasks": self.tasks,
            "runners/late": self.late,
            "runners/dropped": self.dropped,
            "memory/cuda_used": self.cuda_used,
            "memory/cuda_peak": self.cuda_peak,
        }
        play = self.play.model_dump(exclude={"means", "win_rate", "payoff", "reward_terms", "pace"})
        values |= {f"play/{name}": value for name, value in (play | self.play.means).items()}
        values |= {f"time/{name}_s": seconds for name, seconds in self.phase_s.items()}
        values |= {f"winrate/{name}": share for name, share in self.play.win_rate.items()}
        values |= {f"payoff/{name}": value for name, value in self.play.payoff.items()}
        values |= {f"reward/{name}": value for name, value in self.play.reward_terms.items()}
        values |= {
            f"{name}/{kind}": value for kind, pace in self.play.pace.items() for name, value in pace.flat().items()
        }
        values |= {f"league/{role}": score for role, score in self.exploiters.items()}
        values |= {f"opponents/{name}": count for name, count in self.opponents.items()}
        return {tag: value for tag, value in values.items() if value is not None}


class Recent:
    """Exponential moving averages, since one iteration has few episodes.

    They start at the first value; missing values are skipped.
    """

    def __init__(self) -> None:
        self.steps_per_s = 0.0
        self.play: dict[str, float] = {}  # means of ``Play`` by name, those that are known
        self.win_rate: dict[str, float] = {}  # by opponent, most recent last
        self.payoff: dict[str, float] = {}  # by opponent
        self.pace: dict[str, dict[str, float]] = {}  # figures of ``Pace.flat``, by kind of opponent

    def add(self, report: IterationReport) -> None:
        self.steps_per_s += (NEW if self.steps_per_s else 1.0) * (report.steps_per_s - self.steps_per_s)
        means = {name: value for name, value in report.play if isinstance(value, float)}
        _blend(self.play, means | report.play.means)
        _blend(self.win_rate, report.play.win_rate)
        _blend(self.payoff, report.play.payoff)
        for kind, pace in report.play.pace.items():
            _blend(self.pace.setdefault(kind, {}), pace.flat())


class TimeShares:
    """Shares of the phases in the time of about the last ``TIME_S`` seconds."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, phase_s: Mapping[str, float]) -> None:
        faded = math.exp(-sum(phase_s.values()) / TIME_S)
        names = {**self._seconds, **phase_s}
        self._seconds = {name: faded * self._seconds.get(name, 0.0) + phase_s.get(name, 0.0) for name in names}

    @property
    def shares(self) -> dict[str, float]:
        total = sum(self._seconds.values()) or 1.0
        return {name: seconds / total for name, seconds in self._seconds.items()}


def _blend(means: dict[str, float], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        mean = means.pop(name, value)
        means[name] = mean + NEW * (value - mean)
