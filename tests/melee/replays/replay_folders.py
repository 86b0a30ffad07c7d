"""Folders of small replay files, and libraries of them."""

from datetime import UTC, datetime

import numpy as np

from selfplay_melee.controller import decode
from selfplay_melee.replay import replay_of, save_replay, seat_of
from selfplay_melee.replays.library import Library
from selfplay_melee.state import GameState
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.games.play import some_actions

SKIP, DELAY = 4, 2


def write_game(path, frames=60, seed=0, characters=("fox", "marth"), names=("Anna", "Box"), ports=(0, 2), gap=None):
    """A game from frame 0 on of players that walk about; ``gap``: a frame that is left out."""
    rng = np.random.default_rng(seed)
    state = GameState.zeros(frames)
    state.game["frame"] = [n for n in range(frames + (gap is not None)) if n != gap]
    for name in ("x", "y", "percent"):
        state.players[name] = rng.uniform(0, 60, (frames, 2)).astype(np.float32)
    state.players["facing"] = 1.0
    state.players["stocks"] = 4
    state.players["action"] = 14
    state.players["character"] = [CHARACTERS.get(name, 9) for name in characters]
    decode(some_actions(frames, 1, seed)[:, 0], state.controllers)
    ids = state.players["character"][0]
    seats = [seat_of(ports[i], int(ids[i]), human=True, name=names[i]) for i in range(2)]
    path.parent.mkdir(parents=True, exist_ok=True)
    replay = replay_of(state, tuple(seats), STAGES["final_destination"])
    save_replay(path, replay, datetime(2001, 11, 21, tzinfo=UTC))  # so that equal games are equal files
    return path


def decisions(frames):
    """Rows of one seat of a game of so many frames without a gap."""
    return len(range(0, frames - DELAY - SKIP, SKIP))


def library(folder, cache=None, **options):
    return Library(folder, SKIP, DELAY, cache, **options)


def same_examples(left, right):
    """Whether two lists of examples hold the same, bit for bit."""
    names = ("obs", "action", "last", "frame", "fresh")
    return len(left) == len(right) and all(
        np.array_equal(getattr(a, name), getattr(b, name)) and getattr(a, name).dtype == getattr(b, name).dtype
        for a, b in zip(left, right, strict=True)
        for name in names
    )
