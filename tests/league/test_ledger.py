import errno
import os
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.errors import DiskError, LeagueError
from selfplay.league.games import GameTable
from selfplay.league.ledger import Ledger, read_games, read_records
from selfplay.league.ratings import rate
from tests.league.pools import record, seat, series
from tests.support.processes import finish

RECORDS = series(
    [
        ("gen_1", "random", "win"),
        ("random", "gen_1", "loss"),
        ("gen_2", "gen_1", "draw"),
        ("gen_2", "random", "win"),
        ("random", "gen_2", "win"),
    ]
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


def write(path, records=RECORDS):
    with Ledger.open(path) as ledger:
        ledger.append(records)
    return path.read_bytes()


def same(a: GameTable, b: GameTable) -> bool:
    columns = ("seats", "versions", "scores", "pairs", "group")
    equal = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in columns)
    return equal and a.players == b.players and a.groups == b.groups


def test_what_is_appended_is_read_back(path):
    with Ledger.open(path) as ledger:
        assert ledger.append(RECORDS[:2]) == 2
        assert ledger.append(RECORDS[2:]) == 3
        assert ledger.rows == 5
        assert same(ledger.games(), read_games(path))
    assert list(read_records(path)) == RECORDS
    assert same(read_games(path), GameTable.of(RECORDS))


def test_rows_are_only_ever_added(path):
    before = write(path, RECORDS[:3])
    after = write(path, RECORDS[3:])
    assert after.startswith(before)
    assert len(after.splitlines()) == 5


@given(cut=st.integers(0, 5), torn=st.integers(0, 30))
@settings(max_examples=25)
def test_a_ledger_cut_anywhere_goes_on_to_the_same_end(tmp_path_factory, cut, torn):
    """fold(file) equals the live state, whatever was on the disk when the process died."""
    path = tmp_path_factory.mktemp("cut") / "ledger.jsonl"
    rows = write(path).splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:cut]) + (rows[cut][:torn] if cut < 5 else b""))
    assert same(read_games(path), GameTable.of(RECORDS[:cut]))
    with Ledger.open(path) as ledger:
        assert ledger.rows == cut
        ledger.append(RECORDS)
        assert same(ledger.games(), GameTable.of(RECORDS))
    assert path.read_bytes() == b"".join(rows)


def test_a_torn_last_line_is_ignored_reported_and_cut_off(path):
    whole = write(path)
    path.write_bytes(whole + b'{"format":2,"match":"00')
    games = read_games(path)
    assert games.torn
    assert len(games) == 5
    assert len(list(read_records(path))) == 5
    Ledger.open(path).close()
    assert path.read_bytes() == whole
    assert not read_games(path).torn


def test_a_last_line_of_zeros_counts_as_torn(path):
    whole = write(path)
    path.write_bytes(whole + b"\0" * 100 + b"\n")
    assert len(read_games(path)) == 5
    Ledger.open(path).close()
    assert path.read_bytes() == whole


def test_a_last_row_that_only_lacks_its_line_end_counts(path):
    whole = write(path)
    path.write_bytes(whole[:-1])
    assert len(read_games(path)) == 5
    with Ledger.open(path) as ledger:
        ledger.append([record("gen_3", "random")])
    assert path.read_bytes().startswith(whole)
    assert len(read_games(path)) == 6


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{broken", "Expecting property name"),
        (b'"\xc3("', "decode"),
        (b"[]", "not a game record"),
        (b"{}", "'match' is missing"),
        (RECORDS[1].row().replace('"format":2', '"format":1').encode(), "format 1, this version reads 2"),
        (RECORDS[1].row().replace('"random"', '"gen_1"').encode(), "mirror match of 'gen_1'"),
        (RECORDS[1].row().replace('"random"', '"current"').encode(), "'current' changes"),
        (RECORDS[1].row().replace('"score":0.0', '"score":0.3').encode(), "score 0.3"),
        (RECORDS[1].row().replace('"score":0.0', '"score":"1"').encode(), "score '1'"),
        (RECORDS[1].row().replace('"score":0.0,', "").encode(), "'score' is missing"),
        (RECORDS[1].row().replace('"finished":true', '"finished":"yes"').encode(), "finished 'yes'"),
        (RECORDS[1].row().replace('"percents":[50.0', '"percents":[NaN').encode(), "NaN is no JSON"),
    ],
)
def test_a_corrupt_row_is_named_by_file_and_line(path, bad, reason):
    rows = write(path).splitlines()
    rows[1] = bad
    path.write_bytes(b"\n".join(rows) + b"\n")
    for read in (read_games, lambda path: list(read_records(path)), Ledger.open):
        with pytest.raises(LeagueError, match=rf"ledger\.jsonl:2: .*{reason}"):
            read(path)
    assert path.read_bytes() == b"\n".join(rows) + b"\n", "nothing may be repaired that is not understood"


def test_reading_records_checks_every_field(path):
    rows = write(path).replace(b'"steps":3000', b'"steps":-1', 1)
    path.write_bytes(rows)
    assert len(read_games(path)) == 5
    with pytest.raises(LeagueError, match=r"ledger\.jsonl:1: steps"):
        list(read_records(path))


def test_a_bad_last_row_that_is_json_is_no_torn_line(path):
    path.write_bytes(write(path) + b'{"format":2}\n')
    with pytest.raises(LeagueError, match=r":6: .*'match' is missing"):
        read_games(path)


def test_repeated_matches_are_ignored_and_counted(path):
    whole = write(path)
    with Ledger.open(path) as ledger:
        assert ledger.append([RECORDS[0], RECORDS[0], record("gen_3", "random")]) == 1
        assert ledger.games().duplicates == 2
        assert ledger.rows == 6
    path.write_bytes(whole + whole)
    games = read_games(path)
    assert len(games) == 5
    assert games.duplicates == 5
    assert not games.torn
    np.testing.assert_array_equal(rate(games).rating, rate(GameTable.of(RECORDS)).rating)
    assert list(read_records(path)) == RECORDS


def test_a_mirror_match_never_enters(path):
    whole = write(path)
    mirror = RECORDS[0].model_copy(update={"seats": (seat("gen_1"), seat("gen_1")), "match": "0" * 16 + "-00000000"})
    with Ledger.open(path) as ledger, pytest.raises(LeagueError, match="mirror match of 'gen_1'"):
        ledger.append([record("gen_3", "random"), mirror])
    assert path.read_bytes() == whole, "all or none"


def test_blank_lines_are_no_rows(path):
    rows = write(path).splitlines()
    path.write_bytes(b"\n".join([rows[0], b"", *rows[1:], b"", b""]))
    assert len(read_games(path)) == 5
    assert list(read_records(path)) == RECORDS


def test_a_second_writer_is_refused(path):
    with Ledger.open(path), pytest.raises(LeagueError, match=r"ledger\.jsonl is being written by another"):
        Ledger.open(path)
    Ledger.open(path).close()


def test_a_writer_in_another_process_is_refused_and_dies_without_a_trace(path):
    code = f"from pathlib import Path; from selfplay.league.ledger import Ledger; Ledger.open(Path({str(path)!r}))"
    with Ledger.open(path):
        second = finish([sys.executable, "-c", code])
        assert "is being written by another" in second.stderr
    finish([sys.executable, "-c", f"{code}; import os; os._exit(9)"])
    with Ledger.open(path) as ledger:
        assert ledger.rows == 0


def test_readers_need_no_lock(path):
    with Ledger.open(path) as ledger:
        ledger.append(RECORDS[:1])
        assert len(read_games(path)) == 1


def test_closing_twice_is_harmless(path):
    ledger = Ledger.open(path)
    ledger.close()
    ledger.close()


def test_rows_behind_a_checkpoint_can_be_dropped_and_played_again(path):
    whole = write(path)
    with Ledger.open(path, keep_rows=3) as ledger:
        assert ledger.rows == 3
        assert same(ledger.games(), GameTable.of(RECORDS[:3]))
        ledger.append(RECORDS[3:])
    assert path.read_bytes() == whole


def test_a_ledger_shorter_than_the_checkpoint_is_an_error(path):
    whole = write(path)
    with pytest.raises(LeagueError, match="has 5 rows, but 6 were written"):
        Ledger.open(path, keep_rows=6)
    assert path.read_bytes() == whole
    Ledger.open(path).close()  # the lock was given back


def test_a_full_disk_leaves_the_ledger_as_it_was(path, monkeypatch):
    whole = write(path, RECORDS[:2])
    with Ledger.open(path) as ledger:
        real = os.write

        def half(descriptor, data):
            if len(data) < 100:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, bytes(data[: len(data) // 2]))

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(DiskError, match=r"cannot write the ledger .*No space left"):
            ledger.append(RECORDS[2:])
        assert path.read_bytes() == whole
        monkeypatch.setattr(os, "ftruncate", lambda *_: half(0, b""))  # not even that works
        with pytest.raises(DiskError, match="No space left"):
            ledger.append(RECORDS[2:])
        assert path.read_bytes() != whole, "a torn row stays behind"
        assert read_games(path).torn
        monkeypatch.undo()
        assert ledger.rows == 2
        assert ledger.append(RECORDS[2:]) == 3


def test_each_batch_is_on_the_disk_before_append_returns(path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(path.stat().st_size), real(descriptor))[1])
    with Ledger.open(path) as ledger:
        synced.clear()
        ledger.append(RECORDS)
        assert synced == [path.stat().st_size]
        ledger.append(RECORDS)
        assert len(synced) == 1, "nothing new, nothing to wait for"


@pytest.fixture
def synced(monkeypatch):
    """What the disk has been made to hold: (inode, size) of each file or folder, in order."""
    found, real = [], os.fsync

    def fsync(descriptor):
        real(descriptor)
        status = os.fstat(descriptor)
        found.append((status.st_ino, status.st_size))

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_the_name_of_a_new_ledger_is_on_the_disk_before_its_rows(path, synced):
    with Ledger.open(path) as ledger:
        ledger.append(RECORDS)
    assert [inode for inode, _ in synced] == [path.parent.stat().st_ino, path.stat().st_ino]


@pytest.mark.parametrize(
    ("damage", "keep_rows"),
    [(lambda whole: whole + b'{"format":1,"ma', None), (lambda whole: whole[:-1], None), (lambda whole: whole, 3)],
    ids=["torn", "without its line end", "longer than the checkpoint knows"],
)
def test_a_repair_is_on_the_disk_before_a_ledger_is_open(path, synced, damage, keep_rows):
    path.write_bytes(damage(write(path)))
    synced.clear()
    Ledger.open(path, keep_rows).close()
    status = path.stat()
    assert synced[-1] == (status.st_ino, status.st_size)


def test_a_sound_ledger_is_not_synced_by_opening_it(path, synced):
    write(path)
    synced.clear()
    Ledger.open(path).close()
    assert path.stat().st_ino not in [inode for inode, _ in synced]


def test_a_missing_ledger_is_named(tmp_path):
    with pytest.raises(LeagueError, match=r"cannot read the ledger .*none\.jsonl"):
        read_games(tmp_path / "none.jsonl")
    with pytest.raises(LeagueError, match="cannot open the ledger"):
        Ledger.open(tmp_path / "no folder" / "ledger.jsonl")


def test_games_of_other_settings_weights_and_idle_are_left_out_with_a_count():
    records = [
        record("gen_1", "random", settings="old"),
        record("gen_1", "random", seed=1, sampling="greedy"),
        record(seat("gen_1", version="replaced"), "random", seed=2),
        record("gen_1", "random", seed=3),
        record("gen_1", "idle", seed=4),
        record("random", "gen_1", seed=5),
    ]
    chosen = GameTable.of(records).comparable()
    assert chosen.settings == "abc/stochastic"
    assert len(chosen.games) == 2
    assert chosen.left_out == {
        "under other settings": 2,
        "of weights since replaced": 1,
        "against players outside the ladder": 1,
    }
    older = GameTable.of(records).comparable("old")
    assert (older.settings, len(older.games)) == ("old/stochastic", 1)
    with pytest.raises(LeagueError, match=r"'new'.*abc/greedy, abc/stochastic, old/stochastic"):
        GameTable.of(records).comparable("new")


def test_nothing_played_is_no_error():
    chosen = GameTable.of([]).comparable()
    assert len(chosen.games) == 0
    assert chosen.left_out == {}
