from itertools import pairwise

import numpy as np
import pytest

from selfplay_melee import actions
from selfplay_melee.drawing.events import COMBO_STAYS, MOVE_NAMES, MOVE_STAYS, moves_of
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.drawing.story import combo_text
from selfplay_melee.tables import CHARACTERS
from tests.melee.drawing.fights import film


def stretches(shown):
    """First moment, last moment and value of each stretch of a track that is not 0."""
    edges = np.flatnonzero(np.diff(shown, prepend=0, append=0))
    return [(int(i), int(j) - 1, int(shown[i])) for i, j in pairwise(edges) if shown[i]]


def beaten(hits, held, **fields):
    """Shots of a film in which seat 1 takes damage at moments, and is in hitstun in a stretch of them."""

    def change(now, frame):
        blue = now.players[0, 1]
        blue["percent"] = sum(damage for at, damage in hits.items() if at <= frame)
        blue["hitstun"] = 9 if held[0] <= frame <= held[1] else 0
        blue["action"] = actions.WAIT
        if held[0] <= frame <= held[1]:
            for name, value in fields.items():
                blue[name] = value

    return scene_of(film(300, change=change)).shots


def test_a_combo_is_shown_from_its_second_hit_to_a_second_after_hitstun():
    shots = beaten({50: 12.0, 70: 7.4, 90: 20.9}, (50, 110))
    assert stretches(shots["hits"][:, 0]) == [(70, 89, 2), (90, 110 + COMBO_STAYS, 3)]
    assert stretches(shots["dealt"][:, 0]) == [(70, 89, 19), (90, 110 + COMBO_STAYS, 40)]
    assert not shots["hits"][:, 1].any()
    assert combo_text(3, 40) == "3 hits · 40%"


def test_hits_after_hitstun_are_no_combo():
    shots = beaten({50: 12.0, 70: 7.0}, (50, 68))
    assert not shots["hits"].any()


def test_another_combo_begins_with_a_hit():
    shots = beaten({50: 12.0, 52: 7.0, 80: 1.0, 90: 5.0}, (50, 60))
    assert stretches(shots["hits"][:, 0]) == [(52, 79, 2)]


def test_a_combo_goes_on_in_a_grab():
    grabbed = {"action": actions.CAPTURE_WAIT, "hitstun": 0}
    shots = beaten({60: 3.0, 70: 3.0, 90: 8.0}, (50, 80), **grabbed)
    assert stretches(shots["hits"][:, 0]) == [(70, 89, 2)]
    free = beaten({60: 3.0, 70: 3.0}, (50, 80), action=actions.WAIT, hitstun=0)
    assert not free["hits"].any()


def test_a_move_is_named_until_shortly_after_its_end():
    def change(now, frame):
        if frame >= 100:
            now.players[0, 0]["action"] = actions.WAIT

    shots = scene_of(film(200, change=change)).shots
    assert stretches(shots["move"][:, 0]) == [(60, 99 + MOVE_STAYS, MOVE_NAMES.index("forward smash"))]
    assert not shots["move"][:, 1].any()


@pytest.mark.parametrize(
    ("character", "action", "name"),
    [
        ("fox", actions.FAIR, "forward air"),
        ("fox", actions.USMASH, "up smash"),
        ("fox", actions.CATCH, "grab"),
        ("fox", actions.THROW_U, "up throw"),
        ("fox", actions.WAIT, ""),
        ("fox", actions.GUARD, ""),
        ("fox", 341, "neutral special"),
        ("fox", 351, "side special"),
        ("fox", 354, "up special"),
        ("fox", 361, "down special"),
        ("mewtwo", 341, "neutral special"),
        ("bowser", 341, "special"),  # the table has the up special only
        ("mewtwo", 356, "up special"),
        ("kirby", 341, ""),  # a jump
        ("gameandwatch", 341, "jab"),
    ],
)
def test_moves_have_plain_names(character, action, name):
    assert MOVE_NAMES[moves_of(CHARACTERS[character])[action]] == name


def test_unknown_characters_and_actions_have_moves_too():
    assert MOVE_NAMES[moves_of(250)[350]] == "special"
    shots = scene_of(film(4, change=lambda now, frame: now.players[0].__setitem__("action", [-1, 40_000]))).shots
    assert not shots["move"].any()


def test_a_burst_is_shown_for_half_a_second_after_a_stock_is_lost():
    def change(now, frame):
        if frame >= 40:
            blue = now.players[0, 1]
            blue["action"], blue["action_frame"] = actions.DEAD_RIGHT, frame - 40

    rays = scene_of(film(100, change=change)).shots["rays"]
    assert np.flatnonzero(rays[:, 1]).tolist() == list(range(40, 70))
    assert not rays[:, 0].any()
