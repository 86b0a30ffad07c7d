"""Rating games of dialogue games.

With a shared reward, the two players of a matchup play the same state in the same seat with the same partner: one of
themselves, or a scripted player other than ``random``. In other games they play each other. Each matchup has two
comparisons, one per seat. Rewards count, and not only which one is higher.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from selfplay.dialogue.language.conversation import Writer
from selfplay.dialogue.opponents import EMPTY, LARGE, SMALL, Opponents, Roster
from selfplay.dialogue.players import reopen, sampling_of
from selfplay.dialogue.rules import game_of, is_embedded
from selfplay.dialogue.runner import GameSpec, Played, play_games
from selfplay.errors import ServerError
from selfplay.games.objective import Objective
from selfplay.league.records import ANCHOR, START, GameRecord, Seat, settings_hash
from selfplay.league.rewards import score_of
from selfplay.learner.sampling import Sampling
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import RunDir
    from selfplay.dialogue.contract import DialogueEntry, Rules
    from selfplay.dialogue.language.chat import Chat
    from selfplay.dialogue.runner import Player
    from selfplay.dialogue.settings import DialogueConfig
    from selfplay.league.schedule import Matchup

OBJECTIVE: Final = Objective("reward")


@dataclass(frozen=True, slots=True)
class DialogueRating:
    """Conditions of the rating games of a run (``RatingConditions``)."""

    game: str
    entry: DialogueEntry
    rules: Rules
    sampling: Sampling
    seed: int
    opponents: tuple[str, ...] = ()  # models and servers of ``--opponent``

    @property
    def games_each(self) -> int:
        """Comparisons per matchup: one in each seat."""
        return 2

    @property
    def scripted(self) -> tuple[str, ...]:
        return tuple(self.entry.players)

    @property
    def anchors(self) -> tuple[str, ...]:
        return (*self.scripted, *self.opponents)

    @property
    def described(self) -> dict[str, JsonValue]:
        """Settings that rows of one rating must share."""
        return {
            "game": self.game,
            "rules": asdict(self.rules),
            "players": self.entry.players_version,
            **self.entry.versions,
            "max_new_tokens": self.sampling.max_new_tokens,
            **OBJECTIVE.described(),
        }

    @property
    def settings(self) -> str:
        """Hash of them."""
        return settings_hash(self.described)

    @property
    def group(self) -> str:
        """Key of the rows of the ledger that are rated together."""
        return f"{self.settings}/stochastic"

    def partner(self, matchup: Matchup) -> str | None:
        """The partner of both players of a matchup; None: they play each other."""
        if not self.entry.shared_reward:
            return None
        pool = [*matchup.players, *(name for name in self.scripted if name != ANCHOR)]
        return pool[derive(matchup.seed, "partner") % len(pool)]


def rating_of(config: DialogueConfig, opponents: tuple[str, ...] = ()) -> DialogueRating:
    """Settings of a run's rating games: sampled at temperature 1, without top-p."""
    entry, rules = game_of(config)
    sampling = Sampling(max_new_tokens=sampling_of(config).max_new_tokens)
    return DialogueRating(config.game.type, entry, rules, sampling, config.run.seed, opponents)


class FrozenPlayers:
    """Players of a run by name: generations and those of ``--opponent``, loaded on demand, and scripted players.

    ``chat`` writes the messages for servers; None: that of the first generation. ``ending`` is of ``RemoteWriter``.
    """

    def __init__(
        self,
        config: DialogueConfig,
        run: RunDir,
        device: str,
        roster: Roster = EMPTY,
        chat: Chat | None = None,
        ending: Callable[[], bool] = lambda: False,
    ) -> None:
        self.rating = rating = rating_of(config, roster.names)
        self.max_models = SMALL if is_embedded(config) else LARGE

        def any_chat() -> Chat:
            return chat or reopen(config, str(run.generations / START), device).chat

        self._opponents = Opponents(
            config, run, device, rating.entry, rating.rules, roster, rating.sampling, any_chat, ending
        )

    def side(self, name: str) -> Seat:
        return self._opponents.side(name)

    def player(self, name: str) -> Player:
        """A player for games. Blocks while a model is loaded."""
        self._opponents.load([name])
        return self._opponents.player(name)


def play_dialogues(
    matchups: Sequence[Matchup], frozen: FrozenPlayers, iteration: int, stop: Callable[[], bool] = lambda: False
) -> list[GameRecord]:
    """Play matchups; comparisons with lost games are left out, as are all of a part whose server is lost. Blocks."""
    rating, found = frozen.rating, list[GameRecord]()
    for part in _parts(matchups, rating, frozen.max_models):
        names = sorted({name for matchup in part for name in _names(matchup, rating)})
        sides = {name: frozen.side(name) for name in names}
        players = {name: frozen.player(name) for name in names}
        comparisons = [_Comparison(matchup, seat, rating) for matchup in part for seat in range(2)]
        games = [game for comparison in comparisons for game in comparison.games(players)]
        try:
            results = {game.game_id: game for game in play_games(games, stop) if isinstance(game, Played)}
        except ServerError:  # training ends by it; elsewhere the other players are still rated
            continue
        finally:
            _release(players)
        for comparison in comparisons:
            played = [results[one] for one in comparison.ids if one in results]
            if len(played) == len(comparison.ids):
                found.append(comparison.record(sides, played, iteration))
        if stop():
            break
    return found


class _Comparison:
    """The comparison of a matchup's players in one seat, and its games."""

    def __init__(self, matchup: Matchup, seat: int, rating: DialogueRating) -> None:
        self._rating = rating
        self._seed = matchup.seed
        self._seat = seat
        # Each player is first in one of the two seats, so that an advantage of the first one cancels out.
        self._players = matchup.players if seat == 0 else matchup.players[::-1]
        self._partner = rating.partner(matchup)
        name = f"{'-'.join(self._players)}-{matchup.seed}-{seat}"
        self.ids = (name,) if self._partner is None else (f"{name}-0", f"{name}-1")

    def games(self, players: dict[str, Player]) -> list[GameSpec]:
        """One game of both players, or one of each with the partner; all have the same seed."""
        entry, rules = self._rating.entry, self._rating.rules
        (state,) = entry.states(rules, [self._seed])
        seatings = [self._players]
        if self._partner is not None:
            pairs = ((name, self._partner) for name in self._players)
            seatings = [pair if self._seat == 0 else pair[::-1] for pair in pairs]
        seed = derive(self._seed, "rated", self._seat)
        return [
            GameSpec(0, name, entry.start(rules, state), seed, (players[seating[0]], players[seating[1]]))
            for name, seating in zip(self.ids, seatings, strict=True)
        ]

    def record(self, sides: dict[str, Seat], played: Sequence[Played], iteration: int) -> GameRecord:
        first, last = played[0].outcome, played[-1].outcome
        partner, seat, rewards = None, 0, first.rewards
        if self._partner is not None:
            partner, seat = sides[self._partner], self._seat
            rewards = (first.rewards[seat], last.rewards[seat])
        return GameRecord.played(
            game=self._rating.game,
            seats=(sides[self._players[0]], sides[self._players[1]]),
            place=(partner, seat),
            seed=self._seed,
            settings=self._rating.settings,
            score=score_of(rewards),
            rewards=rewards,
            objective=OBJECTIVE.kind,
            unit=OBJECTIVE.unit,
            facts={
                "partner": None if partner is None else partner.model_dump(),
                "seat": seat,
                "reasons": [first.reason, last.reason],
            },
            sampling="stochastic",
            iteration=iteration,
            wall=time.time(),
        )


def _release(players: dict[str, Player]) -> None:
    """Close the connections of players, and free their models before others are loaded."""
    for player in players.values():
        if isinstance(player, Writer):
            player.disconnect()
    players.clear()


def _names(matchup: Matchup, rating: DialogueRating) -> set[str]:
    partner = rating.partner(matchup)
    return {*matchup.players} | (set() if partner is None else {partner})


def _parts(matchups: Sequence[Matchup], rating: DialogueRating, most: int) -> Iterator[list[Matchup]]:
    """Split matchups into parts that need at most ``most`` models each."""
    part: list[Matchup] = []
    names: set[str] = set()
    for matchup in sorted(matchups, key=lambda one: one.players) if most < SMALL else matchups:
        needed = names | (_names(matchup, rating) - set(rating.scripted))
        if part and len(needed) > most:
            yield part
            part, needed = [], _names(matchup, rating) - set(rating.scripted)
        part.append(matchup)
        names = needed
    if part:
        yield part
