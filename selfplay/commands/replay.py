"""Replays rated games: the same players with the same seed; all counts must equal those in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from selfplay.commands.players import contender
from selfplay.commands.watch import recorded
from selfplay.errors import ConfigError, IncompatibleError, SelfPlayError
from selfplay.league.ledger import read_records
from selfplay.league.schedule import Matchup
from selfplay.runner.match import Contender, play
from selfplay.train.fighting.rating import config_of, settings_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from envs.melee.drawing.film import Film
    from selfplay.checkpoint import RunDir
    from selfplay.league.records import MatchRecord
    from selfplay.league.rewards import RewardRecord

BECAUSE: Final = "it was played by an earlier version, or the network's sums are rounded otherwise here"


class Replayer:
    """Plays games of a run's ledger again. Loads each player once."""

    def __init__(self, run: RunDir) -> None:
        """Raise IncompatibleError where the run's settings cannot be read by this version, or its games were real."""
        self._run = run
        config = config_of(run)
        self.entry = config.game.entry
        if self.entry.real_time:
            raise IncompatibleError("games in an emulator do not follow from their seed; --save-replays keeps them")
        if not self.entry.repeats:
            raise IncompatibleError(f"games of {config.game.type} do not follow from their seed")
        self.settings = settings_of(config)
        self._players: dict[str, Contender] = {}

    def film(self, game: MatchRecord) -> Film:
        """The film of a game that was rated. Blocks.

        Raises:
            IncompatibleError: it cannot be played again as it was; says why.
        """
        players, rules = self.players_of(game), self.settings.rules
        first, second = game.seats
        matchup = Matchup((first.player, second.player), (first.character, second.character), game.seed)
        # without pictures first, which take longer than the game
        _compare(game, play([matchup], players, rules)[0].stats)
        film, stats = recorded(matchup, players, rules, f"rated game {game.match}", matchup.players)
        _compare(game, stats)
        return film

    def players_of(self, game: MatchRecord | RewardRecord) -> dict[str, Contender]:
        """The players of a game.

        Raises:
            IncompatibleError: they, or the settings, are not those of then.
        """
        if game.settings != self.settings.settings:
            raise IncompatibleError(
                f"it was played under the settings {game.settings}; this version plays those of the run as "
                f"{self.settings.settings} (other rules of the game, or other scripted players)"
            )
        rules = self.settings.rules
        players = {seat.player: self._player(seat.player) for seat in game.seats}
        for seat in game.seats:
            if rules.traits(players[seat.player]).version != seat.version:
                raise IncompatibleError(f"{seat.player} is not the one that played: its weights were replaced since")
        if (game.sampling == "greedy") != rules.greedy:
            raise IncompatibleError(f"its actions were {game.sampling}, which the run's rating games are not")
        return players

    def _player(self, name: str) -> Contender:
        if name not in self._players:
            try:
                self._players[name] = contender(name, self._run, self.settings.rules.game)
            except SelfPlayError as error:
                raise IncompatibleError(f"{name} cannot be loaded any more: {error}") from error
        return self._players[name]


def _compare(game: MatchRecord, stats: NDArray[np.void]) -> None:
    found = (tuple(int(s["stocks"]) for s in stats), tuple(float(s["percent"]) for s in stats), int(stats[0]["frames"]))
    if found != (game.stocks, game.percents, game.frames):
        (one, other), _, frames = found
        raise IncompatibleError(
            f"played again it ends {one}-{other} after {frames:,} frames, not {game.stocks[0]}-{game.stocks[1]} after "
            f"{game.frames:,}: {BECAUSE}"
        )


def rated_game(run: RunDir, match: str) -> MatchRecord:
    """The game in the run's ledger with this match id, or the only one whose id starts with it.

    Raises:
        ConfigError: there is none, or several.
        LeagueError: the ledger cannot be read.
    """
    if not run.ledger.is_file():
        raise ConfigError(f"{run.path} has no rating games; train it with --track-elo")
    found = [game for game in read_records(run.ledger) if game.match.startswith(match)] if match else []
    exact = [game for game in found if game.match == match]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        raise ConfigError(f"{run.ledger} has no game {match!r}")
    ids = ", ".join(game.match for game in found[:4])
    raise ConfigError(f"{match!r} is the start of {len(found)} games: {ids}{', ...' if len(found) > 4 else ''}")
