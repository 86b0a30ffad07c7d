import json

import numpy as np
import pytest

from selfplay.errors import ConfigError
from selfplay.games.errors import GameError
from selfplay.games.plugins import allow
from selfplay.imitation import recorded_games
from selfplay.imitation.recorded_games import Again, RecordedGame, RecordedGames, examples_of
from tests.games.games import Bids, Duel, Endless, Nim

OWN_NIM = "tests.games.games:Nim"
allow(OWN_NIM)
NIM = {
    "game": OWN_NIM, "version": 1, "seed": 5, "players": ["a", "b"], "actions": [[2, 0], [0, 1], [0, 0], [0, 1]],
    "rewards": [-1.0, 1.0],
}  # fmt: skip
DUEL = {**NIM, "actions": [[[2, 0], [1, 0]], [[0, 1], [2, 0]], [[1, 1], [1, 1]]], "rewards": [-0.5, 1.0]}


def written(tmp_path, *lines):
    path = tmp_path / "games.jsonl"
    path.write_text("".join(line if isinstance(line, str) else f"{json.dumps(line)}\n" for line in lines))
    return path


def scanned(path, **settings):
    library = RecordedGames(path, OWN_NIM, **settings)
    library.scan()
    return library


def again(game, record):
    return examples_of(Again(game, 1), RecordedGame.model_validate(record))


def test_actions_of_many_values_are_those_of_the_record():
    bids = [[299, 0], [0, 151], [152, 0], [0, 153], [154, 0], [0, 155], [156, 0], [0, 157], [158, 0], [0, 159]]
    first, second = again(Bids, {**NIM, "actions": bids, "rewards": [1.0, -1.0]})
    assert first.action.tolist() == [[299], [152], [154], [156], [158]]
    assert second.action.tolist() == [[151], [153], [155], [157], [159]]


def test_games_are_found_with_their_places_and_players(tmp_path):
    path = written(tmp_path, NIM, {**NIM, "players": ["b", "c"]}, {**NIM, "rewards": [1.0, -1.0]})
    library = scanned(path)
    assert [str(game.path) for game in library.games] == [f"{path}:1", f"{path}:2"]
    assert [game.rows for game in library.games] == [4, 4]
    assert library.bad == [(path.with_name("games.jsonl:3"), "it ends with the rewards [-1.0, 1.0], not [1.0, -1.0]")]
    (game,) = scanned(path, player="A").games
    assert [(seat.seat, seat.name, seat.rows) for seat in game.seats] == [(0, "a", 2)]
    assert [len(seat.seats) for seat in scanned(path, player="b").games] == [1, 1]
    assert len(scanned(path, max_games=1).games) == 1
    with pytest.raises(ConfigError, match=r"in 2 of them nobody is player 'anna' \(valid: a, b, c\)"):
        scanned(path, player="anna")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "is not a JSON document"),
        ("[]\n", "expected a JSON object, not list"),
        ({**NIM, "seed": -1}, "seed: "),
        ({**NIM, "seed": 2**31}, "seed: "),
        ({**NIM, "players": ["a"]}, "players"),
        ({**NIM, "actions": [[0]]}, "actions.0"),
        ({**NIM, "actions": [[0, 32768]]}, "actions.0.1"),
        ({**NIM, "more": 1}, "more: "),
        ('{"seed": NaN}\n', "NaN"),
        ({**NIM, "game": "nim"}, f": a game of nim, version 1; wanted is {OWN_NIM}, version 1"),
        ({**NIM, "version": 2}, f": a game of {OWN_NIM}, version 2; wanted is {OWN_NIM}, version 1"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, words):
    path = written(tmp_path, NIM, line)
    with pytest.raises(ConfigError) as caught:
        scanned(path)
    assert str(caught.value).startswith(f"{path}:2")
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


def test_empty_large_and_missing_files_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"games\.jsonl: no game that can be used in 0 recorded games"):
        scanned(written(tmp_path))
    monkeypatch.setattr(recorded_games, "MAX_BYTES", 100)
    with pytest.raises(ConfigError, match="the limit is 100"):
        scanned(written(tmp_path, NIM))
    with pytest.raises(ConfigError, match="nowhere"):
        scanned(tmp_path / "nowhere")


def test_decisions_are_what_each_seat_saw_could_do_and_did():
    first, second = again(Nim, NIM)  # 8 stones
    np.testing.assert_array_equal(first.obs.argmax(1), [8, 3])
    np.testing.assert_array_equal(first.action[:, 0], [2, 0])
    np.testing.assert_array_equal(second.obs.argmax(1), [5, 2])
    np.testing.assert_array_equal(second.action[:, 0], [1, 1])
    np.testing.assert_array_equal(second.legal, [[1, 1, 1], [1, 1, 0]])
    np.testing.assert_array_equal(first.last[:, 0], [0, 2])
    np.testing.assert_array_equal(second.frame, [1, 3])
    np.testing.assert_array_equal(second.fresh, [True, False])


def test_actions_of_several_parts():
    first, second = again(Duel, DUEL)
    np.testing.assert_array_equal(first.action, [[2, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(second.action, [[1, 0], [2, 0], [1, 1]])
    np.testing.assert_array_equal(second.obs[:, 1], [10, 11, 12])
    assert first.legal.shape == (3, 5)


def test_a_seat_without_a_choice_decides_nothing():
    actions = [[2, 0], [0, 2], [0, 0], [0, 0]]  # 8, 5, 2 and 1 stones: the last is the only one to take
    _, second = again(Nim, {**NIM, "actions": actions})
    np.testing.assert_array_equal(second.obs.argmax(1), [5])


@pytest.mark.parametrize(
    ("game", "changes", "words"),
    [
        (Nim, {"rewards": [1.0, -1.0]}, r"ends with the rewards \[-1.0, 1.0\]"),
        (Nim, {"actions": NIM["actions"][:3]}, "not over after its 3 steps"),
        (Nim, {"actions": [*NIM["actions"], [0, 0]]}, "over after step 4 of 5"),
        (Nim, {"actions": [[2, 0], [0, 2], [2, 0]]}, "seat 0: 2 in part 0 of the action is not legal"),
        (Nim, {"actions": [[[0, 0], 0]]}, "of different lengths"),
        (Duel, {"actions": [[[2, 2], [0, 0]]]}, "seat 0: 2 in part 1 of the action is not legal"),
        (Duel, {"actions": [[0, 0]]}, "actions must be whole numbers of shape"),
        (Nim, {"actions": []}, "it has no actions"),
        (Endless, {"actions": [[0, 0]] * 7, "rewards": [7, 0]}, "over after step 6 of 7"),
    ],
)
def test_games_that_go_another_way_say_where(game, changes, words):
    with pytest.raises(GameError, match=words):
        again(game, {**NIM, **changes})


def test_a_game_that_fails_is_named():
    class Failing(Nim):
        def step(self, actions):
            raise KeyError("stones")

    with pytest.raises(GameError, match="KeyError: 'stones'"):
        again(Failing, NIM)
