import numpy as np
import pytest

from selfplay_melee import actions
from selfplay_melee.actions import CATEGORIES, CATEGORY_OF, NUM_ACTIONS, categories_of
from selfplay_melee.state import PLAYER, records


def category(action):
    return CATEGORIES[CATEGORY_OF[action]]


def test_every_action_has_a_category():
    assert CATEGORY_OF.shape == (NUM_ACTIONS,)
    assert CATEGORY_OF.dtype == np.int8
    assert CATEGORY_OF.min() >= 0
    assert CATEGORY_OF.max() < len(CATEGORIES)


def test_every_category_is_used_and_named_once():
    assert len(set(CATEGORIES)) == len(CATEGORIES)
    assert set(CATEGORY_OF.tolist()) == set(range(len(CATEGORIES)))


def test_the_table_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        CATEGORY_OF[0] = 1


# Numbers as in libmelee's enums, which are the game's own.
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0x00, "dead"),
        (0x0C, "respawn"),
        (0x0E, "wait"),
        (0x11, "walk"),
        (0x12, "turn"),
        (0x14, "dash"),
        (0x15, "run"),
        (0x18, "jump_squat"),
        (0x1A, "jump"),
        (0x1B, "double_jump"),
        (0x20, "fall"),
        (0x23, "fall_special"),
        (0x26, "tumble"),
        (0x28, "crouch"),
        (0x2A, "landing"),
        (0x2B, "landing_lag"),
        (0x2C, "jab"),
        (0x3C, "fsmash"),
        (0x45, "dair"),
        (0x4A, "landing_lag"),
        (0x55, "hitstun"),
        (0x5A, "tumble"),
        (0x5C, "other"),
        (0xB3, "shield"),
        (0xB5, "shield_stun"),
        (0xB8, "down"),
        (0xC3, "getup"),
        (0xC8, "tech"),
        (0xD3, "shield_break"),
        (0xD4, "grab"),
        (0xD8, "holding"),
        (0xDE, "throw"),
        (0xE3, "grabbed"),
        (0xE9, "roll"),
        (0xEB, "spot_dodge"),
        (0xEC, "air_dodge"),
        (0xF2, "grabbed"),
        (0xF4, "fall"),
        (0xFD, "ledge_hang"),
        (0x107, "ledge_action"),
        (0x108, "taunt"),
        (0x142, "other"),
        (0x155, "special"),
        (0x164, "special"),
    ],
)
def test_categories_of_known_numbers(number, name):
    assert category(number) == name


def test_attacks_of_one_kind_follow_each_other():
    """Landing lag and throws are computed from these distances."""
    assert actions.LANDING_DAIR - actions.LANDING_NAIR == actions.DAIR - actions.NAIR == 4
    assert actions.THROWN_D - actions.THROWN_F == actions.THROW_D - actions.THROW_F == 3


def test_attacks_that_are_states_of_their_own_get_common_numbers():
    players = records(PLAYER, 2)
    players["character"], players["action"] = (24, 16), 347
    actions.name_common(players)
    assert players["action"].tolist() == [actions.NAIR, 347]


def test_actions_that_the_mock_does_not_have_are_of_the_category_that_is_named():
    actions = np.array([[0, -1], [NUM_ACTIONS, NUM_ACTIONS - 1]], np.int32)
    found = categories_of(actions, "special")
    assert found.dtype == np.int8
    assert [[CATEGORIES[i] for i in row] for row in found] == [["dead", "special"], ["special", "special"]]
    assert CATEGORIES[categories_of(np.array([-1]))[0]] == "other"
