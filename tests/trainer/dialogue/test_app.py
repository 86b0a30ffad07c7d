import io
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from selfplay.checkpoint.models import read_model_meta
from selfplay.errors import ConfigError
from selfplay.league.ledger import read_games
from selfplay.report.transcripts import read_transcripts
from selfplay.trainer.dialogue.app import train
from selfplay.trainer.dialogue.cli import parse

SMALL = ("--num-games", 32, "--save-interval", 2, "--evaluation-states", 8, "--threads", 1, "--runners", 2)


def run(folder, model, *arguments):
    """A run in this process: its exit code, and what it showed."""
    invocation = parse(
        [
            "--game-type",
            "kuhn_text",
            "--model",
            str(model),
            "--checkpoint",
            str(folder),
            *map(str, (*SMALL, *arguments)),
        ]
    )
    shown = io.StringIO()
    return train(invocation.config, explicit=invocation.explicit, stream=shown), shown.getvalue()


def resume(folder, *arguments):
    invocation = parse(["--resume", "--checkpoint", str(folder), *map(str, arguments)])
    shown = io.StringIO()
    return train(invocation.config, resume=True, explicit=invocation.explicit, stream=shown), shown.getvalue()


def weights(folder, name):
    return load_file(folder / "generations" / name / "model.safetensors")


@pytest.fixture(scope="module")
def whole(kuhn_start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    code, shown = run(folder, kuhn_start, "--games", 128, "--learning-rate", 1e-3, "--kl", 0)
    assert code == 0
    return folder, shown


@pytest.fixture(scope="module")
def rated(kuhn_start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "rated"
    options = ("--track-elo", "--rating-share", 0.9, "--entropy", 0.01)
    code, shown = run(folder, kuhn_start, "--games", 96, "--learning-rate", 1e-3, "--kl", 0, *options)
    assert code == 0
    return folder, shown


def test_a_rated_run_has_its_newest_generation_on_the_ladder(rated):
    folder, shown = rated
    summary = json.loads((folder / "summary.json").read_text())
    rows = {row["policy"]: row for row in summary["leaderboard"]["rows"]}
    assert {"gen_3", "random"} <= rows.keys()
    assert rows["gen_3"]["rewards"]
    assert "Elo Leaderboard" in shown
    assert "Track Elo: yes, 90% of the time" in shown
    assert list((folder / "events" / "ratings").iterdir())
    games = read_games(folder / "ledger.jsonl")
    assert len(games) == summary["leaderboard"]["games"]


def test_a_rated_run_goes_on_with_its_ledger(rated):
    folder, _ = rated
    before = len(read_games(folder / "ledger.jsonl"))
    assert resume(folder, "--games", 128)[0] == 0
    assert len(read_games(folder / "ledger.jsonl")) > before


def test_the_summary_says_how_far_from_an_equilibrium_it_is(whole):
    folder, shown = whole
    found = json.loads((folder / "summary.json").read_text())["nash_conv"]
    assert found["generations"] == 3
    assert 0 < found["average"] < 4
    assert found["start"] != found["newest"]
    assert found["illegal_mass"].keys() == {"start", "newest", "average", "largest"}
    assert "for a mixture of all 3 generations" in shown


def test_games_are_kept_to_be_read(whole):
    folder, _ = whole
    games = read_transcripts(folder)
    assert [(one.iteration, one.kind) for one in games] == [
        (iteration, kind) for iteration in (2, 4) for kind in ("best", "worst", "random")
    ]
    assert all(one.turns and one.told[0].strip() in ("jack", "queen", "king") for one in games)


def test_an_unrated_run_has_no_ledger_and_its_health_is_told(whole):
    folder, _ = whole
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["leaderboard"] is None
    assert summary["health"] == []
    assert not (folder / "ledger.jsonl").exists()


def test_a_run_leaves_what_runs_leave(whole):
    folder, shown = whole
    assert sorted(path.name for path in (folder / "generations").iterdir()) == ["gen_0", "gen_2", "gen_4"]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["finished"]
    assert summary["games"] == 128
    assert summary["iteration"] == 4
    assert summary["newest"] == "gen_4"
    assert {"reward", "agreement", "format_errors", "paired_gain", "anchors"} <= summary.keys()
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in metrics] == [1, 2, 3, 4]
    assert max(row["losses/drift"] for row in metrics) < 1e-4  # sampler and learner agree before the first step
    assert "Iter 4/4: 32 games" in shown
    assert list((folder / "events").glob("events.*"))


def test_weights_move(whole):
    folder, _ = whole
    before, after = weights(folder, "gen_0"), weights(folder, "gen_4")
    assert any(not np.array_equal(before[name], after[name]) for name in before)


def test_a_resumed_run_ends_as_one_that_was_not_interrupted(whole, kuhn_start, tmp_path):
    folder, _ = whole
    assert run(tmp_path / "run", kuhn_start, "--games", 64, "--learning-rate", 1e-3, "--kl", 0)[0] == 0
    code, shown = resume(tmp_path / "run", "--games", 128)
    assert code == 0
    assert "Resumed at: iteration 2" in shown
    expected, found = weights(folder, "gen_4"), weights(tmp_path / "run", "gen_4")
    for name in expected:
        np.testing.assert_array_equal(expected[name], found[name])


def test_a_resumed_run_is_the_same_although_its_model_came_from_a_folder_that_is_gone(kuhn_start, tmp_path):
    start = shutil.copytree(kuhn_start, tmp_path / "start")
    code, before = run(tmp_path / "run", start, "--games", 32)
    assert code == 0
    shutil.rmtree(start)
    code, after = resume(tmp_path / "run", "--games", 64)
    assert code == 0
    for setting in ("Rules:", "Replies:", "GRPO:"):
        (first,), (second,) = ([x for x in text.splitlines() if setting in x] for text in (before, after))
        assert first == second
    kept = [read_model_meta(tmp_path / "run" / "generations" / name) for name in ("gen_0", "gen_2")]
    assert kept[0].rules == kept[1].rules
    assert kept[0].base == kept[1].base == "tiny"


def test_what_may_not_change_is_refused(whole):
    folder, _ = whole
    with pytest.raises(ConfigError, match=r"--advantage is rloo, but the run to resume was started with dr_grpo"):
        resume(folder, "--advantage", "rloo")


def test_a_model_that_is_not_there_leaves_no_run(tmp_path):
    with pytest.raises(ConfigError, match="no such folder"):
        run(tmp_path / "run", tmp_path / "nowhere")
    assert not (tmp_path / "run").exists()
