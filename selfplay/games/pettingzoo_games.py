"""Environments of PettingZoo as games of two seats. PettingZoo is imported only where one is asked for.

The seats are ``possible_agents`` in their order. What they see and do may differ: the narrower observation is padded
with zeros, the last two features say whose it is, and actions that a seat does not have are masked.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from selfplay.distribution import install_command
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.game import BOTH, Action, BlockObserved, Game
from selfplay.games.objective import given_by
from selfplay.games.pettingzoo_steps import (
    AEC_RESET,
    PARALLEL_RESET,
    PARALLEL_STEP,
    AecRewards,
    check_agents,
    check_reset,
    dictionaries,
    mask_of,
    outcome,
    single,
    two_agents,
)
from selfplay.games.plugins import meant_environment
from selfplay.games.spaces import choices, features, given, joined_mask, one_line, without_mask

if TYPE_CHECKING:
    from selfplay.games.api import F32, Bool

RENDER_MODES: Final = ("ansi", "rgb_array")  # of PettingZoo; ``human`` opens windows
SEEDS: Final = (1 << 31) - 1  # largest seed that every generator accepts


class _PettingZooGame(BlockObserved):
    """Common base of the two kinds of environments.

    Attributes:
        env: The environment as it was given, for scripted players.
    """

    _acting: Sequence[int]
    _observations: dict[Any, Any]  # by agent; the last one of an agent that has left stays
    _infos: Mapping[Any, Any] | None

    def __init__(self, env: Any) -> None:  # noqa: ANN401
        self.env = env
        self._agents = two_agents(env)
        self.seat_names = tuple(map(str, self._agents))
        self._sees = [without_mask(env.observation_space(agent)) for agent in self._agents]
        self._widths = [
            features(space, f"{agent} sees") for (_, space), agent in zip(self._sees, self._agents, strict=True)
        ]
        self.obs_width = max(self._widths) + len(BOTH)

        self._plays = [env.action_space(agent) for agent in self._agents]
        # Of an agent whose action is one number, the smallest; ``given`` takes longer.
        numbers = all(isinstance(space, spaces.Discrete) for space in self._plays)
        self._firsts = [int(space.start) if numbers else None for space in self._plays]
        own = [choices(space, f"{agent} plays") for space, agent in zip(self._plays, self._agents, strict=True)]
        sizes = [max(pair) for pair in zip_longest(*own, fillvalue=1)]
        self.num_actions = sizes[0] if len(sizes) == 1 else tuple(sizes)
        self._has = [_classes_of(each, sizes) for each in own]
        self._own = [np.flatnonzero(has[: sum(sizes[: len(each)])]) for has, each in zip(self._has, own, strict=True)]

        inner = env.unwrapped
        metadata = getattr(inner, "metadata", None) or {}
        version = re.search(r"_v(\d+)$", str(metadata.get("name", "")))
        for name, value in given_by(metadata).items():
            setattr(self, name, value)
        self.version = int(version[1]) if version else 1
        cycles = getattr(inner, "max_cycles", None)  # so that our limit does not come before that of the environment
        self.max_steps = max(Game.max_steps, len(BOTH) * cycles) if isinstance(cycles, int) else Game.max_steps
        if isinstance(players := getattr(inner, "players", None), Mapping):
            self.players = players
            self.held_out = tuple(getattr(inner, "held_out", ()))

    def to_act(self) -> Sequence[int]:
        return self._acting

    def observe_all(self, games: Sequence[_PettingZooGame], seat: int) -> F32:
        key, space = self._sees[seat]
        width, count = self._widths[seat], len(games)
        obs = np.zeros((count, self.obs_width), np.float32)
        obs[:, seat - len(BOTH)] = 1
        try:
            seen = [game.seen(seat) for game in games]
            if key is not None:
                seen = [each[key] for each in seen]
            # ``flatten`` would copy the numbers of a Box twice.
            flat = seen if type(space) is spaces.Box else [spaces.flatten(space, each) for each in seen]
            obs[:, :width] = np.array(flat).reshape(count, width)
        except (ValueError, TypeError, LookupError) as error:
            raise GameError(f"{self._agents[seat]} sees what is not in {one_line(space)}: {error}") from error
        return obs

    def legal_all(self, games: Sequence[_PettingZooGame], seat: int) -> Bool:
        place, agent = self._own[seat], self._agents[seat]
        legal = np.repeat(self._has[seat][None], len(games), 0)
        masks = {i: mask for i, game in enumerate(games) if (mask := game.mask(seat)) is not None}
        if masks:
            own = [joined_mask(mask, place.size, str(agent)) for mask in masks.values()]
            rows = slice(None) if len(masks) == len(games) else np.array(list(masks))[:, None]
            legal[rows, place] = own
        return legal

    def seen(self, seat: int) -> Any:  # noqa: ANN401
        """What an agent sees, as the environment gives it."""
        return self._observations[self._agents[seat]]

    def mask(self, seat: int) -> Any:  # noqa: ANN401
        """The mask of an agent; None: it has none."""
        agent = self._agents[seat]
        return mask_of(self.seen(seat), (self._infos or {}).get(agent), agent)

    def render(self) -> str | NDArray[np.uint8]:
        shown: str | NDArray[np.uint8] | None = None
        if getattr(self.env, "render_mode", None) in RENDER_MODES:
            shown = self.env.render()
        return super().render() if shown is None else shown

    def action_name(self, action: int) -> str:
        """The number that the environment is given."""
        first, other = (self._given(seat, action) for seat in BOTH)
        return str(first if first == other else action)

    def close(self) -> None:
        self.env.close()

    def _given(self, seat: int, action: Any) -> Any:  # noqa: ANN401
        first = self._firsts[seat]
        if first is not None:
            return action + first
        return given(self._plays[seat], (action,) if isinstance(self.num_actions, int) else action)


class ParallelGame(_PettingZooGame):
    """A ParallelEnv: the agents that are left act together."""

    def reset(self, seed: int) -> None:
        observations, self._infos = dictionaries(self.env.reset(seed=seed & SEEDS), PARALLEL_RESET, "reset")
        check_agents(self.env, self._agents)
        self._observations = dict(observations)
        self._acting = BOTH

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        acted = {self._agents[seat]: seat for seat in self._acting}
        observations, rewards, terminations, truncations, self._infos = dictionaries(
            self.env.step({agent: self._given(seat, actions[seat]) for agent, seat in acted.items()}),
            PARALLEL_STEP,
            "step",
        )
        self._observations.update(observations)
        if silent := [agent for agent in acted if agent not in rewards]:
            raise GameError(f"step gave no reward to {silent[0]} (valid: one for each agent that acted)")
        gained = [single(rewards.get(agent, 0.0), agent) for agent in self._agents]
        stays = {
            agent: seat
            for agent, seat in acted.items()
            if agent in self.env.agents and not (terminations.get(agent) or truncations.get(agent))
        }
        self._acting = [*stays.values()]
        return gained, *(outcome(acted, terminations, truncations) if not stays else (False, False))


class AecGame(_PettingZooGame):
    """An AECEnv: a step is that of the selected agent. The steps of agents that are done are made in it."""

    def __init__(self, env: Any) -> None:  # noqa: ANN401
        super().__init__(env)
        self._core = _without_checks(env)
        self._alone = {agent: (seat,) for seat, agent in enumerate(self._agents)}
        self.rewards = AecRewards(self._agents)

    def reset(self, seed: int) -> None:
        self.env.reset(seed=seed & SEEDS)
        check_agents(self._core, self._agents, AEC_RESET)
        self._live = [*self._agents]
        self._last: dict[Any, Any] = {}
        self._seen: dict[Any, Any] = {}
        self._finish_step()

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        (seat,) = self._acting
        core, live = self._core, self._live
        for agent in core._cumulative_rewards:
            core._cumulative_rewards[agent] = 0  # what is in it was taken after the steps that gave it
        core.step(self._given(seat, actions[seat]))
        gained = self.rewards.of_step(core.rewards, core._cumulative_rewards, live)
        return gained, *self._finish_step()

    def _finish_step(self) -> tuple[bool, bool]:
        """Make the steps of agents that are done while others play on; whether the game is over, or truncated."""
        core, ended = self._core, (False, False)
        self._observations, self._acting = self._last.copy(), ()
        while True:
            self._infos = core.infos
            agents, over, cut = core.agents, core.terminations, core.truncations
            gone = [agent for agent in self._live if over.get(agent) or cut.get(agent) or agent not in agents]
            if gone:
                self._live = [agent for agent in self._live if agent not in gone]
                if not self._live:
                    ended = outcome(gone, over, cut)
                    break
            agent = core.agent_selection
            if agent in self._live:
                self._acting = self._alone[agent]
                break
            if agent not in self._agents or agent not in core.agents:
                names = ", ".join(map(str, self._live))
                raise GameError(f"agent_selection is {agent!r}, which is not in the game any more (valid: {names})")
            self._last[agent] = self.seen(self._alone[agent][0])  # many environments show nothing to a removed agent
            core.step(None)
            if agent in core.agents:
                raise GameError(f"{agent} is done, but step(None) does not remove it from agents")
            self._observations = self._last.copy()
        if ended[0]:  # no update uses an observation after the end
            removed = {agent: seen for agent, seen in self._seen.items() if agent not in core.agents}
            self._observations = removed | self._observations
        return ended

    def seen(self, seat: int) -> Any:  # noqa: ANN401
        if (agent := self._agents[seat]) not in self._observations:
            self._observations[agent] = self._seen[agent] = self._core.observe(agent)
        return self._observations[agent]


def adapted(made: object) -> Game:
    """Convert the result of a factory to a game: a ``Game`` stays as it is, a PettingZoo environment is wrapped."""
    if isinstance(made, Game):
        return made
    if "pettingzoo" in sys.modules:  # nothing can be its environment before
        from pettingzoo import AECEnv, ParallelEnv

        for kind, game in ((ParallelEnv, ParallelGame), (AECEnv, AecGame)):
            if isinstance(made, kind):
                check_reset(made, kind)
                return game(made)
    raise GameError(f"{made!r} is no game (valid: a Game, or a ParallelEnv or AECEnv of PettingZoo)")


def render_mode(env: Any) -> str | None:  # noqa: ANN401
    """The mode in which an environment gives a text or a picture, if it has one."""
    known = (getattr(env, "metadata", None) or {}).get("render_modes", ())
    return next((mode for mode in RENDER_MODES if mode in known), None)


def find_factory(module: str) -> Callable[..., Any]:
    """The ``parallel_env``, or else ``env``, of a module such as ``pettingzoo.classic.connect_four_v3``."""
    if not module.startswith("pettingzoo."):
        near = meant_environment(module)
        hint = f"; did you mean {near!r}?" if near else ""
        raise GameError(f"{module!r} is no module of PettingZoo{hint} (valid: 'pettingzoo.' and what follows)")
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        missing = str(error.name)
        package = missing.partition(".")[0]
        if package == "pettingzoo" != missing:
            raise UnknownNameError("environment", module, _environments(missing.rpartition(".")[0])) from error
        ours = package in ("pettingzoo", "pygame")
        command = install_command("pettingzoo") if ours else f"pip install 'pettingzoo[{module.split('.')[1]}]'"
        raise GameError(f"{package} is missing, which {module} needs: {command}") from error
    factory = getattr(imported, "parallel_env", None) or getattr(imported, "env", None)
    if not callable(factory):
        raise UnknownNameError("environment", module, _environments(module))
    made: Callable[..., Any] = factory
    return made


def _environments(package: str) -> list[str]:
    """Modules beside or below one that exists: those of environments, or else all."""
    while not (path := getattr(import_module(package), "__path__", ())):
        package = package.rpartition(".")[0]
    names = [f"{package}.{each.name}" for each in pkgutil.iter_modules(path)]
    return [name for name in names if re.search(r"_v\d+$", name)] or names


def _without_checks(env: Any) -> Any:  # noqa: ANN401
    """The environment inside of wrappers that only check: actions are legal here, and calls in order."""
    from pettingzoo.utils import wrappers

    checks = (wrappers.OrderEnforcingWrapper, wrappers.AssertOutOfBoundsWrapper, wrappers.TerminateIllegalWrapper)
    while type(env) in checks:
        env = env.env
    return env


def _classes_of(own: Sequence[int], sizes: Sequence[int]) -> Bool:
    """Which classes a seat has, bool [sum(sizes)]; one of the parts that it lacks."""
    parts = zip_longest(own, sizes, fillvalue=1)
    return np.concatenate([np.arange(size) < have for have, size in parts])
