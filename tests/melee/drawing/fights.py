"""Fights for tests: made by hand, without rules, so that each frame is known."""

from types import SimpleNamespace

import numpy as np

from selfplay_melee import actions
from selfplay_melee.controller import BUTTON_A
from selfplay_melee.drawing.film import Recorder
from selfplay_melee.slp.layout import ITEM_FIELDS, native
from selfplay_melee.state import CONTROLLER, GAME, PLAYER, GameState
from selfplay_melee.tables import CHARACTERS, STAGES

NAMES = ("gen_5", "random")
ITEM = np.dtype([("t", "i4"), *native(ITEM_FIELDS).descr])


def state(stage="final_destination"):
    """A standing pair, 40 units apart."""
    made = GameState.zeros(1)
    made.game["stage"] = STAGES[stage]
    made.game["fountain_left"], made.game["fountain_right"] = 20, 28
    made.players["character"] = [CHARACTERS["fox"], CHARACTERS["mewtwo"]]
    made.players["x"], made.players["facing"] = [-20, 20], [1, -1]
    made.players["action"], made.players["stocks"], made.players["shield"] = actions.WAIT, 4, 60
    return made


def film(frames=120, stage="final_destination", names=NAMES, skip=1, values=None, change=None):
    """A film in which seat 0 walks to the right and attacks from frame 60 on.

    ``values`` gives both estimates of a frame; ``change(state, frame)`` may change each frame.
    """
    now, recorder = state(stage), Recorder()
    red = now.players[0, 0]
    for frame in range(0, frames, skip):
        now.game["frame"] = frame
        red["x"] = -20 + 0.3 * frame
        red["action"], red["action_frame"] = actions.WALK_MIDDLE, frame
        if frame >= 60:
            red["action"], red["action_frame"] = actions.FSMASH, frame - 60
            now.controllers[0, 0]["buttons"] = BUTTON_A
            now.controllers[0, 0]["main_x"] = 1
        if change is not None:
            change(now, frame)
        recorder.take(now, None if values is None else np.array(values(frame), np.float32))
    return recorder.film("made by hand", names)


def replay(frames=60, names=("", ""), stage="yoshis_story", items=0):
    """The part of ``Replay`` that films are made of, for a game of which an old version has recorded little."""
    of = state(stage)
    players = np.repeat(of.players, frames, axis=0).astype(PLAYER)
    players["hitlag"], players["speed_air_x"], players["jumps_left"] = np.nan, np.nan, -1
    game = np.zeros(frames, GAME)
    game["frame"], game["stage"] = np.arange(frames) - 123, STAGES[stage]
    game["fountain_left"], game["fountain_right"] = np.nan, np.nan
    things = np.zeros(items, ITEM)
    things["t"], things["type"] = np.arange(items) % max(frames, 1), 54
    return SimpleNamespace(
        path="/games/Game_1.slp",
        seats=[
            SimpleNamespace(port=port, human=port == 0, name=name) for port, name in zip((0, 2), names, strict=True)
        ],
        state=GameState(game, players, np.zeros((frames, 2), CONTROLLER)),
        items=things,
    )
