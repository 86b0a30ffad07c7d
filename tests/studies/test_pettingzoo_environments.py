import pytest

from scripts.studies.pettingzoo_environments import known, row

STYLES = "tests.games.test_pettingzoo_styles"


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("Race", ("AEC", 20, 20, 0, 20, "both", "-")),
        ("ClearsRewardsAfterwards", ("AEC", 20, 20, 0, 20, "last()", "-")),
        ("MaskInObservation", ("AEC", 20, 20, 0, 20, "both", "observation")),
        ("TruncatesAtOnce", ("parallel", 20, 0, 20, 20, "step", "-")),
    ],
)
def test_a_row_says_how_an_environment_is_understood(style, expected):
    assert row(f"{STYLES}:{style}", 60.0)[1:] == expected


def test_what_is_refused_has_its_reason():
    assert row(f"{STYLES}:GivesFour", 1.0)[1].startswith("refused: game 0, step: step returned 4 values")


def test_the_environments_of_pettingzoo_are_known():
    assert "pettingzoo:pettingzoo.classic.connect_four_v3" in known()
