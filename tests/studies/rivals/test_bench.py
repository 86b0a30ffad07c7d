"""Peers are measured in turn; what fails is named, and the others go on."""

import json
import sys
from itertools import count

import pytest

from scripts.studies.bench.speed import ROLLOUT
from scripts.studies.rivals import bench, page, running
from scripts.studies.rivals.programs.job import Job
from scripts.studies.rivals.running import Answer, ask
from scripts.studies.rivals.venvs import PEERS, PeerError, chosen
from selfplay.errors import ConfigError
from tests.studies.rivals.processes import alive
from tests.support.processes import wait_for


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(bench, "usable_cores", lambda: 2)


def installed(monkeypatch, missing=()):
    def prepared(peer, venvs):
        if peer.name in missing:
            raise PeerError("error: no wheel | for `this`")
        return venvs / peer.name / "bin" / "python"

    monkeypatch.setattr(bench, "prepared", prepared)


class Fake:
    """Answers for programs: a second an iteration of ours, more or less of others; remembers who was asked."""

    def __init__(self, seconds=lambda module, job: 1.0):
        self.asked, self._seconds = [], seconds

    def __call__(self, words, variables):
        module = words[2].rpartition(".")[2]
        job = None if module == "ours" else Job(**json.loads(words[3]))
        self.asked.append((module, 2 if job is None else job.seats))
        if job is not None:
            assert variables["OMP_NUM_THREADS"] == str(job.threads)
        seconds = self._seconds(module, job)
        counted = [seconds] * 3
        return Answer(counted if job is None else [100.0, *counted], "7.0")


def measure(fake, tmp_path, names="stable-baselines3,cleanrl", games=(4,), rounds=2):
    said = []
    return bench.Bench(chosen(names), tmp_path, said.append, fake).measure(games, rounds), said


def rows_of(document):
    return {(row["system"], row["seats"]): row for row in document["rows"]}


def test_every_system_is_asked_once_a_round(two_cores, monkeypatch, tmp_path):
    installed(monkeypatch)
    fake = Fake()
    document, _ = measure(fake, tmp_path)
    turn = [("ours", 2), ("sb3", 2), ("sb3", 1), ("single_file", 2), ("single_file", 1)]
    assert fake.asked[-2 * len(turn) :] == turn * 2
    rows = rows_of(document)
    assert rows["selfplay", 2]["agent_steps_per_s"] == [4 * 2 * ROLLOUT] * 2
    assert rows["cleanrl", 1]["agent_steps_per_s"] == [4 * ROLLOUT] * 2  # the first iteration is not counted


def test_the_fastest_way_is_kept(two_cores, monkeypatch, tmp_path):
    installed(monkeypatch)
    best = {("serial", 2): 0.5, ("workers", 1): 0.7}
    fake = Fake(lambda _, job: 1.0 if job is None else best.get((job.variant, job.threads), 2.0))
    document, _ = measure(fake, tmp_path, "sample-factory")
    for seats in (1, 2):
        row = rows_of(document)["sample-factory", seats]
        assert (row["variant"], row["threads"]) == ("serial", 2)


def test_what_fails_or_does_not_install_is_named_and_the_others_go_on(two_cores, monkeypatch, tmp_path):
    installed(monkeypatch, missing=("pufferlib",))

    def seconds(module, job):
        if module == "sb3" and job.seats == 1:
            raise PeerError("ValueError: one seat is too few")
        return 1.0

    document, _ = measure(Fake(seconds), tmp_path, "pufferlib,stable-baselines3")
    rows = rows_of(document)
    assert rows["stable-baselines3", 1]["error"] == "ValueError: one seat is too few"
    assert rows["stable-baselines3", 2]["error"] is None
    text = page.table({"date": "today", **document})
    assert "| pufferlib | | | | | does not install: `error: no wheel / for 'this'` | |" in text
    assert "failed: `ValueError: one seat is too few`" in text
    assert "stable-baselines3, one seat" not in page.picture(document)


def test_a_program_that_ends_at_once_is_an_error(two_cores, monkeypatch, tmp_path):
    installed(monkeypatch)
    document, _ = measure(lambda words, _: Answer([1.0] if "peers.ours" not in words[2] else [1.0, 1.0], ""),
                          tmp_path, "cleanrl")  # fmt: skip
    assert "before its second iteration" in rows_of(document)["cleanrl", 2]["error"]


def test_figures_are_shown(tmp_path):
    steps = count(1)
    rows = [
        {"system": name, "games": 4, "seats": seats, "threads": 1, "variant": "", "version": "1", "error": None,
         "agent_steps_per_s": [next(steps) * 100.0 for _ in range(3)], "rollout_share": []}
        for name, seats in (("selfplay", 2), ("cleanrl", 2), ("cleanrl", 1))
    ]  # fmt: skip
    document = {"date": "today", "processor": "x", "cores": 2, "rounds": 3, "not_installed": {}, "rows": rows}
    docs = tmp_path / "docs"
    (docs / "trainer/internals").mkdir(parents=True)
    (docs / "trainer/internals/performance.md").write_text("a\n<!-- peers: begin -->\n<!-- peers: end -->\nz\n")
    page.write(docs, document)
    text = (docs / "trainer/internals/performance.md").read_text()
    assert "| cleanrl | 1 | 4 | 2 | 1 thread | 500 [450, 550] | 0.40 |" in text
    assert "| cleanrl | 1 | 4 | 1 | 1 thread | 800 [750, 850] |  |" in text  # ours has no such figure
    assert text.startswith("a\n")
    assert text.endswith("z\n")
    assert json.loads((docs / "data" / "peers.json").read_text()) == document
    picture = (docs / "data" / "peers.svg").read_text()
    assert all(f">{text}<" in picture for text in ("selfplay, both seats", "cleanrl, one seat", "200", "500", "800"))


def test_one_value_is_its_own_quartiles():
    assert page.spread([3.0]) == (3.0, 3.0, 3.0)


def test_a_programs_answer_is_its_last_line():
    code = """print("noise"); print('{"seconds": [1.0], "version": "2"}')"""
    assert ask([sys.executable, "-c", code], running.environment(1)) == Answer([1.0], "2")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("then", "seconds", "told"),
    [("print('over')", 60, "is no answer"), ("time.sleep(1000)", 1, "had not ended after 1 s")],
)
def test_what_a_program_leaves_behind_ends_with_it(tmp_path, then, seconds, told):
    code = "import subprocess, sys, time; subprocess.Popen(['sh', '-c', 'sleep 1000; true', sys.argv[1]]); "
    with pytest.raises(PeerError, match=told):
        ask([sys.executable, "-c", code + then, str(tmp_path)], running.environment(1), timeout=seconds)
    wait_for(lambda: not alive(str(tmp_path)))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ValueError('no such game')", "ValueError: no such game"),
        ("print('nothing to tell')", "its last line is no answer"),
    ],
)
def test_a_program_that_fails_is_quoted(code, told):
    with pytest.raises(PeerError, match=told):
        ask([sys.executable, "-c", code], running.environment(1))


def test_unknown_peers():
    assert [peer.name for peer in chosen("cleanrl, rllib")] == ["cleanrl", "rllib"]
    with pytest.raises(ConfigError, match=f"tianshou: unknown .valid: {', '.join(PEERS)}"):
        chosen("cleanrl,tianshou")
