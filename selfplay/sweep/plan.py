"""What a sweep will train, checked before the first run: the game, every setting, and the rules of its games."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.config.base import Mark
from selfplay.config.options import marked
from selfplay.config.ppo import config_type
from selfplay.config.program import flatten
from selfplay.config.programs import check_game, invoke_ppo, ppo_program
from selfplay.config.resolve import resolve_ppo
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.games.errors import GameError
from selfplay.games.kind import GameKind
from selfplay.games.plugins import is_code, spelling
from selfplay.games.registry import find_kind
from selfplay.sweep.optuna_search import check_optuna
from selfplay.sweep.settings import Grid, Halving, OptunaSearch, RandomSearch
from selfplay.sweep.space import Space, Values, space_of

if TYPE_CHECKING:
    from selfplay.config.ppo import Config
    from selfplay.config.program import Invocation
    from selfplay.games.rated import Conditions
    from selfplay.sweep.settings import SweepSettings

OWN_KEYS: Final[Mapping[str, str]] = {
    "game.type": "game_type",
    "run.timesteps": "timesteps",
    "run.max_minutes": "minutes",
    "run.seed": "seeds",
    "run.checkpoint": "--folder",
}
"""Settings that a sweep gives itself, and what names them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep that can be run."""

    asked: SweepSettings
    game: str
    space: Space
    first: tuple[Values, ...]  # the settings that it begins with
    conditions: Conditions  # of the games that judge
    remembers: bool  # a policy of it may have a memory

    @property
    def own_code(self) -> list[str]:
        """What the file names that may be code of the user's own: the game, and networks."""
        networks = {**self.space.fixed, **self.space.swept}.get("net.backbone", ())
        return [self.game, *(networks if isinstance(networks, tuple) else [str(networks)])]

    def given(self, values: Values, seed: int, share: float) -> Values:
        """All settings of a cell's run of a share of the full length, by dotted name."""
        return given(self.asked, self.space, values, seed, share)

    def named_again(self, given: Values) -> Values:
        """The settings that a resumed run must be given again: its length, and what it starts or imports."""
        started = marked(config_type(self.game), Mark.STARTS_PROGRAM, Mark.JOINS_CLUSTER)
        names = {"run.timesteps", "run.max_minutes", *started}
        own = {name: value for name, value in given.items() if name == "net.backbone" and is_code(str(value))}
        return own | {name: value for name, value in given.items() if name in names}


def given(asked: SweepSettings, space: Space, values: Values, seed: int, share: float = 1.0) -> Values:
    length: Values = (
        {"run.max_minutes": share * asked.minutes}
        if asked.minutes is not None
        else {"run.timesteps": max(1, round(share * (asked.timesteps or 1)))}
    )
    return {**space.fixed, **values, **length, "run.seed": seed}


def plan_of(asked: SweepSettings, place: Path) -> Plan:
    """The plan of the file ``place``.

    Raises:
        ConfigError: names what cannot be, and what is valid.
        GameError: the game cannot be used.
    """
    game = _game(asked, place)
    space = space_of(_settings(asked, game, place), f"{place}: [settings]")
    first, checked = _first(asked, space, place)
    calls = [(values, _call(asked, game, space, values, place)) for values in checked]
    from selfplay.ppo.pretrained import (
        with_pretrained,  # here: it loads torch, for seconds; mistakes above are found without
    )

    configs = []
    for values, call in calls:
        with _naming(values, place):
            configs.append(with_pretrained(call.config, call.explicit))
    conditions = configs[0].game.body.conditions
    if any(config.game.body.conditions != conditions for config in configs):
        raise ConfigError(f"{place}: [settings] changes what games are played under, so that cells cannot be compared")
    remembers = any(config.net.remembers or config.net.is_own for config in configs)
    return Plan(asked, game, space, tuple(first), conditions, remembers)


def _game(asked: SweepSettings, place: Path) -> str:
    check_game(asked.game_type)
    game = spelling(asked.game_type)
    kind = find_kind(game)
    if not isinstance(kind, GameKind):
        raise ConfigError(f"{place}: game_type {game} is a text game: sweeps are of the other games")
    if kind.real_time:
        raise ConfigError(f"{place}: game_type {game} is played in real time: sweep it in the {kind.compared_in}")
    if kind.objective.kind == "shared":
        raise ConfigError(
            f"{place}: players of game_type {game} share a reward, so no game shows which of two is better"
        )
    return game


def _settings(asked: SweepSettings, game: str, place: Path) -> dict[str, Any]:
    found = flatten(ppo_program(game), asked.settings, f"{place}: [settings]")
    if own := OWN_KEYS.keys() & found.keys():
        name = min(own)
        raise ConfigError(f"{place}: [settings] {name}: it is given by {OWN_KEYS[name]}")
    return found


def _first(asked: SweepSettings, space: Space, place: Path) -> tuple[list[Values], Iterable[Values]]:
    """The settings that the method begins with, and those that are checked."""
    match asked.method:
        case OptunaSearch():
            check_optuna()
            return [], space.corners()
        case RandomSearch(samples=int(samples), seed=seed) | Halving(samples=int(samples), seed=seed):
            found = space.sample(samples, seed)
        case Grid() | Halving():
            if space.ranges:
                raise ConfigError(
                    f"{place}: [settings] {space.ranges[0]} is a range, which needs samples: method random, halving "
                    "or optuna"
                )
            found = space.grid()
    return found, found


def _call(asked: SweepSettings, game: str, space: Space, values: Values, place: Path) -> Invocation[Config]:
    explicit: dict[str, Any] = {"game.type": game, **given(asked, space, values, asked.seeds[0])}
    with _naming(values, place):
        call = invoke_ppo(explicit, asked.preset)
        return replace(call, config=resolve_ppo(call.config, call.explicit))


@contextmanager
def _naming(values: Values, place: Path) -> Iterator[None]:
    """Errors name the file and the setting."""
    try:
        yield
    except (SelfPlayError, GameError) as error:
        raise ConfigError(f"{place}: {label(values)}: {error}") from error


def label(values: Mapping[str, Any]) -> str:
    """A setting in words."""
    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def shown(value: object) -> str:
    """A value, with the digits of a number that people read."""
    return f"{value:.4g}" if isinstance(value, float) else spelled(value)


def spelled(value: object) -> str:
    """A value as ``--set`` takes it, with all digits of a number."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(spelled, value))
    return str(value)
