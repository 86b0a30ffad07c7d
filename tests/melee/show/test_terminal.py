import io
import os
import pty

import numpy as np
import pytest
from rich.console import Console

from selfplay_melee.controller import BUTTON_A, BUTTON_R
from selfplay_melee.show.terminal import (
    PICTURES_PER_S,
    Playback,
    blocks,
    inputs,
    picture_size,
    play_terminal,
    terminal_keys,
)
from selfplay_melee.state import CONTROLLER
from tests.melee.drawing.fights import film
from tests.support.cases import first_alone
from tests.support.processes import LIMIT_S


class Hands:
    """A clock and keys: waiting lets the time go by, and gives the key that is due."""

    def __init__(self, keys=()):
        self.now, self.keys, self.waits = 100.0, dict(keys), 0

    def wait(self, seconds):
        self.waits += 1
        self.now += max(seconds, 0.0)
        return self.keys.pop(self.waits, None)


def shown(made, keys=(), width=80, height=30):
    """What a terminal was sent while a film played, and how long that took."""
    hands, output = Hands(keys), io.StringIO()
    console = Console(file=output, force_terminal=True, width=width, height=height, color_system="truecolor")
    play_terminal(made, console, hands, lambda: hands.now)
    return output.getvalue(), hands.now - 100.0


def test_a_film_plays_at_the_speed_of_the_game():
    text, seconds = shown(film(120))
    assert seconds == pytest.approx(2, abs=2 / PICTURES_PER_S)
    for words in ("gen_5", "random", "●●●●", "walk middle", "fsmash", "0:01.9 / 0:02.0", "▀"):
        assert words in text


@pytest.mark.parametrize(
    ("keys", "seconds"),
    first_alone(
        [
            ({1: "faster"}, 1.0),
            ({1: "slower"}, 4.0),
            ({15: "quit"}, 0.5),
            ({1: "end"}, 2.0),
            ({2: "space", 32: "space"}, 3.0),
            ({30: "left"}, 3.0),
            ({5: "nothing"}, 2.0),
        ]
    ),
)
def test_keys_change_how_long_it_takes(keys, seconds):
    pauses = "end" in keys.values()
    took = shown(film(120), {**keys, 60: "quit"} if pauses else keys)[1]
    assert took == pytest.approx(seconds, abs=0.15)


def test_playback_keeps_within_the_film():
    playback = Playback(film(10))
    for key, at in (("home", 0), ("left", 0), ("right", 9), ("space", 9), ("left", 8), ("end", 9), ("right", 9)):
        playback.press(key)
        assert playback.position == at, key
    playback.advance(5)
    assert not playback.ended
    playback.press("space")
    playback.advance(0)
    assert playback.ended


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 50), (20, 5), (400, 20)])
def test_pictures_fit_the_terminal(columns, rows):
    width, height = picture_size(columns, rows)
    assert width <= max(columns, 32)
    assert height <= max(rows - 4, 12)
    text, _ = shown(film(4), {1: "quit"}, columns, rows)
    assert text


def test_two_pixels_are_one_letter():
    pixels = np.zeros((2, 3, 3), np.uint8)
    pixels[0, 1:], pixels[1] = (255, 0, 0), (0, 0, 255)
    text = blocks(pixels)
    assert text.plain == "▀▀▀"
    styles = [str(span.style) for span in text.spans]
    assert styles == ["#000000 on #0000ff", "#ff0000 on #0000ff"]


def test_inputs_in_letters():
    pad = np.zeros((), CONTROLLER)
    assert inputs(pad) == "·"
    pad["main_x"], pad["main_y"], pad["c_y"], pad["shoulder"] = -1, 1, -1, 0.5
    pad["buttons"] = BUTTON_A | BUTTON_R
    assert inputs(pad) == "↖ c↓ A R 50%"
    pad["main_x"], pad["main_y"] = np.nan, np.nan
    assert inputs(pad).startswith("·")


def test_keys_of_a_terminal():
    ours, theirs = pty.openpty()
    try:
        with terminal_keys(theirs) as keys:
            assert keys.wait(0) is None
            for pressed, name in ((b" ", "space"), (b"\x1b[C", "right"), (b"q", "quit"), (b"[", "slower"), (b"x", "x")):
                os.write(ours, pressed)
                assert keys.wait(LIMIT_S) == name
            os.write(ours, b"\x1b[D\x1b[1~]")
            assert [keys.wait(LIMIT_S) for _ in range(3)] == ["left", "home", "faster"]
    finally:
        os.close(ours)
        os.close(theirs)
