"""Made-up players, records and pools with known strengths."""

from collections.abc import Iterable

import numpy as np

from selfplay.games.objective import Kind, Objective
from selfplay.league.games import GameTable
from selfplay.league.records import GameRecord, Seat
from selfplay.league.scale import ELO


def seat(player: str, version: str = "v1") -> Seat:
    return Seat(player=player, version=version)


def record(
    first: str | Seat,
    second: str | Seat,
    stocks: tuple[int, int] = (2, 0),
    seed: int = 0,
    *,
    percents: tuple[float, float] = (50.0, 50.0),
    finished: bool = True,
    characters: tuple[str, str] = ("mewtwo", "mewtwo"),
    **changes: object,
) -> GameRecord:
    """A fight of two players, won by the first unless said otherwise."""
    mine, other = (stocks[0], -percents[0]), (stocks[1], -percents[1])
    facts = {
        "stage": "final_destination",
        "characters": characters,
        "stocks": stocks,
        "percents": percents,
        "damage": (400.0, 300.0),
        "self_destructs": (0, 1),
        "finished": finished,
    }
    fields: dict[str, object] = {
        "game": "mock",
        "score": 0.5 if mine == other else float(mine > other),
        "steps": 3000,
        "facts": {name: list(fact) if isinstance(fact, tuple) else fact for name, fact in facts.items()},
        "sampling": "stochastic",
        "iteration": 3,
        "wall": 1.7e9,
        "settings": "abc",
        **changes,
    }
    one, two = (player if isinstance(player, Seat) else seat(player) for player in (first, second))
    return GameRecord.played(seats=(one, two), place=characters, seed=seed, **fields)


def series(results: Iterable[tuple[str, str, str]]) -> list[GameRecord]:
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
        scores=(lead + 1) / 2,
        pairs=np.tile(np.arange(len(home)), 2),
        group=np.zeros(count, dtype=np.int64),
        finished=np.ones(count, dtype=np.bool_),
    )


def payoff_tournament(
    ratings: dict[str, float],
    pairs: Iterable[tuple[str, str]],
    rounds: int,
    rng: np.random.Generator,
    kind: Kind = "reward",
    noise: float = 4.0,
    seat: float = 0.0,
) -> GameTable:
    """Seat-swapped pairs of games that are played for chips, between players of known ratings.

    Args:
        ratings: Chips a game by player.
        pairs: who meets whom.
        rounds: seeds of each pair; two games a seed.
        rng: the chance.
        kind: of the objective.
        noise: standard deviation of a game.
        seat: chips that the first seat wins from an equal player.
    """
    names = list(ratings)
    meetings = [(names.index(a), names.index(b)) for a, b in pairs]
    home, away = np.repeat(np.array(meetings, dtype=np.int64), rounds, axis=0).T
    seats = np.concatenate([np.stack([home, away], 1), np.stack([away, home], 1)])
    first, second = np.array(list(ratings.values()))[seats].T
    luck = noise * rng.normal(size=len(seats))
    if kind == "shared":
        payoff = (first + second) / 2.0 + luck
        payoffs = np.stack([payoff, payoff], 1)
    else:
        lead = first - second + seat + luck
        payoffs = np.stack([lead, -lead], 1)
    return GameTable(
        players=tuple(names),
        groups=("abc/stochastic",),
        seats=seats,
        versions=np.zeros((len(seats), 2), dtype=np.int64),
        scores=(np.sign(payoffs[:, 0] - payoffs[:, 1]) + 1.0) / 2.0,
        pairs=np.tile(np.arange(len(home)), 2),
        group=np.zeros(len(seats), dtype=np.int64),
        objectives=(Objective(kind, unit="chips"),),
        payoffs=payoffs,
    )
