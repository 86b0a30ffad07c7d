"""What a game is played for: declared by it, or shown by random play."""

from types import SimpleNamespace

import pytest
from gymnasium.vector import AutoresetMode
from pettingzoo.classic import rps_v2

from selfplay.games import objective as module
from selfplay.games.errors import GameError
from selfplay.games.gymnasium_games import GymnasiumGames
from selfplay.games.objective import OUTCOME, Objective, declared, given_by, measure
from selfplay.games.pettingzoo_games import adapted
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game, make_game
from tests.games.games import Bids
from tests.games.vector_environments import climbs


def test_what_is_declared_is_not_measured(monkeypatch):
    monkeypatch.setattr(module, "random_step", lambda *_: pytest.fail("measured"))
    assert find_game("kuhn").objective == Objective("reward", -2.0, 2.0, "chips")
    assert find_game("pennies").objective == OUTCOME


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"payoff_range": (0, 1)}, "payoff_range needs objective"),
        ({"objective": "money"}, "valid: outcome, reward, shared"),
        ({"objective": ["reward"]}, "valid: outcome, reward, shared"),
        ({"objective": "reward", "payoff_range": (1, 0)}, "the lower one first"),
        ({"objective": "reward", "payoff_range": 3}, "two finite numbers are needed"),
        ({"objective": "reward", "payoff_range": (0, 1, 2)}, "two finite numbers are needed"),
        ({"objective": "reward", "payoff_range": (0, "x")}, "two finite numbers are needed"),
        ({"objective": "reward", "payoff_unit": 5}, "payoff_unit is 5"),
    ],
)
def test_what_is_not_valid_is_refused(given, message):
    with pytest.raises(GameError, match=message):
        declared("my:Game", **given)


@pytest.mark.parametrize(
    ("game", "kind"), [("tests.games.games:Nim", "outcome"), ("tests.commands.test_check_game:Common", "shared")]
)
def test_random_play_shows_it(game, kind):
    allow(game)
    assert find_game(game).objective.kind == kind
    assert find_game(game).objective.measured


@pytest.mark.parametrize(
    ("payoffs", "shown"),
    [((), 3), ((0.0,), 3), ((1e-12,), 3), ((123.4, 1e-6), 3), ((-0.012,), 3), ((0.0012, 0.0), 4), ((1e-6,), 7)],
)
def test_small_payoffs_have_more_decimals(payoffs, shown):
    assert module.decimals(*payoffs) == shown


def test_a_slow_game_is_not_waited_for(monkeypatch):
    games = make_game("rps", num_games=4)
    clock = iter((0.0, module.SECONDS))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    steps = []
    monkeypatch.setattr(games, "step", lambda actions, step=games.step: steps.append(1) or step(actions))
    assert measure(games).measured
    assert len(steps) == 1


def test_advice_is_for_games_that_declare_nothing():
    shown = Objective("reward", -11.0, 11.0, measured=True).advice()
    assert shown.startswith("Played for points (payoffs of -11 to 11 in random play): ratings and evaluations")
    assert '`objective = "reward"`' in shown
    assert Objective("shared", 0.0, 1.0, measured=True).advice().startswith("Cooperative: both seats always get equal")
    for silent in (OUTCOME, Objective("outcome", measured=True), Objective("reward", -1.0, 1.0)):
        assert silent.advice() is None


DECLARED = {"objective": "reward", "payoff_range": (-3, 3), "payoff_unit": "metres"}


def test_environments_declare_it_in_their_metadata(monkeypatch):
    env = climbs(1, AutoresetMode.SAME_STEP)
    env.metadata = env.metadata | DECLARED
    assert given_by(GymnasiumGames(env, 1)) == DECLARED
    pettingzoo = rps_v2.env()
    monkeypatch.setattr(type(pettingzoo.unwrapped), "metadata", pettingzoo.unwrapped.metadata | DECLARED)
    assert given_by(adapted(pettingzoo)) == DECLARED
    assert declared("rps", **given_by(adapted(pettingzoo))) == Objective("reward", -3.0, 3.0, "metres")


def test_a_block_of_an_environment_declares_it():
    allow(f"{__name__}:metres")
    assert find_game(f"{__name__}:metres").objective == Objective("reward", -3.0, 3.0, "metres")


def metres(num_games):
    env = climbs(num_games)
    env.metadata = env.metadata | DECLARED
    return env


def test_a_game_without_payoffs_is_played_to_win():
    games = make_game("mock", num_games=1)
    assert measure(games) == OUTCOME
    games.close()
    assert given_by(Bids()) == {"objective": None, "payoff_range": None, "payoff_unit": "points"}
