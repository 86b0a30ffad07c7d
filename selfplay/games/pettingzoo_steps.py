"""What environments of PettingZoo say in ``reset`` and ``step``: rewards, and how games end.

What is not understood is refused, since a wrong guess would train for something else.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from selfplay.games.errors import GameError
from selfplay.games.spaces import MASK

PARALLEL_RESET: Final = ("observations", "infos")
PARALLEL_STEP: Final = ("observations", "rewards", "terminations", "truncations", "infos")
AEC_RESET: Final = (
    "agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos",
)  # fmt: skip
OTHER_MASKS: Final = ("legal_moves", "legal_actions", "valid_actions", "available_actions", "avail_actions")
"""Names of what some environments give in place of an ``action_mask``."""
_NOTHING: Final = [[0.0, 0.0], [0.0, 0.0]]  # most steps give nothing


def two_agents(env: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The ``possible_agents``, or in their place the ``agents``, where these are known before ``reset``."""
    named = [found for name in ("possible_agents", "agents") if (found := getattr(env, name, None)) is not None]
    if not named:
        raise GameError("there are no possible_agents (valid: the names of two agents)")
    agents = tuple(named[0])
    if len(agents) != 2:
        names = ", ".join(map(str, agents)) or "none"
        raise GameError(f"there are {len(agents)} possible_agents ({names}), only games of two are supported")
    return agents


def check_reset(env: Any, base: type) -> None:  # noqa: ANN401
    """Check that ``reset`` is defined and takes what it is given."""
    inner = env.unwrapped
    if type(inner).reset is base.reset:  # type: ignore[attr-defined]
        raise GameError(f"there is no reset: {type(inner).__name__} does not define it")
    for each, needed in ((env, ["seed"]), (inner, ["seed"] if inner is env else ["seed", "options"])):
        takes = inspect.signature(each.reset).parameters
        anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
        if missing := [name for name in needed if name not in takes and not anything]:
            raise GameError(
                f"reset of {type(each).__name__} takes no {missing[0]} (valid: reset(seed=None, options=None))"
            )


def dictionaries(given: Any, names: Sequence[str], method: str) -> list[Mapping[Any, Any]]:  # noqa: ANN401
    """What ``reset`` or ``step`` of a ParallelEnv returned: dictionaries by agent, of these names."""
    if not isinstance(given, (tuple, list)) or len(given) != len(names):
        got = f"{len(given)} values" if isinstance(given, (tuple, list)) else type(given).__name__
        raise GameError(f"{method} returned {got} (valid: {', '.join(names)})")
    for name, each in zip(names, given, strict=True):
        if not isinstance(each, Mapping) and name != "infos":
            raise GameError(f"{method} returned {type(each).__name__} as {name} (valid: a dictionary by agent)")
    return list(given)


def check_agents(env: Any, agents: Sequence[Any], needed: Sequence[str] = ("agents",)) -> None:  # noqa: ANN401
    """Check what ``reset`` left behind."""
    if missing := [name for name in needed if not hasattr(env, name)]:
        old = "; dones is of PettingZoo before 1.22" if hasattr(env, "dones") else ""
        raise GameError(f"reset must set {' and '.join(missing)}, as PettingZoo documents it{old}")
    if set(env.agents) != set(agents):
        present = ", ".join(map(str, env.agents)) or "nobody"
        raise GameError(f"after reset agents has {present} (valid: {', '.join(map(str, agents))})")


def outcome(
    left: Collection[Any], terminations: Mapping[Any, bool], truncations: Mapping[Any, bool]
) -> tuple[bool, bool]:
    """Whether a game is over, and whether it is truncated, in which these agents were the last ones."""
    over, cut = (any(flags.get(agent) for agent in left) for flags in (terminations, truncations))
    if not over and not cut:
        raise GameError(
            f"nobody is left, but neither terminations nor truncations of {' and '.join(map(str, left))} are set "
            "(valid: True in one of them for each agent that leaves)"
        )
    return over, cut and not over


def single(reward: Any, agent: Any) -> float:  # noqa: ANN401
    """A reward as a number; arrays of one element are taken, too."""
    if isinstance(reward, (float, int)):
        return float(reward)
    value = np.asarray(reward)
    if value.size != 1 or value.dtype.kind not in "fiub":
        raise GameError(f"the reward of {agent} is {reward!r} (valid: one number)")
    return float(value.item())


class AecRewards:
    """Rewards of the steps of an AECEnv, of which there are two accounts: ``rewards``, and what ``last`` returns.

    Some environments clear ``rewards`` at the end of a step, and some never add them up for ``last``: where one of
    the two is always zero, the other counts.
    """

    def __init__(self, agents: Sequence[Any]) -> None:
        self._agents = agents
        self.told = [False, False]  # by account: whether there ever was a reward

    def of_step(self, rewards: Mapping[Any, Any], added: Mapping[Any, Any], live: Collection[Any]) -> list[float]:
        """Rewards by seat; ``added`` is what ``_cumulative_rewards`` grew by."""
        for agent in live:
            if agent not in rewards and agent not in added:
                raise GameError(f"step gave no reward to {agent} (valid: one for each agent that is not done)")
        one, other = self._agents
        accounts = [[single(each.get(one, 0.0), one), single(each.get(other, 0.0), other)] for each in (rewards, added)]
        if accounts == _NOTHING:
            return accounts[0]
        self.told = [told or any(account) for told, account in zip(self.told, accounts, strict=True)]
        if accounts[0] == accounts[1] or not self.told[1]:
            return accounts[0]
        if not self.told[0]:
            return accounts[1]
        raise GameError(
            f"step left {accounts[0]} in rewards, but added {accounts[1]} to _cumulative_rewards (valid: a step "
            "begins with _clear_rewards() and ends with _accumulate_rewards())"
        )


def mask_of(seen: Any, info: Any, agent: Any) -> Any:  # noqa: ANN401
    """The mask of an agent in its observation, or else in its info; None: it has none."""
    if type(seen) is dict and MASK in seen:  # nearly always; the rest is for all kinds of mappings
        return seen[MASK]
    places = [place for place in (seen, info) if isinstance(place, Mapping)]
    for place in places:
        if MASK in place:
            return place[MASK]
    for place in places:
        for name in OTHER_MASKS:
            if name in place:
                raise GameError(f"{agent} is given {name}, which is not understood (valid: an {MASK})")
    return None
