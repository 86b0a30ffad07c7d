"""The tree of errors is the one that its docstring draws; foreign errors are converted once."""

import asyncio
import atexit
import gc
import inspect
import re

import numpy as np
import pytest
import torch
from pydantic import BaseModel

from selfplay import errors
from selfplay.cli.parser import Parser
from selfplay.cli.running import exit_code
from selfplay.errors import (
    CheckpointError,
    ConfigError,
    CorruptError,
    RunnerError,
    SelfPlayError,
    boundary,
    describe,
    out_of_memory,
)
from selfplay.games.errors import LONGEST_LINE, LONGEST_MESSAGE, GameError


def test_the_tree_is_as_drawn():
    parents, drawn = [], {}
    for indent, name in re.findall(r"^([│├└─ ]*)([A-Z]\w+Error)\b", errors.__doc__, re.MULTILINE):
        depth = len(indent) // 4
        parents[depth:] = [name]
        drawn[name] = parents[depth - 1] if depth else "Exception"
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, SelfPlayError)]
    assert drawn == {kind.__name__: kind.__base__.__name__ for kind in classes}
    assert len(drawn) > 5


def test_a_foreign_error_is_converted_and_kept_as_cause():
    with (
        pytest.raises(CheckpointError, match=r"^cannot read x: ValueError: bad\b.*value$") as caught,
        boundary(CheckpointError, "cannot read x"),
    ):
        raise ValueError("bad\n   value")
    assert isinstance(caught.value.__cause__, ValueError)


def test_our_own_errors_pass_every_boundary():
    with pytest.raises(CorruptError) as caught, boundary(RunnerError, "outer"), boundary(CheckpointError, "inner"):
        raise CorruptError("the file")
    assert str(caught.value) == "the file"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_what_ends_a_task_or_the_program_passes(kind):
    with pytest.raises(kind), boundary(CheckpointError, "anything"):
        raise kind


@pytest.mark.parametrize("kind", [GameError, ConfigError, CheckpointError])
def test_a_message_quotes_at_most_a_line(kind):
    said = str(kind(f"the name {'x' * 200_000} is unknown\nvalid: a"))
    assert said == f"the name {'x' * 40}...{'x' * 40} is unknown\nvalid: a"
    said = str(kind(f"the name {'x ' * 100_000} is unknown\nvalid: a"))
    assert said.startswith("the name x x")
    assert said.endswith("x x  is unknown\nvalid: a")
    assert "200,020 characters in all" in said
    assert max(map(len, said.splitlines())) == LONGEST_MESSAGE
    assert str(kind("short")) == "short"


def test_a_command_echoes_at_most_a_line(capsys):
    def refuse():
        raise GameError("\x07" * LONGEST_MESSAGE)  # each is four characters on a terminal

    assert exit_code("selfplay play", refuse) == 2
    parser = Parser(prog="selfplay play")
    parser.add_argument("--elo", choices=("a", "b"))
    parser.add_argument("--seed", type=int)
    for words in (["--elo", "x" * 200_000], ["--seed", "x" * 200_000], ["y" * 200_000], [f"--{'z' * 200_000}"]):
        with pytest.raises(SystemExit):
            parser.parse_args(words)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= LONGEST_LINE
    assert lines[1].endswith(" (valid: a, b)")


def test_an_invalid_document_is_described_by_its_first_field():
    class Model(BaseModel):
        a: int
        b: int

    words = r"^it is wrong: a: Input should be .* integer\b[^\n]* \(and 1 more\)$"
    with pytest.raises(ConfigError, match=words), boundary(ConfigError, "it is wrong"):
        Model.model_validate({"a": "x" * 200_000, "b": None})


def test_without_an_error_nothing_happens():
    with boundary(CheckpointError, "anything"):
        pass


def test_an_error_without_a_message_has_a_name():
    assert describe(TimeoutError()) == "TimeoutError"


def test_usage_and_invalid_files_end_with_2_and_the_rest_with_1():
    assert SelfPlayError.exit_code == RunnerError.exit_code == errors.DiskError.exit_code == 1
    assert ConfigError.exit_code == errors.RunExistsError.exit_code == errors.NotARunError.exit_code == 2
    assert CorruptError.exit_code == errors.IncompatibleError.exit_code == errors.LeagueError.exit_code == 2


@pytest.mark.parametrize(
    "allocate",
    [lambda: np.empty(1 << 50, [(f"field_{i}", "i8") for i in range(40)]), lambda: torch.empty(1 << 50)],
    ids=["numpy", "torch"],
)
def test_memory_that_runs_out_is_one_short_line(capsys, allocate):
    """Of numpy's message without the whole type, and of torch's without its source."""
    assert exit_code("program.py", allocate) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("program.py: memory ran out: ")
    assert "field_1" not in line
    assert ".cpp" not in line
    assert len(line) < 150


def test_memory_of_a_cuda_device_that_runs_out_names_settings(capsys):
    def allocate():
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.11 GiB"
        )

    assert exit_code("program.py", allocate) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("program.py: memory ran out: Tried to allocate 20.00 GiB on the CUDA device; ")
    assert "--batch-size" in line


def test_other_errors_are_not_taken_for_it():
    assert out_of_memory(RuntimeError("shapes do not match")) is None
    assert out_of_memory(OSError("no room")) is None


def test_a_command_ends_without_a_search_for_cycles(monkeypatch):
    """Among all objects of torch it takes a second of processor time."""
    registered = []
    monkeypatch.setattr(atexit, "register", registered.append)
    assert exit_code("program.py", lambda: None) == 0
    assert registered == [gc.freeze]
