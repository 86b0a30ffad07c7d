"""Nothing that a test starts outlives its block, and no wait is without a limit."""

import signal
import subprocess
import sys

import pytest

from tests.conftest import _child_pids
from tests.support.processes import Process, children_of, finish, is_alive, read_until, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
PIPE = {"stdout": subprocess.PIPE}
FAMILY = "trap '' TERM INT; sleep 600 & echo first; echo begun; wait; wait; sleep 600"


def shell(script, **options):
    return Process(["/bin/sh", "-c", script], **options)


@pytest.mark.parametrize("error", [AssertionError, KeyboardInterrupt, SystemExit, None])
def test_the_whole_group_is_killed_however_the_block_is_left(error):
    def block():
        with shell(FAMILY, **PIPE) as process:
            read_until(process, "begun")
            family.extend([process.pid, *children_of(process.pid)])
            if error is not None:
                raise error

    family = []
    if error is None:
        block()
    else:
        with pytest.raises(error):
            block()
    assert len(family) == 2
    wait_for(lambda: not any(map(is_alive, family)))


def test_what_outlived_its_parent_in_the_group_is_killed():
    with shell("sleep 600 >/dev/null & echo $!", **PIPE) as process:
        pid = int(process.stdout.read())
        process.wait()
        assert is_alive(pid)
    wait_for(lambda: not is_alive(pid))


def test_one_whose_output_has_ended_ends_by_itself():
    with shell("echo last; exec >&-; sleep 0.1; exit 7", **PIPE) as process:
        assert process.stdout.read() == "last\n"
    assert process.returncode == 7


def test_a_silent_process_is_an_error_with_what_it_had_written():
    with shell(FAMILY, **PIPE) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["first\n", "begun\n"]
        process.stdout._limit_s = 0.2
        with pytest.raises(AssertionError, match=r"wrote no more within 0\.2 s; so far:\nfirst\nbegun\n"):
            process.stdout.read()


def test_one_that_never_stops_writing_is_an_error():
    with shell("while :; do echo more; done", **PIPE) as process:
        assert process.stdout.readline() == "more\n"
        process.stdout._limit_s = 0.2
        with pytest.raises(AssertionError, match=r"within 0\.2 s; so far:\nmore\n"):
            read_until(process, "something else")


def test_words_that_never_came():
    with (
        shell("echo one; echo two", **PIPE) as process,
        pytest.raises(AssertionError, match="'three' never came:\none"),
    ):
        read_until(process, "three")


def test_waiting_has_a_limit():
    with shell(FAMILY, limit_s=0.2) as process, pytest.raises(subprocess.TimeoutExpired):
        process.wait()


def test_lines_in_pieces_and_without_an_end():
    with shell("printf 'a\\nb'; sleep 0.1; printf 'c\\nd'", **PIPE) as process:
        assert list(process.stdout) == ["a\n", "bc\n", "d"]


def test_finish_returns_both_outputs_and_the_code():
    done = finish(["/bin/sh", "-c", "echo out; echo errors >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "errors\n")
    with pytest.raises(AssertionError, match=r"exit code 3:\nerrors"):
        finish(["/bin/sh", "-c", "echo errors >&2; exit 3"], check=True)


@pytest.mark.full
def test_finish_has_a_limit_and_tells_what_was_written():
    with pytest.raises(AssertionError, match=r"did not end within 3 s; so far:\nfirst\nbegun"):
        finish(["/bin/sh", "-c", FAMILY], limit_s=3)


def test_a_signal_reaches_the_process():
    with shell("trap 'echo caught; exit 5' INT; echo begun; while :; do sleep 0.01; done", **PIPE) as process:
        read_until(process, "begun")
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "caught\n"
    assert process.returncode == 5


def test_a_process_without_a_command_line_yet_counts_as_a_child():
    """The system starts a program a moment before its command line can be read."""
    for _ in range(20):
        with Process(["/bin/sleep", "600"]) as process:
            assert process.pid in _child_pids()
