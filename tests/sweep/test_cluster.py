"""A sweep on actors, with stand-ins for them and for trainers."""

import threading

import pytest

from selfplay.checkpoint import RunDir
from selfplay.errors import ActorLostError, ConfigError
from selfplay.sweep import cluster as module
from selfplay.sweep.cells import Measured
from selfplay.sweep.cluster import CellServer, on_cluster
from selfplay.sweep.jobs import Job, run_jobs
from tests.support.processes import wait_for


class Trainer:
    """In the place of a process; one that is ``endless`` ends when it is asked to."""

    started, endless = [], False

    def __init__(self, job, threads):
        self.started.append((job.run.path.parent.name, job.words(), threads))
        self._job, self._asked = job, threading.Event()
        job.run.run_json.parent.mkdir(parents=True, exist_ok=True)
        job.run.run_json.write_text("{}")
        (job.run.learner / "iter_1").mkdir(parents=True, exist_ok=True)  # from here on it can be resumed

    def ended(self, seconds):
        return self._asked.wait(0.01) if self.endless else True

    def result(self):
        return self._job.result(1 if self.endless else 0)

    def ask_to_stop(self):
        self._asked.set()

    def close(self): ...


class Link:
    """Calls a server in this process. It is lost when a trainer is first waited for, as often as the cluster says."""

    def __init__(self, cluster):
        self._cluster, self._server = cluster, CellServer()

    def ready(self): ...

    def call(self, method, *arguments):
        if method == "missing" and self._cluster.elsewhere:
            return "node-7"
        if method == "wait" and self._cluster.losses:
            self._cluster.losses -= 1
            raise ActorLostError("its node has died")
        return getattr(self._server, method)(*arguments)

    def sever(self): ...

    def close(self): ...


class Cluster:
    def __init__(self, losses=0, elsewhere=False):
        self.losses, self.elsewhere = losses, elsewhere

    def link(self, kind, name):
        assert kind is CellServer
        return Link(self)


@pytest.fixture(autouse=True)
def trainer(monkeypatch):
    monkeypatch.setattr(module, "TrainerProcess", Trainer)
    monkeypatch.setattr(module, "WAIT_S", 0.01)
    monkeypatch.setattr(Trainer, "started", [])
    return Trainer


def jobs(folder, *names):
    def strength():
        return Measured(share=1.0, strength=0.5, seconds=1.0, policy="gen_1")

    return {
        name: Job(RunDir(folder / name / "run"), ("begin",), ("resume",), folder / name / "log", strength)
        for name in names
    }


def swept(folder, cluster, *names, number=2, stopped=lambda: False):
    found, notes = {}, []
    host = on_cluster(cluster, number, folder, notes.append)
    for name in names:
        (folder / name).mkdir()
        (folder / name / "log").write_text("so much for the disk\n")
    run_jobs(jobs(folder, *names), host, lambda name, result, _: found.update({name: result}), stopped, notes.append)
    assert not [*folder.glob(".shared-*")]
    return found, notes


def test_each_run_is_trained_with_one_thread_and_judged_where_it_was_trained(tmp_path, trainer):
    found, notes = swept(tmp_path, Cluster(), "a", "b", "c")
    assert {name: result.strength for name, result in found.items()} == {"a": 0.5, "b": 0.5, "c": 0.5}
    assert sorted(trainer.started) == [(name, ("begin",), 1) for name in "abc"]
    assert notes == []


def test_a_run_whose_node_is_lost_is_resumed_on_another(tmp_path, trainer):
    found, notes = swept(tmp_path, Cluster(losses=3), "a", number=1)
    assert found["a"].strength == 0.5
    assert [words for _, words, _ in trainer.started] == [("begin",), *[("resume",)] * 3]
    assert notes == ["a begins again: its node has died"] * 3


def test_a_run_that_is_lost_too_often_has_failed(tmp_path):
    found, _ = swept(tmp_path, Cluster(losses=4), "a", "b", number=1)
    assert found["a"] == "a: given up after 4 lost actors, the last: its node has died"
    assert found["b"].strength == 0.5


def test_a_folder_that_a_node_does_not_see_is_refused(tmp_path, trainer):
    with pytest.raises(ConfigError, match=r"--folder .*: node node-7 of the cluster does not see it"):
        swept(tmp_path, Cluster(elsewhere=True), "a")
    assert trainer.started == []
    assert not [*tmp_path.glob(".shared-*")]
    assert CellServer.missing(str(tmp_path / "nothing"))
    assert CellServer.missing(__file__) is None


def test_trainers_are_asked_to_save_and_end(tmp_path, trainer, monkeypatch):
    monkeypatch.setattr(trainer, "endless", True)
    found, notes = swept(tmp_path, Cluster(), "a", "b", "c", stopped=lambda: len(trainer.started) == 2)
    assert found == {}
    assert notes == ["Stopping: the runs save and end; Ctrl-C again kills them"]
    wait_for(lambda: not any(thread.name in ("a", "b") for thread in threading.enumerate()))
