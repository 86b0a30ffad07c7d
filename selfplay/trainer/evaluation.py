"""Two frozen players against each other: how strong A is against B, with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from selfplay.errors import ConfigError
from selfplay.league.ratings import elo_of_score
from selfplay.league.records import ResultRule, scores
from selfplay.league.schedule import Fixture
from selfplay.league.share import score_share
from selfplay.league.sprt import Bounds, sprt
from selfplay.runner.match import Contender, Pairing, Rules, play
from selfplay.seeding import derive

BLOCK = 100  # games side by side


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A against B. ``score`` is A's share: a win 1, a draw 0.5; ``low`` and ``high`` its 95% interval."""

    games: int
    wins: int
    losses: int
    draws: int
    score: float
    low: float
    high: float
    by_stocks: float | None  # share of A's wins that came with more stocks; None without a win
    seconds: float  # of game time, mean
    damage: tuple[float, float]  # dealt by A and by B, percent a game
    self_destructs: tuple[float, float]  # stocks a game
    elo: float | None  # how much stronger A is; None after a perfect score
    elo_low: float | None  # ends of its 95% interval, None where it is open
    elo_high: float | None
    superiority: float  # likelihood that A is the stronger one
    sprt: str  # "accepted": A is stronger, "rejected": it is not, "open": more games are needed
    llr: float  # log-likelihood ratio of that test, and the bounds at which it ends
    llr_low: float
    llr_high: float
    games_needed: int | None  # more games that would settle an open test if they went like these

    def verdict(self, a: str, b: str) -> str:
        """One sentence about who is stronger, and how sure that is."""
        if self.elo is None:
            ends = "won" if self.score == 1.0 else "lost"
            gap = f"{ends} every game: the difference has no upper end"
        else:
            low = "..." if self.elo_low is None else f"{self.elo_low:+.0f}"
            high = "..." if self.elo_high is None else f"{self.elo_high:+.0f}"
            gap = f"{self.elo:+.0f} Elo (95% interval {low} to {high})"
        sure = f"likelihood of being stronger {self.superiority:.1%}"
        if self.sprt == "accepted":
            return f"{a} is stronger than {b}: {gap}, {sure}."
        if self.sprt == "rejected":
            return f"{a} is not stronger than {b}: {gap}, {sure}."
        more = "" if self.games_needed is None else f"; about {self.games_needed} more games like these would settle it"
        return f"Not settled whether {a} is stronger than {b}: {gap}, {sure}{more}."


def evaluate(
    a: Contender,
    b: Contender,
    games: int,
    characters: tuple[str, str],
    rules: Rules,
    seed: int = 0,
    rule: ResultRule = "stocks_percent",
    bounds: Bounds | None = None,
) -> Evaluation:
    """Play ``games`` games, every seed from both seats (and with two characters, both ways round). Blocks.

    Raises:
        ConfigError: fewer than two games.
    """
    if games < 2:
        raise ConfigError(f"--games {games}: at least 2 are needed, one from each seat")
    mine, other = characters
    seatings = Fixture("A", "B", 0).seatings(mine, other)
    rounds = -(-games // len(seatings))
    pairings = [
        Pairing(seating.players, seating.characters, derive(seed, "evaluate", i))
        for i in range(rounds)
        for seating in seatings
    ][:games]
    players = {"A": a, "B": b}
    parts = [play(pairings[i : i + BLOCK], players, rules) for i in range(0, len(pairings), BLOCK)]
    stats = np.concatenate(parts)
    first = np.array([pairing.players[0] == "A" for pairing in pairings])
    flipped = np.where(first[:, None], np.arange(2), np.arange(2)[::-1])  # column of A, column of B
    ordered = np.take_along_axis(stats, flipped, 1)
    points = scores(ordered["stocks"], ordered["percent"], rule)
    seeds = np.array([pairing.seed for pairing in pairings])
    share, test = score_share(points, seeds), sprt(points, seeds, bounds)
    needed = test.pairs_needed
    won = points == 1.0
    more = ordered["stocks"][:, 0] > ordered["stocks"][:, 1]
    mean = {name: ordered[name].mean(0) for name in ("damage", "self_destructs")}
    return Evaluation(
        games=len(pairings),
        wins=int(won.sum()),
        losses=int((points == 0.0).sum()),
        draws=int((points == 0.5).sum()),
        score=share.score,
        low=share.low,
        high=share.high,
        by_stocks=float(more[won].mean()) if won.any() else None,
        seconds=float(stats["frames"][:, 0].mean()) / 60.0,
        damage=(float(mean["damage"][0]), float(mean["damage"][1])),
        self_destructs=(float(mean["self_destructs"][0]), float(mean["self_destructs"][1])),
        elo=elo_of_score(share.score),
        elo_low=elo_of_score(share.low),
        elo_high=elo_of_score(share.high),
        superiority=test.superiority,
        sprt=test.state,
        llr=test.llr,
        llr_low=test.low,
        llr_high=test.high,
        games_needed=None if needed is None else needed * len(seatings),
    )
