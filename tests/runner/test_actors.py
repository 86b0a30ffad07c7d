"""Work that actors share, with stand-ins for them: what a lost one did is done again."""

import threading

import pytest

from selfplay.errors import ActorLostError, RunnerError
from selfplay.runner import actors as module
from selfplay.runner.actors import Actors
from selfplay.runner.serialization import code_hash
from tests.support.processes import LIMIT_S, wait_for


class Actor:
    """A link to an actor that answers with its own number."""

    def __init__(self, number, lost=False, room=True, code=None):
        self.number, self.lost, self.room, self.code = number, lost, room, code or code_hash()
        self.closed = False

    def ready(self):
        if not self.room:
            raise RunnerError(f"actor {self.number}: no room")

    def call(self, method, *arguments):
        if method == "code":
            return self.code
        if self.lost:
            raise ActorLostError(f"actor {self.number} is gone")
        return self.number

    def sever(self): ...

    def close(self):
        self.closed = True


class Cluster:
    """Makes actors; those at the places ``lost`` are lost with their first work."""

    def __init__(self, lost=(), **kind):
        self.made, self.lost, self.kind, self.room = [], lost, kind, True

    def __call__(self, name):
        number = len(self.made)
        assert name.startswith("actor-")
        self.made.append(Actor(number, number in self.lost, self.room, **self.kind))
        return self.made[-1]


def ask(link):
    return link.call("number")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(module, "PAUSE_S", 0.01)
    monkeypatch.setattr(module, "ROOM_BACK_S", 0.05)


def test_actors_are_opened_together_and_used_again():
    cluster = Cluster()
    with Actors(cluster, 3) as actors:
        assert len(cluster.made) == 3
        assert {actors.work("part", ask, 0) for _ in range(5)} <= {0, 1, 2}
        assert not any(actor.closed for actor in cluster.made)
    assert len(cluster.made) == 3
    assert all(actor.closed for actor in cluster.made)


def test_another_actor_does_the_work_of_a_lost_one():
    cluster, notes = Cluster(lost=(0, 1)), []
    with Actors(cluster, 1, notice=notes.append) as actors:
        assert actors.work("part", ask, 2) == 2
    assert notes == ["part begins again: actor 0 is gone", "part begins again: actor 1 is gone"]


def test_after_some_losses_it_is_given_up():
    cluster = Cluster(lost=range(9))
    with Actors(cluster, 1) as actors:
        with pytest.raises(RunnerError, match="part: given up after 3 lost actors, the last: actor 2 is gone"):
            actors.work("part", ask, 2)
        with pytest.raises(RunnerError, match="part: stopped"):
            actors.work("part", ask, 2, lambda: True)


def test_what_fails_by_itself_is_not_tried_again():
    def fail(link):
        raise RunnerError("the game broke")

    cluster, notes = Cluster(), []
    with Actors(cluster, 1, notice=notes.append) as actors:
        with pytest.raises(RunnerError, match="the game broke"):
            actors.work("part", fail, 2)
        assert cluster.made[0].closed
        assert actors.work("part", ask, 2) == 1
    assert notes == []


def test_without_room_it_waits_for_an_actor_that_is_at_work():
    cluster, going, done = Cluster(), threading.Event(), []

    def slowly(link):
        going.wait(LIMIT_S)
        return link.number

    with Actors(cluster, 1) as actors:
        cluster.room = False
        first = threading.Thread(target=lambda: done.append(actors.work("first", slowly, 0)))
        first.start()
        wait_for(lambda: actors._busy)
        second = threading.Thread(target=lambda: done.append(actors.work("second", ask, 0)))
        second.start()
        wait_for(lambda: len(cluster.made) > 20)  # it looks for room, for longer than without another
        going.set()
        first.join(LIMIT_S)
        second.join(LIMIT_S)
    assert done == [0, 0]


def test_without_room_and_without_others_it_is_given_up():
    cluster = Cluster(lost=(0,))
    with Actors(cluster, 1) as actors:
        cluster.room = False
        with pytest.raises(RunnerError, match=r"actor \d+: no room"):
            actors.work("part", ask, 2)


def test_actors_that_cannot_be_used_are_refused():
    cluster = Cluster(code="older")
    with pytest.raises(RunnerError, match="another version of this project"), Actors(cluster, 2):
        pytest.fail("opened")
    cluster, checked = Cluster(), []
    with Actors(cluster, 2, checked.append):
        assert len(checked) == 2
    assert all(actor.closed for actor in cluster.made)


def test_closing_ends_what_waits():
    cluster = Cluster()
    with Actors(cluster, 1) as actors:
        actors.close()
        with pytest.raises(RunnerError, match="closed"):
            actors.work("part", ask, 0)
    assert all(actor.closed for actor in cluster.made)


def test_room_that_is_about_to_be_free_is_waited_for():
    class Full(Actor):
        def ready(self):
            if self.number == 0:
                raise ActorLostError("no room yet")

    made = []
    with Actors(lambda name: made.append(Full(len(made))) or made[-1], 1) as actors:
        assert actors.work("part", ask, 0) == 1
