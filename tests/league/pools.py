"""Made-up players, records and pools with known strengths."""

from collections.abc import Iterable

import numpy as np

from selfplay.league.games import GameTable
from selfplay.league.ratings import ELO
from selfplay.league.records import MatchRecord, MatchSeat


def seat(player: str, **changes: object) -> MatchSeat:
    fields = {"player": player, "version": "v1", "character": "mewtwo", "frame_skip": 4, "delay": 0, **changes}
    return MatchSeat.model_validate(fields)


def record(first: str, second: str, stocks: tuple[int, int] = (2, 0), seed: int = 0, **changes: object) -> MatchRecord:
    """A game between two players, won by the first unless said otherwise."""
    fields: dict[str, object] = {
        "stage": "final_destination",
        "stocks": stocks,
        "percents": (50.0, 50.0),
        "frames": 3000,
        "ended": "stocks",
        "damage": (400.0, 300.0),
        "self_destructs": (0, 1),
        "sampling": "stochastic",
        "iteration": 3,
        "wall": 1.7e9,
        "settings": "abc",
        **changes,
    }
    seats = tuple(player if isinstance(player, MatchSeat) else seat(player) for player in (first, second))
    return MatchRecord.played(seats=seats, seed=seed, **fields)


def series(results: Iterable[tuple[str, str, str]]) -> list[MatchRecord]:
    """Records of ``(first, second, "win" | "loss" | "draw")`` of the first, each on its own seed."""
    stocks = {"win": (2, 0), "loss": (0, 2), "draw": (1, 1)}
    return [record(a, b, stocks[result], seed=number) for number, (a, b, result) in enumerate(results)]


def tournament(
    strengths: dict[str, float],
    pairs: Iterable[tuple[str, str]],
    rounds: int,
    rng: np.random.Generator,
    draws: float = 0.0,
    luck: float = 0.0,
) -> GameTable:
    """Seat-swapped pairs of games between players of known Elo.

    Args:
        strengths: Elo by player.
        pairs: who meets whom.
        rounds: seeds of each pair; two games a seed.
        rng: the chance.
        draws: share of draws between equals; the expected score stays what Elo says.
        luck: in [0, 1]: share of seeds of which the same player wins both games. Leaves expected scores alone too.
    """
    names = list(strengths)
    meetings = [(names.index(a), names.index(b)) for a, b in pairs]
    home, away = np.repeat(np.array(meetings, dtype=np.int64), rounds, axis=0).T
    elo = np.array(list(strengths.values()))
    p = 1.0 / (1.0 + np.exp((elo[away] - elo[home]) / ELO))
    half = draws * np.minimum(p, 1.0 - p)
    shared, again = rng.random((2, len(home)))
    again = np.where(rng.random(len(home)) < luck, shared, again)
    lead = np.concatenate([np.where(u < p - half, 1, np.where(u < p + half, 0, -1)) for u in (shared, again)])
    lead[len(home) :] *= -1  # the seats of the second game are swapped
    seats = np.concatenate([np.stack([home, away], 1), np.stack([away, home], 1)])
    count = len(seats)
    return GameTable(
        players=tuple(names),
        groups=("abc/stochastic",),
        seats=seats,
        versions=np.zeros((count, 2), dtype=np.int64),
        stocks=np.stack([np.maximum(lead, 0), np.maximum(-lead, 0)], 1).astype(np.int64),
        percents=np.zeros((count, 2)),
        pairs=np.tile(np.arange(len(home)), 2),
        group=np.zeros(count, dtype=np.int64),
        finished=np.ones(count, dtype=np.bool_),
    )
