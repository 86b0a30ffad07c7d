"""Reports of a training: terminal, log.txt, metrics.jsonl, TensorBoard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from selfplay.report.outputs import reporters
from selfplay.report.reporter import Forwarding
from selfplay.report.ticker import Ticker

if TYPE_CHECKING:
    from selfplay.imitation.hook import Rate
    from selfplay.imitation.training_state import Sums
    from selfplay.learner.imitation_metrics import ImitationMetrics

SHOWN_BAD: Final = 3  # files that the terminal names
ALIKE: Final = 0.02  # share of the player's distinct actions below which a policy counts as collapsed
VARIED: Final = 50  # minimum of the player's distinct actions for this check
RARELY: Final = 0.1  # share of the player's decisions to do something below which it counts as forgotten
ENOUGH: Final = 20  # minimum of the player's decisions for this check


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One pass over the games."""

    iteration: int  # the epoch
    total_steps: int  # rows learned from
    epochs: int  # planned
    sums: Sums
    metrics: ImitationMetrics
    validated: bool  # ``metrics`` are of games that do not train
    learning_rate: float
    best: bool
    part_names: tuple[str, ...]
    rates: Sequence[Rate] = ()

    @property
    def train_loss(self) -> float:
        """Mean loss during the epoch, nats per decision."""
        return self.sums.loss / max(self.sums.rows, 1)

    def flat(self) -> dict[str, float]:
        found, sums = self.metrics, self.sums
        side = "validation" if self.validated else "check"
        values: dict[str, float | None] = {
            "losses/train": self.train_loss,
            "losses/train_changed": sums.changed / sums.changed_rows if sums.changed_rows else None,
            "losses/skipped": sums.skipped,
            "losses/grad_norm": sums.grad_norm / max(sums.minibatches - sums.skipped, 1),
            "charts/epoch": self.iteration,
            "charts/learning_rate": self.learning_rate,
            "charts/rows_per_s": sums.seen / sums.seconds if sums.seconds > 0 else 0.0,
            "charts/seconds": sums.seconds,
            f"{side}/diversity": found.diversity,
            f"{side}/accuracy": found.accuracy,
        }
        for name in ("model", "marginals", "repeat"):
            mean = getattr(found, name)
            values |= {f"{side}/{name}": mean.all, f"{side}/{name}_changed": mean.changed}
        values |= {f"{side}_parts/{name}": loss for name, loss in zip(self.part_names, found.parts, strict=True)}
        for rate in self.rates:
            values |= {f"rates/{rate.tag}_predicted": rate.predicted, f"rates/{rate.tag}_played": rate.played}
        return {tag: value for tag, value in values.items() if value is not None}

    def line(self) -> str:
        found, sums = self.metrics, self.sums
        side = "validation" if self.validated else "same games"
        parts = [f"train {self.train_loss:.3f}", f"{side} {found.model.all:.3f}"]
        if found.model.changed is not None:
            parts.append(f"where the action changes {found.model.changed:.3f}")
        parts.append(f"{sums.seconds:.1f} s, {sums.seen / max(sums.seconds, 1e-9):,.0f} rows/s")
        if sums.skipped:
            parts.append(f"{sums.skipped} minibatches skipped, their gradient was not finite")
        return f"Epoch {self.iteration}/{self.epochs}: {', '.join(parts)}{', best so far' if self.best else ''}"


def warnings(found: ImitationMetrics, rates: Sequence[Rate] = ()) -> list[str]:
    lines = []
    if found.distinct[1] >= VARIED and found.diversity < ALIKE:
        lines.append(
            f"Warning: the policy does {found.distinct[0]} different things where the player did {found.distinct[1]}"
        )
    lines += [
        f"Warning: {rate.sentence} in {rate.played:.2%} of the decisions, but the policy would in {rate.predicted:.2%}"
        for rate in rates
        if rate.sentence and rate.played * found.rows >= ENOUGH and rate.predicted < RARELY * rate.played
    ]
    return lines


def table(found: ImitationMetrics, which: str, rates: Sequence[Rate] = (), *, validated: bool) -> str:
    """A table of the latest or the best policy and the players."""
    where = "validation games" if validated else "games that it learned from"
    lines = [
        f"═══ The {which} policy on the {where} ═══",
        f"{found.rows:,} decisions, {found.changed_rows:,} of them change the action; "
        "losses are -log likelihoods per decision",
        "",
        f"{'':<24}{'all':>10}{'changed':>10}",
    ]
    for name, mean in (("policy", found.model), ("repeats the action", found.repeat), ("marginals", found.marginals)):
        changed = f"{mean.changed:>10.3f}" if mean.changed is not None else f"{'-':>10}"
        lines.append(f"{name:<24}{mean.all:>10.3f}{changed}")
    lines += ["", f"{'':<24}{'policy':>10}{'player':>10}"]
    lines += [f"{rate.label:<24}{rate.predicted:>10.2%}{rate.played:>10.2%}" for rate in rates]
    lines.append(f"{'accuracy':<24}{found.accuracy:>10.2%}")
    lines.append(f"{'different actions':<24}{found.distinct[0]:>10,}{found.distinct[1]:>10,}")
    return "\n".join(lines)


class Reports(Forwarding):
    """Writes to terminal, log and metrics."""

    def __init__(self, folder: Path, stream: TextIO, resumed: tuple[int, int] | None = None) -> None:
        """``resumed``: epoch and rows of the state that the training is resumed from."""
        self._reporters = reporters(folder, stream, live=False, resumed=resumed)
        self._stream = stream

    def _forward(self, event: str, *content: object) -> None:
        for reporter in self._reporters.values():
            getattr(reporter, event)(*content)

    def bad_files(self, bad: Sequence[tuple[Path, str]]) -> None:
        """Report unusable files: their number, and the names of all in the log and of the first few in the terminal."""
        for i, (path, reason) in enumerate(bad):
            line = f"Left out {path}: {reason}"
            self._reporters["log"].notice(line)
            if i < SHOWN_BAD:
                self._reporters["terminal"].notice(line)
        if bad:
            more = "; log.txt names every one" if len(bad) > SHOWN_BAD else ""
            self.notice(f"Left out: {len(bad)}{more}")

    def epoch(self, report: EpochReport) -> None:
        for file in ("metrics", "tensorboard"):
            self._reporters[file].iteration(report)
        self.notice(report.line())
        for line in warnings(report.metrics, report.rates):
            self.notice(line)

    def ticker(self, label: str, total: int) -> Ticker:
        return Ticker(self._stream, label, total)

    def close(self) -> None:
        self._forward("close")
