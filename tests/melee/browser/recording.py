"""Games of the mock as Python plays them: inputs of every step, and every byte of what comes of it.

A recording is one game: the length of a JSON header in 32 bits, the header, the state at the start, and then for each
step its actions, who acts, and the bytes of all ``parts``. ``compare.js`` plays the inputs again.
"""

import json
import struct

import numpy as np

from selfplay_melee.bots import NAMES as BOTS
from selfplay_melee.browser.program import LINE, MAX_DELAY
from selfplay_melee.controller import NEUTRAL
from selfplay_melee.mock import MockMelee
from selfplay_melee.tables import CHARACTERS, STAGES

WIDTH = len(NEUTRAL)
STEP_BYTES = 2 * WIDTH + 2  # of the inputs
HOLDS = (1, 12)  # frames


def record(number, frames, without=(), **chosen):
    """Play game ``number`` of a set that goes through all characters, stages, delays and scripted players.

    ``without``: arrays that are not compared. ``chosen``: settings that ``settings`` would choose otherwise.
    """
    rng = np.random.default_rng(number)
    how = settings(number, rng) | chosen
    options = {name: how[name] for name in ("characters", "stage", "frame_skip", "max_episode_frames", "bot_skip")}
    game = MockMelee(1, delay=LINE - how["frame_skip"], **options, rewards=how["rewards"])
    game._games.delay[0] = how["delay"]
    game.bots[0] = how["bots"]
    game.reset(np.array([number], np.uint64))
    arrays = [*arrays_of("games", game._games), *arrays_of("out", game._out)]
    arrays = [(name, array) for name, array in arrays if name not in without]
    header = {
        "name": f"game {number}: {' '.join(how['characters'])} {how['stage']} bots {how['bots']} delay {how['delay']}",
        "live": how["live"],
        "steps": frames // how["frame_skip"],
        "parts": [name for name, _ in arrays],
        "start": {
            "seed": str(number),
            "characters": [CHARACTERS[name] for name in how["characters"]],
            "stage": STAGES[how["stage"]],
            "bots": how["bots"],
            "delay": how["delay"],
            "options": options_of(game),
        },
    }
    head = json.dumps(header).encode()
    raw = [array for _, array in arrays]
    out = [struct.pack("<I", len(head)), head, *(array.tobytes() for array in raw)]
    for actions, acts in inputs(rng, header["steps"]):
        game.step(actions[None], acts[None])
        out += [actions.tobytes(), acts.tobytes(), *(array.tobytes() for array in raw)]
    return b"".join(out)


def options_of(game, **changed):
    """``StepOptions`` of a game as the page's rules take them."""
    options = game._options()._replace(**changed)
    return options._asdict() | {"rewards": options.rewards._asdict()}


def settings(number, rng):
    names, stages = sorted(CHARACTERS), sorted(STAGES)
    bots = [-1, -1]
    for seat in range(2):
        if rng.random() < 0.5:
            bots[seat] = int(rng.integers(len(BOTS)))
    skip = int(rng.choice([1, 1, 2, 4]))
    return {
        "characters": (names[number % len(names)], names[int(rng.integers(len(names)))]),
        "stage": stages[number % len(stages)],
        "frame_skip": skip,
        "bot_skip": int(rng.choice([1, 4])),
        "bots": bots,
        "delay": rng.integers(0, (MAX_DELAY, 7)).tolist(),
        "max_episode_frames": int(rng.integers(200, 4000)),
        "rewards": {"stalling": 0.1, "self_destruct": 1.0, "lingering": 0.3, "lingering_from": 20.0},
        "live": number % 2 == 0,
    }


def inputs(rng, steps):
    """Actions int8 [P, 14] and who acts bool [P], for each step."""
    left, actions = [0, 0], np.stack([NEUTRAL, NEUTRAL])
    for _ in range(steps):
        for seat in range(2):
            left[seat] -= 1
            if left[seat] < 0:
                left[seat] = int(rng.integers(*HOLDS))
                actions[seat] = _action(rng)
        yield actions.copy(), rng.random(2) < 0.95


def _action(rng):
    action = NEUTRAL.copy()
    action[:8] = rng.random(8) < (0.18, 0.18, 0.12, 0.06, 0.06, 0.08, 0.03, 0.02)
    if rng.random() < 0.8:
        action[8:10] = rng.integers(0, 17, 2) if rng.random() < 0.5 else rng.choice([0, 8, 16], 2)
    if rng.random() < 0.15:
        action[10:12] = rng.choice([0, 8, 16], 2)
    if rng.random() < 0.1:
        action[12] = rng.integers(0, 5)
    return action


def with_other_input(recording, step):
    """The same recording, but seat 0 presses or releases the first button in one step, which Python did not see."""
    size = struct.unpack_from("<I", recording)[0]
    steps = json.loads(recording[4 : 4 + size])["steps"]
    state = (len(recording) - 4 - size - steps * STEP_BYTES) // (steps + 1)
    changed = bytearray(recording)
    at = 4 + size + state + step * (STEP_BYTES + state)
    changed[at] ^= 1
    changed[at + 2 * WIDTH] = 1  # it acts
    return bytes(changed)


def arrays_of(group, arrays):
    """Arrays by their paths in the module, as plain bytes that follow the game."""
    return [(f"{group}.{name}", array.view(np.ndarray)) for name, array in arrays._asdict().items()]
