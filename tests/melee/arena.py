"""One game of the mock, for tests: place players, play frames with named inputs, look at the state."""

from types import FunctionType

import numpy as np

from selfplay_melee import actions
from selfplay_melee.controller import BUTTONS
from selfplay_melee.physics.frame import advance_frame, start_game
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.state import CONTROLLER, GAME, PLAYER, records
from selfplay_melee.tables import CHARACTERS, STAGES, load_tables

NEUTRAL = {"main_x": 0.0, "main_y": 0.0, "c_x": 0.0, "c_y": 0.0, "shoulder": 0.0, "buttons": 0}


def pad(buttons="", x=0.0, y=0.0, c_x=0.0, c_y=0.0, shoulder=0.0):
    """A controller: buttons by name, separated by blanks."""
    bits = sum(1 << BUTTONS.index(name) for name in buttons.split())
    return {"main_x": x, "main_y": y, "c_x": c_x, "c_y": c_y, "shoulder": shoulder, "buttons": bits}


def mirrored(controller):
    return {**controller, "main_x": -controller["main_x"], "c_x": -controller["c_x"]}


class Arena:
    """Seat 0 stands left and looks right."""

    def __init__(self, left="mewtwo", right="fox", stage="final_destination", offset=0.0):
        self.tables = load_tables()
        self.arrays = records(GAME, 1), records(PLAYER, 2), records(MEMORY, 2), records(CONTROLLER, 2)
        # the same, with fields as attributes
        self.game, self.players, self.memory, self.controllers = (array.view(np.recarray) for array in self.arrays)
        self.game.stage = STAGES[stage]
        self.players.character[:] = CHARACTERS[left], CHARACTERS[right]
        self.over = 0
        self.restart(offset)

    def restart(self, offset=0.0):
        game, players, memory, _ = self.arrays
        start_game(game[0], players, memory, self.tables, offset)

    def step(self):
        """One frame with the controllers as they stand."""
        game, players, memory, controllers = self.arrays
        self.over = advance_frame(game[0], players, memory, controllers, self.tables)

    def play(self, frames=1, first=NEUTRAL, second=NEUTRAL):
        """The same inputs for some frames; the arena itself, for chaining."""
        for seat, controller in enumerate((first, second)):
            for name, value in controller.items():
                self.controllers[name][seat] = value
        for _ in range(frames):
            self.step()
        return self

    def play_until(self, condition, limit=600, first=NEUTRAL, second=NEUTRAL):
        """Frames until the condition on the arena holds; how many there were."""
        for frame in range(limit):
            if condition(self):
                return frame
            self.play(1, first, second)
        raise AssertionError(f"did not happen in {limit} frames; actions {self.actions}")

    @property
    def actions(self):
        return [int(action) for action in self.players.action]

    def place(self, seat, x, y=0.0, facing=None, grounded=True):
        """Stand, or float, somewhere at rest."""
        player, memory = self.players[seat], self.memory[seat]
        player.x, player.y = x, y
        if facing is not None:
            player.facing = facing
        if not grounded:
            player.on_ground, memory.surface = 0, -1
            player.action, player.action_frame, player.jumps_left = actions.FALL, 0.0, 1
        return self

    def surface(self, seat, index):
        self.memory[seat].surface = index
        stage = self.tables.stages.view(np.recarray)[self.memory[seat].stage_row]
        self.players[seat].y = stage.surface_y[index]
        return self


def random_pads(seed, frames, seats=2):
    """CONTROLLER records [frames, seats], each held for some frames; the kind of play that finds holes."""
    rng = np.random.default_rng(seed)
    pads = records(CONTROLLER, frames, seats)
    frame = 0
    while frame < frames:
        hold = int(rng.integers(1, 12))
        for seat in range(seats):
            row = pads[frame : frame + hold, seat]
            row["main_x"], row["main_y"] = rng.integers(-8, 9, 2) / 8
            if rng.random() < 0.2:
                row["c_x"], row["c_y"] = rng.integers(-8, 9, 2) / 8
            if rng.random() < 0.2:
                row["shoulder"] = rng.integers(0, 5) / 4
            row["buttons"] = int((rng.random(8) < 0.12) @ (1 << np.arange(8)))
        frame += hold
    return pads


def as_python(rule):
    """A rule, and the rules that it calls, as the plain Python functions that they were written as."""
    function = getattr(rule, "py_func", rule)
    called = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    rules = {name: as_python(value) for name, value in called.items() if hasattr(value, "py_func")}
    return FunctionType(function.__code__, {**function.__globals__, **rules})
