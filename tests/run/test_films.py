import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from selfplay.checkpoint import RunDir
from selfplay.report.trackers.tracking import Tracking
from selfplay.run import films
from selfplay.run.films import EVERY_S, FILM, Films, film, films_of, why
from tests.support.processes import wait_for

WAIT_S = 30.0


class Tracked(Tracking):
    """Remembers the films."""

    def __init__(self):
        super().__init__()
        self.shown = []

    def video(self, step, name, path):
        self.shown.append((step, name, path.name))


@pytest.fixture
def studio(monkeypatch):
    """In place of the process that makes a film: ``asked`` counts films, each of which waits for ``done``."""
    made = SimpleNamespace(asked=0, done=threading.Event(), now=1000.0, error=None)

    def make(what, path, limit_s, flags):
        made.asked += 1
        assert made.done.wait(WAIT_S)
        if made.error is not None:
            raise made.error

    monkeypatch.setattr(films, "film", make)
    monkeypatch.setattr(films, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def test_one_film_is_made_at_a_time_and_not_too_often(studio):
    tracked = Tracked()
    made = Films(RunDir(Path("run")), tracked, print)
    made.take(10)
    studio.now += 2 * EVERY_S
    made.take(20)  # the first is not ready
    studio.done.set()
    wait_for(lambda: tracked.shown == [(10, FILM, "step_10.gif")])
    made.take_last(30)
    assert tracked.shown[1:] == [(30, FILM, "step_30.gif")]
    studio.now += EVERY_S / 2
    wait_for(lambda: not made._thread.is_alive())
    made.take(40)
    wait_for(lambda: len(tracked.shown) == 3)  # the last one, at the request of the end, counts for no pause
    made.take(50)
    made.take_last(50)
    assert [step for step, *_ in tracked.shown] == [10, 30, 40, 50]


def test_a_film_that_is_being_made_at_the_end_is_waited_for_a_limited_time(studio, monkeypatch):
    monkeypatch.setattr(films, "LAST_S", 0.05)
    tracked, notices = Tracked(), []
    made = Films(RunDir(Path("run")), tracked, notices.append)
    made.take(10)
    made.take_last(20)
    assert notices == ["No film of the last generation: it takes longer than 0 s"]
    studio.done.set()
    wait_for(lambda: not made._thread.is_alive())
    assert studio.asked == 1


def test_why_there_is_no_film_is_said_once(studio):
    tracked, notices = Tracked(), []
    studio.done.set()
    studio.error = subprocess.CalledProcessError(2, "watch", stderr="more\nselfplay watch: no generation yet\n")
    made = Films(RunDir(Path("run")), tracked, notices.append)
    for step in (10, 20):
        made.take_last(step)
    assert notices == ["No film at step 10: selfplay watch: no generation yet"]
    assert tracked.shown == []


def test_only_trackers_get_films():
    feed = SimpleNamespace(tracking=Tracking(), notice=print)
    session = SimpleNamespace(run=RunDir(Path("run")), film_flags=())
    assert films_of(session, feed) is None
    feed.tracking = {"wandb": "something that is true"}
    assert isinstance(films_of(session, feed), Films)
    session.film_flags = None
    assert films_of(session, feed) is None


@pytest.mark.full
def test_what_cannot_be_filmed_says_why(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as caught:
        film(tmp_path / "nothing", tmp_path / "film.gif", 180.0)
    assert "nothing" in caught.value.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_film_that_takes_too_long_is_given_up(tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        film(Path("strong"), tmp_path / "film.gif", 0.1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (subprocess.CalledProcessError(2, "watch", stderr="one\nno game\n\n"), "no game"),
        (subprocess.CalledProcessError(2, "watch", stderr=" \n"), "Command 'watch' returned non-zero exit status 2."),
        (subprocess.TimeoutExpired("watch", 3, stderr=b"begun"), "Command 'watch' timed out after 3 seconds"),
    ],
)
def test_why_there_is_no_film(error, said):
    assert why(error) == said
