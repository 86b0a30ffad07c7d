import pytest

from selfplay_melee.replays.games import is_player


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
        ("Kim", 0, "Kim ", True),
        ("Kim ", 0, "Kim", True),
        (" \uff2b\uff49\uff4d", 0, "Kim", True),
        ("Ki m", 0, "Kim", False),
        ("a name of more letters than a file can hold", 0, "a name of more letters than a ", True),
    ],
)
def test_who_is_meant_by_a_player(player, port, name, found):
    assert is_player(player, port, name, "") is found


@pytest.mark.parametrize(
    ("player", "code", "found"),
    [
        ("KIM#123", "KIM#123", True),
        ("kim\uff03123 ", "KIM#123", True),
        ("KIM#123", "KIM\uff03123", True),
        ("KIM#12", "KIM#123", False),
        ("KIM", "KIM#123", False),
        ("", "", False),
    ],
)
def test_who_is_meant_by_a_connect_code(player, code, found):
    assert is_player(player, 0, "Lee", code) is found
