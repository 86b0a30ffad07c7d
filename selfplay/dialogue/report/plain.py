"""The report of one iteration of dialogue self-play, and its reporters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field
from rich.text import Text

from selfplay.report.dashboard import HISTORY, LiveView, Parts, bar, sparkline
from selfplay.report.listing import Listing
from selfplay.report.metrics import TrainingReport, rated_now
from selfplay.report.plain import PlainReporter, duration
from selfplay.update_metrics import Count

SHOWN: Final = 4  # opponents in a line of the log


class DialogueReport(TrainingReport):
    """One iteration of a dialogue run, whose steps are turns."""

    games: Count  # finished in this iteration
    total_games: Count
    turns: Count
    tokens: Count  # sampled
    reward: float  # mean of the learner's seats
    seat_rewards: tuple[float, float]  # of the learner
    agreement: float  # share of the games
    refused: float  # refused replies a game
    endings: dict[str, Count]  # reason -> games
    lost: Count  # games that failed, in the whole run
    rows: Count  # rows used in training
    zero_variance: float  # share of groups in which all rewards are equal
    update: dict[str, float]  # of ``GRPOStatistics``
    # opponent -> games, the learner's reward; without mirror games
    opponents: dict[str, tuple[Count, float]] = Field(default_factory=dict)
    shared: bool = True  # both seats share one reward
    frozen: bool = False  # a server samples that never gets new weights

    @property
    def seconds(self) -> float:
        return max(sum(self.phase_s.values()), 1e-9)

    @property
    def games_per_s(self) -> float:
        return self.games / self.seconds

    @property
    def remaining_s(self) -> float | None:
        """Estimated seconds to the end; None if the run has no limit."""
        return self.elapsed_s * (1.0 - self.done) / self.done if self.done > 0.0 else None

    def flat(self) -> dict[str, float]:
        collecting = max(self.phase_s.get("collect", 0.0), 1e-9)
        games = max(self.games, 1)
        return {
            "play/reward": self.reward,
            "play/reward_seat_0": self.seat_rewards[0],
            "play/reward_seat_1": self.seat_rewards[1],
            "play/agreement": self.agreement,
            "play/refused": self.refused,
            "play/turns": self.turns / games,
            "play/tokens": self.tokens / games,
            "play/lost": self.lost,
            **({"play/frozen": 1.0} if self.frozen else {}),
            **self._against(),
            **{f"endings/{reason}": count / games for reason, count in self.endings.items()},
            **{f"losses/{name}": value for name, value in self.update.items()},
            "losses/zero_variance": self.zero_variance,
            "charts/rows": self.rows,
            "charts/games_per_s": self.games_per_s,
            "charts/games_per_s_collecting": self.games / collecting,
            "charts/tokens_per_s": self.tokens / collecting,
            "charts/games": self.total_games,
            "charts/restarts": self.restarts,
            **({} if self.tasks is None else {"runners/tasks": self.tasks}),
            **rated_now(self.rating, self.iteration),
            **{f"time/{name}": value for name, value in self.phase_s.items()},
        }

    def _against(self) -> dict[str, float]:
        """Share of the games against other players, and the reward in those; empty without any."""
        games = sum(count for count, _ in self.opponents.values())
        if not games:
            return {}
        reward = sum(count * reward for count, reward in self.opponents.values()) / games
        return {"play/against_others": games / max(self.games, 1), "play/reward_against_others": reward}

    def lines(self) -> tuple[str, str]:
        games = max(self.games, 1)
        of = f"/{self.iterations}" if self.iterations else ""
        agreed = f"agreed {self.agreement:.1%}, " if self.shared else ""
        played = (
            f"Iter {self.iteration}{of}: {self.games} games, {self.turns} turns ({self.total_steps} total steps): "
            f"reward {self.reward:.3f}, {agreed}refused {self.refused:.3f} a game, "
            f"{self.turns / games:.1f} turns, {self.tokens / games:.0f} tokens"
        )
        if self.opponents:
            shown = [f"{name} {reward:+.3f}" for name, (_, reward) in [*self.opponents.items()][:SHOWN]]
            played += f"; against {', '.join(shown)}{', ...' if len(self.opponents) > SHOWN else ''}"
        start = f", kl to start={self.update['kl']:.4f}" if self.update["kl"] > 0 else ""
        learned = (
            f"  GRPO update: loss={self.update['loss']:.4f}, entropy={self.update['entropy']:.3f}, "
            f"approx_kl={self.update['approx_kl']:.4f}{start}, clipped={self.update['clip_fraction']:.1%}, "
            f"groups of one reward {self.zero_variance:.0%}; {self.games_per_s:,.0f} games/s"
        )
        if self.rating is not None:
            learned += f", {self.rating}"
        if self.remaining_s is not None:
            learned += f", ETA {duration(self.remaining_s)}"
        return played, learned


class DialogueLines(PlainReporter):
    """Writes plain lines, for terminals and logs."""

    def iteration(self, report: Any) -> None:  # noqa: ANN401
        for line in report.lines():
            self.notice(line)

    def rated(self, report: Any) -> None: ...  # noqa: ANN401


class DialogueDashboard(LiveView):
    """Metrics of the last iteration and of the learner, and the remaining time."""

    def iteration(self, report: DialogueReport) -> None:
        reward = report.reward if report.shared else report.seat_rewards[0]
        self._trend = (*self._trend, reward)[-HISTORY:]
        super().iteration(report)

    def _parts(self, report: DialogueReport, since: float) -> Parts:
        left = None if report.remaining_s is None else report.remaining_s - since
        of = "" if report.iterations is None else f" of {report.iterations:,}"
        where = f"Iteration {report.iteration:,}{of}, {report.total_games:,} games, {report.total_steps:,} turns"
        tables = (_play(report, self._trend), _learner(report), _endings(report))
        return bar(report.done, left, where, f"{report.games_per_s:,.0f} games/s"), tables, _warnings(report)


def _play(report: DialogueReport, rewards: Sequence[float]) -> Listing:
    games = max(report.games, 1)
    rows = (
        ("trend", sparkline(rewards)),
        *([("reward", f"{report.reward:.3f}"), ("agreed", f"{report.agreement:.1%}")] if report.shared else ()),
        ("seat 0, seat 1", f"{report.seat_rewards[0]:+.3f}, {report.seat_rewards[1]:+.3f}"),
        ("refused a game", f"{report.refused:.3f}"),
        ("turns", f"{report.turns / games:.1f}"),
        ("tokens", f"{report.tokens / games:.0f}"),
    )
    return Listing(("Play",), rows)


def _learner(report: DialogueReport) -> Listing:
    update = report.update
    rows = [
        ("loss", f"{update['loss']:.4f}"),
        ("entropy", f"{update['entropy']:.3f}"),
        ("approx. KL", f"{update['approx_kl']:.4f}"),
        ("KL to start", f"{update['kl']:.4f}"),
        ("clipped", f"{update['clip_fraction']:.1%}"),
        ("one reward", f"{report.zero_variance:.0%} of groups"),
        ("gradient norm", f"{update['grad_norm']:.2f}"),
    ]
    return Listing(("Learner",), tuple(row for row in rows if row[0] != "KL to start" or update["kl"] > 0))


def _endings(report: DialogueReport) -> Listing:
    games = max(report.games, 1)
    ordered = sorted(report.endings.items(), key=lambda item: -item[1])
    return Listing(("Endings",), tuple((reason, f"{count / games:.1%}") for reason, count in ordered))


def _warnings(report: DialogueReport) -> list[Text]:
    found = []
    if report.restarts or report.lost:
        found.append(Text(f"Runner restarts {report.restarts}, games lost {report.lost}.", style="yellow"))
    if report.update["skipped"]:
        found.append(Text(f"{report.update['skipped']:.0f} steps skipped.", style="red"))
    return found
