"""Games, sweeps and ratings on actors of real Ray clusters: one of our own, and two nodes on this machine."""

import importlib.util
import json
import os
import secrets
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from tests.melee.dolphin.emulators import Disc, write_stand_in
from tests.scripts.commands import run
from tests.support.processes import Process, finish
from tests.support.ray_nodes import LocalNodes

ROOT = Path(__file__).parents[2]
TRAIN = [sys.executable, str(ROOT / "scripts" / "train_self_play.py")]
PATIENCE_S = 300

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="not installed: ray (pip install -e '.[ray]')"),
    pytest.mark.timeout(550),
]


@pytest.fixture
def environment(tmp_path):
    """Of a trainer: a home without a token, and a folder for temporary files that shall be empty in the end."""
    (tmp_path / "home").mkdir()
    folder = Path("/tmp") / f"sp-{secrets.token_hex(3)}"  # sockets have short names
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")  # in another home rules are compiled anew
    yield {**kept, "HOME": str(tmp_path / "home"), "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)} | {
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torch"), "XDG_CACHE_HOME": cache,
    }  # fmt: skip
    assert wait_for(lambda: not any(folder.iterdir())), sorted(folder.iterdir())
    folder.rmdir()


def wait_for(true, seconds=60):
    """Whether something becomes true."""
    deadline = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def processes(mark):
    """Ids of processes whose environment or command line has a mark, this one's own aside."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if mark.encode() in text and not dead and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


def train(environment, *arguments, game="mock", code=0):
    command = [*TRAIN, "--game-type", game, *map(str, arguments)]
    done = finish(command, env=environment, cwd=ROOT, limit_s=PATIENCE_S)
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@contextmanager
def logging(command, environment, log):
    """A trainer that writes a file, and what reads that."""
    with log.open("w") as out, Process(command, limit_s=PATIENCE_S, env=environment, stdout=out, stderr=out) as trainer:
        yield trainer, log.read_text


def assert_equal_runs(one, other):
    here, there = load_latest_learner(RunDir(one)), load_latest_learner(RunDir(other))
    assert here.arrays.keys() == there.arrays.keys()
    for name in here.arrays:
        assert np.array_equal(here.arrays[name], there.arrays[name]), name
    assert here.meta.opponents == there.meta.opponents
    assert here.meta.matchmaker == there.meta.matchmaker


SMALL = ("--num-games", 6, "--rollout-length", 32, "--batch-size", 128, "--save-interval", 2)
TO_THE_END = (*SMALL, "--timesteps", 6 * 32 * 6, "--mode", "simple_mix", "--deterministic")


TIC_TAC_TOE = "selfplay.examples.tic_tac_toe:TicTacToe"
ACTORS, THREADS = ("--host", "ray", "--runners", 2), ("--host", "thread", "--runners", 2)
BEGINS, GOES_ON = (ACTORS, THREADS), (THREADS, ACTORS)  # where a run begins, and where it goes on


@pytest.mark.parametrize(
    ("game", "hosts"),
    [
        pytest.param("mock", BEGINS, id="mock-begins"),
        pytest.param("mock", GOES_ON, id="mock-goes-on"),
        pytest.param(TIC_TAC_TOE, BEGINS, id="tic-tac-toe-begins"),
        pytest.param(TIC_TAC_TOE, GOES_ON, id="tic-tac-toe-goes-on"),
    ],
)
def test_actors_play_the_games_of_threads_bit_for_bit_and_leave_nothing(environment, tmp_path, game, hosts):
    """Learner state, games in progress and opponents are equal after six iterations, and after going on elsewhere."""

    def play(host, name, *words):
        words = (*words, *host, "--checkpoint", tmp_path / name)
        if host is ACTORS:
            train(environment, *words, game=game)
        else:
            done = run("train_self_play.py", "--game-type", game, *words, cwd=ROOT)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    longer = ("--resume", "--timesteps", 6 * 32 * 10)
    for words, host in zip((TO_THE_END, longer), hosts, strict=True):
        play(THREADS, "thread", *words)
        play(host, "other", *words)
        assert_equal_runs(tmp_path / "thread", tmp_path / "other")
        summary = json.loads((tmp_path / "other" / "summary.json").read_text())
        assert (summary["finished"], summary["restarts"]) == (True, 0)
    assert wait_for(lambda: not processes(environment["TMPDIR"]))


def test_an_actor_that_breaks_hangs_or_is_killed_costs_its_segment_alone(environment, tmp_path):
    plan = "crash=0.15,kill=0.15,nan=0.1,hang=0.05"
    train(
        environment, *SMALL, "--timesteps", 6 * 32 * 16, "--host", "ray", "--runners", 2, "--chaos", plan,
        "--collect-timeout", 10, "--seed", 3, "--checkpoint", tmp_path / "run",
    )  # fmt: skip
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    chaos = summary["chaos"]
    assert summary["finished"]
    assert chaos["kill"]["injected"]
    for kind, tally in chaos.items():
        assert tally["injected"] == tally["detected"] == tally["recovered"] == tally["lost"], (kind, tally)
    assert summary["restarts"] == sum(tally["injected"] for tally in chaos.values())
    assert wait_for(lambda: not processes(environment["TMPDIR"]))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["asked-to-end", "killed"])
def test_whatever_way_the_trainer_ends_nothing_is_left(environment, tmp_path, number):
    run = tmp_path / "run"
    command = [*TRAIN, *map(str, (*SMALL, "--max-minutes", 10, "--host", "ray", "--runners", 2, "--checkpoint", run))]
    with logging(command, environment, tmp_path / "log") as (trainer, text):
        assert wait_for(lambda: "Iter 2" in text(), PATIENCE_S)
        trainer.send_signal(number)
        ends = {signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGKILL: -signal.SIGKILL}
        assert trainer.wait() == ends[number]
        assert wait_for(lambda: not processes(environment["TMPDIR"]))
    if number == signal.SIGTERM:
        assert load_latest_learner(RunDir(run)).meta.iteration >= 2


ASK_WHEN_ALL_IS_OVER = """
from selfplay.errors import RunnerError
from selfplay.runner.ray_cluster import connected
with connected(None, 1) as cluster:
    pass
try:
    cluster.link(object, "late")
except RunnerError as error:
    print(error)
import ray
assert not ray.is_initialized()
"""


def test_who_asks_for_an_actor_when_all_is_over_starts_no_other_cluster(environment):
    """A runner that waits for room may still do so."""
    told = finish([sys.executable, "-c", ASK_WHEN_ALL_IS_OVER], env=environment, check=True)
    assert "late: its actor is gone" in told.stdout


# ---- two nodes


@pytest.fixture
def nodes(environment, tmp_path):
    found = LocalNodes(tmp_path, Path(environment["TMPDIR"]) / "r", (1, 1), environment)
    yield found
    found.stop()


def test_a_node_that_is_killed_costs_its_segments_and_the_run_goes_on(nodes, tmp_path):
    run = tmp_path / "run"
    place = ("--host", "ray", "--ray-address", nodes.address, "--runners", 2, "--checkpoint", run)
    command = [*TRAIN, *map(str, (*SMALL, "--timesteps", 6 * 32 * 3000, "--verbose", *place))]
    with logging(command, nodes.environment, tmp_path / "log") as (trainer, text):
        assert wait_for(lambda: "Iter 20:" in text(), PATIENCE_S), text()
        hosted = processes("BlockServer")
        assert len(hosted) == 2
        nodes.kill(1)
        assert wait_for(lambda: "is parked" in text(), PATIENCE_S), text()
        last = text().count("Iter ")
        assert wait_for(lambda: text().count("Iter ") > last + 20 or trainer.poll() is not None, PATIENCE_S), text()
        trainer.send_signal(signal.SIGTERM)
        assert trainer.wait() in (0, 128 + signal.SIGTERM), text()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    failed = {line.split()[1] for line in text().splitlines() if " failed: " in line}
    assert len(failed) == 1  # the other one went on
    assert rows
    assert wait_for(lambda: not processes("BlockServer"))  # the cluster is not ours, its actors were


def test_two_nodes_train_as_one_machine_does(nodes, tmp_path):
    train(nodes.environment, *TO_THE_END, "--runners", 2, "--checkpoint", tmp_path / "thread")
    place = ("--host", "ray", "--ray-address", nodes.address, "--runners", 2)
    train(nodes.environment, *TO_THE_END, *place, "--checkpoint", tmp_path / "ray")
    assert_equal_runs(tmp_path / "thread", tmp_path / "ray")


def test_what_cannot_be_had_is_told(nodes, tmp_path):
    run = ("--checkpoint", tmp_path / "run", "--host", "ray")
    place = ("--ray-address", nodes.address)
    bare = {name: value for name, value in nodes.environment.items() if not name.startswith("RAY_")}
    assert "needs the token of the cluster" in train(bare, *SMALL, *run, *place, code=2)
    wrong = tmp_path / "wrong"
    wrong.write_text(secrets.token_hex(32))
    other = nodes.environment | {"RAY_AUTH_TOKEN_PATH": str(wrong)}
    assert "may not be its own" in train(other, *SMALL, *run, *place, code=2)
    assert "2 are free" in train(nodes.environment, *SMALL, *run, *place, "--runners", 6, code=2)
    patched = tmp_path / "patched"
    patched.mkdir()
    (patched / "sitecustomize.py").write_text("import ray._private.utils as u\nimport ray\nray.__version__ = '2.1.0'\n")
    older = nodes.environment | {"PYTHONPATH": f"{patched}:{ROOT}"}
    told = train(older, *SMALL, *run, *place, code=2)
    assert "must be the same on all nodes" in told
    assert "2.1.0" in told
    assert not (tmp_path / "run").exists()


# ---- other games


def test_emulators_live_in_actors_and_die_with_them(environment, tmp_path):
    """An actor that holds an emulator is killed with -9: its segment is lost, and nothing of the emulator stays."""
    program, disc = write_stand_in(tmp_path / "stand_in", Disc())
    run = tmp_path / "run"
    arguments = (
        "--game-type", "dolphin", "--dolphin", program, "--iso", disc, "--num-games", 2,
        "--set", "emulator.slippi_port=54200", "--rollout-length", 60,
        "--max-episode-frames", 600, "--timesteps", 10**6, "--max-minutes", 20, "--host", "ray",
        "--checkpoint", run,
    )  # fmt: skip
    with logging([*TRAIN, *map(str, arguments)], environment, tmp_path / "log") as (trainer, text):
        assert wait_for(lambda: "Iter 3:" in text(), PATIENCE_S), text()
        actors = processes("ray::BlockServer")
        assert len(actors) == 2
        os.kill(actors[0], signal.SIGKILL)
        assert wait_for(lambda: "its worker process has died; it is replaced" in text(), PATIENCE_S)
        before = text().count("Iter ")
        assert wait_for(lambda: text().count("Iter ") > before + 10, PATIENCE_S), text()
        trainer.send_signal(signal.SIGTERM)
        assert trainer.wait() == 128 + signal.SIGTERM, text()
        assert wait_for(lambda: not processes(environment["TMPDIR"]))


def test_actors_write_what_threads_write(environment, tmp_path):
    """A run of words ends with the same model, token by token, after one of its actors was killed on purpose."""
    words = (
        "--game-type", "kuhn_text", "--num-games", 32, "--games", 128, "--start-tokens", 20_000, "--evaluation-states",
        0, "--set", "run.save_interval=2", "--seed", 4,  # in which one actor is killed, and has orders left
    )  # fmt: skip
    command = [*TRAIN, *map(str, words)]
    for name, host in (("thread", ("--runners", 2)), ("ray", ("--host", "ray", "--runners", 2, "--chaos", "kill=0.2"))):
        place = ("--checkpoint", tmp_path / name)
        finish([*command, *map(str, (*host, *place))], env=environment, cwd=tmp_path, check=True, limit_s=PATIENCE_S)
    assert_equal_runs(tmp_path / "thread", tmp_path / "ray")
    chaos = json.loads((tmp_path / "ray" / "summary.json").read_text())["chaos"]
    assert chaos["kill"]["injected"] == chaos["kill"]["detected"] == chaos["kill"]["recovered"] > 0


# ---- sweeps and rating games

KUHN = """
game_type = "kuhn"
timesteps = 98_304
seeds = [0, 1]
judge = "exact"
[settings]
ppo.learning_rate = [3e-4, 3e-3]
ppo.rollout_length = 32
run.num_games = 64
run.save_interval = 2
run.threads = 1
run.deterministic = true
"""


def test_a_sweep_whose_actor_is_killed_ends_as_on_one_machine(environment, tmp_path):
    """The run of the killed actor is resumed by another; all cells end with the weights that they have without Ray."""
    (tmp_path / "kuhn.toml").write_text(KUHN)
    command = [sys.executable, "-m", "selfplay", "sweep", tmp_path / "kuhn.toml", "--jobs", "2", "--folder"]
    with logging([*command, tmp_path / "ray", "--host", "ray"], environment, tmp_path / "log") as (driver, text):
        saved = wait_for(lambda: [*tmp_path.glob("ray/cells/*/run/learner/iter_*")], PATIENCE_S)
        assert saved, text()
        cell = saved[0].parents[2].name
        trainers = processes(str(saved[0].parents[1]))
        parents = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in trainers}
        (actor,) = parents & {*processes("ray::CellServer")}
        os.kill(actor, signal.SIGKILL)
        assert driver.wait() == 0, text()
    assert f"{cell} begins again: " in text()
    assert "its worker process has died" in text()
    assert "Resumed at: iteration" in (tmp_path / "ray" / "cells" / cell / "log.txt").read_text()
    finish([*command, tmp_path / "here"], env=environment, check=True, limit_s=PATIENCE_S)
    here, there = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("here", "ray"))
    assert here == there
    cells = [path.name for path in (tmp_path / "here" / "cells").iterdir()]
    assert len(cells) == 4
    for name in cells:
        assert_equal_runs(*(tmp_path / folder / "cells" / name / "run" for folder in ("here", "ray")))
    assert wait_for(lambda: not processes(environment["TMPDIR"]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["asked-to-end", "killed"])
def test_a_sweep_on_nodes_leaves_no_trainer_and_goes_on(nodes, tmp_path, number):
    """By default it has a run for each free CPU."""
    (tmp_path / "kuhn.toml").write_text(KUHN)
    place = ("--host", "ray", "--ray-address", nodes.address, "--folder", tmp_path / "ray")
    command = [sys.executable, "-m", "selfplay", "sweep", tmp_path / "kuhn.toml", *map(str, place)]
    with logging(command, nodes.environment, tmp_path / "log") as (driver, text):
        begun = wait_for(lambda: len({*tmp_path.glob("ray/cells/*/run/learner")}) == 2, PATIENCE_S)
        assert begun, text()
        driver.send_signal(number)
        driver.wait()
    assert wait_for(lambda: not processes("ray::CellServer"))
    assert wait_for(lambda: not processes(str(tmp_path / "ray"))), text()
    done = finish(command, env=nodes.environment, limit_s=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert "Best: s" in done.stdout


def test_actors_rate_as_threads_do(environment, tmp_path):
    """The ledger has the same games; only their dates differ."""
    train(environment, *SMALL, "--timesteps", 6 * 32 * 6, "--checkpoint", tmp_path / "thread", game="kuhn")
    shutil.copytree(tmp_path / "thread", tmp_path / "ray")
    command = [sys.executable, "-m", "selfplay", "rate"]
    for name, host in (("thread", ()), ("ray", ("--host", "ray", "--runners", "2"))):
        for words in (("--budget", "300"), ("--calibrate", "--games", "64")):
            rate = [*command, tmp_path / name, *words, *host]
            finish(rate, env=environment, check=True, limit_s=PATIENCE_S, cwd=tmp_path)
    rows = [
        [json.loads(line) | {"wall": 0} for line in (tmp_path / name / "ledger.jsonl").read_text().splitlines()]
        for name in ("thread", "ray")
    ]
    assert len(rows[0]) == 300
    assert rows[0] == rows[1]
    assert len({(tmp_path / name / "anchors.json").read_text() for name in ("thread", "ray")}) == 1
    assert wait_for(lambda: not processes(environment["TMPDIR"]))
