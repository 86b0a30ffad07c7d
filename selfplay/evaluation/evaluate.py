"""Two frozen players against each other: how strong A is against B, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfplay.evaluation.named_players import check_games
from selfplay.games.objective import EQUAL, Kind, Objective, PaidByScore, decimals
from selfplay.league.payoffs import leads_of, payoff_interval, sprt_of_payoffs
from selfplay.league.ratings import elo_of_score
from selfplay.league.rewards import BY_WINS
from selfplay.league.scale import interval_text
from selfplay.league.schedule import Matchup
from selfplay.league.sprt import SprtBounds, SprtResult, sprt
from selfplay.league.statistics import mean_error, score_interval
from selfplay.runner.match import Contender, MatchResult, Rules, play, stats_of
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.games.rated import Conditions

BLOCK = 100  # games side by side
REWARDS = ("reward", "reward_error", "by_wins")  # fields that only games with a sum of rewards have
BY_SCORE = ("elo", "elo_low", "elo_high")  # fields that only games judged by their outcome have
OF_ONE = ("superiority", "sprt", "llr", "llr_low", "llr_high", "sprt_elo", "games_needed")
LEAD = ("lead", "lead_low", "lead_high")
"""Fields that say which player is stronger, and by how much; games with a shared reward have none."""


@dataclass(frozen=True, slots=True)
class Paid:
    """How a game that is judged by payoffs paid A and B; what A got is ``Evaluation.reward``."""

    objective: Kind  # "reward" or "shared"
    unit: str  # of payoffs, plural
    reward_b: float  # mean payoff of B
    lead: float  # of A: half the difference of the payoffs, in zero-sum games its payoff
    lead_low: float  # ends of its 95% interval
    lead_high: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A against B. ``score`` is A's share: a win 1, a draw 0.5; ``low`` and ``high`` its 95% interval.

    In games that are judged by payoffs (``paid``) likelihood and test are those of the lead, see ``Paid``. They say
    nothing of a shared payoff.
    """

    games: int
    counted: int  # games of which the interval, the likelihood and the test are: fewer where all games repeat
    wins: int
    losses: int
    draws: int
    score: float
    low: float
    high: float
    figures: Mapping[str, Any]  # the game's own, such as means of both players; see ``Conditions.figures``
    reward: float | None  # mean payoff of A; None: the game does not count rewards, as below
    reward_error: float | None  # half width of its 95% interval
    by_wins: bool | None  # wins count, although games of one score paid differently, which random play did not show
    elo: float | None  # Elo difference of A to B; None where the score is too high or too low, or does not count
    elo_low: float | None  # ends of its 95% interval, None where it is open
    elo_high: float | None
    superiority: float  # likelihood that A is the stronger one
    sprt: str  # "accepted": A is stronger, "rejected": it is not, "open": more games are needed
    llr: float  # log-likelihood ratio of that test, and the bounds at which it ends
    llr_low: float
    llr_high: float
    sprt_elo: tuple[float, float]  # differences in Elo that the test tells apart, see ``sprt_of_payoffs``
    games_needed: int | None  # more games that would settle an open test if they went like these
    paid: Paid | None = None  # None: the game is judged by its outcome

    def document(self) -> dict[str, Any]:
        """As JSON, with the game's own figures among the others, without what the game does not have."""
        found: dict[str, Any] = {}
        for name, value in asdict(self).items():
            found |= (value or {}) if name in ("figures", "paid") else {name: value}
        absent: tuple[str, ...] = REWARDS if self.reward is None else ()
        if self.paid is not None:
            absent = (*BY_SCORE, *OF_ONE, *LEAD) if self.paid.objective == "shared" else BY_SCORE
        return {name: value for name, value in found.items() if name not in absent}

    def rewards(self) -> str | None:
        """The mean reward of A in words, and that it does not count; None if it counts or the score says as much."""
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
        if self.paid is not None and self.paid.objective == "shared":
            return f"{a} with {b}: {self._shared(self.paid)}; both get it, so neither is the stronger one."
        gap = self.lead(a, b) or self._gap()
        sure = f"likelihood of being stronger {self.superiority:.1%}"
        return f"{a} against {b}: {gap}, {sure}; {self._test(a)}."

    def _shared(self, paid: Paid) -> str:
        """The mean payoff of the pair."""
        mean, error = self.reward or 0.0, self.reward_error or 0.0
        form = f"z.{decimals(mean - error, mean + error)}f"
        return f"{mean:{form}} {paid.unit} a game (95% interval {mean - error:{form}} to {mean + error:{form}})"

    def lead(self, a: str, b: str) -> str | None:
        """The lead of A in words, with both payoffs if the game is not zero-sum; None if the outcome counts."""
        if (paid := self.paid) is None:
            return None
        form = f"+z.{decimals(paid.lead_low, paid.lead_high)}f"
        low, high = f"{paid.lead_low:{form}}", f"{paid.lead_high:{form}}"
        found = f"{paid.lead:{form}} {paid.unit} a game (95% interval {low} to {high})"
        mean = self.reward or 0.0
        if abs(mean + paid.reward_b) <= EQUAL:
            return found
        return f"{found}, half the difference of {mean:{form}} for {a} and {paid.reward_b:{form}} for {b}"

    def _gap(self) -> str:
        """The difference in Elo."""
        if self.elo is not None:
            return f"{self.elo:+.0f} Elo (95% interval {interval_text((self.elo_low, self.elo_high), '+.0f')})"
        won, how_many = self.score > 0.5, "every game" if self.score in (0.0, 1.0) else "nearly every game"
        return f"{'won' if won else 'lost'} {how_many}: the difference has no {'upper' if won else 'lower'} end"

    def _test(self, a: str) -> str:
        """The sequential test."""
        more = "" if self.games_needed is None else f", about {self.games_needed} more games like these would settle it"
        least, most = self.sprt_elo
        elo = "Elo" if self.paid is None else "normalised Elo"
        found = {
            "accepted": f"settled, {a} is {f'more than {least:g} {elo} ' if least else ''}stronger",
            "rejected": f"settled, {a} is not {most:g} {elo} stronger",
        }.get(self.sprt, f"not settled{more}")
        return f"sequential test of {least:g} against {most:g} {elo}: {found}"


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
    ordered, points = _of_a(results, rules.conditions)
    seeds = np.array([matchup.seed for matchup in matchups])[:counted]
    bounds, objective = bounds or SprtBounds(), rules.objective
    share, paid = score_interval(points[:counted], seeds), None
    payoffs = ordered["reward_payoff"] if "reward_payoff" in (ordered.dtype.names or ()) else None
    rewards = dict.fromkeys(REWARDS) if payoffs is None else _rewards(payoffs, points, seeds, objective)
    if payoffs is not None and objective.by_payoff:
        paid, sure, test = _paid(payoffs[:counted], seeds, objective, bounds)
    else:
        sure, test = share.superiority, sprt(points[:counted], seeds, bounds)
    needed = test.pairs_needed if counted == games else None
    elo = [elo_of_score(each) if paid is None else None for each in (share.score, share.low, share.high)]
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
        elo=elo[0],
        elo_low=elo[1],
        elo_high=elo[2],
        superiority=sure,
        sprt=test.state,
        llr=test.llr,
        llr_low=test.low,
        llr_high=test.high,
        sprt_elo=(bounds.elo0, bounds.elo1),
        games_needed=None if needed is None else needed * each,
        paid=paid,
    )


def _of_a(results: Sequence[MatchResult], conditions: Conditions) -> tuple[NDArray[np.void], NDArray[np.float64]]:
    """Counters of A and B [G, 2], and scores of A [G]."""
    seats = np.array([(0, 1) if each.matchup.players[0] == "A" else (1, 0) for each in results])
    ordered = np.take_along_axis(stats_of(results), seats, 1)
    scores = np.array([each.score[seat] for each, seat in zip(results, seats[:, 0].tolist(), strict=True)])
    return ordered, conditions.scores(ordered, scores)


def _rewards(
    payoffs: NDArray[np.float64], points: NDArray[np.float64], seeds: NDArray[np.uint64], objective: Objective
) -> dict[str, Any]:
    """The ``REWARDS`` of A, from the payoffs of A and B [G, 2] and the scores of A [G]; ``seeds`` of those counted."""
    by_score = PaidByScore()
    for (mine, others), score in zip(payoffs.tolist(), points.tolist(), strict=True):
        by_score.add_game(score, (mine, others))
    mine = payoffs[: len(seeds), 0]
    if objective.by_payoff:  # equal payoffs have an error, too
        own = payoff_interval(mine, seeds)
        error = own.high - own.mean
    else:
        error = mean_error(mine, seeds)
    return {
        "reward": float(mine.mean()),
        "reward_error": error,
        "by_wins": by_score.differ and objective.measured and not objective.by_payoff,
    }


def _paid(
    payoffs: NDArray[np.float64], seeds: NDArray[np.uint64], objective: Objective, bounds: SprtBounds
) -> tuple[Paid, float, SprtResult]:
    """What was paid A and B [G, 2], the likelihood that A is stronger, and the sequential test of that."""
    leads = leads_of(payoffs)
    lead = payoff_interval(leads, seeds)
    others = float(payoffs[:, 1].mean())
    paid = Paid(objective.kind, objective.unit, others, lead.mean, lead.low, lead.high)
    return paid, lead.superiority, sprt_of_payoffs(leads, seeds, bounds)
