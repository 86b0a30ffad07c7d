import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.games.check import highest
from selfplay.games.errors import ActionError, GameError
from selfplay_melee import controller as c
from selfplay_melee.state import CONTROLLER, records

HIGHEST = highest(c.ACTION_SPEC)
ACTIONS = st.tuples(*(st.integers(0, int(most)) for most in HIGHEST)).map(lambda a: np.array(a, np.int8))


def without_tap(actions):
    """A controller is that of one frame, and knows no tap."""
    return np.where(np.arange(len(HIGHEST)) == c.TAP, 0, actions)


def decoded(actions):
    pads = records(CONTROLLER, *actions.shape[:-1])
    c.decode(actions, pads)
    return pads


def test_every_code_of_every_head_round_trips():
    rows = []
    for field, most in enumerate(HIGHEST):
        for code in range(most + 1):
            action = c.NEUTRAL.copy()
            action[field] = code
            rows.append(action)
    actions = np.stack(rows)
    assert np.array_equal(c.encode(decoded(actions)), without_tap(actions))


def test_all_pairs_of_main_stick_codes_round_trip():
    actions = np.tile(c.NEUTRAL, (c.STICK_CODES**2, 1))
    actions[:, [c.MAIN_X, c.MAIN_Y]] = list(itertools.product(range(c.STICK_CODES), repeat=2))
    assert np.array_equal(c.encode(decoded(actions)), actions)


@given(ACTIONS)
def test_any_action_round_trips(action):
    assert np.array_equal(c.encode(decoded(action[None]))[0], without_tap(action))


def test_full_deflections_are_exact():
    action = c.NEUTRAL.copy()
    action[[c.MAIN_X, c.MAIN_Y, c.C_X, c.C_Y, c.SHOULDER]] = 16, 0, 0, 16, 4
    pad = decoded(action[None])[0]
    assert (pad.main_x, pad.main_y, pad.c_x, pad.c_y, pad.shoulder) == (1.0, -1.0, -1.0, 1.0, 1.0)


def test_neutral_is_hands_off():
    pad = decoded(c.NEUTRAL[None])[0]
    assert (pad.main_x, pad.main_y, pad.c_x, pad.c_y, pad.shoulder, pad.buttons) == (0, 0, 0, 0, 0, 0)


def test_codes_are_evenly_spaced_and_rise():
    actions = np.tile(c.NEUTRAL, (c.STICK_CODES, 1))
    actions[:, c.MAIN_X] = np.arange(c.STICK_CODES)
    assert np.array_equal(np.diff(decoded(actions)["main_x"]), np.full(c.STICK_CODES - 1, 0.125))


@pytest.mark.parametrize("i", range(len(c.BUTTONS)))
def test_each_button_is_its_bit(i):
    action = c.NEUTRAL.copy()
    action[i] = 1
    assert decoded(action[None])[0].buttons == 1 << i == getattr(c, f"BUTTON_{c.BUTTONS[i]}")


@given(st.floats(-1, 1), st.floats(0, 1))
def test_encode_takes_the_nearest_code(stick, shoulder):
    pads = records(CONTROLLER, 1)
    pads["main_x"], pads["shoulder"] = stick, shoulder
    again = decoded(c.encode(pads))
    assert abs(again["main_x"][0] - stick) <= 1 / 16
    assert abs(again["shoulder"][0] - shoulder) <= 1 / 8


@given(ACTIONS, st.booleans())
def test_mirror_is_an_involution(action, where):
    mask = np.array(where)
    assert np.array_equal(c.mirror(c.mirror(action, mask), mask), action)


@given(ACTIONS)
def test_mirror_turns_x_round_and_nothing_else(action):
    plain, mirrored = decoded(action[None])[0], decoded(c.mirror(action, np.array(True))[None])[0]
    assert (mirrored.main_x, mirrored.c_x) == (-plain.main_x, -plain.c_x)
    for name in ("main_y", "c_y", "shoulder", "buttons"):
        assert mirrored[name] == plain[name]


def test_mirror_leaves_its_argument_and_the_other_rows_alone():
    actions = np.tile(c.NEUTRAL, (2, 1))
    actions[:, c.MAIN_X] = 16
    result = c.mirror(actions, np.array([True, False]))
    assert result[:, c.MAIN_X].tolist() == [0, 16]
    assert actions[:, c.MAIN_X].tolist() == [16, 16]


@pytest.mark.parametrize("field", range(len(c.FIELDS)))
@pytest.mark.parametrize("value", [-1, 100, 0.5, np.nan, np.inf, -np.inf])
def test_a_bad_value_is_named(field, value):
    actions = np.tile(c.NEUTRAL, (3, 2, 1)).astype(np.float64)
    actions[2, 1, field] = value
    with pytest.raises(ActionError) as error:
        c.check_actions(actions, 3, 2)
    message = str(error.value)
    assert f"game 2, seat 1: {c.FIELDS[field]} is {float(value)}" in message
    assert f"from 0 to {HIGHEST[field]}" in message


@pytest.mark.parametrize("shape", [(14,), (2, 14), (1, 2, 13), (1, 2, 15), (2, 2, 14), (1, 1, 14), (1, 2, 14, 1)])
def test_a_bad_shape_is_named(shape):
    with pytest.raises(ActionError, match=r"\(1, 2, 14\).*seats.*shoulder"):
        c.check_actions(np.zeros(shape, np.int8), 1, 2)


@pytest.mark.parametrize("dtype", ["complex128", "U3", "object"])
def test_a_bad_type_is_named(dtype):
    with pytest.raises(ActionError, match="whole numbers, got dtype"):
        c.check_actions(np.tile(c.NEUTRAL, (1, 2, 1)).astype(dtype), 1, 2)


def test_something_else_than_an_array_is_refused():
    with pytest.raises(GameError, match="list"):
        c.check_actions([[0] * 14] * 2, 1, 2)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float32", "float64"])
def test_every_type_of_whole_numbers_is_taken(dtype):
    checked = c.check_actions(np.tile(HIGHEST, (1, 2, 1)).astype(dtype), 1, 2)
    assert checked.dtype == np.int8
    assert np.array_equal(checked[0, 0], HIGHEST)
