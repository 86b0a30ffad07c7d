import json
from itertools import product

import pytest

from envs.melee import bots
from scripts.studies.chaos import ARMS, BAND, WITH, WITHOUT, ChaosStudy, bar, below_bars, failures
from selfplay.policy.policy import load_policy

LADDER = ("gen_0", *bots.LADDER)
TINY = (
    *("--timesteps", "4096", "--num-games", "8", "--rollout-length", "64", "--batch-size", "128", "--hidden", "8"),
    *("--max-episode-frames", "240", "--no-track-elo", "--ppo-epochs", "1", "--host", "thread"),
    *("--pretrained", "none"),
)
PAGE = "# Page\n\n<!-- chaos: begin -->\nold\n<!-- chaos: end -->\n\nafter\n"


def figures(seed=0, score=1.0, finished=1.0, **faults):
    told = {"crash": 20, "nan": 20, "hang": 2} | faults
    return {
        "seed": seed,
        "results": {name: {"score": score, "finished": finished} for name in LADDER},
        "chaos": {kind: dict.fromkeys(("injected", "detected", "recovered", "lost"), n) for kind, n in told.items()},
    }


def meeting(score=0.5):
    return {(a, b): {"score": score} for a, b in product(range(3), range(3))}


def test_the_bars_are_those_of_the_main_job():
    assert {name: bar(name) for name in LADDER} == {
        "gen_0": 0.95, "random": 0.9, "walker": 0.9, "rusher": 0.9, "shield_grabber": 0.9, "counter_hitter": 0.75,
        "edge_guarder": 0.75, "all_rounder": 0.0,
    }  # fmt: skip


def test_what_is_as_it_should_be_is_no_failure():
    assert failures({WITH: [figures(s) for s in range(3)], WITHOUT: [figures(score=0.1)]}, meeting()) == []
    assert failures({WITH: [], WITHOUT: []}, {}) == []


@pytest.mark.parametrize("kind", ["crash", "nan", "hang"])
def test_a_run_with_too_few_faults_shows_nothing(kind):
    (told,) = failures({WITH: [figures(**{kind: 1})], WITHOUT: []}, {})
    assert told.startswith(f"seed 0: 1 faults of kind {kind}, not ")


@pytest.mark.parametrize("score", [BAND[0] - 0.01, BAND[1] + 0.01])
def test_a_difference_is_told(score):
    (told,) = failures({WITH: [], WITHOUT: []}, meeting(score))
    assert f"score {score:.1%} against those without" in told


def test_bars_that_are_missed_are_told():
    assert len(below_bars(figures(score=0.8)["results"])) == 5
    assert below_bars(figures(score=0.76)["results"])[0] == "76.0% against gen_0, not 95%"
    assert below_bars(figures(finished=0.5)["results"])[0] == "50% of the games against gen_0 finished, not 80%"
    assert below_bars({"gen_0": {"score": 1.0}}) == []  # of before these games were counted


def test_cells_are_made_once_and_shown(tmp_path, capsys):
    page, told = tmp_path / "page.md", []
    page.write_text(PAGE)
    study = ChaosStudy(tmp_path / "runs", tmp_path / "out", told.append, (*TINY, "--chaos", "crash=0.5"), games=2)
    for arm in ARMS:
        study.train(arm, 0)
    study.meet(0, 0)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "with-0.json", "without-0.json", "with-0_without-0.json", "policies",
    }  # fmt: skip
    cell = json.loads((tmp_path / "out" / "with-0.json").read_text())
    assert cell["chaos"]["crash"]["injected"] == cell["restarts"] > 0
    assert set(cell["results"]) == set(LADDER)
    assert cell["results"]["gen_0"]["games"] == 2
    before, count = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}, len(told)
    study.train(WITH, 0)
    study.meet(0, 0)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before
    assert len(told) == count
    assert study.write(page, [0])  # it has learned nothing yet
    text = page.read_text()
    assert "old" not in text
    assert text.endswith("after\n")
    assert "| with | 0 | " in text
    assert "Overall " in text
    capsys.readouterr()


def test_a_cell_that_was_interrupted_is_made_anew(tmp_path, capsys):
    (tmp_path / "runs" / "without-0").mkdir(parents=True)
    (tmp_path / "runs" / "without-0" / "log.txt").write_text("half")
    study = ChaosStudy(tmp_path / "runs", tmp_path / "out", lambda text: None, TINY, games=2)
    study.train(WITHOUT, 0)
    assert (tmp_path / "out" / "without-0.json").exists()
    capsys.readouterr()


def test_a_copy_of_a_policy_says_nothing_of_the_machine(tmp_path, capsys):
    study = ChaosStudy(tmp_path / "runs", tmp_path / "out", lambda text: None, TINY, games=2)
    study.train(WITHOUT, 0)
    place = tmp_path / "out" / "policies" / "without-0"
    assert str(tmp_path) not in (place / "policy.json").read_text()
    assert load_policy(place).meta.weights_hash == load_policy(tmp_path / "runs" / "without-0").meta.weights_hash
    capsys.readouterr()
