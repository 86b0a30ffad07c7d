"""The committed playthroughs: inputs of both seats and what the rules made of them.

Every character is on one side and on the other, every stage at least once. A file of ``playthroughs/`` is one game,
named STAGE-CHARACTER-CHARACTER, with a line for each stretch of frames with unchanged controllers:

    frames, controller of seat 0, controller of seat 1 | action x y percent shield stocks of each seat, digest

A controller is 8 digits for the buttons, 4 letters for the stick axes (a = full left or down, i = centre,
q = full right or up) and a digit for the shoulder, as in ``selfplay_melee.controller``. The digest covers every bit of
the state, hidden memory included.

After a change of rules or tables that is meant: ``python -m tests.melee.playthrough --write``; with no
argument it prints what the rules give now (``NUMBA_DISABLE_JIT=1``: uncompiled), observations too.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

from selfplay_melee import controller
from selfplay_melee.observation import encode
from selfplay_melee.state import GameState
from tests.melee.arena import Arena

FOLDER = Path(__file__).with_name("playthroughs")
GAMES = (
    ("mewtwo", "fox", "battlefield"),
    ("fox", "mewtwo", "final_destination"),
    ("falco", "marth", "dreamland"),
    ("marth", "sheik", "fountain_of_dreams"),
    ("sheik", "cptfalcon", "pokemon_stadium"),
    ("cptfalcon", "ganondorf", "yoshis_story"),
    ("ganondorf", "jigglypuff", "battlefield"),
    ("jigglypuff", "falco", "final_destination"),
    ("kirby", "dk", "dreamland"),
    ("gameandwatch", "ylink", "battlefield"),
    ("roy", "bowser", "pokemon_stadium"),
    ("mario", "pikachu", "yoshis_story"),
    ("zelda", "ness", "fountain_of_dreams"),
)
STRETCHES = 150  # of each game, when written


def code(action):
    """One action as text."""
    buttons, axes = action[:8], action[8:12]
    return "".join(map(str, buttons)) + "".join(chr(ord("a") + axis) for axis in axes) + str(action[12])


def parse(text):
    """The action behind a text."""
    return [*map(int, text[:8]), *(ord(letter) - ord("a") for letter in text[8:12]), int(text[12])]


def read():
    """[(left, right, stage, [(line, frames, actions [2, 13])])] of all files, in the order of ``GAMES``."""
    return [(left, right, stage, _stretches(path_of(left, right, stage))) for left, right, stage in GAMES]


def path_of(left, right, stage):
    """File of a game."""
    return FOLDER / f"{stage}-{left}-{right}.txt"


def _stretches(path):
    stretches = []
    for line in path.read_text("ascii").splitlines():
        frames, first, second = line.split("|")[0].split()
        stretches.append((line, int(frames), np.array([parse(first), parse(second)], np.int8)))
    return stretches


def result(arena):
    """What is written after a stretch."""
    seats = [
        f"{p.action} {float(p.x):.4f} {float(p.y):.4f} {float(p.percent):.2f} {float(p.shield):.2f} {p.stocks}"
        for p in arena.players
    ]
    digest = hashlib.sha256(b"".join(array.tobytes() for array in (arena.game, arena.players, arena.memory)))
    return f"{seats[0]}  {seats[1]}  {digest.hexdigest()[:16]}"


def play(left, right, stage, stretches, observe=lambda arena: None):
    """Lines that the rules give for the inputs of a game."""
    arena = Arena(left, right, stage)
    for frames, actions in stretches:
        controller.decode(actions, arena.controllers)
        for _ in range(frames):
            arena.step()
        observe(arena)
        yield f"{frames} {code(actions[0])} {code(actions[1])} | {result(arena)}"


def comparison():
    """The lines of all games, and for each game a digest of the observations after each stretch."""
    for left, right, stage, stretches in read():
        digest = hashlib.sha256()

        def observe(arena, digest=digest):
            state = GameState(arena.arrays[0], arena.arrays[1][None], arena.arrays[3][None])
            for array in encode(state, arena.tables):
                digest.update(array.tobytes())

        yield from play(left, right, stage, [(frames, actions) for _, frames, actions in stretches], observe)
        yield f"observations {digest.hexdigest()[:16]}"


def invent(seed):
    """Inputs of players who seek each other, attack, defend and recover at random."""
    rng = np.random.default_rng(seed)
    arena = Arena(*GAMES[seed])
    while True:
        actions = np.array([controller.NEUTRAL, controller.NEUTRAL])
        for seat in range(2):
            player, other = arena.players[seat], arena.players[1 - seat]
            draw = rng.random()
            toward = 16 if other.x > player.x else 0
            if draw < 0.45:
                actions[seat, controller.MAIN_X] = toward
            elif draw < 0.8:
                actions[seat, controller.MAIN_X : controller.MAIN_Y + 1] = rng.choice([0, 4, 8, 12, 16], 2)
            if abs(player.x) > 70 and not player.on_ground:
                actions[seat, controller.MAIN_X] = 0 if player.x > 0 else 16
                actions[seat, controller.MAIN_Y] = 16
            actions[seat, int(rng.integers(0, 8))] = rng.random() < 0.8
            if rng.random() < 0.1:
                actions[seat, controller.C_X + int(rng.integers(0, 2))] = rng.choice([0, 16])
            if rng.random() < 0.1:
                actions[seat, controller.SHOULDER] = rng.integers(1, 5)
        frames = int(rng.integers(1, 14))
        controller.decode(actions, arena.controllers)
        for _ in range(frames):
            arena.step()
        yield frames, actions


def write():
    """Invent new inputs and record what they give."""
    FOLDER.mkdir(exist_ok=True)
    for seed, names in enumerate(GAMES):
        source = invent(seed)
        stretches = [next(source) for _ in range(STRETCHES)]
        path_of(*names).write_text("".join(f"{line}\n" for line in play(*names, stretches)), "ascii")


def main():
    """Print or write."""
    if sys.argv[1:] == ["--write"]:
        write()
        return
    for line in comparison():
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
