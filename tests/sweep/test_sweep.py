"""A sweep from its file to its results; the trainers run in this process."""

import io
import json
import signal
import sys

import pytest

from selfplay.cli.ppo import parse
from selfplay.errors import ConfigError, CorruptError
from selfplay.ppo.train import train
from selfplay.runner.match import play
from selfplay.sweep import sweep as module
from selfplay.sweep.cells import Folder
from selfplay.sweep.jobs import this_machine
from selfplay.sweep.judging import measure_of, ratings_of, strength_of
from selfplay.sweep.sweep import Sweep
from tests.run.runs import rows
from tests.support.processes import Process, finish, read_until, wait_for
from tests.sweep.test_settings import planned

SIZE = {
    "timesteps": "128",
    "settings.run": "{ num_games = 4 }",
    "settings.ppo": "{ rollout_length = 16, learning_rate = [1e-3, 1e-2], epochs = 1 }",
}


class Trainers:
    """In place of processes. Cells in ``fail`` end with an error; after ``most`` cells the sweep is stopped."""

    def __init__(self):
        self.trained, self.fail, self.most = [], (), 100

    def __call__(self, jobs, host, ended, stopped, notice):
        for name, job in jobs.items():
            if stopped():
                return
            self.trained.append(name)
            code = 1 if name in self.fail else train(parse(job.words()[1:]), io.StringIO())
            if code:
                job.log.write_text("so much for the disk\n")
            ended(name, job.result(code), 0.0)

    def stopped(self):
        return len(self.trained) >= self.most


@pytest.fixture
def trainers(monkeypatch):
    made = Trainers()
    monkeypatch.setattr(module, "run_jobs", made)
    return made


def sweep(folder, trainers, **changes):
    folder.mkdir(exist_ok=True)
    plan = planned(folder, **SIZE | changes)
    notes = []
    out = Folder(folder / "out", plan.asked)
    made = Sweep(plan, measure_of(plan, out.by), out, this_machine(1), notes.append, stopped=trainers.stopped)
    return made.run(), notes


def test_a_stopped_sweep_goes_on_with_the_cells_that_are_missing(tmp_path, trainers):
    trainers.most = 3
    found, notes = sweep(tmp_path, trainers)
    assert found is None
    assert [line.split(":")[0] for line in notes] == ["s0-seed0", "s0-seed1", "s1-seed0"]
    trainers.most = 100
    found, notes = sweep(tmp_path, trainers)
    assert trainers.trained == ["s0-seed0", "s0-seed1", "s1-seed0", "s1-seed1"]
    assert notes[0] == "3 of 4 cells are there already"
    best, other = found.standings
    assert best.over_seeds.mean == sum(best.strengths) / 2 > other.over_seeds.mean
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    assert document["verdict"] == found.verdict
    assert document["measure"]["name"] == "NashConv"
    page = (tmp_path / "out" / "results.md").read_text()
    assert found.verdict in page
    assert f"| {best.name} | {best.values['ppo.learning_rate']:g} | 8 | 2 | {-best.over_seeds.mean:.4f} |" in page
    again, _ = sweep(tmp_path, trainers)
    assert (again, len(trainers.trained)) == (found, 4)


def test_a_failed_cell_is_reported_and_tried_again(tmp_path, trainers):
    trainers.fail = ("s1-seed0",)
    found, notes = sweep(tmp_path, trainers)
    assert found.errors == {"s1-seed0": "exit code 1: so much for the disk"}
    assert "s1-seed0: failed, exit code 1: so much for the disk, 0 s" in notes
    assert [(each.name, each.failed) for each in found.standings] == [("s0", 0), ("s1", 1)]
    assert "| s1-seed0 | exit code 1: so much for the disk |" in (tmp_path / "out" / "results.md").read_text()
    trainers.fail = ()
    found, _ = sweep(tmp_path, trainers)
    assert trainers.trained[-1] == "s1-seed0"
    assert (found.errors, len(trainers.trained)) == ({}, 5)


def test_a_file_may_add_cells_and_nothing_else(tmp_path, trainers):
    sweep(tmp_path, trainers, seeds="[0]")
    assert sweep(tmp_path, trainers, seeds="[0, 5]")[0] is not None
    assert trainers.trained == ["s0-seed0", "s1-seed0", "s0-seed5", "s1-seed5"]
    for changes, words in (
        ({"seeds": "[5]"}, "more seeds or samples"),
        ({"preset": '"board"'}, "was begun with preset = none, the file has board: a sweep may get more seeds"),
        ({"settings.ppo": "{ rollout_length = 16, learning_rate = [1e-3, 2e-2], epochs = 1 }"}, "no longer has"),
        ({"settings.ppo": "{ rollout_length = 16, learning_rate = [1e-3, 1e-2], epochs = 2 }"}, "in all cells"),
    ):
        with pytest.raises(ConfigError, match=words):
            sweep(tmp_path, trainers, **({"seeds": "[0, 5]"} | changes))
    more = "{ rollout_length = 16, learning_rate = [2e-2, 1e-2, 1e-3], epochs = 1 }"
    sweep(tmp_path, trainers, seeds="[0, 5]", **{"settings.ppo": more})
    assert trainers.trained[4:] == ["s2-seed0", "s2-seed5"]


def test_halving_trains_the_same_runs_for_longer(tmp_path, trainers):
    method = '{ name = "halving", reduction = 2, rungs = 2, samples = 4 }'
    drawn = "{ rollout_length = 16, learning_rate = { low = 1e-4, high = 1e-1, log = true } }"
    found, _ = sweep(tmp_path, trainers, method=method, seeds="[0]", **{"settings.ppo": drawn})
    assert [each.share for each in found.standings] == [1.0, 1.0, 0.5, 0.5]
    best, last = found.standings[0].name, found.standings[-1].name
    assert sorted(trainers.trained[4:]) == sorted(f"{each.name}-seed0" for each in found.standings[:2])
    steps = [len(rows(tmp_path / "out" / "cells" / f"{name}-seed0" / "run" / "metrics.jsonl")) for name in (best, last)]
    assert steps == [2, 1]


def test_judges(tmp_path, trainers):
    sweep(tmp_path, trainers)
    cells = sorted((tmp_path / "out" / "cells").iterdir())
    policies = {cell.name: max((cell / "run" / "generations").iterdir()) for cell in cells}
    plan = planned(tmp_path, **SIZE, judge='{ by = "opponents", games = 60, opponents = ["random", "rock"] }')
    measure = measure_of(plan)
    assert (measure.name, measure.each) == ("payoff against random, rock", 30)
    strength = strength_of(policies["s1-seed0"], plan, measure)
    assert -1 <= strength <= 1
    assert strength_of(policies["s1-seed0"], plan, measure) == strength
    plan = planned(tmp_path, **SIZE, judge='{ by = "games", games = 40 }')
    assert strength_of(policies["s1-seed0"], plan, measure_of(plan)) is None
    ratings = ratings_of(policies, {name: int(name[1]) for name in policies}, plan, play, 512)
    assert ratings.keys() == policies.keys()
    assert len(set(ratings.values())) == 4


def test_games_between_the_cells_judge_a_sweep(tmp_path, trainers):
    found, notes = sweep(tmp_path, trainers, judge='{ by = "games", games = 40 }')
    assert "Games between 4 policies" in notes
    assert [len(each.strengths) for each in found.standings] == [2, 2]
    assert "rating" in found.verdict


def test_damaged_files_are_named(tmp_path, trainers):
    sweep(tmp_path, trainers)
    (tmp_path / "out" / "cells" / "s0-seed0" / "cell.json").write_text("{")
    with pytest.raises(CorruptError, match=r"cell\.json"):
        sweep(tmp_path, trainers)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ('{ by = "opponents", opponents = ["rok"] }', "rok"),
        ('{ by = "exact", opponents = ["rock"] }', "they play with judge.by opponents, not with exact"),
    ],
)
def test_what_cannot_judge_is_refused(tmp_path, judge, words):
    with pytest.raises(ConfigError, match=words):
        measure_of(planned(tmp_path, judge=judge))


def test_policies_with_a_memory_are_judged_by_opponents(tmp_path):
    memory = {"settings.net": "{ backbone = ['mlp', 'gru'] }", "game_type": '"selfplay.examples.tic_tac_toe:TicTacToe"'}
    plan = planned(tmp_path, **memory)
    assert measure_of(plan).by == "opponents"
    with pytest.raises(ConfigError, match=r"judge\.by exact: policies with a memory"):
        measure_of(planned(tmp_path, **memory, judge='"exact"'))


@pytest.mark.full
def test_a_killed_sweep_goes_on(tmp_path):
    """Its trainers end with it; finished cells are kept as they are, and runs that have a state are resumed."""
    longer = {"timesteps": "6400", "settings.run": "{ num_games = 4, save_interval = 5 }"}
    planned(tmp_path, **SIZE | longer)
    words = ["sweep", tmp_path / "sweep.toml", "--folder", tmp_path / "out", "--jobs", "2"]
    command = [sys.executable, "-m", "selfplay", *words]
    with Process(command, stdout=-1, stderr=-2) as process:
        read_until(process, "NashConv")
        wait_for(lambda: begun(tmp_path / "out"))
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = {path: path.read_bytes() for path in (tmp_path / "out" / "cells").glob("*/cell.json") if is_done(path)}
    unfinished = begun(tmp_path / "out")
    assert kept
    assert unfinished
    done = finish(command)
    assert done.returncode == 0, done.stderr
    assert f"{len(kept)} of 4 cells are there already" in done.stderr
    assert "Best: s" in done.stdout
    assert {path: path.read_bytes() for path in kept} == kept
    assert all("Resumed at: iteration" in (cell / "log.txt").read_text() for cell in unfinished)


def is_done(path):
    return b"seconds" in path.read_bytes()


def begun(out):
    """Cells without a result whose runs have saved a state."""
    return [
        path.parent
        for path in out.glob("cells/*/cell.json")
        if not is_done(path) and [*path.parent.glob("run/learner/iter_*")]
    ]


@pytest.mark.full
def test_an_interrupted_sweep_leaves_no_trainer(tmp_path):
    planned(tmp_path, **SIZE | {"timesteps": "100_000_000"})
    words = ["sweep", tmp_path / "sweep.toml", "--folder", tmp_path / "out", "--jobs", "2"]
    with Process([sys.executable, "-m", "selfplay", *words], stdout=-1, stderr=-2) as process:
        runs = [tmp_path / "out" / "cells" / f"s0-seed{seed}" / "run" for seed in (0, 1)]
        wait_for(lambda: len(begun(tmp_path / "out")) == 2)
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
        assert process.wait() == 130
    assert "Stopped; the same command goes on" in said
    for run in runs:
        assert json.loads((run / "summary.json").read_text())["finished"] is False  # it saved, and ended in order
        assert not json.loads((run.parent / "cell.json").read_text())["measured"]
