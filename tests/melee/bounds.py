"""Play everything while every index into an array is checked: ``python -m tests.melee.bounds``.

Uncompiled (``NUMBA_DISABLE_JIT=1``) NumPy checks. Compiled, ``NUMBA_BOUNDSCHECK=1`` does, with a NUMBA_CACHE_DIR of its
own: the cache does not tell apart code with and without checks. There an index below 0 is an error too; NumPy
and Numba would count it from the end.

    --frames N        of each game at random, and a tenth of it between scripted players
    --replays FOLDER  measure every replay in it
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from numba.core import cgutils

from scripts.studies.fidelity.measure import measure
from scripts.studies.fidelity.reconstruct import read_scored, reconstruct_memory
from selfplay_melee import actions as a
from selfplay_melee import bots
from selfplay_melee.episodes import begin_step
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.observation import encode
from selfplay_melee.replay import ReplayError, replay_of, seat_of
from selfplay_melee.state import GameState
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.melee.arena import Arena, random_pads


def refuse_negative_indices():
    """Make compiled code check indices as they are, before it has been compiled."""
    checked = cgutils.get_item_pointer2

    def as_they_are(*args, **options):
        return checked(*args, **{**options, "wraparound": False})

    cgutils.get_item_pointer2 = as_they_are


def play_every_action():
    """A frame in every action, on the ground and in the air: a replay may have any, at any time."""
    for character in CHARACTERS:
        arena = Arena(character, character)
        for action in range(a.NUM_ACTIONS):
            arena.restart()
            arena.place(0, 10.0)
            arena.place(1, 50.0, 30.0, grounded=False)
            arena.players.action[:] = action
            arena.play()


def follow_every_action():
    """What the fidelity score works out of a replay with every number of an action, those above the tables too."""
    state = GameState.zeros(2 * a.NUM_ACTIONS)
    state.players["character"] = CHARACTERS["kirby"], CHARACTERS["fox"]
    state.players["action"] = np.arange(2 * a.NUM_ACTIONS)[:, None]
    seats = tuple(seat_of(seat, int(state.players["character"][0, seat])) for seat in range(2))
    reconstruct_memory(replay_of(state, seats, STAGES["final_destination"], path="every.slp"))


def choose_in_every_action():
    """What a scripted player chooses in any action, those above the tables too, as an emulator has them."""
    for kind in range(len(bots.NAMES)):
        game = MockMelee(1, characters=("kirby", "kirby"))
        game.bots[0, 0] = kind
        game.reset(np.zeros(1, np.uint64))
        for action in range(2 * a.NUM_ACTIONS):
            game.state.players["action"] = action
            begin_step(game._options(), game._games, game._tables, np.zeros(6))


def play_at_random(frames):
    """Each character against the one before it, each on the next stage, with an observation after each frame."""
    names, stages = list(CHARACTERS), list(STAGES)
    for i, name in enumerate(names):
        arena = Arena(names[i - 1], name, stages[i % len(stages)])
        state = GameState(arena.arrays[0], arena.arrays[1][None], arena.arrays[3][None])
        for pads in random_pads(i, frames):
            arena.controllers[:] = pads
            arena.step()
            encode(state, arena.tables)
            if arena.over:
                arena.restart()


def play_scripted(frames):
    """Each scripted player against the strongest, with each body."""
    names, stages = list(CHARACTERS), list(STAGES)
    for i, name in enumerate(names):
        games = MockMelee(
            len(bots.NAMES), characters=(name, names[i - 1]), stage=stages[i % len(stages)], max_episode_frames=3600
        )
        games.bots[:, 0] = range(len(bots.NAMES))
        games.bots[:, 1] = len(bots.NAMES) - 1
        games.reset(np.arange(len(bots.NAMES), dtype=np.uint64))
        for _ in range(frames):
            games.step(neutral_actions(len(bots.NAMES)))


def measure_all(folder):
    """Everything that the fidelity score does with a replay."""
    for path in sorted(folder.rglob("*.slp")):
        try:
            replay = read_scored(path)
        except ReplayError:
            continue
        try:
            measure(replay)
        except IndexError as error:
            raise IndexError(path.name) from error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--replays", type=Path)
    options = parser.parse_args()
    refuse_negative_indices()
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        play_every_action()
        follow_every_action()
        choose_in_every_action()
        play_at_random(options.frames)
        play_scripted(options.frames // 10)
        if options.replays:
            measure_all(options.replays)


if __name__ == "__main__":
    sys.exit(main())
