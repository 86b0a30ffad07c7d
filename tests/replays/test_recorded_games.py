import json

import numpy as np
import pytest

from envs.errors import GameError
from selfplay.errors import CorruptError
from selfplay.replays import recorded_games
from selfplay.replays.recorded_games import RecordedGame, decisions_of, read_games
from tests.envs.games import Duel, Endless, Nim

NIM = {
    "game": "nim", "version": 1, "seed": 5, "players": ["a", "b"], "actions": [[2, 0], [0, 1], [0, 0], [0, 1]],
    "rewards": [-1.0, 1.0],
}  # fmt: skip
DUEL = {**NIM, "actions": [[[2, 0], [1, 0]], [[0, 1], [2, 0]], [[1, 1], [1, 1]]], "rewards": [-0.5, 1.0]}


def written(tmp_path, *lines):
    path = tmp_path / "games.jsonl"
    path.write_text("".join(line if isinstance(line, str) else f"{json.dumps(line)}\n" for line in lines))
    return path


def test_games_are_read_with_their_places(tmp_path):
    path = written(tmp_path, NIM, "\n", DUEL)
    (first, nim), (second, duel) = read_games(path)
    assert (first, second) == (f"{path}:1", f"{path}:3")
    assert nim.actions[1] == (0, 1)
    assert duel.actions[1] == ((0, 1), (2, 0))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "is not a JSON document"),
        ("[]\n", "expected a JSON object, not list"),
        ({**NIM, "seed": -1}, "seed: "),
        ({**NIM, "seed": 2**31}, "seed: "),
        ({**NIM, "players": ["a"]}, "players"),
        ({**NIM, "actions": [[0]]}, "actions.0"),
        ({**NIM, "actions": [[0, 128]]}, "actions.0.1"),
        ({**NIM, "more": 1}, "more: "),
        ('{"seed": NaN}\n', "NaN"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, words):
    path = written(tmp_path, NIM, line)
    with pytest.raises(CorruptError) as caught:
        list(read_games(path))
    assert str(caught.value).startswith(f"{path}:2")
    assert words in str(caught.value)


def test_empty_large_and_missing_files_are_refused(tmp_path, monkeypatch):
    with pytest.raises(CorruptError, match=r"games\.jsonl has no game"):
        list(read_games(written(tmp_path, "\n")))
    monkeypatch.setattr(recorded_games, "MAX_BYTES", 100)
    with pytest.raises(CorruptError, match="the limit is 100"):
        list(read_games(written(tmp_path, NIM)))
    with pytest.raises(CorruptError, match="nowhere"):
        list(read_games(tmp_path / "nowhere"))


def test_decisions_are_what_each_seat_saw_could_do_and_did():
    first, second = decisions_of(Nim(), RecordedGame.model_validate(NIM))  # 8 stones
    np.testing.assert_array_equal(first.obs.argmax(1), [8, 3])
    np.testing.assert_array_equal(first.action[:, 0], [2, 0])
    np.testing.assert_array_equal(second.obs.argmax(1), [5, 2])
    np.testing.assert_array_equal(second.action[:, 0], [1, 1])
    np.testing.assert_array_equal(second.legal, [[1, 1, 1], [1, 1, 0]])


def test_actions_of_several_parts():
    first, second = decisions_of(Duel(), RecordedGame.model_validate(DUEL))
    np.testing.assert_array_equal(first.action, [[2, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(second.action, [[1, 0], [2, 0], [1, 1]])
    np.testing.assert_array_equal(second.obs[:, 1], [10, 11, 12])
    assert first.legal.shape == (3, 5)


def test_a_seat_without_a_choice_decides_nothing():
    actions = [[2, 0], [0, 2], [0, 0], [0, 0]]  # 8, 5, 2 and 1 stones: the last is the only one to take
    _, second = decisions_of(Nim(), RecordedGame.model_validate({**NIM, "actions": actions}))
    np.testing.assert_array_equal(second.obs.argmax(1), [5])


@pytest.mark.parametrize(
    ("game", "changes", "words"),
    [
        (Nim, {"rewards": [1.0, -1.0]}, r"ends with the rewards \[-1.0, 1.0\]"),
        (Nim, {"actions": NIM["actions"][:3]}, "not over after its 3 steps"),
        (Nim, {"actions": [*NIM["actions"], [0, 0]]}, "over after step 4 of 5"),
        (Nim, {"actions": [[2, 0], [0, 2], [2, 0]]}, "step 3: the action 2 of seat 0 is not legal"),
        (Nim, {"actions": [[[0, 0], 0]]}, "step 1: the action"),
        (Duel, {"actions": [[[2, 2], [0, 0]]]}, "step 1: the action"),
        (Duel, {"actions": [[0, [0, 0]]]}, "step 1: the action 0 of seat 0"),
        (Endless, {"actions": [[0, 0]] * 7, "rewards": [7, 0]}, "over after step 6 of 7"),
    ],
)
def test_games_that_go_another_way_say_where(game, changes, words):
    with pytest.raises(GameError, match=words):
        decisions_of(game(), RecordedGame.model_validate({**NIM, **changes}))


def test_a_game_that_fails_is_named():
    class Failing(Nim):
        def step(self, actions):
            raise KeyError("stones")

    with pytest.raises(GameError, match="it failed: KeyError: 'stones'"):
        decisions_of(Failing(), RecordedGame.model_validate(NIM))
