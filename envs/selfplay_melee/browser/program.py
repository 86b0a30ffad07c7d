"""What a page calls of the mock, and the arrays of its one game."""

from __future__ import annotations

from typing import Final

import numpy as np

from selfplay_melee.arrays import StepOptions, new_games, new_step_arrays
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.episodes import hold_actions, observe_game, start_episode, step_games
from selfplay_melee.limits import MAX_DELAY
from selfplay_melee.observation import OBS_WIDTH
from selfplay_melee.state import NUM_SEATS, GameState
from selfplay_melee.tables import load_tables
from selfplay_melee.wasm.memory import Entry, Program

LINE: Final = MAX_DELAY + 4  # frames of a delay line; delay and frame skip together must not exceed it


def mock_program() -> Program:
    """Entries of one game: ``start``, ``hold``, ``step``, ``live_step`` and ``observe``.

    ``step`` is ``MockMelee.step``, restart included; ``live_step`` leaves a finished game as it is.
    """
    shape = (1, NUM_SEATS)
    games = new_games(GameState.zeros(1), np.zeros(shape, np.int64), LINE)
    game = ("options", "games", "tables", "out")
    return Program(
        entries=(
            Entry("start", start_episode, (0, "games", "tables", "options.cap")),
            Entry("hold", hold_actions, ("actions", "acts", "games")),
            Entry("step", step_games, (*game, True)),
            Entry("live_step", step_games, (*game, False)),
            Entry("observe", observe_game, (0, "games", "tables", "out.obs")),
        ),
        values={
            "options": StepOptions(frame_skip=1, bot_skip=1, cap=1, ledge_grab_limit=0),
            "actions": np.zeros((*shape, ACTION_SPEC.width), np.int8),
            "acts": np.zeros(shape, np.bool_),
            "games": games,
            "out": new_step_arrays(1, OBS_WIDTH),
            "tables": load_tables(),
        },
    )
