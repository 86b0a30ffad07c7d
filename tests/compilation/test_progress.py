import atexit
import dataclasses
import threading

import pytest

from selfplay.compilation import progress as compilation
from selfplay.compilation.progress import RANGE, Compilation, compile_rules
from selfplay.games.registry import find_game
from selfplay.runner.block_client import BlockClient, WeightStore
from selfplay.runner.block_server import BlockServer
from tests.runner.links import LocalLink, Shared
from tests.runner.test_block_client import opening


def game(prepare, compiled=False):
    return dataclasses.replace(find_game("mock"), starts_at_once=lambda: compiled, prepare=prepare)


def test_compiled_rules_are_not_compiled_again():
    told = []
    compile_rules(game(lambda: told.append("compiled"), compiled=True), told.append)
    compile_rules(find_game("kuhn"), told.append)  # has nothing to compile
    assert told == []


def test_the_range_and_the_time_so_far_are_told(monkeypatch):
    monkeypatch.setattr(compilation, "EVERY_S", 0.01)
    told, enough = [], threading.Event()

    def notify(line):
        told.append(line)
        if len(told) == 4:
            enough.set()

    compile_rules(game(lambda: enough.wait(60.0)), notify)
    first, *between, last = told
    assert first.startswith("Compiling the game rules")
    assert first.endswith(RANGE)
    assert len(between) >= 3
    assert all(line.startswith("Compiling the game rules: ") and line.endswith(" s so far") for line in between)
    assert last.startswith("Compiled the game rules in ")


def test_by_default_it_is_told_on_the_error_stream(capsys):
    compile_rules(game(lambda: None))
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split()[0] for line in told.err.splitlines()] == ["Compiling", "Compiled"]


def test_what_compiling_raises_is_raised_where_it_is_waited_for():
    def broken():
        raise MemoryError("no room for a compiler")

    with pytest.raises(MemoryError, match="no room"):
        compile_rules(game(broken), lambda _: None)


def test_only_a_program_that_compiles_ends_in_another_way(monkeypatch):
    registered = []
    monkeypatch.setattr(atexit, "register", registered.append)
    monkeypatch.setattr(atexit, "unregister", registered.remove)
    wait = threading.Event()
    made = Compilation(lambda: wait.wait(60.0))
    assert not made.wait(0.0)
    assert len(registered) == 1
    wait.set()
    assert made.wait(60.0)
    assert registered == []


def test_another_node_compiles_before_it_opens_its_games(monkeypatch):
    """However long that takes: every call has a deadline of its own."""
    wait, compiled = threading.Event(), []

    def prepare():
        wait.wait(60.0)
        compiled.append(1)

    monkeypatch.setattr("selfplay.runner.block_server.find_game", lambda name: game(prepare, bool(compiled)))
    monkeypatch.setattr("selfplay.runner.block_server.EVERY_S", 0.0)
    told, asked = [], []
    link = LocalLink(BlockServer())
    block = BlockClient(link, WeightStore(Shared), lambda: asked.append(1) or opening(), told.append)
    assert [block.open(), block.open()] == [False, False]
    wait.set()
    while not block.open():
        pass
    assert asked == [1]
    assert len(told) >= 2
    assert told == sorted(told)
    assert len(compiled) == 1
