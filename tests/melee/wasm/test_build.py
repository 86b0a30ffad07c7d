"""A module is built once, by another process, and never stale."""

import contextlib
import fcntl
import os
import shutil
import sys
from pathlib import Path

import pytest

from selfplay_melee.browser.assets import RULES_JS
from selfplay_melee.errors import WasmError
from selfplay_melee.wasm import build as building
from selfplay_melee.wasm.build import build, load_program, signature
from tests.support.node import gather, needs_node, run_node
from tests.support.processes import finish

ROOT = Path(__file__).parents[3]
SMALL = "tests.melee.wasm.small:program"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "cache_folder", lambda package: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def fake(monkeypatch):
    """Modules are made at once; the list of those."""
    made = []

    def make(name, tell):
        made.append(name)
        return b"\0asm" + signature(name, load_program(name))

    monkeypatch.setattr(building, "_build", make)
    return made


def test_it_is_built_once(folder, fake):
    module = build(SMALL)
    assert build(SMALL) == module
    assert fake == [SMALL]
    (kept,) = folder.glob("*.wasm")
    assert kept.read_bytes() == module


def test_one_process_builds_and_the_others_wait(folder, fake, monkeypatch):
    make = building._build

    def locked(name, tell):
        (lock,) = folder.glob("*.lock")
        with lock.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return make(name, tell)

    folder.mkdir()
    monkeypatch.setattr(building, "_build", locked)
    assert build(SMALL) == build(SMALL)
    assert fake == [SMALL]


def test_what_another_process_has_built_meanwhile_is_not_built_again(folder, fake, monkeypatch):
    module = build(SMALL)
    (kept,) = folder.glob("*.wasm")
    kept.unlink()

    @contextlib.contextmanager
    def after_another(lock):
        kept.write_bytes(module)
        yield

    monkeypatch.setattr(building, "alone", after_another)
    assert build(SMALL) == module
    assert fake == [SMALL]


def test_without_a_cache_it_is_built_each_time(monkeypatch, fake):
    monkeypatch.setattr(building, "cache_folder", lambda package: None)
    assert build(SMALL) == build(SMALL)
    assert len(fake) == 2


def test_a_cache_that_cannot_be_written_does_not_cost_the_module(folder, fake):
    folder.write_text("a file")
    assert build(SMALL).startswith(b"\0asm")


def test_a_kept_module_that_is_cut_short_is_built_again(folder, fake):
    module = build(SMALL)
    (kept,) = folder.glob("*.wasm")
    kept.write_bytes(module[:-1])
    assert build(SMALL) == module
    assert len(fake) == 2
    assert kept.read_bytes() == module


def test_a_module_that_came_with_the_package_is_not_built(monkeypatch, tmp_path, folder, fake):
    module = build(SMALL)
    monkeypatch.setattr(building, "shipped_root", lambda package: tmp_path)
    (kept,) = folder.glob("*.wasm")
    kept.rename(tmp_path / building.file_name(SMALL))
    assert build(SMALL) == module
    assert len(fake) == 1
    monkeypatch.setattr(building, "sources_hash", lambda package: "of other rules")
    build(SMALL)
    assert len(fake) == 2


def test_every_source_counts(monkeypatch, tmp_path, folder, fake):
    build(SMALL)
    monkeypatch.setattr(building, "sources_hash", lambda package: "of other rules")
    build(SMALL)
    own = tmp_path / "builder"
    shutil.copytree(building._OWN, own, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(building, "_OWN", own)
    build(SMALL)
    assert len(fake) == 2  # a copy is the same
    (own / "emit.py").write_text("# another way")
    build(SMALL)
    monkeypatch.setattr(sys.modules["tests.melee.wasm.small"], "__file__", str(own / "memory.py"))
    build(SMALL)
    monkeypatch.setattr(building, "layout", lambda program: {"end": 1})
    build(SMALL)
    assert len(fake) == 5


def test_sources_that_change_meanwhile_are_said(folder, monkeypatch):
    monkeypatch.setattr(building, "_build", lambda name, tell: b"\0asm of other sources")
    with pytest.raises(WasmError, match="changed while they were compiled"):
        build(SMALL)
    assert not folder.exists()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The module of a small program, really built, and what was told."""
    told, own = [], tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "cache_folder", lambda package: own)
        return build(SMALL, told.append), told


USE = """
import { readFile } from "node:fs/promises";
import { Rules } from "./rules.js";
const rules = new Rules(await WebAssembly.compile(await readFile(process.argv[2])));
const print = (...values) => console.log(values.join(" "));
rules.set(0.5, "options.gain");
rules.set(3, "options.shift");
rules.set(17, "points", 0, "x");
rules.set(2, "points", 1, "n");
print(rules.exports.move(), ...[0, 1].map((i) => rules.get("points", i, "x")), rules.get("points", 1, "n"));
print(rules.numbers("points", 0, "path"), rules.numbers("points", 1, "path"));
for (const x of [-3.9, 2 ** 31, 1e300, NaN]) {
  rules.set(x, "points", 0, "x");
  rules.set(x, "points", 1, "x");
  for (const name of ["to_whole", "to_half"])
    try {
      print(name, rules.exports[name](), rules.get("points", 1, "n"));
    } catch (error) {
      print(name, error);
    }
}
try { rules.get("points", 2, "x"); } catch (error) { print(error); }
"""


@needs_node
@pytest.mark.full
def test_a_program_computes_in_node(small, tmp_path):
    (tmp_path / "use.js").write_text(USE)
    (tmp_path / "small.wasm").write_bytes(small[0])
    script = gather(tmp_path / "modules", RULES_JS, tmp_path / "use.js")
    trap = "RuntimeError: float unrepresentable in integer range"
    assert run_node(script, tmp_path / "small.wasm").splitlines() == [
        "1 11.5 7 5",
        "11.5,0,0 0,7,0",
        "to_whole -3 5",
        "to_half 0 -3",
        f"to_whole {-(2**31)} -3",  # its last 32 bits
        f"to_half {trap}",
        f"to_whole {trap}",
        f"to_half {trap}",
        f"to_whole {trap}",
        f"to_half {trap}",
        "RangeError: points has no 2 in [2,x]",
    ]


@pytest.mark.full
def test_the_progress_is_told(small):
    _, told = small
    assert told[0] == f"Compiling the game rules for browsers, the first time only: {building.USUALLY}"
    assert told[-1].startswith("Compiled the game rules in ")


@pytest.mark.full
def test_what_stops_the_build_is_said(folder):
    with pytest.raises(WasmError, match=r"cannot be compiled for browsers: the code needs env\.sin, which no page"):
        build("tests.melee.wasm.small:program_with_a_library", lambda _: None)
    assert not folder.exists()


# ---- edits of rules

PART = """
import numpy as np
from selfplay_melee.browser.program import mock_program
from selfplay_melee.wasm.memory import Program

def program():
    whole = mock_program()
    return Program(tuple(entry for entry in whole.entries if entry.name == "observe"), whole.values)
"""
EDITS = (
    ("envs/selfplay_melee/phase.py", "NO_HIT = -1.0", "NO_HIT = -2.0"),
    ("envs/selfplay_melee/observation.py", "return other.x < me.x", "return other.x <= me.x"),
)


@pytest.mark.full
@pytest.mark.timeout(900)  # four builds
def test_an_edited_constant_and_an_edited_branch_change_the_module(tmp_path):
    shutil.copytree(ROOT / "envs", tmp_path / "envs", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "part.py").write_text(PART)

    def code():
        command = [sys.executable, "-m", "selfplay_melee.wasm", "part:program", tmp_path / "part.wasm"]
        finish(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{tmp_path / 'envs'}"},
            check=True,
        )
        return (tmp_path / "part.wasm").read_bytes().rpartition(b"sources")[0]  # without the hash of the sources

    original = code()
    assert code() == original
    for file, before, after in EDITS:
        source = (tmp_path / file).read_text()
        assert before in source
        (tmp_path / file).write_text(source.replace(before, after))
        assert code() != original
        (tmp_path / file).write_text(source)
