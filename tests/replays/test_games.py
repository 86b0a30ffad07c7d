import pytest

from selfplay.replays.games import is_player


@pytest.mark.parametrize(
    ("player", "port", "name", "found"),
    [
        ("1", 0, "Anna", True),
        ("4", 3, "", True),
        ("4", 0, "4", False),
        ("5", 0, "5", True),
        ("anna", 2, "ANNA", True),
        ("Anna", 2, "Ann", False),
        ("ÜNAL", 2, "Unal", True),
        ("Ünal", 2, "Ünal", True),
        ("a name of more letters than a file can hold", 0, "a name of more letters than a ", True),
    ],
)
def test_who_is_meant_by_a_player(player, port, name, found):
    assert is_player(player, port, name) is found
