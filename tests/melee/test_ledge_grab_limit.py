import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_melee import actions as a
from selfplay_melee.mock import MockMelee, neutral_actions

EDGE = 85.5657  # of Final Destination
CAP = 14400
LOW = 0  # of a stick, in the controller's steps


def score_by_time(grabs, limit=60):
    """Scores of a game that ends at its cap with seat 0 ahead by percent."""
    game = MockMelee(1, max_episode_frames=1, ledge_grab_limit=limit)
    game.reset(np.array([3]))
    game.memory["ledge_grabs"] = grabs
    game.state.players["percent"] = 0.0, 10.0
    return game.step(neutral_actions(1)).score[0].tolist()


@pytest.mark.parametrize(
    ("grabs", "limit", "score"),
    [
        ((60, 0), 60, [1.0, 0.0]),
        ((61, 0), 60, [0.0, 1.0]),
        ((61, 61), 60, [1.0, 0.0]),
        ((0, 61), 60, [1.0, 0.0]),
        ((500, 0), 0, [1.0, 0.0]),
        ((16, 0), 15, [0.0, 1.0]),
    ],
)
def test_more_grabs_than_the_limit_lose_a_game_that_ends_by_time(grabs, limit, score):
    assert score_by_time(grabs, limit) == score


def test_it_does_not_matter_when_the_stocks_decide():
    game = MockMelee(1, ledge_grab_limit=1)
    game.reset(np.array([3]))
    game.memory["ledge_grabs"] = 9, 0
    game.state.players["stocks"][0, 1] = 1
    game.state.players["y"][0, 1] = -1000.0
    game.state.players["on_ground"][0, 1] = 0
    assert game.step(neutral_actions(1)).score[0].tolist() == [1.0, 0.0]


def test_a_limit_below_0_is_refused():
    with pytest.raises(GameError, match="ledge_grab_limit"):
        MockMelee(1, ledge_grab_limit=-1)


def stall(player):
    """Drop from the ledge with a flick down, jump, and take it again on the way down."""
    action = neutral_actions(1)[0, 0].copy()
    if player["action"] == a.CLIFF_WAIT and player["action_frame"] % 2:
        action[9] = LOW
    elif player["action"] == a.FALL:
        action[2] = 1  # X
    return action


def test_a_stall_on_the_ledge_loses_to_a_player_that_does_nothing():
    game = MockMelee(1, max_episode_frames=CAP)
    game.reset(np.array([3]))
    player = game.state.players[0, 0]
    for name, value in {"x": EDGE + 3.0, "y": -2.0, "on_ground": 0, "facing": -1.0, "action": a.FALL}.items():
        game.state.players[name][0, 0] = value
    game.memory["surface"][0, 0] = -1
    game.state.players["percent"][0, 1] = 30.0
    actions, batch = neutral_actions(1), None
    for _ in range(CAP):
        actions[0, 0] = stall(player)
        batch = game.step(actions)
        if batch.terminated[0] or batch.truncated[0]:
            break
    assert batch.stats["ledge_grabs"][0, 0] > 60
    assert batch.stats["stocks"][0].tolist() == [4, 4]
    assert batch.score[0].tolist() == [0.0, 1.0]
