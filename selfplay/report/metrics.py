"""What one iteration was like: the one record that all reports are made of."""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
PHASES = ("collect", "update", "rate", "save")
"""The parts of an iteration, in the order in which they happen."""


class Figures(Protocol):
    """What files of figures need of a report."""

    @property
    def iteration(self) -> int:
        """Its row."""
        ...

    @property
    def total_steps(self) -> int:
        """Where it stands on the horizontal axis."""
        ...

    def flat(self) -> dict[str, float]:
        """Every figure under its tag."""
        ...


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Update(_Record):
    """What the learner did; names and meanings as in ``selfplay.learner.ppo``."""

    policy_loss: float
    value_loss: float
    loss: float
    entropy: float  # nats
    approx_kl: float
    clip_fraction: float
    explained_variance: float
    grad_norm: float  # before clipping
    learning_rate: float
    epochs: Count = 0
    minibatches: Count = 0
    skipped: Count = 0  # minibatches whose gradient was not finite
    step_kl: float = 0.0  # from the policy before the update to the one after it
    reverted: Count = 0  # 1: that was too much, and the update was taken back
    critic_only: bool = False  # the policy stood still
    teacher_kl: float = 0.0  # KL(teacher, policy), 0 without a teacher
    teacher_kl_reverse: float = 0.0  # KL(policy, teacher)


class Play(_Record):
    """Episodes of the learner's seats that ended in the iteration. Means are None where none ended."""

    episodes: Count = 0
    return_mean: float | None = None  # sum of rewards of an episode, undiscounted
    episode_length: float | None = None  # frames
    decisive_share: float | None = None  # episodes with a winner, of all
    draws: Count = 0
    stocks: float | None = None  # left at the end
    stocks_taken: float | None = None
    damage: float | None = None  # dealt, percent an episode
    damage_taken: float | None = None
    self_destructs: float | None = None  # stocks lost without a hit behind it, an episode
    win_rate: dict[str, float] = Field(default_factory=dict)  # opponent id -> score, a draw counts half
    reward_terms: dict[str, float] = Field(default_factory=dict)  # sum an episode


class GateReport(_Record):
    """A sequential test that is under way."""

    candidate: str
    best: str
    llr: float
    low: float  # at which the candidate is rejected
    high: float  # at which it is best


class IterationReport(_Record):
    """One iteration of a run. Totals count from the run's start, over all its resumptions."""

    iteration: Annotated[int, Field(ge=1)]
    iterations: int | None  # planned; None where time alone ends the run
    steps: Count  # of this iteration
    total_steps: Count
    timesteps: int | None  # planned; None where time alone ends the run
    experiences: Count
    phase_s: dict[str, Seconds]  # PHASES -> seconds
    elapsed_s: Seconds = 0.0
    limit_s: float | None = None  # --max-minutes
    update: Update
    play: Play = Play()
    zero_sum_error: float | None = None  # largest sum of both seats' rewards in a step, without its sign
    opponents: dict[str, Count] = Field(default_factory=dict)  # who was met: id -> episodes
    exploiters: dict[str, float] = Field(default_factory=dict)  # role -> its mean score, in a league
    restarts: Count = 0  # of runners, in the whole run
    abandoned: Count = 0  # threads that did not end, in the whole run
    tasks: Count | None = None  # of the event loop, as the iteration ends
    late: Count | None = None  # segments that came an iteration late and were learned from; None where none can
    dropped: Count | None = None  # those that came too late for that; both in this session
    cuda_used: Count | None = None  # bytes
    cuda_peak: Count | None = None  # bytes
    elo: float | None = None  # of the newest rated generation
    gate: GateReport | None = None

    @property
    def seconds(self) -> float:
        """Wall time of the iteration."""
        return sum(self.phase_s.values())

    @property
    def steps_per_s(self) -> float:
        """Steps over all games, a second of wall time."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def done(self) -> float:
        """Share of the run that is behind us, 0..1: by steps or by time, whichever is further."""
        shares = [0.0]
        if self.timesteps:
            shares.append(self.total_steps / self.timesteps)
        if self.limit_s:
            shares.append(self.elapsed_s / self.limit_s)
        return min(max(shares), 1.0)

    def remaining_s(self, steps_per_s: float) -> float | None:
        """Seconds to the end at this speed; None where nothing limits the run or nothing is known."""
        left = []
        if self.timesteps is not None and steps_per_s > 0:
            left.append((self.timesteps - self.total_steps) / steps_per_s)
        if self.limit_s is not None:
            left.append(self.limit_s - self.elapsed_s)
        return max(min(left), 0.0) if left else None

    def flat(self) -> dict[str, float]:
        """Every figure under its tag: the rows of metrics.jsonl and the curves of TensorBoard."""
        update = self.update
        values: dict[str, float | None] = {
            "charts/iteration": self.iteration,
            "charts/steps_per_s": self.steps_per_s,
            "charts/experiences": self.experiences,
            "charts/learning_rate": update.learning_rate,
            "charts/elo": self.elo,
            "gate/llr": None if self.gate is None else self.gate.llr,
            "losses/policy": update.policy_loss,
            "losses/value": update.value_loss,
            "losses/total": update.loss,
            "losses/entropy": update.entropy,
            "losses/approx_kl": update.approx_kl,
            "losses/clip_fraction": update.clip_fraction,
            "losses/explained_variance": update.explained_variance,
            "losses/grad_norm": update.grad_norm,
            "losses/skipped": update.skipped,
            "losses/step_kl": update.step_kl,
            "losses/reverted": update.reverted,
            "losses/teacher_kl": update.teacher_kl,
            "losses/teacher_kl_reverse": update.teacher_kl_reverse,
            "reward/zero_sum_error": self.zero_sum_error,
            "runners/restarts": self.restarts,
            "runners/abandoned": self.abandoned,
            "runners/tasks": self.tasks,
            "runners/late": self.late,
            "runners/dropped": self.dropped,
            "memory/cuda_used": self.cuda_used,
            "memory/cuda_peak": self.cuda_peak,
        }
        play = self.play.model_dump(exclude={"win_rate", "reward_terms"})
        values |= {f"play/{name}": value for name, value in play.items()}
        values |= {f"time/{name}_s": seconds for name, seconds in self.phase_s.items()}
        values |= {f"winrate/{name}": share for name, share in self.play.win_rate.items()}
        values |= {f"reward/{name}": value for name, value in self.play.reward_terms.items()}
        values |= {f"league/{role}": score for role, score in self.exploiters.items()}
        values |= {f"opponents/{name}": count for name, count in self.opponents.items()}
        return {tag: value for tag, value in values.items() if value is not None}
