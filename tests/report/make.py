"""Reports for tests."""

from selfplay.league.rows import Beaten
from selfplay.league.scale import Scale
from selfplay.report.metrics import IterationReport, Pace, Play, RatingReport, ScoreAgainst
from selfplay.update_metrics import UpdateMetrics

UPDATE = UpdateMetrics(
    policy_loss=0.0456,
    value_loss=0.0789,
    loss=0.1234,
    entropy=0.0123,
    approx_kl=0.01,
    clip_fraction=0.125,
    explained_variance=0.5,
    grad_norm=0.4,
    learning_rate=3e-4,
)
PACE = Pace(
    games=4,
    minutes=8.0,
    rates={"finished": 0.25, "stocks_per_minute": 0.75, "damage_per_minute": 40.0, "seconds_without_hit": 21.0},
)
PLAY = Play(
    episodes=10,
    return_mean=1.5,
    episode_length=1800.0,
    decisive_share=0.9,
    draws=1,
    win_rate={"random": 0.75},
    reward_terms={"damage": 0.5},
    pace={"mirror": PACE},
)

SCORES = tuple(
    ScoreAgainst(player=player, games=games, score=score, low=low, high=high)
    for player, games, score, low, high in (
        ("all_rounder", 16, 0.0, 0.0, 0.17), ("rusher", 24, 0.61, 0.43, 0.79), ("walker", 16, 0.97, 0.79, 1.0)
    )
)  # fmt: skip


def finished(share):
    """``PACE`` with another share of finished games."""
    return PACE.model_copy(update={"rates": {**PACE.rates, "finished": share}})


def rating(iteration=3, elo=1555.0):
    """Made after this iteration, with an interval of 300 Elo."""
    return RatingReport(
        generation=f"gen_{iteration}", rating=elo, ends=(elo - 150, elo + 150),
        iteration=iteration, elapsed_s=4.0 * iteration,
        beats=Beaten(player="walker", games=16, score=0.97), scores=SCORES,
    )  # fmt: skip


def payoff_rating(iteration=3):
    """Of a game that is played for chips."""
    scores = (
        ScoreAgainst(player="raiser", games=16, score=0.65, low=0.1, high=1.2),
        ScoreAgainst(player="caller", games=24, score=-0.8, low=-1.0, high=-0.6),
    )
    return RatingReport(
        generation=f"gen_{iteration}", rating=0.645, ends=(0.31, 0.98), iteration=iteration, elapsed_s=4.0 * iteration,
        scale=Scale(objective="reward", unit="chips a game", origin=0.0, step=2.0),
        beats=Beaten(player="raiser", games=16, score=0.38, payoff=0.65), scores=scores,
    )  # fmt: skip


def report(iteration=1, **changes):
    """Iteration number ``iteration`` of ten of 1024 steps, 4 s each: 1 collecting, 2 learning, 1 rating."""
    fields = {
        "iteration": iteration,
        "iterations": 10,
        "steps": 1024,
        "total_steps": 1024 * iteration,
        "timesteps": 10240,
        "experiences": 2048,
        "phase_s": {"collect": 1.0, "update": 2.0, "rate": 1.0, "save": 0.0},
        "elapsed_s": 4.0 * iteration,
        "update": UPDATE,
        "play": PLAY,
        "opponents": {"random": 4, "current": 6},
    }
    return IterationReport(**{**fields, **changes})


class Recorder:
    """A reporter that remembers; with ``fail_on`` it raises when that notice comes."""

    def __init__(self, fail_on=None):
        self.calls = []
        self.fail_on = fail_on

    def header(self, lines):
        self.calls.append(("header", tuple(lines)))

    def notice(self, text):
        if text == self.fail_on:
            raise OSError(text)
        self.calls.append(("notice", text))

    def iteration(self, report):
        self.calls.append(("iteration", report.iteration))

    def rated(self, report):
        self.calls.append(("rated", report.iteration))

    def leaderboard(self, text):
        self.calls.append(("leaderboard", text))

    def close(self):
        self.calls.append(("close",))
