"""Rating dialogue games: who is compared with whom, in which place, and with which partner.

Where both seats are paid the same, the two players of a fixture take turns in one seat of one state with the same
partner in the other: one of themselves, or a scripted player that plays with a will (``random`` does not). In other
games they sit opposite each other. Each fixture has both seats.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from envs.dialogue.registry import PLAYERS_VERSION
from selfplay.checkpoint.models import weights_of
from selfplay.config.dialogue import DialogueConfig
from selfplay.config.dialogue_rules import game_of, is_embedded
from selfplay.errors import IncompatibleError, boundary
from selfplay.league.records import ANCHOR, settings_hash
from selfplay.league.rewards import RatedPlayer, RewardRecord
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.writer import LocalWriter
from selfplay.runner.dialogue import GameSpec as Game
from selfplay.runner.dialogue import Played, play_games
from selfplay.seeding import derive
from selfplay.train.dialogue.players import reopen, sampling_of

if TYPE_CHECKING:
    from pydantic import JsonValue

    from envs.dialogue.contract import DialogueEntry, Rules
    from selfplay.checkpoint import RunDir
    from selfplay.league.schedule import Matchup
    from selfplay.runner.dialogue import Player

SMALL: Final = 64
"""Embedded models that are in memory at once."""
LARGE: Final = 3
"""Of others: two players and their partner."""


@dataclass(frozen=True, slots=True)
class DialogueRating:
    """What rating games of a run are played under (``Rated``)."""

    game: str
    entry: DialogueEntry
    rules: Rules
    sampling: Sampling
    seed: int

    @property
    def games_each(self) -> int:
        """Comparisons of a fixture: one in each seat."""
        return 2

    @property
    def anchors(self) -> tuple[str, ...]:
        """Scripted players."""
        return tuple(self.entry.players)

    @property
    def described(self) -> dict[str, JsonValue]:
        """Everything that makes comparisons comparable."""
        return {
            "game": self.game,
            "rules": asdict(self.rules),
            "players": PLAYERS_VERSION,
            "max_new_tokens": self.sampling.max_new_tokens,
        }

    @property
    def settings(self) -> str:
        """Its hash."""
        return settings_hash(self.described)

    @property
    def group(self) -> str:
        """What rows of the ledger are rated together."""
        return f"{self.settings}/stochastic"

    def partner(self, fixture: Matchup) -> str | None:
        """Who sits opposite both players of a fixture; None: they sit opposite each other."""
        if not self.entry.shared_reward:
            return None
        pool = [*fixture.players, *(name for name in self.anchors if name != ANCHOR)]
        return pool[derive(fixture.seed, "partner") % len(pool)]


def rating_of(config: DialogueConfig) -> DialogueRating:
    """How rating games of a run are played: at temperature 1, from the whole distribution."""
    return make_rating(config, *game_of(config), sampling_of(config))


def make_rating(config: DialogueConfig, entry: DialogueEntry, rules: Rules, sampling: Sampling) -> DialogueRating:
    """The same where game, rules and sampling are known."""
    whole = Sampling(max_new_tokens=sampling.max_new_tokens)
    return DialogueRating(config.game.type, entry, rules, whole, config.run.seed)


def dialogue_config(run: RunDir) -> DialogueConfig:
    """How a run of words was started.

    Raises:
        SelfPlayError: by a version with other settings.
    """
    with boundary(IncompatibleError, f"{run.path}: its configuration cannot be used"):
        return DialogueConfig.model_validate(run.read_run()["config"])


class Contenders:
    """Frozen players of a run by name: generations, whose models are read when they play, and scripted ones.

    Args:
        config: Of the run.
        run: Its folder.
        device: Where models play.
    """

    def __init__(self, config: DialogueConfig, run: RunDir, device: str) -> None:
        self._config = config
        self._run = run
        self._device = device
        self._rating = rating_of(config)
        self.together = SMALL if is_embedded(config) else LARGE

    def side(self, name: str) -> RatedPlayer:
        """For the ledger."""
        if name in self._rating.anchors:
            return RatedPlayer(player=name, version=f"scripted-{PLAYERS_VERSION}")
        return RatedPlayer(player=name, version=weights_of(self._run.generations / name))

    def player(self, name: str) -> Player:
        """Who writes. Blocks where a model has to be read."""
        if name in self._rating.anchors:
            return partial(self._rating.entry.players[name], self._rating.rules)
        model = reopen(self._config, str(self._run.generations / name), self._device)
        return LocalWriter(model, self._rating.sampling)


def play_dialogues(
    fixtures: Sequence[Matchup],
    contenders: Contenders,
    rating: DialogueRating,
    iteration: int,
    stop: Callable[[], bool] = lambda: False,
) -> list[RewardRecord]:
    """Play fixtures and write down what was paid; those of games that were lost are left out. Blocks."""
    found = []
    for part in _parts(fixtures, rating, contenders.together):
        names = sorted({name for fixture in part for name in _names(fixture, rating)})
        sides = {name: contenders.side(name) for name in names}
        players = {name: contenders.player(name) for name in names}
        places = [_Place(fixture, seat, rating) for fixture in part for seat in range(2)]
        games = [game for place in places for game in place.games(players)]
        results = {game.game_id: game for game in play_games(games, stop) if isinstance(game, Played)}
        for place in places:
            played = [results[one] for one in place.ids if one in results]
            if len(played) == len(place.ids):
                found.append(place.record(sides, played, iteration))
        if stop():
            break
    return found


class _Place:
    """A seat of a fixture, and the games that it takes."""

    def __init__(self, fixture: Matchup, seat: int, rating: DialogueRating) -> None:
        self._rating = rating
        self._seed = fixture.seed
        self._seat = seat
        # Each is first once: whether the first does better than the second then says nothing about who they are.
        self._two = fixture.players if seat == 0 else fixture.players[::-1]
        self._partner = rating.partner(fixture)
        self._place = 0 if self._partner is None else seat
        name = f"{'-'.join(self._two)}-{fixture.seed}-{seat}"
        self.ids = (name,) if self._partner is None else (f"{name}-0", f"{name}-1")

    def games(self, players: dict[str, Player]) -> list[Game]:
        """One with both, or one of each with the partner. Games of one state and seat share their luck's seed."""
        entry, rules = self._rating.entry, self._rating.rules
        (state,) = entry.states(rules, [self._seed])
        seatings = [self._two]
        if self._partner is not None:
            seatings = [self._seated(name, self._partner) for name in self._two]
        seed = derive(self._seed, "rated", self._seat)
        return [
            Game(0, name, entry.start(rules, state), seed, (players[seating[0]], players[seating[1]]))
            for name, seating in zip(self.ids, seatings, strict=True)
        ]

    def record(self, sides: dict[str, RatedPlayer], played: Sequence[Played], iteration: int) -> RewardRecord:
        """What came of it."""
        first, last = played[0], played[-1]
        rewards = first.verdict.rewards
        if self._partner is not None:
            rewards = (first.verdict.rewards[self._seat], last.verdict.rewards[self._seat])
        return RewardRecord.played(
            seats=(sides[self._two[0]], sides[self._two[1]]),
            partner=None if self._partner is None else sides[self._partner],
            seat=self._place,
            seed=self._seed,
            settings=self._rating.settings,
            rewards=rewards,
            reasons=(first.verdict.reason, last.verdict.reason),
            sampling="stochastic",
            iteration=iteration,
            wall=time.time(),
        )

    def _seated(self, name: str, partner: str) -> tuple[str, str]:
        return (name, partner) if self._seat == 0 else (partner, name)


def _names(fixture: Matchup, rating: DialogueRating) -> set[str]:
    partner = rating.partner(fixture)
    return {*fixture.players} | (set() if partner is None else {partner})


def _parts(fixtures: Sequence[Matchup], rating: DialogueRating, most: int) -> Iterator[list[Matchup]]:
    """Neighbouring fixtures that need no more than so many models at once, which are read once for each part."""
    part: list[Matchup] = []
    names: set[str] = set()
    for fixture in sorted(fixtures, key=lambda one: one.players) if most < SMALL else fixtures:
        needed = names | (_names(fixture, rating) - set(rating.anchors))
        if part and len(needed) > most:
            yield part
            part, needed = [], _names(fixture, rating) - set(rating.anchors)
        part.append(fixture)
        names = needed
    if part:
        yield part
