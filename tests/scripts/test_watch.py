import sys
from datetime import UTC, datetime

import pytest
from PIL import Image, ImageSequence

from envs.melee.controller import ACTION_SPEC
from envs.melee.observation import ENCODER_VERSION, OBS_WIDTH
from scripts import watch
from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta, create_run, save_generation
from selfplay.policy.network import build_network
from selfplay.policy.policy import parameters_of
from selfplay.trainer.players import contender


@pytest.fixture
def run(tmp_path):
    """A run with one untrained generation."""
    made = create_run(tmp_path / "run")
    made.write_run({})
    spec = NetworkSpec(obs_width=OBS_WIDTH, hidden=(8,))
    heads = ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes)
    meta = PolicyMeta(
        id="gen_0",
        network=spec,
        actions=heads,
        encoder_version=ENCODER_VERSION,
        frame_skip=4,
        delay=0,
        characters=("fox",),
        stage="battlefield",
        created=datetime(2026, 1, 1, tzinfo=UTC),
    )
    save_generation(made, meta, parameters_of(build_network(spec, heads)))
    return made


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["watch.py", *map(str, arguments)])
    return watch.main()


def test_a_fight_becomes_a_gif(run, monkeypatch, capsys):
    assert call(monkeypatch, run.path, "random", "--seconds", 2) == 0
    path = run.path / "gen_0-vs-random.gif"
    assert capsys.readouterr().out.startswith(str(path))
    with Image.open(path) as gif:
        lasts_ms = sum(frame.info["duration"] for frame in ImageSequence.Iterator(gif))
    assert lasts_ms == pytest.approx(2000, abs=100)


def test_the_same_seed_gives_the_same_fight(run, monkeypatch):
    files = [run.path / f"{number}.gif" for number in range(3)]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        assert call(monkeypatch, run.path, "--seconds", 1, "--seed", seed, "--out", path) == 0
    first, again, other = (path.read_bytes() for path in files)
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gen_7"], ["gen_7", "random"]),
        (["a", "b", "c"], ["two players", "3"]),
        (["random", "--seconds", "0"], ["at least 1"]),
    ],
)
def test_mistakes_are_one_clear_line(run, monkeypatch, capsys, arguments, words):
    assert call(monkeypatch, run.path, *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert [word for word in words if word not in line] == []


def test_a_run_without_generations(tmp_path, monkeypatch, capsys):
    create_run(tmp_path / "empty").write_run({})
    assert call(monkeypatch, tmp_path / "empty") == 2
    assert "no generation yet" in capsys.readouterr().err


def test_players_by_name(run):
    assert contender("random").policy is None
    for name in ("gen_0", str(run.path), str(run.generations / "gen_0")):
        assert contender(name, run).policy.meta.id == "gen_0"
