import argparse
import signal

import pytest

from scripts.studies.command_line import exit_on_signals, whole_numbers


def test_lists_of_numbers():
    assert whole_numbers("0,10,2") == [0, 10, 2]


@pytest.mark.parametrize("text", ["a", "1,b", "-1", "nan", "1 2", "\u0661"])
def test_what_is_no_list_of_numbers(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is no list of"):
        whole_numbers(text)


@pytest.fixture
def handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_exits(handlers, number):
    signal.signal(number, signal.SIG_DFL)
    exit_on_signals()
    with pytest.raises(SystemExit) as ended:
        signal.raise_signal(number)
    assert ended.value.code == 128 + number


def test_who_goes_on_without_a_terminal_goes_on(handlers):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    exit_on_signals()
    signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
