"""What goes wrong on purpose, and what libmelee makes of it."""

import base64
import json
import logging
import time

import pytest

from selfplay.games.errors import GameError
from selfplay_melee.dolphin.install import is_free
from tests.support.fake_dolphin import faults
from tests.support.fake_dolphin.disc import Disc, Fault
from tests.support.fake_dolphin.faults import CRASHED, Faults
from tests.support.fake_dolphin.journal import Journal
from tests.support.fake_dolphin.machine import GARBAGE
from tests.support.fake_dolphin.write import write_stand_in
from tests.support.fake_dolphin_tests.driving import Character, Stage, melee, running
from tests.support.processes import LIMIT_S

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"), pytest.mark.full]


@pytest.fixture
def made(tmp_path):
    """Files of a stand-in with one fault."""
    return lambda kind, **when: write_stand_in(
        tmp_path / "stand_in", Disc(faults=(Fault(kind=kind, **when),)), compiled=False
    )


def run_to(drive, frame):
    state, _ = drive.enter()
    while state.frame < frame:
        state = drive.step()


# ---- moments


def moments(disc, path, clock, count):
    plan = Faults(disc, path)
    return [i for i in range(count) if plan.now(clock, i) is not None]


def test_a_fault_at_a_moment_happens_there_and_only_in_the_first_game(tmp_path):
    plan = Faults(Disc(faults=(Fault(kind="crash", at=5),)), tmp_path / "disc.json")
    assert [i for _ in range(2) for i in range(-123, 50) if plan.now("frame", i) == "crash"] == [5]


def test_without_a_moment_it_is_the_first(tmp_path):
    assert moments(Disc(faults=(Fault(kind="wrong_stage"),)), tmp_path / "disc.json", "game", 9) == [0]


def test_random_moments_are_as_far_apart_as_asked_and_follow_from_their_seed(tmp_path):
    def disc(seed):
        return Disc(faults=(Fault(kind="hang", every=50),), fault_seed=seed)

    found = moments(disc(1), tmp_path / "disc.json", "frame", 100_000)
    assert 1700 < len(found) < 2300
    assert found == moments(disc(1), tmp_path / "disc.json", "frame", 100_000)
    assert found != moments(disc(2), tmp_path / "disc.json", "frame", 100_000)
    assert moments(disc(None), tmp_path / "disc.json", "frame", 9999) != moments(
        disc(None), tmp_path / "disc.json", "frame", 9999
    )


def test_once_is_once_for_all_starts(tmp_path):
    disc = Disc(faults=(Fault(kind="no_start", once=True), Fault(kind="garbage", every=1)))
    assert [Faults(disc, tmp_path / "disc.json").now("start", 0) for _ in range(3)] == ["no_start", None, None]
    assert moments(disc, tmp_path / "disc.json", "frame", 3) == [0, 1, 2]


def test_files_that_are_written_again_forget_what_happened_once(tmp_path):
    for _ in range(2):
        _, path = write_stand_in(tmp_path, disc := Disc(faults=(Fault(kind="no_start", once=True),)), compiled=False)
        assert Faults(disc, path).now("start", 0) == "no_start"


# ---- through libmelee


def test_the_journal_tells_what_happened(tmp_path):
    path = tmp_path / "journal"
    disc = Disc(faults=(Fault(kind="wrong_stage"), Fault(kind="crash", at=5)), journal=str(path))
    with running(write_stand_in(tmp_path, disc, compiled=False), polling_mode=True, polling_timeout=5.0) as drive:
        drive.enter()
        while drive.step() is not None:
            pass
        pid, port = drive.process.pid, drive.console.slippi_port
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["event"], line["kind"]) for line in lines] == [
        *(("start", ""), ("fault", "wrong_stage"), ("playing", ""), ("fault", "crash")),
    ]
    assert {(line["pid"], line["port"]) for line in lines} == {(pid, port)}


def test_a_journal_that_cannot_be_written(tmp_path):
    with pytest.raises(GameError, match="journal"):
        Journal(str(tmp_path / "none" / "journal"), 1)


def test_crash(made):
    with running(made("crash", at=20), polling_mode=True, polling_timeout=5.0) as drive:
        state, _ = drive.enter()
        while state is not None and state.frame < 100:
            last, state = state, drive.step()
        assert drive.process.wait(LIMIT_S) == CRASHED
        assert last.frame == 19


def test_crash_in_a_menu(made):
    with running(made("menu_crash", at=5)) as drive:
        for _ in range(5):
            drive.step()
        drive.flush()
        assert drive.process.wait(LIMIT_S) == CRASHED
        with pytest.raises(BrokenPipeError):
            drive.flush()


def test_hang(made):
    with running(made("hang", at=20), polling_mode=True, polling_timeout=5.0) as drive:
        state, _ = drive.enter()
        while (state := drive.step()) is not None:
            last = state
        assert last.frame == 19
        assert drive.process.poll() is None


def test_disconnect(made):
    with running(made("disconnect", at=20)) as drive:
        with pytest.raises(melee.slippstream.EnetDisconnected):
            run_to(drive, 100)
        assert drive.state.frame == 19
        assert drive.process.poll() is None


def test_garbage(made):
    """Of its first byte no size is declared, and libmelee would look at it for ever: so the messages are read here."""
    with running(made("garbage", at=-100)) as drive:
        run_to(drive, -101)
        drive.flush()
        payloads = [message["payload"] for message in _messages(drive, 2)]
    assert base64.b64decode(payloads[0]) == GARBAGE
    assert base64.b64decode(payloads[1])[0] == 0x3A


def _messages(drive, count):
    return [drive.console._slippstream.dispatch(False) for _ in range(count)]


def test_half_an_event(made, caplog):
    with running(made("truncated", at=20)) as drive, caplog.at_level(logging.WARNING):
        run_to(drive, 30)
    assert "Data is probably missing" in caplog.text


def test_no_message(made):
    with running(made("bad_json", at=20)) as drive, pytest.raises(json.JSONDecodeError):
        run_to(drive, 30)


def test_an_old_version(made):
    with running(made("old_version")) as drive, pytest.raises(melee.console.SlippiVersionTooLow):
        drive.enter()


def test_another_character_and_another_stage_than_chosen(made):
    with running(made("wrong_character")) as drive:
        players = drive.enter(("FOX", "MARTH"))[0].players
        assert players[1].character is not Character.FOX
        assert players[2].character is Character.MARTH
    with running(made("wrong_stage", at=0)) as drive:
        assert drive.enter(stage="BATTLEFIELD")[0].stage is not Stage.BATTLEFIELD
        drive.quit()
        assert drive.enter(stage="BATTLEFIELD")[0].stage is Stage.BATTLEFIELD


def test_no_start(made):
    with running(made("no_start"), connect=False) as drive:
        assert drive.process.wait(LIMIT_S) == 1


@pytest.mark.parametrize("kind", ["dead_port", "slow_boot"])
def test_it_lives_and_its_port_is_closed(made, kind):
    with running(made(kind), connect=False) as drive:
        time.sleep(1.0)  # it opens the port in a tenth of that
        assert drive.process.poll() is None
        assert is_free(drive.console.slippi_port)


@pytest.mark.slow
def test_libmelee_gives_up_a_dead_port(made):
    with running(made("dead_port"), connect=False) as drive:
        assert not drive.console.connect()


def test_a_slow_boot_is_longer_than_libmelee_waits():
    assert faults.SLOW_BOOT_S > 10.0


def test_memory_that_is_never_given_back(tmp_path):
    psutil = pytest.importorskip("psutil", reason="needs psutil (the extra dolphin)")
    with running(write_stand_in(tmp_path, Disc(leak_mb_per_1000_frames=2000.0), compiled=False)) as drive:
        run_to(drive, -110)
        before = psutil.Process(drive.process.pid).memory_info().rss
        while drive.state.frame < 0:
            drive.step()
        assert psutil.Process(drive.process.pid).memory_info().rss - before > 150e6
