"""Rewards that verl looks up."""

import pytest

from selfplay.dialogue.integrations.verl.reward import compute_score
from selfplay.errors import ConfigError

SOURCE = "matching_game_selfplay"


def test_the_game_just_played_counts_before_the_written_one():
    assert compute_score(SOURCE, "[accept]", "0.25", {"normalized_reward": 0.75}) == 0.75
    assert compute_score(SOURCE, "[accept]", "0.25", {}) == 0.25
    assert compute_score(SOURCE, "[accept]", "0.0") == 0.0


@pytest.mark.parametrize("given", [None, "", "nan", "a text"])
def test_a_game_without_a_reward_is_refused(given):
    with pytest.raises(ConfigError, match="no reward in the row"):
        compute_score(SOURCE, "[accept]", given)


def test_a_zero_sum_game_is_refused():
    with pytest.raises(ConfigError, match="separate rewards"):
        compute_score("kuhn_text_game_selfplay", "[bet]", "1.0")
