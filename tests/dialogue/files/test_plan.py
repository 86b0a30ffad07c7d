"""How many games on which states, and which states judge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.dialogue.files.generation import games_on_states
from selfplay.dialogue.files.rows import validation_states
from selfplay.errors import ConfigError


@pytest.mark.parametrize(
    ("games", "per_state", "states"),
    [
        (100, 8, [8] * 12 + [4]),
        (16, 8, [8, 8]),
        (17, 8, [8, 9]),
        (18, 8, [8, 8, 2]),
        (8, 8, [4, 4]),
        (9, 8, [5, 4]),
        (5, 8, [3, 2]),
        (4, 2, [2, 2]),
        (5, 2, [2, 3]),
        (3, 1, [1, 1, 1]),
    ],
)
def test_whole_groups_and_a_rest(games, per_state, states):
    assert games_on_states(games, per_state) == states


@given(st.integers(4, 3000), st.integers(2, 40))
def test_no_state_has_one_game_and_none_is_lost(games, per_state):
    states = games_on_states(games, per_state)
    assert sum(states) == games
    assert min(states) >= 2
    assert max(states) <= per_state + 1
    assert len(states) >= 2


@pytest.mark.parametrize(("games", "per_state"), [(3, 8), (0, 8), (1, 1)])
def test_too_few(games, per_state):
    with pytest.raises(ConfigError, match=f"--num-games {games}: "):
        games_on_states(games, per_state)


@pytest.mark.parametrize(("states", "judge"), [(13, 1), (2, 1), (20, 2), (29, 2), (100, 10)])
def test_a_tenth_of_the_states_judges(states, judge):
    found = validation_states([index for index in range(states) for _ in range(3)])
    assert len(found) == judge
    assert found < set(range(states))
