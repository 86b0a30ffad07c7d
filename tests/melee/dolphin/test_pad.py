"""What is sent to the pipe of a port."""

import io

import numpy as np
import pytest

melee = pytest.importorskip("melee", reason="needs libmelee (the extra dolphin)")
from melee import Button  # noqa: E402

from selfplay_melee.controller import BUTTONS  # noqa: E402
from selfplay_melee.dolphin.pad import Pad  # noqa: E402
from selfplay_melee.state import CONTROLLER  # noqa: E402


class Controller(melee.Controller):
    """One of libmelee's whose pipe is read here."""

    def __init__(self):
        self.pipe, self.logger, self._fix_analog_inputs = io.StringIO(), None, True
        self.prev = self.current = melee.controller.ControllerState()

    def take(self):
        """Lines that were written since the last time."""
        lines = self.pipe.getvalue().splitlines()
        self.pipe.seek(0)
        self.pipe.truncate()
        return lines


def record(**values):
    made = np.zeros(1, CONTROLLER)
    for name, value in values.items():
        made[name] = value
    return made[0]


@pytest.fixture
def pad():
    return Pad(Controller())


def sent(pad, **values):
    """What a frame with these inputs writes."""
    pad.hold(record(**values))
    pad.write()
    pad.flush()
    lines = pad.controller.take()
    assert lines[-1] == "FLUSH"
    assert lines.count("FLUSH") == 1
    return lines[:-1]


def test_what_does_not_change_is_not_sent(pad):
    assert sent(pad) == []
    assert [line.split()[:2] for line in sent(pad, main_x=0.5, main_y=-1.0)] == [["SET", "MAIN"]]
    assert sent(pad, main_x=0.5, main_y=-1.0) == []
    changed = sent(pad, main_x=0.5, main_y=-1.0, c_x=1.0, shoulder=0.25)
    assert [line.split()[:2] for line in changed] == [["SET", "C"], ["SET", "L"]]


def test_the_words_are_libmelees(pad):
    theirs = Controller()
    for x, y in ((-1.0, 1.0), (0.125, -0.5), (0.0, 0.0)):
        theirs.tilt_analog_unit(Button.BUTTON_MAIN, x, y)
        theirs.tilt_analog_unit(Button.BUTTON_C, y, x)
        theirs.press_shoulder(Button.BUTTON_L, abs(x))
        assert sent(pad, main_x=x, main_y=y, c_x=y, c_y=x, shoulder=abs(x)) == theirs.take()


@pytest.mark.parametrize("bit", range(len(BUTTONS)), ids=BUTTONS)
def test_buttons(pad, bit):
    assert sent(pad, buttons=1 << bit) == [f"PRESS {Button(BUTTONS[bit]).value}"]
    wanted = {f"RELEASE {BUTTONS[bit]}"} | ({"PRESS A"} if bit else set())
    assert set(sent(pad, buttons=1 if bit else 0)) == wanted


def test_inputs_that_were_never_sent_are_not_forgotten(pad):
    pad.hold(record(buttons=1))
    pad.hold(record(buttons=3))
    pad.write()
    pad.flush()
    assert pad.controller.take() == ["PRESS A", "PRESS B", "FLUSH"]


def test_let_go_of_everything(pad):
    sent(pad, buttons=3, main_x=1.0)
    pad.hold(record(buttons=7))
    pad.release()
    pad.write()
    pad.flush()
    lines = pad.controller.take()
    assert {"RELEASE A", "RELEASE B", "SET MAIN .5 .5"} < set(lines)
    assert not [line for line in lines if line.startswith("PRESS")]
    assert sent(pad) == []
    assert sent(pad, buttons=2) == ["PRESS B"]
