import io
import json
import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from selfplay.checkpoint.store import open_folder, write_folder
from selfplay.dialogue.cli.flags import parse
from selfplay.dialogue.models import read_model_meta
from selfplay.dialogue.report.transcripts import read_transcripts
from selfplay.dialogue.train import train
from selfplay.errors import ConfigError, IncompatibleError, LeagueError
from selfplay.league.ledger import read_games
from tests.dialogue.models import model_folder

SMALL = ("--num-games", 32, "--save-interval", 2, "--evaluation-states", 8, "--set", "run.threads=1", "--runners", 2)


def run(folder, model, *arguments, game="kuhn_text"):
    """A run in this process: its exit code, and what it showed."""
    invocation = parse(
        [
            "--game-type",
            game,
            "--model",
            str(model),
            "--checkpoint",
            str(folder),
            *map(str, (*SMALL, *arguments)),
        ]
    )
    shown = io.StringIO()
    return train(invocation, shown), shown.getvalue()


def resume(folder, *arguments):
    invocation = parse(["--resume", "--checkpoint", str(folder), *map(str, arguments)])
    shown = io.StringIO()
    return train(invocation, shown), shown.getvalue()


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
    assert "Leaderboard ═══" in shown
    assert "league.track_elo: true" in shown
    assert list((folder / "events" / "ratings").iterdir())
    games = read_games(folder / "ledger.jsonl")
    assert len(games) == summary["leaderboard"]["games"]


def test_a_run_with_damaged_rating_games_is_refused_before_it_goes_on(rated, tmp_path):
    folder = shutil.copytree(rated[0], tmp_path / "run")
    ledger = folder / "ledger.jsonl"
    ledger.write_text("{}\n" + ledger.read_text())
    with pytest.raises(LeagueError, match=r"ledger\.jsonl:1: not a game record"):
        resume(folder, "--games", 128)


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


def test_the_end_table_of_poker_has_players_against_scripted_ones_in_both_seats(whole):
    folder, shown = whole
    summary = json.loads((folder / "summary.json").read_text())
    rows = {"this run": summary["evaluation"], "its start": summary["start"], **summary["anchors"]}
    assert rows.keys() == {"this run", "its start", "random", "honest", "equilibrium"}
    table = [re.split("  +", line)[1:] for line in shown.splitlines()]
    for name, row in rows.items():
        values = [row["against"][other]["reward"] for other in ("random", "honest", "equilibrium")]
        assert [name, *(f"{value:+.3f}" for value in values)] in table
    assert rows["equilibrium"]["against"]["equilibrium"]["reward"] == 0  # although seat 0 loses 1/18 on average
    assert "on the same states, against equilibrium: " in shown
    assert "with itself" not in shown


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


def test_a_resumed_run_says_what_it_repeats(whole, tmp_path):
    folder = shutil.copytree(whole[0], tmp_path / "run")
    shutil.rmtree(folder / "learner" / "iter_4")
    code, shown = resume(folder, "--games", 64)
    assert code == 0
    assert "Resumed at: iteration 2; iterations 3 to 4 are repeated, since the run ended before it saved a" in shown


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda extra: extra.pop("baseline"), "it has no baseline"),
        (lambda extra: extra.update(games="x"), r"learner\.json: extra\.games: "),
    ],
    ids=["absent", "wrong type"],
)
def test_a_state_from_which_no_run_can_go_on_is_refused(kuhn_start, tmp_path, change, words):
    folder = tmp_path / "run"
    assert run(folder, kuhn_start, "--games", 32, "--baseline", "role-ema")[0] == 0
    state = open_folder(folder / "learner" / "iter_1")
    files = {name: state.read(name) for name in state.manifest.files}
    document = json.loads(files["learner.json"])
    change(document["extra"])
    write_folder(state.path, files | {"learner.json": json.dumps(document).encode()}, replace=True)
    with pytest.raises(IncompatibleError, match=words):
        resume(folder, "--games", 64)


def test_a_resumed_run_is_the_same_although_its_model_came_from_a_folder_that_is_gone(kuhn_start, tmp_path):
    start = shutil.copytree(kuhn_start, tmp_path / "start")
    code, before = run(tmp_path / "run", start, "--games", 32)
    assert code == 0
    shutil.rmtree(start)
    code, after = resume(tmp_path / "run", "--games", 64)
    assert code == 0
    own = ("Model:", "run.games:", "Resumed at:")
    first, second = (
        {x for x in text.split("\n\n")[0].splitlines() if not any(map(x.count, own))} for text in (before, after)
    )
    assert first == second
    kept = [read_model_meta(tmp_path / "run" / "generations" / name) for name in ("gen_0", "gen_2")]
    assert kept[0].rules == kept[1].rules
    assert kept[0].base == kept[1].base == "tiny"


def test_a_run_in_vain_says_so(tmp_path):
    model = model_folder(tmp_path / "model", "matching")
    code, shown = run(tmp_path / "run", model, "--games", 32, "--kl", 0, "--evaluation-states", 0, game="matching")
    assert code == 0
    found = [finding["name"] for finding in json.loads((tmp_path / "run" / "summary.json").read_text())["health"]]
    assert found == ["nothing_learned", "no_game_ends"]
    assert shown.count("Health: ") == 2


def test_what_may_not_change_is_refused(whole):
    folder, _ = whole
    with pytest.raises(ConfigError, match=r"--advantage is rloo, but the run to resume was started with dr_grpo"):
        resume(folder, "--advantage", "rloo")


def test_a_model_that_is_not_there_leaves_no_run(tmp_path):
    with pytest.raises(ConfigError, match="no such folder"):
        run(tmp_path / "run", tmp_path / "nowhere")
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_where_every_group_has_one_reward_although_kl_costs(tmp_path):
    """As a model begins that does not know the form of a game: every first reply is refused."""
    start = model_folder(tmp_path / "start", "matching")
    code, shown = run(tmp_path / "run", start, "--games", 64, "--kl", 0.001, game="matching")
    assert code == 0
    assert "Iter 2/2: 32 games" in shown
    metrics = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["losses/kl"] for row in metrics] == [0.0, 0.0]
    before, after = weights(tmp_path / "run", "gen_0"), weights(tmp_path / "run", "gen_2")
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.full
def test_a_run_that_continues_an_adapter_stays_near_that_adapter_when_it_is_resumed_too(kuhn_start, tmp_path):
    options = ("--learning-rate", 3e-3, "--batch-size", 1024)  # one step an iteration
    assert run(tmp_path / "first", kuhn_start, "--games", 64, "--lora-rank", 4, "--kl", 0, *options)[0] == 0
    adapter = tmp_path / "first" / "generations" / "gen_2"
    options = (*options, "--kl", 0.1)
    assert run(tmp_path / "whole", adapter, "--games", 128, *options)[0] == 0
    assert run(tmp_path / "half", adapter, "--games", 64, *options)[0] == 0
    assert resume(tmp_path / "half", "--games", 128)[0] == 0
    distances = []
    for name in ("whole", "half"):
        rows = (tmp_path / name / "metrics.jsonl").read_text().splitlines()
        distances.append([json.loads(row)["losses/kl"] for row in rows])
    assert distances[0][0] == pytest.approx(0, abs=1e-6)  # before any step
    assert min(distances[0][1:]) > 1e-5
    assert distances[1] == distances[0]
