"""The figures of one update: what the learner returns and what reports show."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, Field

Count = Annotated[int, Field(ge=0)]
_MEAN: Final = "mean over the decisions"
PerDecision = Annotated[float, _MEAN]


class UpdateMetrics(BaseModel, frozen=True, extra="forbid"):
    """Means over one update, without the minibatches that were skipped."""

    policy_loss: PerDecision
    value_loss: PerDecision
    loss: float  # the weighted sum of its terms
    entropy: PerDecision  # nats
    approx_kl: PerDecision  # KL(policy that played, policy)
    clip_fraction: PerDecision
    explained_variance: float
    grad_norm: float  # before clipping, mean over the minibatches
    learning_rate: float
    epochs: Count = 0  # fewer than asked for after an early stop
    minibatches: Count = 0
    skipped: Count = 0  # minibatches whose gradient was not finite; the weights did not move
    step_kl: float = 0.0  # KL(policy before, policy after) on one minibatch; 0 where not asked for
    reverted: Count = 0  # 1: ``step_kl`` was above its limit and the update was undone
    critic_only: bool = False  # the policy was not trained
    teacher_kl: PerDecision = 0.0  # KL(teacher, policy), 0 without a teacher
    teacher_kl_reverse: PerDecision = 0.0  # KL(policy, teacher)
    uniform_kl: PerDecision = 0.0  # KL(uniform, policy), 0 without a weight

    def losses(self) -> dict[str, float]:
        """The figures by tag, as metrics.jsonl and TensorBoard have them."""
        names = {"policy_loss": "policy", "value_loss": "value", "loss": "total"}
        values = self.model_dump(exclude={"learning_rate", "epochs", "minibatches", "critic_only"})
        return {f"losses/{names.get(name, name)}": value for name, value in values.items()}


PER_DECISION: Final = tuple(name for name, field in UpdateMetrics.model_fields.items() if _MEAN in field.metadata)
"""Names of the figures that are means over decisions."""
