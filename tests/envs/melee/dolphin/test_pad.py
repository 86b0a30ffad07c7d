"""What is sent to the pipe of a port."""

import numpy as np
import pytest

pytest.importorskip("melee", reason="needs libmelee (the extra dolphin)")
from melee import Button

from envs.melee.controller import BUTTONS
from envs.melee.dolphin.pad import Pad
from envs.melee.state import CONTROLLER


class Pipe:
    """A controller of libmelee's that remembers what it was told."""

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        return lambda *values: self.told.append((name, *values))

    def take(self):
        told, self.told = self.told, []
        return told


def record(**values):
    made = np.zeros(1, CONTROLLER)
    for name, value in values.items():
        made[name] = value
    return made[0]


@pytest.fixture
def pad():
    return Pad(Pipe())


def test_what_does_not_change_is_not_sent(pad):
    pad.hold(record())
    assert pad.controller.take() == []
    pad.hold(record(main_x=0.5, main_y=-1.0))
    assert pad.controller.take() == [("tilt_analog_unit", Button.BUTTON_MAIN, 0.5, -1.0)]
    pad.hold(record(main_x=0.5, main_y=-1.0))
    assert pad.controller.take() == []
    pad.hold(record(main_x=0.5, main_y=-1.0, c_x=1.0, shoulder=0.25))
    assert pad.controller.take() == [
        ("tilt_analog_unit", Button.BUTTON_C, 1.0, 0.0),
        ("press_shoulder", Button.BUTTON_L, 0.25),
    ]


@pytest.mark.parametrize("bit", range(len(BUTTONS)), ids=BUTTONS)
def test_buttons(pad, bit):
    pad.hold(record(buttons=1 << bit))
    assert pad.controller.take() == [("press_button", Button(BUTTONS[bit]))]
    pad.hold(record(buttons=1 if bit else 0))
    wanted = {("release_button", Button(BUTTONS[bit]))} | ({("press_button", Button("A"))} if bit else set())
    assert set(pad.controller.take()) == wanted


def test_let_go_of_everything(pad):
    pad.hold(record(buttons=3, main_x=1.0))
    pad.release()
    assert pad.controller.take()[-1] == ("release_all",)
    pad.hold(record())
    assert pad.controller.take() == []
    pad.hold(record(buttons=2))
    pad.flush()
    assert pad.controller.take() == [("press_button", Button("B")), ("flush",)]
