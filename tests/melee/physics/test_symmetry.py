"""Swapping the seats and mirroring x gives the mirrored game, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay_melee import actions as a
from selfplay_melee.state import PLAYER
from tests.melee.arena import Arena, random_pads
from tests.support.cases import first_alone

MIRRORED = ("x", "speed_air_x", "speed_ground_x", "speed_attack_x", "facing")
EXCHANGED = {
    a.DEAD_LEFT: a.DEAD_RIGHT,
    a.DEAD_RIGHT: a.DEAD_LEFT,
    a.TAUNT_LEFT: a.TAUNT_RIGHT,
    a.TAUNT_RIGHT: a.TAUNT_LEFT,
}


def mirror_image(players):
    """The seats exchanged, left and right exchanged."""
    image = players[::-1].copy()
    for name in MIRRORED:
        image[name] *= -1
    image["action"] = [EXCHANGED.get(int(action), int(action)) for action in image["action"]]
    return image


def assert_equal(one, other, frame):
    for name in PLAYER.names:
        assert np.array_equal(one[name], other[name]), f"frame {frame}: {name} {one[name]} {other[name]}"


def play_both(left, right, stage, pads):
    game, image = Arena(left, right, stage), Arena(right, left, stage)
    for frame in range(len(pads)):
        if frame % 400 == 399:
            game.players.percent += 50
            image.players.percent += 50
        game.controllers[:] = pads[frame]
        image.controllers[:] = pads[frame][::-1]
        image.controllers["main_x"] *= -1
        image.controllers["c_x"] *= -1
        game.step()
        image.step()
        assert_equal(game.players, mirror_image(image.players), frame)
        if game.over:
            break


@pytest.mark.parametrize("stage", first_alone(["battlefield", "final_destination"]))
@pytest.mark.parametrize(("left", "right"), first_alone([("mewtwo", "fox"), ("mewtwo", "mewtwo"), ("fox", "fox")]))
def test_random_play_mirrors(left, right, stage):
    play_both(left, right, stage, random_pads(len(left) * 7 + len(right), 4000))


@pytest.mark.full
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_close_combat_mirrors(seed, platforms):
    pads = random_pads(seed, 600)
    pads["main_x"][:, 0] = np.abs(pads["main_x"][:, 0])  # walk into each other
    pads["main_x"][:, 1] = -np.abs(pads["main_x"][:, 1])
    play_both("fox", "mewtwo", "battlefield" if platforms else "final_destination", pads)


def test_the_same_inputs_mirrored_give_a_draw():
    """A game against one's own mirror image never favours a seat."""
    arena = Arena("fox", "fox")
    pads = random_pads(5, 4000, seats=1)
    for frame in range(len(pads)):
        arena.controllers[0] = pads[frame, 0]
        arena.controllers[1] = pads[frame, 0]
        for name in ("main_x", "c_x"):
            arena.controllers[name][1] *= -1
        arena.step()
        assert_equal(arena.players, mirror_image(arena.players), frame)
