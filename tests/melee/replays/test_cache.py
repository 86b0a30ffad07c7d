import os
import shutil

import numpy as np
import pytest

from selfplay.errors import ConfigError
from selfplay_melee.replays import cache as cache_module
from selfplay_melee.replays import library as library_module
from selfplay_melee.replays.cache import Cache, FileNote, format_key
from selfplay_melee.replays.library import Library
from selfplay_melee.tables import load_tables
from selfplay_melee.tables.layout import with_arrays
from tests.melee.replays.replay_folders import DELAY, SKIP, library, same_examples, write_game

KEY = format_key(SKIP, DELAY, load_tables())


@pytest.fixture
def folder(tmp_path):
    for i in range(3):
        write_game(tmp_path / "games" / f"{i}.slp", seed=i)
    (tmp_path / "games" / "bad.slp").write_bytes(b"no replay")
    return tmp_path / "games"


@pytest.fixture
def reads(monkeypatch):
    """Names of the files whose bytes were read, and of those that were taken apart."""
    read, parsed = [], []
    read_bytes, read_replay = library_module._read, library_module.read_replay

    def noting_read(path):
        read.append(path.name)
        return read_bytes(path)

    def noting_parse(data, name):
        parsed.append(name)
        return read_replay(data, name)

    monkeypatch.setattr(library_module, "_read", noting_read)
    monkeypatch.setattr(library_module, "read_replay", noting_parse)
    return read, parsed


def scan_and_load(folder, cache, **options):
    made = library(folder, cache, **options)
    return made, [made.load(game) for game in made.scan()]


def entry_of(cache, game):
    return cache / KEY / game.hash


def test_a_second_scan_reads_no_file(folder, tmp_path, reads):
    made, first = scan_and_load(folder, tmp_path / "cache")
    again, second = scan_and_load(folder, tmp_path / "cache")
    assert again.games == made.games
    assert again.bad == made.bad
    assert len(made.bad) == 1
    assert all(same_examples(a, b) for a, b in zip(first, second, strict=True))
    assert [sorted(names) for names in reads] == [["0.slp", "1.slp", "2.slp", "bad.slp"]] * 2


def test_a_moved_folder_is_hashed_and_not_taken_apart(folder, tmp_path, reads):
    scan_and_load(folder, tmp_path / "cache")
    moved = folder.rename(tmp_path / "moved")
    reads[0].clear()
    made, _ = scan_and_load(moved, tmp_path / "cache")
    assert len(made.games) == 3
    assert sorted(reads[0]) == ["0.slp", "1.slp", "2.slp", "bad.slp"]
    assert len(reads[1]) == 4, "only those of the first scan"


def test_a_changed_file_is_read_again(folder, tmp_path, reads):
    made, _ = scan_and_load(folder, tmp_path / "cache")
    reads[0].clear()
    write_game(folder / "1.slp", seed=77)
    again, _ = scan_and_load(folder, tmp_path / "cache")
    assert reads[0] == ["1.slp"]
    assert again.games[1].hash != made.games[1].hash


@pytest.mark.parametrize("file", ["game.json", "examples.safetensors", "MANIFEST.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "replace"])
def test_a_damaged_entry_is_made_anew(folder, tmp_path, file, damage):
    made, first = scan_and_load(folder, tmp_path / "cache")
    path = entry_of(tmp_path / "cache", made.games[1]) / file
    sound = path.read_bytes()
    data = bytearray(sound)
    if damage == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif damage == "cut":
        path.write_bytes(data[:-5])
    elif damage == "remove":
        path.unlink()
    else:
        shutil.copyfile(entry_of(tmp_path / "cache", made.games[0]) / "game.json", path)
    again, second = scan_and_load(folder, tmp_path / "cache")
    assert again.games == made.games
    assert all(same_examples(a, b) for a, b in zip(first, second, strict=True))
    assert path.read_bytes() == sound


def test_entries_whose_arrays_are_no_examples_are_not_trusted(folder, tmp_path):
    made, _ = scan_and_load(folder, None)
    game = made.games[0]
    seats = made.load(game)
    note = cache_module.Note(stage=game.stage, seats=game.seats)
    for name, wrong in (("action", 99), ("obs", None), ("frame", None)):
        column = getattr(seats[0], name)
        bad = np.full_like(column, wrong) if wrong else column[:-1]
        columns = {n: getattr(seats[0], n) for n in ("obs", "action", "last", "frame", "fresh")} | {name: bad}
        cache = Cache(tmp_path / "cache", KEY)
        cache.put(game.hash, note, [type(seats[0])(**columns), seats[1]])
        assert cache.note(game.hash) == note
        assert cache.examples(game.hash) is None
        assert not entry_of(tmp_path / "cache", game).exists()


def test_other_settings_have_other_entries(folder, tmp_path, reads):
    scan_and_load(folder, tmp_path / "cache")
    other = Library(folder, 1, 0, tmp_path / "cache")
    (game, *_) = other.scan()
    assert len(other.load(game)[0]) == 59
    assert len(reads[1]) == 8


@pytest.mark.parametrize("version", ["EXAMPLES_VERSION", "ENCODER_VERSION", "READER_VERSION"])
def test_another_version_of_anything_is_another_format(monkeypatch, version):
    monkeypatch.setattr(cache_module, version, 99)
    assert format_key(SKIP, DELAY, load_tables()) != KEY


def test_equal_tables_are_the_same_format():
    assert {format_key(SKIP, DELAY, load_tables()) for _ in range(5)} == {KEY}


def test_other_tables_are_another_format():
    tables = load_tables()
    characters = tables.characters.copy()
    characters["weight"][0] += 1
    assert format_key(SKIP, DELAY, with_arrays(tables, characters=characters)) != KEY


def test_the_oldest_entries_go_first(folder, tmp_path):
    cache = tmp_path / "cache"
    made, first = scan_and_load(folder, cache)
    one = made._cache._sizes[entry_of(cache, made.games[0])]
    for age, game in enumerate(made.games):
        os.utime(entry_of(cache, game), (1000 + age, 1000 + age))
    bounded = library(folder, cache, cache_bytes=int(2.5 * one))
    assert [entry_of(cache, game).exists() for game in made.games] == [False, True, True]
    assert bounded.scan() == made.games
    loaded = [bounded.load(game) for game in made.games]
    assert all(same_examples(a, b) for a, b in zip(first, loaded, strict=True))
    assert bounded._cache.used_bytes <= 2.5 * one
    assert bounded._cache.used_bytes == library(folder, cache)._cache.used_bytes


def test_what_is_no_entry_is_left_alone(folder, tmp_path):
    cache = tmp_path / "cache"
    mine = [cache / "photos" / "a.png", cache / KEY / "notes.txt", cache / "readme.md"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
    made, loaded = scan_and_load(folder, cache, cache_bytes=1)
    assert len(loaded) == 3
    assert made._cache.used_bytes == 0
    assert all(path.is_file() for path in mine)


def test_a_cache_that_cannot_be_written_costs_time_only(folder, tmp_path):
    (tmp_path / "cache").write_text("a file is in the way")
    made, loaded = scan_and_load(folder, tmp_path / "cache")
    assert len(loaded) == 3
    assert "cannot write" in made.cache_trouble


@pytest.mark.parametrize("content", ["{", '{"files": {"0.slp": {"size": 1}}}', '{"files": 3}'])
def test_damaged_notes_of_files_are_not_trusted(folder, tmp_path, content):
    made, _ = scan_and_load(folder, tmp_path / "cache")
    (path,) = (tmp_path / "cache").glob("files-*.json")
    path.write_text(content)
    assert scan_and_load(folder, tmp_path / "cache")[0].games == made.games


def test_files_without_a_cache_are_not_remembered(folder):
    made, loaded = scan_and_load(folder, None)
    assert len(loaded) == 3
    assert made.cache_trouble == ""


def test_a_folder_whose_name_is_not_utf_8_has_a_cache(tmp_path):
    folder = tmp_path / os.fsdecode(b"games \xff")
    write_game(folder / "a.slp")
    for _ in range(2):
        made = library(folder, tmp_path / "cache")
        assert len(made.scan()) == 1
        assert made.cache_trouble == ""
    assert list((tmp_path / "cache").glob("files-*.json"))


def test_names_that_are_no_text_do_not_spoil_the_others(tmp_path):
    cache = Cache(tmp_path / "cache", KEY)
    note = FileNote(size=1, mtime_ns=2, sha256="0" * 64)
    cache.remember_files(tmp_path, {"a\udcff.slp": note, "b.slp": note})
    assert cache.known_files(tmp_path) == {"b.slp": note}
    assert cache.trouble == ""


def test_a_lost_folder_is_an_error(folder, tmp_path):
    made, _ = scan_and_load(folder, tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    shutil.rmtree(folder)
    with pytest.raises(ConfigError):
        made.load(made.games[0])
