"""After how many frames the animation of a fall begins again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scripts.studies.fidelity.coverage import action_name
from selfplay_melee import actions as a
from selfplay_melee.state import NUM_SEATS
from selfplay_melee.tables import CHARACTERS

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

ALIKE: Final = (a.FALL, a.FALL_AERIAL, a.FALL_SPECIAL)  # as long as each other, for every character
OTHERS: Final = (a.DAMAGE_FALL,)
FALLING: Final = (*ALIKE, *OTHERS)


def fit_loops(replays: Sequence[Replay]) -> dict[str, dict[str, object]]:
    """Content of ``[loops]`` by name of the character: frames by action."""
    names = {number: name for name, number in CHARACTERS.items()}
    seen: dict[str, dict[int, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    for replay in replays:
        for seat in range(NUM_SEATS):
            p = replay.state.players[:, seat]
            action, frame = p["action"], p["action_frame"]
            again = (action[1:] == action[:-1]) & (frame[1:] == 0.0) & (frame[:-1] > 1.0) & np.isin(action[1:], FALLING)
            for t in np.flatnonzero(again):
                group = ALIKE if action[t] in ALIKE else (int(action[t]),)
                for member in group:
                    seen[names[int(p["character"][t])]][member][int(frame[t]) + 1] += 1
    return {
        name: {action_name(action): lengths.most_common(1)[0][0] for action, lengths in sorted(actions.items())}
        for name, actions in seen.items()
    }
