import contextlib
import io
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

from selfplay import console
from selfplay.verbs import COMMANDS, find_verb, verb_names
from tests.support.processes import finish

ROOT = Path(__file__).parents[1]
PROGRAM = """
import sys
from selfplay import console

@console.command
def main():
    BODY
    return 0

sys.exit(main())
"""


def run(body, shell='"$@"', **environment):
    """The body as a command in a process of its own, started by a line of a shell."""
    code = PROGRAM.replace("BODY", body)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return finish(
        ["bash", "-c", shell, "bash", sys.executable, "-c", code],
        env={**variables, "PYTHONPATH": str(ROOT), **environment},
        errors="surrogateescape",
    )


LOCALES = [
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_characters_that_the_encoding_lacks_are_printed_in_ascii(locale, stream):
    done = run(f"print({'═══ ├─ 12 → │ Ж 😀'!a}, file=sys.{stream})", **locale)
    assert getattr(done, stream) == "=== +- 12 -> | \\u0416 \\ud83d\\ude00\n"
    assert done.returncode == 0


def test_a_name_that_is_not_utf_8_is_printed():
    assert run("import os; print(os.fsdecode(b'a\\xff'))", PYTHONIOENCODING="utf-8").stdout == "a\\udcff\n"


def test_utf_8_stays_as_it_is():
    assert run("print('═ Ж')", PYTHONIOENCODING="utf-8").stdout == "═ Ж\n"


@pytest.mark.parametrize("buffered", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize("shell", ['"$@" | true', '"$@" 2>&1 >/dev/null | true'])
def test_a_reader_that_goes_away_ends_the_command_without_a_word(buffered, shell):
    body = "[print('x' * 1000, file=file, flush=True) for _ in range(1000) for file in (sys.stdout, sys.stderr)]"
    if ">" not in shell:
        body = body.replace("sys.stdout, sys.stderr", "sys.stdout,")
    done = run(body, f"{shell}; exit ${{PIPESTATUS[0]}}", **buffered)
    assert (done.returncode, done.stderr) == (console.READER_GONE, "")


def test_what_is_buffered_for_a_reader_that_went_away_is_dropped_at_the_end():
    wait = "import select; poll = select.poll(); poll.register(1, 0); poll.poll(30_000)"  # until the reader has gone
    done = run(f"print('x'); {wait}", '"$@" | true; exit ${PIPESTATUS[0]}')
    assert (done.returncode, done.stderr) == (console.READER_GONE, "")


def test_a_broken_pipe_that_is_not_the_output_is_an_error():
    done = run("raise BrokenPipeError")
    assert "BrokenPipeError" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("closed", "left"), [(">&-", ("", "err\n")), ("2>&-", ("out\n", "")), (">&- 2>&- <&-", ("", ""))]
)
def test_closed_streams_can_be_printed_to(closed, left):
    done = run("print('out'); print('err', file=sys.stderr); sys.stdin.read()", f'"$@" {closed} </dev/null {closed}')
    assert (done.stdout, done.stderr) == left
    assert done.returncode == 0


def test_a_file_that_is_opened_later_does_not_become_stdout(tmp_path):
    body = f"file = open({str(tmp_path / 'file')!r}, 'w'); assert file.fileno() > 2; import os; os.write(1, b'lost')"
    assert run(body, '"$@" >&-').returncode == 0
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line():
    done = run("print('x')", '"$@" >/dev/full')
    assert done.stderr == "-c: the output cannot be written: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize("verb", verb_names())
def test_every_command_prints_this_way(verb, monkeypatch):
    monkeypatch.setattr(sys, "argv", [f"selfplay {verb}", "--help"])
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    main = import_module(find_verb(verb).module).main
    with contextlib.suppress(SystemExit):
        main()
    assert out.errors == console.ERRORS
    assert out.buffer.getvalue()  # the help was flushed


@pytest.mark.parametrize("arguments", [["--help"], ["nothing"]])
def test_the_list_of_commands_prints_this_way(arguments, monkeypatch):
    from selfplay.__main__ import main

    monkeypatch.setattr(sys, "argv", [COMMANDS[0], *arguments])
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    main()
    assert [stream.errors for stream in streams] == [console.ERRORS] * 2
