"""Styles in which public environments of PettingZoo end games, give rewards and masks, and count agents, in miniature.

In each the first agent wins with the third step: by turns red, blue, red, or at once.
"""

from types import MappingProxyType

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec

from selfplay.games.errors import GameError
from selfplay.games.pettingzoo_games import adapted
from selfplay.games.vector import SyncVectorGame, repeats_itself

TABLES = ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos")
WON = ([1, -1], True, False)


class Race(AECEnv):
    """As PettingZoo documents it."""

    metadata = MappingProxyType({"name": "race_v1", "render_modes": []})

    def __init__(self):
        self.possible_agents = ["red", "blue"]

    def observation_space(self, agent):
        return Box(0, 9, (1,))

    def action_space(self, agent):
        return Discrete(2)

    def observe(self, agent):
        return np.array([self.time], np.float32)

    def reset(self, seed=None, options=None):
        self.agents, self.time, self.agent_selection = ["red", "blue"], 0, "red"
        for name, value in zip(TABLES, (0, 0, False, False, None), strict=True):
            setattr(self, name, {agent: {} if value is None else value for agent in self.agents})

    def step(self, action):
        agent = self.agent_selection
        if agent in self.terminations and (self.terminations[agent] or self.truncations[agent]):
            self.done_step(action)
            return
        self.begin(agent)
        self.time += 1
        self.agent_selection = "blue" if agent == "red" else "red"
        if self.time == 3:
            self.pay()
            self.flag()
        self.finish()

    def done_step(self, action):
        self._was_dead_step(action)

    def begin(self, agent):
        self._cumulative_rewards[agent] = 0
        self._clear_rewards()

    def pay(self):
        self.rewards = {"red": 1, "blue": -1}

    def flag(self):
        self.terminations = dict.fromkeys(self.agents, True)

    def finish(self):
        self._accumulate_rewards()


class EmptiesAgents(Race):
    def finish(self):
        super().finish()
        if self.time == 3:
            self.agents = []


class ShowsNothingToTheRemoved(EmptiesAgents):
    def observe(self, agent):
        return np.array([self.agents.index(agent)], np.float32)


class RemovesFromTables(EmptiesAgents):
    """The flags stay, the rewards stay in what ``last`` returns."""

    def finish(self):
        super().finish()
        if self.time == 3:
            self.rewards, self.infos = {}, {}


class RemovesAgentsByHand(Race):
    def done_step(self, action):
        agent = self.agent_selection
        self.agents.remove(agent)
        for name in TABLES:
            getattr(self, name).pop(agent)
        self.agent_selection = self.agents[0] if self.agents else agent


class HasNoStepForTheDone(Race):
    def done_step(self, action):
        raise TypeError("int() argument must be a number, not 'NoneType'")


class DoneStepFirst(Race):
    def finish(self):
        super().finish()
        self._deads_step_first()


class OneLeavesFirst(Race):
    """Blue is done with its first step."""

    def finish(self):
        super().finish()
        if self.time == 2:
            self.terminations["blue"] = True
            self._deads_step_first()

    def pay(self):
        self.rewards = {"red": 1}


class Truncates(Race):
    def flag(self):
        self.truncations = dict.fromkeys(self.agents, True)


class TruncatesAndTerminates(Truncates):
    def flag(self):
        super().flag()
        self.terminations = dict.fromkeys(self.agents, True)


class ClearsRewardsAfterwards(Race):
    def finish(self):
        super().finish()
        self._clear_rewards()


class AddsToCumulativeAlone(Race):
    def pay(self):
        self._cumulative_rewards["red"] += 1
        self._cumulative_rewards["blue"] -= 1


class NeverAdds(Race):
    def finish(self):
        pass


class NeverTakesCumulativeBack(Race):
    def begin(self, agent):
        self.rewards = dict.fromkeys(self.agents, 0.5)

    def pay(self):
        self.rewards = {"red": 0, "blue": -2}


class RewardArrays(Race):
    def pay(self):
        self.rewards = {"red": np.array([1.0]), "blue": np.float32(-1)}


class NamesAgentsOnly(Race):
    def __init__(self):
        self.agents = ["red", "blue"]


class BeginsWithNobody(Race):
    def __init__(self):
        super().__init__()
        self.agents = []


class InfosOfNone(Race):
    def finish(self):
        super().finish()
        self.infos = dict.fromkeys(self.agents)


class MaskInObservation(Race):
    def observation_space(self, agent):
        return Dict({"observation": Box(0, 9, (1,)), "action_mask": Box(0, 1, (2,), np.int8)})

    def observe(self, agent):
        mask = np.array([agent == self.agent_selection, 0], np.int8)  # zeros for the other, as in PettingZoo's Go
        return {"observation": super().observe(agent), "action_mask": mask}


class MaskInInfo(Race):
    def finish(self):
        super().finish()
        self.infos = {agent: {"action_mask": [1, 0], "legal_moves": [0]} for agent in self.agents}


class AtOnce(ParallelEnv):
    """As PettingZoo documents it."""

    metadata = MappingProxyType({"name": "race_v1"})
    render_mode = None
    possible_agents = ("red", "blue")

    def observation_space(self, agent):
        return Box(0, 9, (1,))

    def action_space(self, agent):
        return Discrete(2)

    def by_agent(self, value):
        return dict.fromkeys(self.agents, value)

    def reset(self, seed=None, options=None):
        self.agents, self.time = ["red", "blue"], 0
        return self.by_agent([0]), {agent: {} for agent in self.agents}

    def step(self, actions):
        self.time += 1
        over = self.time == 3
        rewards = {"red": int(over), "blue": -int(over)}
        given = [self.by_agent([self.time]), rewards, self.by_agent(over), self.by_agent(False), self.by_agent({})]
        if over:
            self.agents = []
        return self.given(*given)

    def given(self, *given):
        return given


class KeepsAgents(AtOnce):
    def given(self, *given):
        self.agents = ["red", "blue"]
        return given


class ShowsNothingAfterwards(AtOnce):
    def given(self, observations, *given):
        return observations if self.agents else {}, *given


class InfosAreNone(AtOnce):
    def given(self, *given):
        return *given[:4], None


class TruncatesAtOnce(AtOnce):
    def given(self, seen, rewards, terminations, truncations, infos):
        return seen, rewards, truncations, terminations, infos


def in_turns():
    return parallel_to_aec(AtOnce())


UNDERSTOOD = {
    Race: WON, EmptiesAgents: WON, ShowsNothingToTheRemoved: WON, RemovesFromTables: WON, RemovesAgentsByHand: WON,
    HasNoStepForTheDone: WON, DoneStepFirst: WON, OneLeavesFirst: ([1, 0], True, False),
    Truncates: ([1, -1], False, True), TruncatesAndTerminates: WON, ClearsRewardsAfterwards: WON,
    AddsToCumulativeAlone: WON, NeverAdds: WON, NeverTakesCumulativeBack: ([1, -1], True, False), RewardArrays: WON,
    NamesAgentsOnly: WON, BeginsWithNobody: WON, InfosOfNone: WON, MaskInObservation: WON, MaskInInfo: WON,
    AtOnce: WON, KeepsAgents: WON, ShowsNothingAfterwards: WON, InfosAreNone: WON,
    TruncatesAtOnce: ([1, -1], False, True), in_turns: WON,
}  # fmt: skip


@pytest.mark.parametrize("style", UNDERSTOOD, ids=lambda style: style.__name__)
def test_a_style_is_understood(style):
    block = SyncVectorGame(lambda: adapted(style()), 1)
    for _ in range(2):  # the second game is that of an environment that has ended one
        block.reset(np.zeros(1, np.uint64))
        returns, ended, steps = np.zeros(2), False, 0
        while not ended and steps < 10:
            batch = block.step(np.zeros((1, 2, 1), np.int8))
            returns, ended, steps = returns + batch.reward[0], bool(batch.ended[0]), steps + 1
        assert (returns.tolist(), bool(batch.terminated[0]), bool(batch.truncated[0])) == UNDERSTOOD[style]


@pytest.mark.parametrize("style", [MaskInObservation, MaskInInfo])
def test_a_mask_is_found(style):
    game = adapted(style())
    game.reset(0)
    game.step((0, 0))
    assert game.legal(1).tolist() == [True, False]


# ---------------------------------------------------------------- what is refused


class EndsWithoutAFlag(EmptiesAgents):
    def flag(self):
        pass


class Dones(Race):
    def reset(self, seed=None, options=None):
        super().reset()
        self.dones = self.terminations
        del self.terminations, self.truncations


class HasNoCumulative(Race):
    def reset(self, seed=None, options=None):
        super().reset()
        del self._cumulative_rewards


class NeverClears(Race):
    """What was given once stays in ``rewards``."""

    def begin(self, agent):
        self._cumulative_rewards[agent] = 0

    def finish(self):
        if self.time == 1:
            self.rewards["red"] = 1
            self._accumulate_rewards()


class PaysLater(NeverClears):
    def begin(self, agent):
        self._cumulative_rewards[agent] = 0
        self._accumulate_rewards()
        self._clear_rewards()

    def finish(self):
        self.rewards["red"] = 1


class SeveralObjectives(Race):
    def pay(self):
        self.rewards = {"red": np.ones(2), "blue": -np.ones(2)}


class PaysTheRemovedNothing(EmptiesAgents):
    def pay(self):
        self.rewards, self._cumulative_rewards = {}, {}


class ListsMoves(Race):
    def finish(self):
        super().finish()
        self.infos = {agent: {"legal_moves": [0]} for agent in self.agents}


class Generates(Race):
    def reset(self, seed=None, options=None):
        super().reset()
        self.agents.append("green")


class ForgetsTheTurn(Race):
    def finish(self):
        super().finish()
        if self.time == 2:
            self.agents.remove("red")


class TakesNoSeed(Race):
    def reset(self):
        super().reset()


class ResetsWithoutInfos(AtOnce):
    def reset(self, seed=None, options=None):
        return super().reset()[0]


class GivesFour(AtOnce):
    def given(self, *given):
        return given[:4]


class DoneForAll(AtOnce):
    def given(self, seen, rewards, terminations, truncations, infos):
        return seen, rewards, not self.agents, truncations, infos


class LeavesWithoutAFlag(AtOnce):
    def given(self, *given):
        return *given[:2], {}, {}, {}


class PaysThoseThatAreLeft(AtOnce):
    def given(self, seen, rewards, *given):
        return seen, {agent: rewards[agent] for agent in self.agents}, *given


class TakesNoSeedAtOnce(AtOnce):
    def reset(self):
        return super().reset()


REFUSED = {
    EndsWithoutAFlag: r"step: nobody is left, but neither terminations nor truncations of red and blue "
    r"are set \(valid: True in one of them for each agent that leaves\)",
    Dones: "reset: reset must set terminations and truncations, as PettingZoo documents it; dones is of PettingZoo bef",
    HasNoCumulative: "reset: reset must set _cumulative_rewards",
    NeverClears: r"step: step left \[1.0, 0.0\] in rewards, but added \[0.0, 0.0\] to _cumulative_rewards \(valid: ",
    PaysLater: r"step: step left \[1.0, .*\] in rewards, but added \[1.0, 0.0\] to _cumulative_rewards",
    SeveralObjectives: r"step: the reward of red is array\(\[1., 1.\]\) \(valid: one number\)",
    PaysTheRemovedNothing: r"step: step gave no reward to red \(valid: one for each agent that is not done\)",
    ListsMoves: r"legal actions: blue is given legal_moves, which is not understood \(valid: an action_mask\)",
    Generates: r"reset: after reset agents has red, blue, green \(valid: red, blue\)",
    ForgetsTheTurn: r"step: agent_selection is 'red', which is not in the game any more \(valid: blue\)",
    TakesNoSeed: r"reset of TakesNoSeed takes no seed \(valid: reset\(seed=None, options=None\)\)",
    ResetsWithoutInfos: r"reset: reset returned dict \(valid: observations, infos\)",
    GivesFour: r"step: step returned 4 values \(valid: observations, rewards, terminations, truncations, infos\)",
    DoneForAll: r"step: step returned bool as terminations \(valid: a dictionary by agent\)",
    LeavesWithoutAFlag: "step: nobody is left, but neither terminations nor truncations of red and blue are set",
    PaysThoseThatAreLeft: r"step: step gave no reward to red \(valid: one for each agent that acted\)",
    TakesNoSeedAtOnce: "reset of TakesNoSeedAtOnce takes no seed",
}


@pytest.mark.parametrize("style", REFUSED, ids=lambda style: style.__name__)
def test_what_is_not_understood_is_refused_before_training(style):
    with pytest.raises(GameError, match=REFUSED[style]):
        repeats_itself(lambda: adapted(style()), steps=1)
