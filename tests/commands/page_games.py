"""Documents of games as the play page writes them, made by Python."""

import base64

import numpy as np

from envs.compile import sources_hash
from envs.melee.arrays import StepOptions
from envs.melee.bots import NAMES as BOTS
from envs.melee.browser.game import PageGame
from envs.melee.controller import NEUTRAL
from envs.melee.mock import MockMelee
from envs.melee.tables import CHARACTERS, STAGES
from selfplay.commands.played_games import CHECKED, HELD


def page_game(frames=200, cap=150, name="Ada", bot="rusher"):
    """A game of a person, who moves and hits, against a scripted player; it ends at its cap, or is stopped before."""
    options = MockMelee(1, bot_skip=4, max_episode_frames=cap)._options()
    characters, stage, seed = (CHARACTERS["fox"], CHARACTERS["marth"]), STAGES["battlefield"], 7
    game = PageGame(seed, stage, characters, StepOptions(*options), (-1, BOTS.index(bot)))
    rows, checksums = [], []
    for frame in range(min(frames, cap)):
        if frame % 10 == 0:
            action = NEUTRAL.copy()
            action[8], action[0] = 16 * (frame // 40 % 2), frame // 10 % 2
            game.hold(0, action)
            rows.append((frame, 0, action))
        game.step()
        if (frame + 1) % CHECKED == 0 or frame + 1 == min(frames, cap):
            checksums.append(game.checksum())
    players = game.state.players[0]
    return {
        "format": 1,
        "game": "mock",
        "rules": sources_hash(),
        "seed": str(seed),
        "stage": stage,
        "characters": list(characters),
        "names": [name, bot],
        "delay": [0, 0],
        "options": options._asdict(),
        "seats": [{"kind": "person"}, {"kind": "bot", "name": bot}],
        "frames": min(frames, cap),
        "held": base64.b64encode(np.array(rows, HELD).tobytes()).decode(),
        "checksums": checksums,
        "result": {
            "stocks": players["stocks"].tolist(),
            "percents": players["percent"].tolist(),
            "winner": None if not game.ended or game.score[0] == 0.5 else int(np.argmax(game.score)),
            "ended": "cap" if game.ended else None,
        },
    }
