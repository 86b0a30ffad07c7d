"""Which rows are played, and which are refused."""

import json

import pytest

from selfplay.dialogue.integrations.initial_states import initial_state, is_ours
from selfplay.errors import ConfigError
from tests.dialogue.integrations.states import rows_of


@pytest.mark.full
def test_a_row_begins_the_game_that_it_was_written_from():
    row = rows_of(states=1)[0]
    begun = initial_state(row)
    games = [begun.start() for _ in range(2)]
    assert json.dumps(games[0].record()) == row["game_state"]
    games[0].act("nonsense")
    assert (games[0].outcome is None, games[1].outcome) == (False, None)
    assert [{"role": "user", "content": games[1].observe(0)}] == row["prompt"]


@pytest.mark.parametrize(
    ("source", "ours"), [("matching_game_selfplay", True), ("openai/gsm8k", False), (None, False), ("matching", False)]
)
def test_other_sources_are_not_ours(source, ours):
    assert is_ours(source) is ours


def test_a_game_in_which_one_wins_what_the_other_loses_is_refused():
    with pytest.raises(ConfigError, match="the seats of kuhn_text have separate rewards") as caught:
        initial_state(rows_of("kuhn_text", states=1)[0])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"game_state": None}, "a row without game_state"),
        ({"data_source": "chess_game_selfplay"}, "unknown game 'chess'"),
        ({"game_rules": "{"}, "row train-0-0: JSONDecodeError"),
        ({"game_rules": '{"colour": 1}'}, "row train-0-0: TypeError"),
        ({"game_state": '{"table": 1}'}, "row train-0-0: GameError"),
        ({"game_rules": '{"size": 5}'}, "a state of size 4 for a game of size 5"),
    ],
)
def test_a_row_that_cannot_be_played_is_refused_in_a_line(change, told):
    with pytest.raises(ConfigError) as caught:
        initial_state(rows_of(states=1)[0] | change)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
