"""Documents of games as the play page writes them, made by Python."""

import base64

import numpy as np

from selfplay.compilation.code_cache import sources_hash
from selfplay_melee.arrays import StepOptions
from selfplay_melee.bots import NAMES as BOTS
from selfplay_melee.browser.game import PageGame
from selfplay_melee.controller import NEUTRAL
from selfplay_melee.limits import ENDED_BY
from selfplay_melee.play.games import CHECKED, HELD
from selfplay_melee.tables import CHARACTERS, STAGES


def page_game(
    frames=200,
    cap=150,
    name="Ada",
    bot="rusher",
    policy=None,
    characters=("fox", "marth"),
    stage="battlefield",
    seed=7,
    delay=(0, 0),
    **options,
):
    """A game of a person, who moves and hits, against a scripted player, or a made-up policy that stands still.

    It ends at its cap, or is stopped before. ``policy`` is the document of its seat.
    """
    options = {"frame_skip": 1, "bot_skip": 4, "cap": cap, "ledge_grab_limit": 60, **options}
    ids, stage = [CHARACTERS[character] for character in characters], STAGES[stage]
    game = PageGame(seed, stage, ids, StepOptions(**options), (-1, -1 if policy else BOTS.index(bot)), delay)
    rows, checksums = [], []
    while len(checksums) * CHECKED < min(frames, cap):
        for frame in range(len(checksums) * CHECKED, min((len(checksums) + 1) * CHECKED, frames, cap)):
            if frame % 10 == 0:
                action = NEUTRAL.copy()
                action[8], action[0] = 16 * (frame // 40 % 2), frame // 10 % 2
                game.hold(0, action)
                rows.append((frame, 0, action))
            if policy and frame == 0:
                game.hold(1, NEUTRAL)
                rows.append((frame, 1, NEUTRAL))
            game.step()
        checksums.append(game.checksum())
    players = game.state.players[0]
    return {
        "format": 1,
        "game": "mock",
        "rules": sources_hash("selfplay_melee"),
        "seed": str(seed),
        "stage": stage,
        "characters": ids,
        "names": [name, policy["id"] if policy else bot],
        "delay": list(delay),
        "options": options,
        "seats": [{"kind": "person"}, policy or {"kind": "bot", "name": bot}],
        "frames": min(frames, cap),
        "held": base64.b64encode(np.array(rows, HELD).tobytes()).decode(),
        "checksums": checksums,
        "result": {
            "stocks": players["stocks"].tolist(),
            "percents": players["percent"].tolist(),
            "winner": None if not game.ended or game.score[0] == 0.5 else int(np.argmax(game.score)),
            "ended": ENDED_BY[game.stats["ended"][0]] if game.ended else None,
        },
    }
