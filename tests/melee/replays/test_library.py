import os
import shutil

import pytest

from selfplay.errors import ConfigError
from selfplay.games.errors import UnknownNameError
from selfplay_melee.examples import examples
from selfplay_melee.replay import read_replay, save_replay
from selfplay_melee.replays import library as library_module
from selfplay_melee.tables import load_tables
from tests.melee.replays.replay_folders import DELAY, SKIP, decisions, library, same_examples, write_game
from tests.melee.slp_files import REAL, needs_real_files
from tests.support.fakes import LFS_POINTER

CASES = REAL.parent / "cases"


def test_it_finds_every_game_and_says_what_is_in_it(tmp_path):
    write_game(tmp_path / "b.slp", seed=1)
    write_game(tmp_path / "a" / "z.slp", 30, seed=2, characters=("mewtwo", "falco"), names=("", "Ünal"), ports=(1, 3))
    (tmp_path / "notes.txt").write_text("no replay")
    first, second = library(tmp_path).scan()
    assert [game.path.name for game in (first, second)] == ["z.slp", "b.slp"]
    assert first.stage == "final_destination"
    assert [(seat.seat, seat.port, seat.character, seat.rows) for seat in first.seats] == [
        (0, 1, "mewtwo", decisions(30)),
        (1, 3, "falco", decisions(30)),
    ]
    assert [seat.name for seat in second.seats] == ["Anna", "Box"]
    assert second.rows == 2 * decisions(60)


def test_it_loads_what_the_reader_and_the_encoder_give(tmp_path):
    path = write_game(tmp_path / "a.slp", gap=33)
    made = library(tmp_path)
    (game,) = made.scan()
    expected = [examples(read_replay(path), seat, SKIP, DELAY, load_tables()) for seat in range(2)]
    assert same_examples(made.load(game), expected)
    assert expected[0].fresh.sum() == 2


@pytest.mark.skipif(not CASES.is_dir(), reason="the folder of files that broke readers is not beside this one")
@pytest.mark.parametrize("player", ["Kim", "kim ", "KIM#123", "kim\uff03123", "1"])
def test_people_are_found_by_name_and_by_connect_code(tmp_path, player):
    shutil.copy(CASES / "trailing_space_and_code.slp", tmp_path)
    for _ in range(2):  # read, and from the cache
        (game,) = library(tmp_path, tmp_path / "cache", player=player).scan()
        assert [(seat.port, seat.name, seat.code) for seat in game.seats] == [(0, "Kim ", "KIM#123")]


def test_a_pointer_of_git_lfs_is_told(tmp_path):
    (tmp_path / "a.slp").write_bytes(LFS_POINTER)
    with pytest.raises(ConfigError, match=r"a\.slp: is a Git LFS pointer .* `git lfs pull`"):
        library(tmp_path).scan()


def test_suffixes_of_upper_case_and_single_files_are_read(tmp_path):
    path = write_game(tmp_path / "a" / "GAME.SLP")
    for place in (tmp_path, path):
        made = library(place, tmp_path / "cache")
        (game,) = made.scan()
        assert game.path == path
        assert len(made.load(game)) == 2


def test_equal_files_count_once(tmp_path):
    for name in ("a", "b", "c/d"):
        write_game(tmp_path / f"{name}.slp")
    made = library(tmp_path)
    assert [game.path.name for game in made.scan()] == ["a.slp"]
    assert made.duplicates == 2


def test_bad_files_are_named_with_their_reason_and_do_no_harm(tmp_path):
    good = write_game(tmp_path / "good.slp")
    write_game(tmp_path / "short.slp", 6)
    (tmp_path / "empty.slp").write_bytes(b"")
    (tmp_path / "cut.slp").write_bytes(good.read_bytes()[:60])
    (tmp_path / "gone.slp").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.slp").mkdir()
    os.mkfifo(tmp_path / "pipe.slp")
    made = library(tmp_path)
    assert [game.path for game in made.scan()] == [good]
    reasons = {path.name: reason for path, reason in made.bad}
    assert set(reasons) == {"short.slp", "empty.slp", "cut.slp", "gone.slp", "folder.slp", "pipe.slp"}
    assert reasons["empty.slp"] == "byte 0: not a .slp file"
    assert reasons["short.slp"].startswith("too short")
    assert reasons["pipe.slp"] == "no plain file"
    assert reasons["gone.slp"] == "No such file or directory"


def test_numbers_that_no_game_has_make_a_bad_file(tmp_path):
    write_game(tmp_path / "good.slp")
    replay = read_replay(write_game(tmp_path / "wild.slp", seed=1))
    replay.post["percent"][32] = 1e30
    save_replay(tmp_path / "wild.slp", replay)
    made = library(tmp_path)
    assert len(made.scan()) == 1
    assert made.bad == [(tmp_path / "wild.slp", "damaged: it holds numbers that no game has")]


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    write_game(tmp_path / "good.slp", 30)
    write_game(tmp_path / "huge.slp", 300)
    monkeypatch.setattr(library_module, "MAX_FILE_BYTES", (tmp_path / "good.slp").stat().st_size)
    made = library(tmp_path)
    assert len(made.scan()) == 1
    assert made.bad[0][1].endswith("are read")


@pytest.mark.parametrize(
    ("wanted", "seats"),
    [
        ({"characters": ("fox",)}, {"a": [0], "b": [1]}),
        ({"characters": ("fox", "marth")}, {"a": [0, 1], "b": [1]}),
        ({"player": "1"}, {"a": [0], "b": [0]}),
        ({"player": "3"}, {"a": [1]}),
        ({"player": "ANNA"}, {"a": [0], "b": [1]}),
        ({"player": "Ánna"}, {"a": [0], "b": [1]}),
        ({"player": "anna", "characters": ("marth",)}, {}),
        ({"player": "4"}, {"b": [1]}),
    ],
)
def test_only_wanted_seats_are_kept(tmp_path, wanted, seats):
    write_game(tmp_path / "a.slp", seed=1)
    write_game(tmp_path / "b.slp", seed=2, characters=("zelda", "fox"), names=("Box", "Anna"), ports=(0, 3))
    made = library(tmp_path, **wanted)
    if not seats:
        with pytest.raises(
            ConfigError, match=r"in 2 of them nobody plays marth and is player 'anna' \(valid: Anna, Box\)"
        ):
            made.scan()
        return
    games = made.scan()
    assert {game.path.stem: [seat.seat for seat in game.seats] for game in games} == seats
    assert made.unwanted == 2 - len(seats)
    every = library(tmp_path)
    whole = {game.hash: every.load(game) for game in every.scan()}
    for game in games:
        assert same_examples(made.load(game), [whole[game.hash][seat.seat] for seat in game.seats])


def test_the_bound_counts_games_that_can_be_used(tmp_path):
    (tmp_path / "0.slp").write_bytes(b"bad")
    write_game(tmp_path / "1.slp", seed=1, characters=("falco", "falco"))
    for i in range(2, 6):
        write_game(tmp_path / f"{i}.slp", seed=i)
    made = library(tmp_path, characters=("fox",), max_files=2)
    assert [game.path.stem for game in made.scan()] == ["2", "3"]


def test_a_folder_without_a_game_is_an_error_that_says_what_was_found(tmp_path):
    with pytest.raises(ConfigError, match="no such folder of replays"):
        library(tmp_path / "none").scan()
    with pytest.raises(ConfigError, match=r"no \.slp file is there; selfplay record makes some"):
        library(tmp_path).scan()
    (tmp_path / "games.ZIP").write_bytes(b"PK\x03\x04")
    with pytest.raises(ConfigError, match=r"no \.slp file is there; games\.ZIP is an archive: unpack it first"):
        library(tmp_path).scan()
    (tmp_path / "a.slp").write_bytes(b"bad")
    with pytest.raises(ConfigError, match=r"1 cannot be read .* \(the first is a\.slp: byte 0: not a \.slp file\)"):
        library(tmp_path).scan()


@pytest.mark.parametrize("wrong", [{"frame_skip": 0}, {"delay": -1}, {"max_files": 0}])
def test_arguments_out_of_range_are_refused(tmp_path, wrong):
    with pytest.raises(ConfigError, match="must be at least 1"):
        library_module.Library(tmp_path, **{"frame_skip": 1, "delay": 0, "cache": None, **wrong})


def test_an_unknown_character_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'mewtwo'"):
        library(tmp_path, characters=("mewtow",))


def test_progress_is_told_up_to_the_end(tmp_path):
    for i in range(3):
        write_game(tmp_path / f"{i}.slp", seed=i)
    told = []
    library(tmp_path).scan(lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_file_that_changed_since_the_scan_is_an_error(tmp_path):
    path = write_game(tmp_path / "a.slp")
    made = library(tmp_path)
    (game,) = made.scan()
    write_game(path, seed=9)
    with pytest.raises(ConfigError, match="has changed since the scan"):
        made.load(game)
    path.unlink()
    with pytest.raises(ConfigError, match="was there at the scan: No such file"):
        made.load(game)


@needs_real_files
def test_real_files(tmp_path):
    made = library(REAL, tmp_path / "cache")
    games = made.scan()
    assert len(games) >= 9
    assert {path.name for path, _ in made.bad} >= {"EDGE_truncated.slp", "EDGE_v0.1_too_old.slp"}
    zelda = next(game for game in games if "zelda" in game.path.name)
    assert [seat.character for seat in zelda.seats] == ["cptfalcon", "zelda"]
    assert library(REAL, tmp_path / "cache").scan() == games
