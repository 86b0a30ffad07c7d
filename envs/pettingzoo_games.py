"""Environments of PettingZoo as games of two seats. PettingZoo is imported only where one is asked for.

The seats are ``possible_agents`` in their order. What they see and do may differ: the narrower observation is padded
with zeros, the last two features say whose it is, and actions that a seat does not have are masked.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.distribution import install_command
from envs.errors import GameError, UnknownNameError
from envs.game import BOTH, Action, Game
from envs.spaces import Choices, choices, features, one_line

if TYPE_CHECKING:
    from envs.api import F32, Bool

MASK: Final = "action_mask"
RENDER_MODES: Final = ("ansi", "rgb_array")  # of PettingZoo; ``human`` opens windows
SEEDS: Final = (1 << 31) - 1  # what every generator takes
_SEAT: Final = ((0,), (1,))


class _PettingZooGame(Game):
    """What the two kinds of environments share.

    Attributes:
        env: The environment as it was given, for scripted players.
        name: Stands in messages.
    """

    def __init__(self, env: Any, name: str) -> None:  # noqa: ANN401
        self.env = env
        self.name = name
        self._agents = _agents(env, name)
        _check_reset(env, name)
        seen = [features(_features_of(env.observation_space(agent)), f"{name}: {agent} sees") for agent in self._agents]
        self._write = [each.write for each in seen]
        width = max(each.width for each in seen)
        self.obs_width = width + len(BOTH)
        self._blank = np.zeros((len(BOTH), self.obs_width), np.float32)
        self._blank[:, width:] = np.eye(len(BOTH))
        self._masked = [_has_mask(env.observation_space(agent)) for agent in self._agents]

        self._choices = [choices(env.action_space(agent), f"{name}: {agent} plays") for agent in self._agents]
        sizes = [max(pair) for pair in zip_longest(*(each.sizes for each in self._choices), fillvalue=1)]
        self.num_actions = sizes[0] if len(sizes) == 1 else tuple(sizes)
        self._one_part = len(sizes) == 1
        self._has = [_classes_of(each, sizes) for each in self._choices]
        self._own = [
            np.flatnonzero(has[: sum(sizes[: len(each.sizes)])])
            for has, each in zip(self._has, self._choices, strict=True)
        ]

        version = re.search(r"_v(\d+)$", str((getattr(env, "metadata", None) or {}).get("name", "")))
        self.version = int(version[1]) if version else 1
        self.max_steps = self._steps()
        players = _offered(env, "players")
        if isinstance(players, Mapping):
            self.players = players
            self.held_out = tuple(_offered(env, "held_out") or ())

    @abstractmethod
    def _seen(self, seat: int) -> Any:  # noqa: ANN401
        """The observation of the environment."""

    @abstractmethod
    def _info(self, seat: int) -> Mapping[str, Any]: ...

    def observe(self, seat: int) -> F32:
        row: F32 = self._blank[seat].copy()
        value = self._seen(seat)
        try:
            self._write[seat](value, row)
        except (ValueError, TypeError, LookupError) as error:
            agent = self._agents[seat]
            space = one_line(self.env.observation_space(agent))
            raise GameError(f"{self.name}: {agent} sees what is not in {space}: {error}") from error
        return row

    def legal(self, seat: int) -> Bool | None:
        has = self._has[seat]
        mask = self._seen(seat)[MASK] if self._masked[seat] else self._info(seat).get(MASK)
        if mask is None:
            return None if has.all() else has
        own: Bool = (np.hstack(mask) if isinstance(mask, (list, tuple)) else np.asarray(mask).ravel()).astype(bool)
        place = self._own[seat]
        if own.size != place.size:
            raise GameError(
                f"{self.name}: the {MASK} of {self._agents[seat]} has {own.size} entries (valid: {place.size})"
            )
        if own.size == has.size:
            return own
        legal = has.copy()
        legal[place] = own
        return legal

    def render(self) -> str | NDArray[np.uint8]:
        shown: str | NDArray[np.uint8] | None = None
        if getattr(self.env, "render_mode", None) in RENDER_MODES:
            shown = self.env.render()
        return super().render() if shown is None else shown

    def action_name(self, action: int) -> str:
        """The number that the environment is given."""
        first, other = (each.starts[0] for each in self._choices)
        return str(action + first if first == other else action)

    def close(self) -> None:
        self.env.close()

    def _given(self, seat: int, action: Any) -> Any:  # noqa: ANN401
        return self._choices[seat].make((action,) if self._one_part else action)

    def _began(self) -> None:
        if missing := [str(agent) for agent in self._agents if agent not in self.env.agents]:
            raise GameError(f"{self.name}: agents lacks {', '.join(missing)} after reset")

    def _steps(self) -> int:
        """The limit of the environment, so that ours does not come first."""
        steps, cycles = (_offered(self.env, name) for name in ("max_steps", "max_cycles"))
        if isinstance(steps, int) and steps > 0:
            return steps
        return max(Game.max_steps, len(BOTH) * cycles) if isinstance(cycles, int) else Game.max_steps


class ParallelGame(_PettingZooGame):
    """A ParallelEnv: the agents that are left act together.

    Raises:
        GameError: not two agents, a space that is not supported, or a ``reset`` that takes no seed.
    """

    def reset(self, seed: int) -> None:
        observations, self._infos = self.env.reset(seed=seed & SEEDS)
        self._observations = dict(observations)
        self._acting: tuple[int, ...] = BOTH
        self._began()

    def to_act(self) -> tuple[int, ...]:
        return self._acting

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        given = {self._agents[seat]: self._given(seat, actions[seat]) for seat in self._acting}
        observations, rewards, terminations, truncations, self._infos = self.env.step(given)
        self._observations.update(observations)  # the last one of an agent that has left stays
        left, terminated = [], False
        for seat in self._acting:
            agent = self._agents[seat]
            cut = truncations.get(agent, False)
            if terminations.get(agent, False) or (agent not in self.env.agents and not cut):
                terminated = True
            elif not cut:
                left.append(seat)
        self._acting = tuple(left)
        gained = [float(rewards.get(agent, 0.0)) for agent in self._agents]
        return gained, terminated and not left, not terminated and not left

    def _seen(self, seat: int) -> Any:  # noqa: ANN401
        return self._observations[self._agents[seat]]

    def _info(self, seat: int) -> Mapping[str, Any]:
        info: Mapping[str, Any] = self._infos.get(self._agents[seat], {})
        return info


class AecGame(_PettingZooGame):
    """An AECEnv: a step is that of the selected agent. The steps of agents that are done are made in it.

    A seat is rewarded for a step with what that adds to its cumulative reward, from 0 for the agent that acts, so that
    the sum between two actions of a seat is the reward of ``last()``.

    Raises:
        GameError: not two agents, a space that is not supported, or a ``reset`` that takes no seed.
    """

    def __init__(self, env: Any, name: str) -> None:  # noqa: ANN401
        super().__init__(env, name)
        self._core = _without_checks(env)
        self._seats = {agent: seat for seat, agent in enumerate(self._agents)}

    def reset(self, seed: int) -> None:
        self.env.reset(seed=seed & SEEDS)
        self._began()
        self._sums = [0.0, 0.0]
        self._done = [False, False]
        self._truncated = False
        self._final: list[F32 | None] = [None, None]
        self._finish_step()
        if not self._core.agents:
            raise GameError(f"{self.name}: the game is over after reset")

    def to_act(self) -> tuple[int, ...]:
        return _SEAT[self._acting]

    def observe(self, seat: int) -> F32:
        final = self._final[seat]
        return super().observe(seat) if final is None else final

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        seat = self._acting
        before = self._sums.copy()
        before[seat] = 0.0
        self._core.step(self._given(seat, actions[seat]))
        self._finish_step()
        gained = [self._sums[0] - before[0], self._sums[1] - before[1]]
        over = not self._core.agents
        return gained, over and not self._truncated, over and self._truncated

    def _finish_step(self) -> None:
        """Take in a step of the environment, and make those of agents that are done."""
        core = self._core
        self._take_in()
        while core.agents:
            agent = core.agent_selection
            self._acting = seat = self._seats[agent]
            if not self._done[seat]:
                return
            self._final[seat] = self.observe(seat)  # many environments show nothing to an agent that is removed
            core.step(None)
            if agent in core.agents:
                raise GameError(f"{self.name}: {agent} is done, but step(None) does not remove it from agents")
            self._take_in()

    def _take_in(self) -> None:
        core = self._core
        self._now: list[Any] = [None, None]
        ended, terminated = False, False
        for seat, agent in enumerate(self._agents):
            self._sums[seat] = float(core._cumulative_rewards.get(agent, self._sums[seat]))
            if not self._done[seat] and (core.terminations.get(agent) or core.truncations.get(agent)):
                self._done[seat] = ended = True
                terminated = terminated or bool(core.terminations[agent])
        if ended:
            self._truncated = not terminated

    def _seen(self, seat: int) -> Any:  # noqa: ANN401
        value = self._now[seat]
        if value is None:
            value = self._now[seat] = self._core.observe(self._agents[seat])
        return value

    def _info(self, seat: int) -> Mapping[str, Any]:
        info: Mapping[str, Any] = self._core.infos.get(self._agents[seat], {})
        return info


def adapted(made: object, name: str) -> Game:
    """What a factory made, as a game: a ``Game`` as it is, or an environment of PettingZoo.

    Raises:
        GameError: it is something else, or an environment that is not supported.
    """
    if isinstance(made, Game):
        return made
    if "pettingzoo" in sys.modules:  # nothing can be its environment before
        from pettingzoo import AECEnv, ParallelEnv

        if isinstance(made, ParallelEnv):
            return ParallelGame(made, name)
        if isinstance(made, AECEnv):
            return AecGame(made, name)
    kind = made if isinstance(made, type) else type(made)
    what = f"{'the class' if isinstance(made, type) else 'an object of'} {kind.__module__}.{kind.__qualname__}"
    raise GameError(f"{name} gives {what}, which is no game (valid: a Game, or a ParallelEnv or AECEnv of PettingZoo)")


def render_mode(env: Any) -> str | None:  # noqa: ANN401
    """The mode in which an environment gives a text or a picture, if it has one."""
    known = (getattr(env, "metadata", None) or {}).get("render_modes", ())
    return next((mode for mode in RENDER_MODES if mode in known), None)


def from_pettingzoo(module: str, render: bool = False) -> Game:
    """The environment of a module of PettingZoo, such as ``pettingzoo.classic.connect_four_v3``.

    Args:
        module: Its ``parallel_env`` is taken, or else its ``env``.
        render: Whether the game is rendered, as text or else as pictures, where the environment can.

    Raises:
        GameError: it is no module of PettingZoo, it has no environment, or one that is not supported, or something is
            not installed.
    """
    if module != "pettingzoo" and not module.startswith("pettingzoo."):
        raise GameError(f"{module!r} is no module of PettingZoo (valid: 'pettingzoo.' and what follows)")
    try:
        imported = import_module(module)
        make = getattr(imported, "parallel_env", None) or getattr(imported, "env", None)
        if not callable(make):
            raise GameError(f"{module} has no environment (valid: {', '.join(_environments(module))})")
        env = make(render_mode=None)
        if render and (mode := render_mode(env)):
            env.close()
            env = make(render_mode=mode)
    except ModuleNotFoundError as error:
        raise _not_found(module, str(error.name)) from error
    except ImportError as error:  # of what PettingZoo has moved elsewhere
        raise GameError(f"{module}: {error}") from error
    return adapted(env, module)


def _not_found(module: str, missing: str) -> GameError:
    package = missing.partition(".")[0]
    if package != "pettingzoo":
        family = module.split(".")[1]
        command = install_command("pettingzoo") if package == "pygame" else f"pip install 'pettingzoo[{family}]'"
        return GameError(f"{package} is missing, which {module} needs: {command}")
    if missing == "pettingzoo":
        return GameError(f"PettingZoo is missing, which {module} needs: {install_command('pettingzoo')}")
    return UnknownNameError("environment", module, _environments(missing.rpartition(".")[0]))


def _environments(package: str) -> list[str]:
    """Modules beside or below one that exists: those of environments, or else all."""
    while not (path := getattr(import_module(package), "__path__", ())):
        package = package.rpartition(".")[0]
    names = [f"{package}.{each.name}" for each in pkgutil.iter_modules(path)]
    return [name for name in names if re.search(r"_v\d+$", name)] or names


def _agents(env: Any, name: str) -> tuple[Any, ...]:  # noqa: ANN401
    agents = getattr(env, "possible_agents", None)
    if agents is None:
        raise GameError(f"{name} has no possible_agents, which say who has the two seats")
    if len(agents) != len(BOTH):
        raise GameError(
            f"{name} has {len(agents)} agents ({', '.join(map(str, agents))}), only games of two are supported"
        )
    return tuple(agents)


def _check_reset(env: Any, name: str) -> None:  # noqa: ANN401
    from pettingzoo import AECEnv, ParallelEnv

    for each in (env, env.unwrapped):
        if type(each).reset in (AECEnv.reset, ParallelEnv.reset):
            raise GameError(f"{name} has no reset: {type(each).__name__} does not define it")
        takes = inspect.signature(each.reset).parameters
        if "seed" not in takes and not any(one.kind is one.VAR_KEYWORD for one in takes.values()):
            raise GameError(f"{name}: reset of {type(each).__name__} takes no seed, which makes games repeatable")


def _without_checks(env: Any) -> Any:  # noqa: ANN401
    """The environment inside of wrappers that only check: actions are legal here, and calls in order."""
    from pettingzoo.utils import wrappers

    checks = (
        wrappers.BaseWrapper,
        wrappers.OrderEnforcingWrapper,
        wrappers.AssertOutOfBoundsWrapper,
        wrappers.TerminateIllegalWrapper,
        wrappers.CaptureStdoutWrapper,
    )
    while type(env) in checks:
        env = env.env
    return env


def _offered(env: Any, attribute: str) -> Any:  # noqa: ANN401
    """An attribute of an environment or of what it wraps."""
    found = getattr(env, attribute, None)
    return getattr(env.unwrapped, attribute, None) if found is None else found


def _has_mask(space: Any) -> bool:  # noqa: ANN401
    return isinstance(space, spaces.Dict) and MASK in space.spaces


def _features_of(space: Any) -> Any:  # noqa: ANN401
    """An observation space without the mask."""
    if not _has_mask(space):
        return space
    return spaces.Dict({key: part for key, part in space.spaces.items() if key != MASK})


def _classes_of(own: Choices, sizes: Sequence[int]) -> Bool:
    """Which classes a seat has, bool [sum(sizes)]; one of the parts that it lacks."""
    parts = zip_longest(own.sizes, sizes, fillvalue=1)
    has: Bool = np.concatenate([np.arange(size) < have for have, size in parts])
    has.flags.writeable = False
    return has
