"""Which ratings predict payoffs of pairs that have not met; writes docs/data/payoff_ratings.json.

All generations and scripted players of a RUN of a game that is played for payoffs play all pairs. Again and again some
pairs are held out, drawn at random; three kinds of ratings are fitted to half of the seeds of the others, and the other
half shows how far their predictions are from the mean payoffs of the pairs that were held out:

- ``additive``: the project's ratings, least squares on payoffs;
- ``signs``: Elo of wins, draws and losses, with the payoff of a point that fits best;
- ``logistic``: Bradley-Terry of payoffs divided by the largest one.

With 500 seeds about two minutes on one core for twelve players of Leduc poker.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scripts.studies import ROOT
from scripts.studies.command_line import Command, tell_error
from scripts.studies.pages import machine_here, this_command, write_json
from selfplay.checkpoint import RunDir, list_generations
from selfplay.cli.parser import add_own_code
from selfplay.commands.rate import BATCH, ON_ALL_CORES
from selfplay.errors import ConfigError
from selfplay.evaluation.players import contender
from selfplay.league.games import GameTable
from selfplay.league.ratings import rate
from selfplay.league.schedule import Matchup
from selfplay.league.statistics import mean_error
from selfplay.ppo.rating import config_of, play_matchups, settings_of
from selfplay.seeding import derive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from selfplay.league.games import Bools, Floats, Ints

DOCUMENT: Final = ROOT / "docs" / "data" / "payoff_ratings.json"
HELD_OUT: Final = 0.2  # share of the pairs in each split


def play_all(run: RunDir, seeds: int, seed: int) -> GameTable:
    """Games of all pairs of players of a run, two a seed. Blocks."""
    settings = settings_of(config_of(run))
    if settings.rules.objective.kind != "reward":
        raise ConfigError(f"{run.path}: players of {settings.rules.game} do not play each other for payoffs")
    players = [*(generation.id for generation in list_generations(run)), *settings.anchors]
    everyone = {name: contender(name, run, settings.rules.game) for name in players}
    pairs = list(itertools.combinations(players, 2))
    matchups = [Matchup(pair, seed=derive(seed, "payoffs", *pair, i)) for i in range(seeds) for pair in pairs]
    records = []
    for start in range(0, len(matchups), BATCH):
        records += play_matchups(matchups[start : start + BATCH], everyone, settings, 0, play=ON_ALL_CORES)
        tell_error(f"{len(records):,} of {2 * len(matchups):,} games")
    return GameTable.of(records)


def leads_of(games: GameTable) -> Floats:
    """[N] half the difference of the payoffs of the two seats."""
    if games.leads is None:
        raise ConfigError("these games are played to win")
    return games.leads


def pairs_of(games: GameTable) -> tuple[Ints, Ints, Floats]:
    """Players [P, 2] of each pair, the pair [N] of each game, and the lead [N] of the first player of the pair."""
    leads, low = leads_of(games), games.seats.min(axis=1)
    pairs, which = np.unique(np.sort(games.seats, axis=1), axis=0, return_inverse=True)
    return pairs, which.ravel(), np.where(games.seats[:, 0] == low, leads, -leads)


def additive(games: GameTable) -> Floats:
    """[n, n] expected payoff of the row's player against the column's, by ratings of payoffs."""
    ratings = rate(games)
    return _in_order(ratings.scale.result(ratings.expected), ratings.players, games.players)


def signs(games: GameTable) -> Floats:
    """The same by Elo, with the payoff of a point that fits these games best."""
    ratings = rate(replace(games, objectives=(), payoffs=None))
    score = _in_order(ratings.expected, ratings.players, games.players) - 0.5
    lead, points = leads_of(games), score[games.seats[:, 0], games.seats[:, 1]]
    return score * float(points @ lead) / max(float(points @ points), 1e-12)


def logistic(games: GameTable) -> Floats:
    """The same by Bradley-Terry of payoffs between 0 and 1."""
    leads = leads_of(games)
    most = float(np.abs(leads).max())
    ratings = rate(replace(games, objectives=(), payoffs=None, scores=0.5 + leads / (2.0 * most)))
    return 2.0 * most * (_in_order(ratings.expected, ratings.players, games.players) - 0.5)


MODELS: Final[Mapping[str, Callable[[GameTable], Floats]]] = {
    "additive": additive,
    "signs": signs,
    "logistic": logistic,
}


def _in_order(table: Floats, players: tuple[str, ...], wanted: tuple[str, ...]) -> Floats:
    where = [players.index(name) for name in wanted]
    return table[np.ix_(where, where)]


def measure(games: GameTable, splits: int, rng: np.random.Generator) -> dict[str, Any]:
    """Errors of the predictions over random splits of the pairs, in payoffs a game.

    ``error`` is the root mean square of predicted less measured means. Of that, ``sampling`` is what measured means
    have by chance. ``order`` is the share of pairs, of those with a measured winner beyond chance, with the right one.
    """
    pairs, which, lead = pairs_of(games)
    seeds = np.unique(games.pairs, return_inverse=True)[1].ravel()
    square, right, sampling, decided, used = dict.fromkeys(MODELS, 0.0), dict.fromkeys(MODELS, 0), 0.0, 0, 0
    for _ in range(splits):
        held = rng.random(len(pairs)) < HELD_OUT
        train = (rng.random(seeds.max() + 1) < 0.5)[seeds]
        fitted = games.subset(train & ~held[which])
        if len(np.unique(fitted.seats)) < len(games.players):
            continue  # a player without games has no rating
        predicted = {name: model(fitted) for name, model in MODELS.items()}
        for pair in np.flatnonzero(held):
            mean, error = _mean(lead, games.pairs, ~train & (which == pair))
            sampling, used = sampling + error**2, used + 1
            sure = abs(mean) > 1.96 * error
            decided += sure
            for name, table in predicted.items():
                found = float(table[tuple(pairs[pair])])
                square[name] += (found - mean) ** 2
                right[name] += bool(sure and found * mean > 0)
    return {
        "splits": splits,
        "pairs": used,
        "sampling": round(float(np.sqrt(sampling / used)), 4),
        **{
            name: {"error": round(float(np.sqrt(square[name] / used)), 4), "order": round(right[name] / decided, 4)}
            for name in MODELS
        },
    }


def _mean(lead: Floats, pairs: Ints, chosen: Bools) -> tuple[float, float]:
    """Mean payoff of these games, and its standard error."""
    return float(lead[chosen].mean()), mean_error(lead[chosen], pairs[chosen]) / 1.96


def document(options: argparse.Namespace) -> dict[str, Any]:
    run = RunDir(options.run)
    games = play_all(run, options.games // 2, options.seed)
    rng = np.random.default_rng(derive(options.seed, "splits"))
    pairs, which, lead = pairs_of(games)
    means = [
        [*(games.players[i] for i in pair), *(round(x, 4) for x in _mean(lead, games.pairs, which == number))]
        for number, pair in enumerate(pairs.tolist())
    ]
    return {
        "command": this_command("payoff_ratings", ["--write"]),
        **machine_here(),
        "seed": options.seed,
        "game": config_of(run).game.type,
        "unit": games.objective.unit,
        "games_a_pair": 2 * (options.games // 2),
        **measure(games, options.splits, rng),
        "means": means,  # first, second, mean payoff of the first, standard error
    }


def main() -> int:
    """Run the command; the exit code."""
    command = Command("payoff_ratings", __doc__)
    command.add_argument("run", type=Path, metavar="RUN", help="folder of a run")
    command.add_argument("--games", type=int, default=1000, metavar="N", help="of each pair (default: %(default)s)")
    command.add_argument("--splits", type=int, default=50, metavar="N", help="of the pairs (default: %(default)s)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of games and splits (default: %(default)s)")
    command.add_argument("--write", action="store_true", help="put the figures into docs/data")
    add_own_code(command)
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    if options.games < 8:
        raise ConfigError(f"--games {options.games}: at least 8 are needed")
    made = document(options)
    for name in MODELS:
        print(f"{name}: error {made[name]['error']:.3f} {made['unit']} a game, order {made[name]['order']:.0%}")
    print(f"sampling error of the measured means: {made['sampling']:.3f}")
    if options.write:
        write_json(DOCUMENT, made)


if __name__ == "__main__":
    sys.exit(main())
