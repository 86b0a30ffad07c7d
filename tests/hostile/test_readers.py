"""Whatever lies there, every reader gives a value or one clear error, in little memory, and touches nothing else."""

import ast
import contextlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfplay.errors import SelfPlayError
from selfplay.games.errors import GameError
from selfplay.games.files import printable
from tests.hostile.corpus import CONTENTS, HUGE_COUNTS, KINDS, changed, damaged, documents, numbers
from tests.hostile.readers import READERS, ROOT, Reader, put
from tests.support.processes import finish

BRIEF = settings(max_examples=15, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


class World:
    """A folder to read in, and beside it one that nobody may touch."""

    def __init__(self, root: Path, reader: Reader) -> None:
        self.reader = reader
        self.root = root
        self.victim = root / "victim"
        self.victim.mkdir(parents=True)
        for name in (".tmp-precious", "precious", "ledger.jsonl"):
            (self.victim / name).write_text("precious")
        self.folder = root / "given"
        self.folder.mkdir()
        self.path = reader.make(self.folder)
        self.sound = self.path.read_bytes()
        self.before = self.outside()

    def outside(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for place, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if Path(place, name) != self.folder]
            for name in files:
                path = Path(place, name)
                found[str(path)] = (path.read_bytes(), path.stat().st_mtime_ns)
            found |= {str(Path(place, name)): "folder" for name in folders}
        return found

    def check(self) -> str:
        """Read; what the error says, "" for a value."""
        said = ""
        try:
            self.reader.read(self.folder, self.path)
        except (SelfPlayError, GameError) as error:
            said = str(error)
            assert said
            if self.reader.names:
                assert self.path.name in said or str(self.folder) in said, said
            assert len(said) < 20_000
            assert "\x1b" not in printable(said)
            assert "\0" not in printable(said)
        assert self.outside() == self.before
        return said


@every_reader
def test_what_is_sound_is_read(reader, tmp_path):
    assert World(tmp_path, reader).check() == ""


@every_reader
def test_contents_of_strangers_are_values_or_errors(reader, tmp_path):
    world = World(tmp_path, reader)
    for name, data in CONTENTS.items():
        with told(name):
            put(reader, world.folder, world.path, data)
            world.check()


@pytest.mark.parametrize(
    "reader",
    [reader for reader in READERS if not reader.of_bytes],
    ids=lambda reader: reader.name,
)
def test_what_is_no_file_is_refused_without_waiting(reader, tmp_path):
    for number, (name, make) in enumerate(KINDS.items()):
        with told(name):
            world = World(tmp_path / str(number), reader)
            world.path.unlink()
            make(world.path, world.victim / "precious")
            if (reader.name, name) == ("metrics to go on with", "5 GiB of nothing"):
                os.truncate(world.path, 2**29)  # it reads a file to its end
            world.check()


@every_reader
@BRIEF
@given(data=st.data())
def test_damage_is_a_value_or_an_error(reader, tmp_path_factory, data):
    world = World(tmp_path_factory.mktemp("world"), reader)
    document = parsed(world.sound)
    if document is None or data.draw(st.integers(0, 2)) == 0:
        content = data.draw(damaged(world.sound))
    else:
        content = json.dumps(data.draw(documents(document))).encode() + b"\n" + world.sound.partition(b"\n")[2]
    put(reader, world.folder, world.path, content)
    world.check()


@every_reader
def test_a_huge_count_makes_no_work(reader, tmp_path):
    """A reader that loops as often as a number says would take hours here, or all memory."""
    world = World(tmp_path, reader)
    document = parsed(world.sound)
    for path in numbers(document):
        for count in HUGE_COUNTS:
            with told(f"{count} at {path}"):
                content = json.dumps(changed(document, path, count)).encode()
                put(reader, world.folder, world.path, content + b"\n" + world.sound.partition(b"\n")[2])
                world.check()


def parsed(data: bytes) -> object:
    """The document in the first line, or in all lines; None where there is none."""
    for text in (data, data.partition(b"\n")[0]):
        with contextlib.suppress(ValueError):
            return json.loads(text)
    return None


@contextlib.contextmanager
def told(name: str):
    """What was tried, in the traceback of what failed."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"with {name}")
        raise


# ---- memory


READ_WITHIN = """
import resource, sys
from pathlib import Path
from selfplay.errors import CorruptError
from selfplay.dialogue.files.parquet import from_parquet
from selfplay.dialogue.files.parquet import to_parquet
to_parquet([{"a": 1}], {"a": "int64"}, {})  # what PyArrow needs for itself
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, used + 2**29))
for path in map(Path, sys.argv[1:]):
    try:
        from_parquet(path, ["data_source", "messages"])
    except CorruptError as error:
        assert "MemoryError" not in str(error), error
        print(path.name, error)
"""


def dictionary_bomb(path: Path) -> None:
    """47 KB that a reader could make 20 GB of: one long text, and rows that repeat it."""
    save(path, {"data_source": ["x" * 10**6] * 400, "messages": [0] * 400})


def dictionary_type(path: Path) -> None:
    """The same, where the columns stay dictionaries until they are made lists."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 10**6]))
    save(path, {"data_source": column, "messages": column})


def long_row(path: Path) -> None:
    """Runs of one value: 600 bytes that stand for millions."""
    save(path, {"data_source": [[0] * 5_000_000], "messages": [0]})


def groups(path: Path) -> None:
    """676 bytes that stand for a million dictionaries."""
    flat = pa.StructArray.from_arrays([pa.array(np.zeros(1_000_000, np.int8))], ["a"])
    save(path, {"data_source": pa.ListArray.from_arrays([0, len(flat)], flat), "messages": [0]})


def empty_rows(path: Path) -> None:
    """Rows of nothing, which are dictionaries all the same."""
    save(path, {"data_source": pa.nulls(5_000_000), "messages": pa.nulls(5_000_000)})


def packed(path: Path) -> None:
    save(path, {"data_source": ["x" * 10**8], "messages": [0]}, compression="zstd")


def save(path: Path, columns: dict, **options: object) -> None:
    pq.write_table(pa.table(columns), path, **options)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_a_small_file_takes_little_memory(tmp_path):
    bombs = (dictionary_bomb, dictionary_type, long_row, groups, empty_rows, packed)
    for bomb in bombs:
        bomb(tmp_path / bomb.__name__)
    words = [sys.executable, "-c", READ_WITHIN, *(str(tmp_path / bomb.__name__) for bomb in bombs)]
    done = finish(words, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [line.split()[0] for line in done.stdout.splitlines()] == [bomb.__name__ for bomb in bombs]


# ---- completeness

READING = {
    "read_plain", "read_file", "parse_json", "parse_toml", "decode_json", "read_bytes", "read_text", "safe_open",
    "from_pretrained", "loads",
}  # fmt: skip
OWN = {
    "selfplay.games.files": "what they all read with",
    "selfplay_melee.dolphin.console": "what libmelee itself wrote",
    "selfplay.compilation.code_cache": "hashes the project's sources",
    "selfplay.distribution": "the project's own file",
    "selfplay_melee.browser.figures": "the same, which tests/melee/browser/test_figure_cache.py damages",
    "selfplay_melee.wasm.build": "hashes our sources; its cache, which tests/melee/wasm/test_build.py damages",
    "selfplay.files": "the same",
    "selfplay.dialogue.language.loading": "folders that were looked through; tests/dialogue/language/test_loading.py",
    "selfplay.report.standalone_page": "files of the package",
    "selfplay.runner.game_process": "what the parent process says",
    "selfplay.dialogue.link": "the model's files, of which the trainer has looked through the folder",
    "selfplay.runner.serialization": "hashes the project's sources",
    "selfplay.dialogue.files.states": "words of the command line",
    "selfplay.commands.exploit": "a run that it made itself",
    "selfplay.commands.train_or_resume": "the same",
    "selfplay_melee.tables.kept": "its cache, which tests/melee/test_kept_tables.py damages",
    "selfplay_melee.imitation.scripted": "its cache; tests/melee/imitation/test_scripted.py damages it",
    "selfplay.machine": "what the kernel says",
    "selfplay.memory_limits": "the same",
}
"""Modules that read something, but nothing of others, and what."""


def reads(path: Path) -> bool:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return bool(READING & (used | {node.id for node in nodes if isinstance(node, ast.Name)}))


def test_every_module_that_reads_is_tried_here_or_reads_what_is_ours():
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("envs.").removesuffix(".__init__")
        for folder in ("envs", "selfplay")
        for path in (ROOT / folder).rglob("*.py")
        if reads(path)
    }
    tried = {module for reader in READERS for module in reader.modules}
    assert found - tried - OWN.keys() == set(), "enter it in tests/hostile/readers.py"
    assert OWN.keys() - found == set()
    assert OWN.keys() & tried == set()
