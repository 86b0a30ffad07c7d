"""What a game adds to the settings of its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from selfplay.games.registry import find_game

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta
    from selfplay.config.base import Group
    from selfplay.config.options import Flag
    from selfplay.config.presets import Presets

Notice = Callable[[str], object]


def _as_it_is(config: Any, _: Notice) -> Any:  # noqa: ANN401
    return config


@dataclass(frozen=True, slots=True)
class GameSettings:
    """Settings that only a game has, and what follows from them; see ``GameKind.settings``.

    The functions get the whole configuration of a run, a ``selfplay.config.ppo.Config`` with the groups below.
    """

    groups: Mapping[str, type[Group]] = field(default_factory=dict)
    """By name; one with the name of a group of the trainer extends that class."""
    flags: Mapping[str, Sequence[Flag]] = field(default_factory=dict)  # by section of the help
    presets: Presets = field(default_factory=dict)  # beside those of the trainer
    help: str = ""  # a line below the flags
    check: Callable[[Any], None] = lambda _: None  # raises ConfigError for names that do not exist
    check_given: Callable[[Any, Mapping[str, object]], None] = lambda *_: None
    """Raises ConfigError for settings that do not go together, with what the user gave, by dotted name."""
    complete: Callable[[Any, Notice], Any] = _as_it_is  # each call of the trainer: absolute paths; may block
    draw: Callable[[Any], Any] = lambda config: config  # a new run: what is chosen by its seed
    options: Callable[[Any], dict[str, Any]] = lambda _: {}
    """Options of ``GameKind.make`` for training games, beside their number; JSON-able."""
    unlike: Callable[[Any, PolicyMeta], str | None] = lambda *_: None
    """How the policy that a run starts from was made for something else; the end of a sentence about it."""
    outsider: Callable[[Any], str | None] = lambda _: None
    """Id of the player of the other seat if it is none of the run's players."""


PLAIN = GameSettings()


@cache
def game_settings(game: str) -> GameSettings:
    """What a game adds; errors as of ``find_game``."""
    made = find_game(game).settings
    found: GameSettings = PLAIN if made is None else made()
    return found
