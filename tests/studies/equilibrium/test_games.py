"""NashConv of known policies, and trainings that come nearer to equilibrium; needs OpenSpiel."""

import time

import numpy as np
import pytest

pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")

import selfplay
from scripts.studies.equilibrium import cfr, ours
from scripts.studies.equilibrium.games import Tree
from scripts.studies.equilibrium.meter import Meter
from scripts.studies.equilibrium.names import GAMES
from selfplay.games.check import check_game
from selfplay.games.registry import find_game


@pytest.mark.parametrize(
    ("game", "states", "uniform"),
    [("kuhn_poker", 12, 11 / 12), ("leduc_poker", 936, 4.747222), ("dark_hex", 134, 1.25)],
)
def test_uniform_play_is_as_exploitable_as_is_known(game, states, uniform):
    tree = Tree(game)
    assert len(tree.states) == states
    assert tree.nash_conv(tree.uniform) == pytest.approx(uniform, abs=1e-6)


def test_an_equilibrium_of_kuhn_poker_cannot_be_exploited():
    tree = Tree("kuhn_poker")
    bet = {"0": 0, "0p": 0, "1": 0, "2": 0, "0pb": 0, "1pb": 1 / 3, "2pb": 1, "0b": 0, "1b": 1 / 3, "2b": 1}
    bet |= {"0p": 1 / 3, "1p": 0, "2p": 1}
    played = tree.tabulated(lambda state: {1: (p := bet[state.information_state_string()]), 0: 1 - p})
    assert tree.nash_conv(played) == pytest.approx(0, abs=1e-9)


def test_probabilities_of_illegal_actions_are_refused():
    tree = Tree("leduc_poker")
    with pytest.raises(ValueError, match="sum to"):
        tree.nash_conv(np.full(tree.legal.shape, 1 / 3))


def test_cfr_goes_towards_zero_and_is_measured_at_the_set_times():
    tree = Tree("kuhn_poker")
    meter = Meter(tree, 0.4, time.process_time())
    cfr.train(tree, 0, meter)
    seconds = [point["seconds"] for point in meter.points]
    assert seconds == sorted(seconds)
    assert 2 <= len(seconds) <= 5
    assert seconds[-1] >= 0.4
    assert meter.points[-1]["average"] < 0.01 < 11 / 12


@pytest.mark.parametrize("game", GAMES)
def test_our_trainer_plays_every_game(game):
    chance = game not in ("goofspiel", "dark_hex")
    name = f"openspiel:{GAMES[game]}"
    selfplay.allow(name)
    check_game(find_game(name).make, steps=60, chance=chance, zero_sum=True)


def test_our_policies_are_asked_for_what_they_see_in_a_game():
    rows = {row.tobytes() for row in ours.seen(Tree("leduc_poker"))}
    game, rng = find_game("openspiel:leduc_poker").single(render=False), np.random.default_rng(0)
    for seed in range(20):
        game.reset(seed)
        done = False
        while not done:
            (seat,) = game.to_act()
            assert game.observe(seat).tobytes() in rows
            _, done, _ = game.step([int(rng.choice(np.flatnonzero(game.legal(seat))))] * 2)


def test_the_newest_generation_at_a_mark():
    saved = [(2.0, "gen_0"), (5.0, "gen_1"), (9.0, "gen_2")]
    assert [ours.newest(saved, seconds)[1] for seconds in (1.0, 5.0, 8.9, 20.0)] == ["gen_0", "gen_1", "gen_1", "gen_2"]
