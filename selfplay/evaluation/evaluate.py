"""Two frozen players against each other: how strong A is against B, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfplay.evaluation.named_players import check_games
from selfplay.games.objective import PaidByScore
from selfplay.league.ratings import elo_of_score
from selfplay.league.rewards import BY_WINS
from selfplay.league.scale import interval_text
from selfplay.league.schedule import Matchup
from selfplay.league.sprt import SprtBounds, sprt
from selfplay.league.statistics import mean_error, score_interval
from selfplay.runner.match import Contender, MatchResult, Rules, play, stats_of
from selfplay.seeding import derive

BLOCK = 100  # games side by side
REWARDS = ("reward", "reward_error", "by_wins")  # fields that only games with a sum of rewards have


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A against B. ``score`` is A's share: a win 1, a draw 0.5; ``low`` and ``high`` its 95% interval."""

    games: int
    counted: int  # games of which the interval, the likelihood and the test are: fewer where all games repeat
    wins: int
    losses: int
    draws: int
    score: float
    low: float
    high: float
    figures: Mapping[str, Any]  # the game's own, such as means of both players; see ``Conditions.figures``
    reward: float | None  # mean sum of rewards of A; None: the game does not count them, as below
    reward_error: float | None  # half width of its 95% interval
    by_wins: bool | None  # games of one score paid differently: the score does not tell the rewards
    elo: float | None  # Elo difference of A to B; None where the score is too high or too low for one
    elo_low: float | None  # ends of its 95% interval, None where it is open
    elo_high: float | None
    superiority: float  # likelihood that A is the stronger one
    sprt: str  # "accepted": A is stronger, "rejected": it is not, "open": more games are needed
    llr: float  # log-likelihood ratio of that test, and the bounds at which it ends
    llr_low: float
    llr_high: float
    sprt_elo: tuple[float, float]  # differences in Elo that the test tells apart
    games_needed: int | None  # more games that would settle an open test if they went like these

    def document(self) -> dict[str, Any]:
        """As JSON, with the game's own figures among the others, and without rewards that it does not count."""
        found: dict[str, Any] = {}
        for name, value in asdict(self).items():
            found |= value if name == "figures" else {name: value}
        return {name: value for name, value in found.items() if self.reward is not None or name not in REWARDS}

    def rewards(self) -> str | None:
        """The mean reward of A in words, and that it does not count; None where the score says as much."""
        if not self.by_wins or self.reward is None or self.reward_error is None:
            return None
        low, high = self.reward - self.reward_error, self.reward + self.reward_error
        return f"mean reward {self.reward:+.3f} (95% interval {low:+.3f} to {high:+.3f}); {BY_WINS}"

    def repeats(self) -> str | None:
        """In words, that all games with the same seats were the same; None if they were not."""
        if self.counted == self.games:
            return None
        return (
            "games with the same seats were all the same: more of them tell nothing new, and intervals, likelihood and "
            f"test count each of the {self.counted} different games once"
        )

    def verdict(self, a: str, b: str) -> str:
        if self.elo is None:
            won, how_many = self.score > 0.5, "every game" if self.score in (0.0, 1.0) else "nearly every game"
            gap = f"{'won' if won else 'lost'} {how_many}: the difference has no {'upper' if won else 'lower'} end"
        else:
            gap = f"{self.elo:+.0f} Elo (95% interval {interval_text((self.elo_low, self.elo_high), '+.0f')})"
        sure = f"likelihood of being stronger {self.superiority:.1%}"
        more = "" if self.games_needed is None else f", about {self.games_needed} more games like these would settle it"
        least, most = self.sprt_elo
        found = {
            "accepted": f"settled, {a} is {f'more than {least:g} Elo ' if least else ''}stronger",
            "rejected": f"settled, {a} is not {most:g} Elo stronger",
        }.get(self.sprt, f"not settled{more}")
        return f"{a} against {b}: {gap}, {sure}; sequential test of {least:g} against {most:g} Elo: {found}."


def _played(
    matchups: Sequence[Matchup],
    players: Mapping[str, Contender],
    rules: Rules,
    each: int,
    progress: Callable[[int, int], object],
) -> tuple[list[MatchResult], bool]:
    """The results, and whether all games with one of the ``each`` seatings were the same, which is not chance."""
    drawn = not rules.greedy and any(player.policy is not None for player in players.values())
    results: list[MatchResult] = []
    repeats, different = not drawn, set()
    for start in range(0, len(matchups), BLOCK):
        results += play(matchups[start : start + BLOCK], players, rules, traced=repeats)
        if repeats:
            different |= {(game.matchup.players, game.matchup.roles, game.trace) for game in results[start:]}
            repeats = len(different) <= each
        progress(len(results), len(matchups))
    return results, repeats


def evaluate(
    a: Contender,
    b: Contender,
    games: int,
    rules: Rules,
    seed: int = 0,
    bounds: SprtBounds | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Evaluation:
    """Play ``games`` games, every seed from both seats and with all assignments of roles. Blocks.

    A number that does not allow that is rounded up; below two it is a ConfigError.

    ``progress`` is called with the games played and ``games``, now and then.
    """
    check_games(games)
    roles = rules.conditions.roles
    each = 2 * len(roles)
    rounds = -(-games // each)
    games = rounds * each
    matchups = [
        game for i in range(rounds) for game in Matchup(("A", "B"), seed=derive(seed, "evaluate", i)).games(roles)
    ]
    players = {"A": a, "B": b}
    results, repeats = _played(matchups, players, rules, each, progress)
    counted = each if repeats and games >= 2 * each else games
    flipped = np.array([(0, 1) if matchup.players[0] == "A" else (1, 0) for matchup in matchups])  # seats of A and B
    ordered = np.take_along_axis(stats_of(results), flipped, 1)
    scores = np.array([result.score[seats[0]] for result, seats in zip(results, flipped.tolist(), strict=True)])
    points = rules.conditions.scores(ordered, scores)
    seeds = np.array([matchup.seed for matchup in matchups])
    bounds = bounds or SprtBounds()
    share, test = score_interval(points[:counted], seeds[:counted]), sprt(points[:counted], seeds[:counted], bounds)
    needed = test.pairs_needed if counted == games else None
    rewards: dict[str, Any] = dict.fromkeys(REWARDS)
    if "reward_payoff" in (ordered.dtype.names or ()):
        rewards = _rewards(ordered["reward_payoff"], points, seeds, counted)
    return Evaluation(
        games=games,
        counted=counted,
        wins=int((points == 1.0).sum()),
        losses=int((points == 0.0).sum()),
        draws=int((points == 0.5).sum()),
        score=float(points.mean()),
        low=share.low,
        high=share.high,
        figures=rules.conditions.figures(ordered),
        **rewards,
        elo=elo_of_score(share.score),
        elo_low=elo_of_score(share.low),
        elo_high=elo_of_score(share.high),
        superiority=share.superiority,
        sprt=test.state,
        llr=test.llr,
        llr_low=test.low,
        llr_high=test.high,
        sprt_elo=(bounds.elo0, bounds.elo1),
        games_needed=None if needed is None else needed * each,
    )


def _rewards(
    payoffs: NDArray[np.float64], points: NDArray[np.float64], seeds: NDArray[np.uint64], counted: int
) -> dict[str, Any]:
    """The ``REWARDS`` of A, from the payoffs of A and B [G, 2] and the scores of A [G]."""
    by_score = PaidByScore()
    for (mine, others), score in zip(payoffs.tolist(), points.tolist(), strict=True):
        by_score.add_game(score, (mine, others))
    mine = payoffs[:counted, 0]
    return {
        "reward": float(mine.mean()),
        "reward_error": mean_error(mine, seeds[:counted]),
        "by_wins": by_score.differ,
    }
