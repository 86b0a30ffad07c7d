import argparse

import pytest

from selfplay.trainer.command_line import weights, whole_numbers


def test_lists_of_numbers():
    assert whole_numbers("0,10,2") == [0, 10, 2]
    assert weights("0,0.01,.5,1e-3") == ["0", "0.01", ".5", "1e-3"]
    assert weights("") == []


@pytest.mark.parametrize("text", ["a", "1,b", "-1", "nan", "1 2", "\u0661"])
def test_what_is_no_list_of_numbers(text):
    for kind in (whole_numbers, weights):
        with pytest.raises(argparse.ArgumentTypeError, match="is no list of"):
            kind(text)
