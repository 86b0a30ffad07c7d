"""What imitation must know of a game beyond its description, see ``GameKind.imitation``. Imports no torch."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.imitation.recorded_games import RecordedGames
from selfplay.imitation.settings import IMITATION

if TYPE_CHECKING:
    from selfplay.config.program import Program
    from selfplay.games.kind import GameKind
    from selfplay.imitation.recordings import Recordings
    from selfplay.imitation.settings import ImitationConfig
    from selfplay.learner.imitation_metrics import ImitationMetrics, Pair


@dataclass(frozen=True, slots=True)
class Home:
    """What a policy that learns from some recorded games is made for."""

    body: Mapping[str, Any]  # of its file
    described: Mapping[str, Any]  # what its file says of the games beside their number and hash
    named: str  # flags by which commands find its game
    played: str  # flags with which self-play goes on in the games that it knows


@dataclass(frozen=True, slots=True)
class Rate:
    """How often the policy and the player do something, for the reports."""

    tag: str  # of the metrics
    label: str  # of the table
    predicted: float
    played: float
    sentence: str = ""  # of the player, for a warning if the policy hardly does it; "": none


@dataclass(frozen=True, slots=True)
class Imitation:
    """How players of recorded games are imitated."""

    program: Program[Any]
    check: Callable[[Path], object]  # of the place of the games; ConfigError where none can be
    open: Callable[[Any, Path], Recordings]  # for a configuration, and the folder of the policies
    home: Callable[[Any, Sequence[Any]], Home]  # for a configuration, and the games to learn from
    emphasis: Callable[[Any], tuple[float, float]] = lambda _: (0.5, 20.0)  # for a configuration, see ``Emphasis.of``
    pairs: Mapping[str, Pair] = field(default_factory=dict)  # parts of an action that are reported together
    rates: Callable[[ImitationMetrics], Sequence[Rate]] = lambda _: ()


def _home(config: ImitationConfig, games: Sequence[object]) -> Home:
    named = f" --game-type {shlex.quote(config.data.game)}"
    return Home({}, {}, named, named)


PLAIN: Final = Imitation(
    program=IMITATION,
    check=lambda _: None,
    open=lambda config, _: RecordedGames(
        Path(config.data.replays or ""), config.data.game, config.data.player, config.data.max_files
    ),
    home=_home,
)
"""The imitation of a game without a hook of its own: its games are the lines of a file."""


def imitation_of(game: GameKind) -> Imitation:
    return PLAIN if game.imitation is None else game.imitation()
