import importlib.util
import sys
from types import MappingProxyType

import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec, wrappers

from selfplay.distribution import install_command
from selfplay.games.errors import GameError
from selfplay.games.game import Game
from selfplay.games.pettingzoo_games import AecGame, ParallelGame, adapted
from selfplay.games.plugins import find_single
from selfplay.games.vector import SyncVectorGame

CONNECT_FOUR = "pettingzoo.classic.connect_four_v3"
ROCK_PAPER_SCISSORS = "pettingzoo.classic.rps_v2"


class Turns(AECEnv):
    """Red and blue in turn: a line of ``script`` has what a step gives to each, and who is done after it.

    An agent sees the number of steps so far, and its letters.
    """

    metadata = MappingProxyType({"name": "turns_v7", "render_modes": ["human"]})

    def __init__(self, script, info=None):
        self.script, self.info = script, info or {}
        self.possible_agents = ["red", "blue"]
        self.seeds, self.played = [], []

    def observation_space(self, agent):
        return Box(0, 100, (2,))

    def action_space(self, agent):
        return Discrete(2, start=3)

    def reset(self, seed=None, options=None):
        self.seeds.append(seed)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = dict.fromkeys(self.agents, self.info)
        self.agent_selection = "red"
        self._skip_agent_selection = None
        self.time = 0

    def observe(self, agent):
        assert agent in self.agents, "nothing is shown to an agent that is gone"
        return np.array([self.time, len(agent)])

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.played.append((agent, action))
        self._cumulative_rewards[agent] = 0
        red, blue, ended = self.script[self.time]
        self.rewards = {name: reward for name, reward in (("red", red), ("blue", blue)) if name in self.agents}
        self._accumulate_rewards()
        self.time += 1
        for one, how in ended.items():
            (self.terminations if how == "terminated" else self.truncations)[one] = True
        waiting = [one for one in self.agents if one != agent and not (self.terminations[one] or self.truncations[one])]
        self.agent_selection = (*waiting, agent)[0]
        self._deads_step_first()


LAST = {"red": "terminated", "blue": "terminated"}
SCRIPT = (
    (1, 2, {}),
    (4, 8, {}),
    (16, 32, {"blue": "terminated"}),
    (64, 0, {}),
    (128, 0, {"red": "truncated"}),
)


def play(game, actions=(0, 0), seed=0):
    """Who acts, and what the step gives, until the game is over."""
    game.reset(seed)
    for _ in range(100):
        seats = tuple(game.to_act())
        rewards, terminated, truncated = game.step(actions)
        yield seats, list(rewards), terminated, truncated
        if terminated or truncated:
            return
    pytest.fail("the game has no end")


# ---------------------------------------------------------------- one agent after the other


def test_steps_of_agents_that_are_done_are_no_steps_of_the_game():
    assert [*play(AecGame(Turns(SCRIPT)))] == [
        ((0,), [1, 2], False, False),
        ((1,), [4, 8], False, False),
        ((0,), [16, 32], False, False),
        ((0,), [64, 0], False, False),
        ((0,), [128, 0], False, True),
    ]


def test_rewards_between_two_actions_are_those_of_last():
    env = Turns(SCRIPT)
    env.reset()
    given = {"red": [], "blue": []}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        given[agent].append(reward)
        env.step(None if terminated or truncated else 3)
    sums = [[0.0], [0.0]]
    for (actor,), rewards, _, _ in play(AecGame(Turns(SCRIPT))):
        sums[actor].append(0.0)  # an action begins a sum
        for seat in (0, 1):
            sums[seat][-1] += rewards[seat]
    assert sums == [given["red"], given["blue"]] == [[0, 5, 16, 64, 128], [2, 40]]


@pytest.mark.parametrize("how", ["terminated", "truncated"])
def test_final_rewards_reach_the_seat_that_waits(how):
    game = AecGame(Turns([(0, 0, {}), (-1, 1, dict.fromkeys(LAST, how))]))
    assert [*play(game)][-1] == ((1,), [-1, 1], how == "terminated", how == "truncated")


@pytest.mark.parametrize(
    ("script", "truncated"),
    [
        ([(0, 0, {"red": "truncated", "blue": "terminated"})], False),
        ([(0, 0, {"red": "truncated", "blue": "truncated"})], True),
        ([(0, 0, {"red": "truncated"}), (0, 0, {"blue": "terminated"})], False),
        ([(0, 0, {"red": "terminated"}), (0, 0, {"blue": "truncated"})], True),
    ],
)
def test_who_ends_last_says_whether_the_game_is_over(script, truncated):
    assert [*play(AecGame(Turns(script)))][-1][2:] == (not truncated, truncated)


def test_a_seat_sees_its_last_observation_after_the_end():
    game = AecGame(Turns(SCRIPT))
    assert len([*play(game)]) == 5
    assert game.observe(0).tolist() == [5, 3, 1, 0]
    assert game.observe(1).tolist() == [3, 4, 0, 1]
    game.reset(0)
    assert game.observe(1).tolist() == [0, 4, 0, 1]


def test_the_environment_is_given_seeds_and_its_own_numbers():
    env = Turns(SCRIPT)
    game = AecGame(env)
    game.reset(2**40 + 5)
    game.step((1, 0))
    game.step((1, 0))
    assert env.seeds == [5]  # many generators take 32 bits
    assert env.played == [("red", 4), ("blue", 3)]
    assert game.action_name(1) == "4"
    assert game.legal(0).all()


def test_wrappers_that_only_check_are_left_out():
    class Doubled(wrappers.BaseWrapper):
        def step(self, action):
            super().step(action)
            self.env.rewards["red"] *= 2
            self.env._cumulative_rewards["red"] *= 2

    raw = Turns(SCRIPT)
    checked = wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(raw))
    game = AecGame(checked)
    assert game._core is raw
    assert game.env is checked
    assert next(play(game))[1] == [1, 2]
    doubled = Doubled(wrappers.OrderEnforcingWrapper(raw))
    game = AecGame(wrappers.AssertOutOfBoundsWrapper(doubled))
    assert game._core is doubled
    assert next(play(game))[1] == [2, 2]


def test_an_agent_that_cannot_be_removed_is_refused():
    class Stays(Turns):
        def step(self, action):
            if action is not None:
                super().step(action)

    game = AecGame(Stays([(0, 0, {"red": "terminated"})]))
    game.reset(0)
    with pytest.raises(GameError, match=r"red is done, but step\(None\) does not remove it from agents"):
        game.step((0, 0))


def test_a_reset_that_ends_at_once_is_refused():
    class Short(Turns):
        def reset(self, seed=None, options=None):
            super().reset(seed)
            self.terminations = dict.fromkeys(self.agents, True)

    with pytest.raises(GameError, match="nobody is to act, but the game is not over"):
        SyncVectorGame(lambda: AecGame(Short(SCRIPT)), 1).reset(np.zeros(1, np.uint64))


# ---------------------------------------------------------------- both at once


class Castle(ParallelEnv):
    """An archer and a wall, whose observations and actions differ; ``ends`` says when and how each is done."""

    metadata = MappingProxyType({"name": "castle"})

    def __init__(self, ends=None):
        self.ends = ends or {}
        self.possible_agents = ["archer", "wall"]
        self.aims, self.infos = [1, 0, 1, 1, 1], {}
        self.played = []

    def observation_space(self, agent):
        if agent == "wall":
            return MultiBinary(3)
        return Dict({"observation": Box(-9, 9, (2,)), "action_mask": Box(0, 1, (5,), np.int8), "area": Discrete(3)})

    def action_space(self, agent):
        return MultiDiscrete([3, 2]) if agent == "archer" else Discrete(4, start=-1)

    def reset(self, seed=None, options=None):
        self.agents, self.time = self.possible_agents[:], 0
        return self.observations(), self.infos

    def step(self, actions):
        self.played.append({agent: np.array(action).tolist() for agent, action in actions.items()})
        self.time += 1
        live, done = self.agents, {agent: self.ends.get((agent, self.time)) for agent in self.agents}
        rewards = {agent: self.time * (1 if agent == "archer" else -10) for agent in live}
        seen = self.observations()
        self.agents = [agent for agent in live if done[agent] is None]
        flags = ({agent: done[agent] == how for agent in live} for how in ("terminated", "truncated"))
        return seen, rewards, *flags, self.infos

    def observations(self):
        archer = {"observation": np.array([self.time, -1.5]), "action_mask": np.array(self.aims, np.int8), "area": 2}
        return {agent: archer if agent == "archer" else [1, 0, self.time % 2] for agent in self.agents}


def test_the_seats_may_differ():
    game = ParallelGame(Castle())
    game.reset(0)
    assert (game.obs_width, game.num_actions) == (7, (4, 2))
    assert tuple(game.to_act()) == (0, 1)
    assert game.observe(0).tolist() == [0, 0, 1, 0, -1.5, 1, 0]  # the area, then the observation
    assert game.observe(1).tolist() == [1, 0, 0, 0, 0, 0, 1]
    assert game.observe(0).dtype == np.float32
    assert game.legal(0).tolist() == [1, 0, 1, 0, 1, 1]
    assert game.legal(1).tolist() == [1, 1, 1, 1, 1, 0]
    game.env.infos = {"wall": {"action_mask": (0, 1, 1, 0)}}
    assert game.step([(2, 1), (3, 0)]) == ([1, -10], False, False)
    assert game.env.played == [{"archer": [2, 1], "wall": 2}]
    assert game.observe(1).tolist() == [1, 0, 1, 0, 0, 0, 1]
    assert game.legal(1).tolist() == [0, 1, 1, 0, 1, 0]
    assert game.version == 1


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (
            {("wall", 1): "terminated", ("archer", 2): "truncated"},
            [((0, 1), [1, -10], False, False), ((0,), [2, 0], False, True)],
        ),
        (
            {("archer", 1): "truncated", ("wall", 2): "terminated"},
            [((0, 1), [1, -10], False, False), ((1,), [0, -20], True, False)],
        ),
        ({("archer", 1): "truncated", ("wall", 1): "terminated"}, [((0, 1), [1, -10], True, False)]),
        ({("archer", 1): "truncated", ("wall", 1): "truncated"}, [((0, 1), [1, -10], False, True)]),
    ],
)
def test_an_agent_may_leave_early(ends, expected):
    game = ParallelGame(Castle(ends))
    assert [*play(game, [(0, 0), (0, 0)])] == expected
    assert game.observe(1).tolist() == [1, 0, next(time for who, time in ends if who == "wall") % 2, 0, 0, 0, 1]


def test_actions_of_one_number_may_have_different_masks():
    class Chest(Castle):
        def action_space(self, agent):
            return Discrete(3, start=1) if agent == "archer" else Discrete(5)

    env = Chest()
    env.aims = [0, 1, 1]
    game = ParallelGame(env)
    game.reset(0)
    assert game.num_actions == 5
    assert game.legal(0).tolist() == [0, 1, 1, 0, 0]
    assert game.legal(1).all()
    game.step((2, 4))
    assert env.played == [{"archer": 3, "wall": 4}]
    assert game.action_name(2) == "2"  # 3 of one seat, 2 of the other


def test_a_mask_may_be_in_the_infos():
    game = AecGame(Turns(SCRIPT, {"action_mask": np.array([0, 1], np.int8)}))
    game.reset(0)
    assert game.legal(0).tolist() == [False, True]


def test_a_mask_of_another_size_is_refused():
    game = AecGame(Turns(SCRIPT, {"action_mask": np.ones(3)}))
    game.reset(0)
    with pytest.raises(GameError, match=r"the action_mask of red has 3 entries \(valid: 2\)"):
        game.legal(0)


def test_an_observation_that_is_not_in_its_space_names_the_agent():
    class Wide(Turns):
        def observe(self, agent):
            return np.zeros(5)

    game = AecGame(Wide(SCRIPT))
    game.reset(0)
    with pytest.raises(GameError, match=r"red sees what is not in Box\(0.0, 100.0, \(2,\), float32\): cannot resh"):
        game.observe(0)


def test_both_kinds_play_the_same_environment():
    options = {("archer", 3): "terminated", ("wall", 3): "terminated"}
    turns = parallel_to_aec(Quiet(options))
    rewards = np.array([step[1] for step in play(AecGame(turns), [(0, 0), (0, 0)])])
    assert rewards.shape == (6, 2)
    assert rewards.sum(0).tolist() == [1 + 2 + 3, -10 - 20 - 30]


class Quiet(Castle):
    render_mode = None

    def __init__(self, ends):
        super().__init__(ends)
        self.infos = {"archer": {}, "wall": {}}


# ---------------------------------------------------------------- what a factory makes


class Counter(Game):
    num_actions, obs_width = 2, 1

    def reset(self, seed):
        pass

    def observe(self, seat):
        return [0]

    def step(self, actions):
        return (0, 0), True, False


def test_games_and_environments_are_adapted():
    game = Counter()
    assert adapted(game) is game
    assert isinstance(adapted(Turns(SCRIPT)), AecGame)
    assert isinstance(adapted(Castle()), ParallelGame)
    assert adapted(Castle()).seat_names == ("archer", "wall")


@pytest.mark.parametrize(
    ("made", "what"),
    [(None, "None"), (Turns, r"<class '.*test_pettingzoo_games\.Turns'>")],
)
def test_anything_else_is_refused(made, what):
    with pytest.raises(GameError, match=rf"^{what} is no game \(valid: a Game, or a ParallelEnv or AECEnv"):
        adapted(made)


def test_version_players_and_steps_are_those_of_the_environment():
    def first(game, seat, rng):
        return 0

    env = Turns(SCRIPT)
    assert AecGame(env).version == 7
    assert AecGame(env).players == {}
    env.players, env.held_out = {"first": first}, ["first"]
    game = AecGame(wrappers.OrderEnforcingWrapper(env))
    assert game.players == {"first": first}
    assert game.held_out == ("first",)
    assert game.max_steps == 1000
    longer = Turns(SCRIPT)
    longer.max_cycles, longer.players = 700, ["a list of something else"]
    assert AecGame(longer).max_steps == 1400
    assert AecGame(longer).players == {}


def broken(base, **attributes):
    env = type("Broken", (base,), attributes)(SCRIPT if base is Turns else None)
    return env


def without_agents():
    env = Castle()
    del env.possible_agents
    return env


def of_three():
    env = Turns(SCRIPT)
    env.possible_agents = ["red", "blue", "green"]
    return env


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (without_agents(), r"there are no possible_agents \(valid: the names of two agents\)"),
        (of_three(), r"there are 3 possible_agents \(red, blue, green\), only games of two are supported"),
        (broken(Turns, reset=AECEnv.reset), "there is no reset: Broken does not define it"),
        (broken(Castle, reset=ParallelEnv.reset), "there is no reset: Broken does not define it"),
        (
            broken(Turns, observation_space=lambda self, agent: Box(0, 255, (8, 8, 3), np.uint8)),
            r"red sees Box\(0, 255, \(8, 8, 3\), uint8\): images are not supported yet",
        ),
        (
            broken(Castle, action_space=lambda self, agent: Box(-1, 1, (2,))),
            r"archer plays Box\(-1.0, 1.0, \(2,\), float32\): continuous actions are not supported yet",
        ),
    ],
)
def test_environments_that_are_not_supported_are_refused(env, message):
    with pytest.raises(GameError, match=f"^{message}$"):
        adapted(env)


def test_a_reset_may_take_whatever_it_is_given():
    env = broken(Castle, reset=lambda self, **options: Castle.reset(self, options["seed"]))
    game = ParallelGame(env)
    game.reset(1)
    assert game.to_act() == (0, 1)


# ---------------------------------------------------------------- modules of PettingZoo


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module into PettingZoo and gives its name."""
    monkeypatch.setattr(pettingzoo, "__path__", [*pettingzoo.__path__, str(tmp_path)])

    def write(name, code):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.delitem(sys.modules, f"pettingzoo.{name}", raising=False)
        importlib.invalidate_caches()
        return f"pettingzoo.{name}"

    return write


def from_pettingzoo(name, render=False):
    return find_single(f"pettingzoo:{name}")(render)


SHOWN = """
import numpy as np
from tests.games.test_pettingzoo_games import SCRIPT, Turns

class Shown(Turns):
    metadata = {{"render_modes": {modes}}}

    def __init__(self, render_mode=None):
        super().__init__(SCRIPT)
        self.render_mode = render_mode

    def render(self):
        return "a text" if self.render_mode == "ansi" else np.full((2, 3, 3), 7, np.uint8)

env = Shown
"""


@pytest.mark.parametrize(
    ("modes", "mode"),
    [(["human", "rgb_array", "ansi"], "ansi"), (["human", "rgb_array"], "rgb_array"), (["human"], None)],
)
def test_games_are_rendered_as_the_environment_can(module, modes, mode):
    name = module("shown_v2", SHOWN.format(modes=modes))
    game = from_pettingzoo(name, render=True)
    game.reset(0)
    assert game.env.render_mode == mode
    if mode == "ansi":
        assert game.render() == "a text"
    elif mode == "rgb_array":
        assert np.array_equal(game.render(), np.full((2, 3, 3), 7))
    else:
        with pytest.raises(NotImplementedError):
            game.render()
    hidden = from_pettingzoo(name)
    hidden.reset(0)
    assert hidden.env.render_mode is None
    with pytest.raises(NotImplementedError):
        hidden.render()


def test_environments_of_both_kinds_are_taken_as_parallel_ones(module):
    code = "from tests.games.test_pettingzoo_games import Castle\nenv = None\nparallel_env = lambda **_: Castle()"
    assert isinstance(from_pettingzoo(module("both_v0", code)), ParallelGame)


def test_names_outside_pettingzoo_are_refused_before_their_import(tmp_path, monkeypatch):
    (tmp_path / "pettingzoo_but_not.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("pettingzoo_but_not", "os.path", ".classic", ""):
        with pytest.raises(
            GameError, match=rf"{name!r} is no module of PettingZoo \(valid: 'pettingzoo\.' and what foll"
        ):
            from_pettingzoo(name)


def test_a_mistyped_module_names_the_nearest():
    with pytest.raises(GameError, match=rf"'pettingzoo.classic.conect_four_v3'; did you mean '{CONNECT_FOUR}'\?"):
        from_pettingzoo("pettingzoo.classic.conect_four_v3")
    with pytest.raises(GameError, match=r"'pettingzoo.clasic.rps_v2'.*valid: .*pettingzoo.classic, "):
        from_pettingzoo("pettingzoo.clasic.rps_v2")


def test_a_module_that_is_gone_suggests_no_other_game():
    with pytest.raises(GameError, match=r"unknown environment 'pettingzoo.classic.gin_rummy_v4' \(valid: "):
        from_pettingzoo("pettingzoo.classic.gin_rummy_v4")


@pytest.mark.parametrize("name", ["connect_four_v3", "connect_four", "classic.connect_four_v2", "conect-four"])
def test_the_name_of_an_environment_suggests_its_module(name):
    with pytest.raises(GameError, match=rf"'{name}' is no module .*; did you mean 'pettingzoo:{CONNECT_FOUR}'\? \(val"):
        from_pettingzoo(name)


@pytest.mark.parametrize("name", ["pettingzoo.classic", "pettingzoo.utils.env"])
def test_a_module_without_an_environment_is_refused(name):
    with pytest.raises(GameError, match=rf"unknown environment '{name}'.*\(valid: pettingzoo\."):
        from_pettingzoo(name)


def test_what_has_moved_elsewhere_is_said_in_one_line(module):
    name = module("moved_v1", "raise ImportError('moved_v1 is a package of its own')")
    with pytest.raises(
        GameError, match=r"pettingzoo\.moved_v1: ImportError: moved_v1 is a package of its own \(.*moved_v1\.py:1\)$"
    ):
        from_pettingzoo(name)


@pytest.mark.parametrize(
    ("package", "name", "command"),
    [
        ("pettingzoo", "pettingzoo.gone_v1", install_command("pettingzoo")),
        ("pygame", "pettingzoo.needs_v1", install_command("pettingzoo")),
        ("rlcard", "pettingzoo.classic.texas_holdem_v4", "pip install 'pettingzoo[classic]'"),
    ],
)
def test_what_is_missing_is_named_with_its_command(module, monkeypatch, package, name, command):
    module("gone_v1", "raise ModuleNotFoundError(name='pettingzoo')")
    module("needs_v1", "import pygame")
    if package != "pettingzoo":
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(GameError) as error:
        from_pettingzoo(name)
    assert str(error.value) == f"--game-type pettingzoo:{name}: {package} is missing, which {name} needs: {command}"


# ---------------------------------------------------------------- environments of PettingZoo


@pytest.fixture
def real():
    if importlib.util.find_spec("pygame") is None:
        pytest.skip("needs pygame, which is not installed")
    return from_pettingzoo


def test_connect_four(real):
    game = real(CONNECT_FOUR)
    assert isinstance(game, AecGame)
    assert (game.num_actions, game.obs_width, game.version) == (7, 6 * 7 * 2 + 2, 3)
    game.reset(0)
    steps = []
    for column in (0, 1, 0, 1, 0, 1, 0):
        (seat,) = game.to_act()
        assert game.legal(seat).all()
        steps.append((seat, *game.step([column, column])))
    assert steps[-1] == (0, [1, -1], True, False)
    assert steps[:-1] == [(turn % 2, [0, 0], False, False) for turn in range(6)]
    board = game.observe(0)[:-2].reshape(6, 7, 2)
    assert board[:, 0, 0].tolist() == [0, 0, 1, 1, 1, 1]
    assert board[:, 1, 1].tolist() == [0, 0, 0, 1, 1, 1]
    assert np.array_equal(game.observe(1)[:-2].reshape(6, 7, 2), board[:, :, ::-1])


def test_a_full_column_of_connect_four_is_not_legal(real):
    game = real(CONNECT_FOUR)
    game.reset(0)
    for _ in range(6):
        assert game.step([2, 2]) == ([0, 0], False, False)
    assert game.legal(0).tolist() == [True, True, False, True, True, True, True]


def test_connect_four_is_shown(real):
    game = real(CONNECT_FOUR, render=True)
    game.reset(0)
    picture = game.render()
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    game.close()


def test_rock_paper_scissors(real):
    game = real(ROCK_PAPER_SCISSORS)
    assert isinstance(game, ParallelGame)
    assert (game.num_actions, game.obs_width, game.version) == (3, 4 + 2, 2)
    steps = [*play(game, [0, 1])]
    assert steps == [*[((0, 1), [-1, 1], False, False)] * 14, ((0, 1), [-1, 1], False, True)]
    assert game.observe(0).tolist() == [0, 1, 0, 0, 1, 0]  # the other's paper
    assert game.observe(1).tolist() == [1, 0, 0, 0, 0, 1]
