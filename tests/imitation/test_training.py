import json
import re
import shutil

import pytest

from selfplay.checkpoint import RunDir, load_generation, load_latest_learner
from selfplay.cli.imitation import parse
from selfplay.config.ppo import Config
from selfplay.errors import ConfigError, NotARunError, RunLockedError
from selfplay.imitation.folders import find_imitation
from selfplay.imitation.training import Training
from selfplay.policy.played_game import game_of
from selfplay.policy.policy import load_policy
from selfplay.ppo.pretrained import with_pretrained
from tests.imitation.replays import end_of, games_of, habits_of, said, stopped, trained
from tests.melee.replays.replay_folders import write_game

EPOCH = re.compile(r"Epoch (\d+)/(\d+): train (\d+\.\d+), validation (\d+\.\d+)")


def rows(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def finished(replays, tmp_path_factory):
    """A training of three epochs, and what it said."""
    folder = tmp_path_factory.mktemp("finished") / "my policies (1)"
    code, text = trained(folder, "--replays", replays, "--epochs", 3, "--frame-skip", 5, "--delay", 2)
    assert code == 0
    return folder, text


# ---- what a training leaves


def test_it_says_how_it_went_and_what_next(finished):
    folder, text = finished
    epochs = [match.groups() for match in EPOCH.finditer(text)]
    assert [(a, b) for a, b, *_ in epochs] == [("1", "3"), ("2", "3"), ("3", "3")]
    assert float(epochs[-1][2]) < float(epochs[0][2])
    assert float(epochs[-1][3]) < float(epochs[0][3])
    for words in (
        "═══ Imitation Learning ═══", "3 games with", "1 with", "repeats the action", "main stick out", "A pressed",
        "Finished, all 3 epochs are done",
        f"selfplay train --pretrained '{folder}/imitation_best_policy' --character",
        f"selfplay evaluate '{folder}/imitation_best_policy' random",
        f"--resume --checkpoint '{folder}/imitation' --epochs 6",
        f"tensorboard --logdir '{folder}'",
    ):  # fmt: skip
        assert words in text


def test_every_file_is_there(finished):
    folder, _ = finished
    assert {entry.name for entry in folder.iterdir()} == {
        "imitation", "imitation_latest_policy", "imitation_best_policy",
    }  # fmt: skip
    run = folder / "imitation"
    names = {entry.name for entry in run.iterdir()} - {".lock"}
    assert names == {
        "imitation.json", "log.txt", "metrics.jsonl", "events", "learner", "latest_policy", "best_policy",
    }  # fmt: skip
    assert [row["charts/epoch"] for row in rows(run)] == [1, 2, 3]
    last = rows(run)[-1]
    assert last["validation/repeat"] > 0
    assert last["losses/skipped"] == 0
    assert 0 < last["rates/main_stick_out_played"] < 1
    assert sum(value for tag, value in last.items() if tag.startswith("validation_parts/")) == pytest.approx(
        last["validation/model"]
    )
    assert "Finished" in (run / "log.txt").read_text()
    assert not RunDir(run).holds_run()  # self-play does not take it for a run of its own


@pytest.mark.parametrize("which", ["latest", "best"])
def test_the_policies_load_and_say_where_they_come_from(finished, which):
    folder, _ = finished
    policy = load_policy(folder / f"imitation_{which}_policy")
    meta = policy.meta
    assert load_generation(folder / "imitation" / f"{which}_policy")[0].weights_hash == meta.weights_hash
    assert game_of(meta) == "mock"
    assert (policy.body.frame_skip, policy.body.delay, policy.body.stage) == (5, 2, "final_destination")
    told = meta.config["imitation"]
    decisions = told["replays"]["rows_by_character"]
    assert set(decisions) == {"fox", "mewtwo"}
    assert policy.body.character == max(decisions, key=decisions.get)
    assert told["learn"]["epochs"] == 3
    assert told["replays"]["games"] == {"train": 3, "validation": 1}
    assert told["losses"]["policy"]["all"] < told["losses"]["marginals"]["all"]
    assert meta.total_steps == meta.iteration * told["replays"]["rows"]["train"]


def test_self_play_starts_from_it(finished):
    folder, _ = finished
    config = Config.model_validate({"run": {"pretrained": str(folder)}})
    adopted = with_pretrained(
        config, {}, lambda line: pytest.fail(line)
    )  # of two characters it has learned this one, too
    assert (adopted.game.frame_skip, adopted.game.delay, adopted.net.hidden) == (5, 2, (32, 32))


def test_a_new_training_takes_the_next_name_and_loses_nothing(replays, tmp_path):
    folder = tmp_path / "policies"
    trained(folder, "--replays", replays, "--epochs", 1)
    first = load_generation(folder / "imitation_best_policy")[0].weights_hash
    trained(folder, "--replays", replays, "--epochs", 1, "--seed", 1)
    assert load_generation(folder / "imitation_best_policy")[0].weights_hash != first
    assert load_generation(folder / "imitation" / "best_policy")[0].weights_hash == first
    assert find_imitation(folder).path == folder / "imitation-2"


def test_it_says_whose_best_policy_it_will_replace(replays, tmp_path):
    folder = tmp_path / "policies"
    arguments = ("--replays", replays, "--epochs", 1)
    best = folder / "imitation_best_policy"
    kept = f"{best} is of another training, imitation, and will be replaced; {folder}/imitation/best_policy stays"
    assert "will be replaced" not in trained(folder, *arguments)[1]
    assert "will be replaced" not in said("--resume", "--checkpoint", folder, "--epochs", 2)[1]
    assert kept in trained(folder, *arguments)[1]
    shutil.rmtree(folder / "imitation-2")
    alone = f"{best} is of another training, imitation-2, and will be replaced; it is the only copy"
    assert alone in trained(folder, *arguments)[1]


# ---- one game alone


@pytest.mark.full
def test_one_game_alone_is_learned_better_than_without_looking(alone, tmp_path):
    code, text = trained(tmp_path / "policies", "--replays", alone, "--epochs", 60, "--learning-rate", "5e-3")
    assert code == 0
    assert "No game is left to judge by" in text
    first, *_, last = rows(tmp_path / "policies" / "imitation")
    assert last["losses/train"] < 0.7 * first["losses/train"]
    assert last["check/model"] < last["check/repeat"]
    assert last["check/model"] < last["check/marginals"]
    assert last["check/model_changed"] < last["check/repeat_changed"]


# ---- the end before the end


@pytest.mark.parametrize("network", [("--backbone", "mlp"), ("--backbone", "gru")], ids=["rows", "windows"])
@pytest.mark.parametrize("minibatches", [0, 2, 9])
def test_a_resumed_training_ends_as_if_nothing_had_happened(replays, tmp_path, network, minibatches):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    arguments = ("--replays", replays, "--epochs", 3, *network)
    trained(whole, *arguments)
    run = stopped(parts, lambda training: training.progress.minibatches >= minibatches, *arguments)
    assert load_latest_learner(run).meta.iteration == minibatches
    assert load_policy(parts / "imitation_latest_policy").meta.iteration < 3
    code, text = said("--resume", "--checkpoint", parts)
    assert code == 0
    assert f"minibatch {minibatches}" in text or not minibatches
    assert end_of(parts / "imitation") == end_of(whole / "imitation")
    assert [row["validation/model"] for row in rows(parts / "imitation")] == [
        row["validation/model"] for row in rows(whole / "imitation")
    ]


def test_it_may_be_stopped_while_it_looks_at_the_games_that_judge(replays, tmp_path):
    """Every question whether to stop, around the end of the first epoch, is answered with yes in turn."""
    arguments = ("--replays", replays, "--epochs", 2, "--hidden", 8)
    trained(tmp_path / "whole", *arguments)
    seen = set()
    for questions in range(6, 14):
        asked = iter(range(questions))
        run = stopped(tmp_path / str(questions), lambda training, left=asked: next(left, None) is None, *arguments)
        progress = load_latest_learner(run).meta.extra["standing"]
        seen.add((progress["epoch"], progress["sums"]["minibatches"]))
        said("--resume", "--checkpoint", run.path)
        assert end_of(run.path) == end_of(tmp_path / "whole" / "imitation")
    assert {epoch for epoch, _ in seen} == {0, 1}
    assert len([place for place in seen if place[0] == 0]) >= 2


def test_a_finished_training_goes_on_where_more_epochs_are_wanted(replays, tmp_path):
    folder = tmp_path / "policies"
    trained(folder, "--replays", replays, "--epochs", 1)
    code, text = said("--resume", "--checkpoint", folder)
    assert code == 0
    assert "Epoch" not in text.replace("Epochs", "")
    assert "all 1 epochs are done" in text
    said("--resume", "--checkpoint", folder / "imitation", "--epochs", 2)
    assert [row["charts/epoch"] for row in rows(folder / "imitation")] == [1, 2]


def test_a_resumed_training_keeps_its_settings_and_its_games(replays, alone, tmp_path):
    folder = tmp_path / "policies"
    trained(folder, "--replays", replays, "--epochs", 1)
    with pytest.raises(ConfigError, match=r"--batch-size is 7, but the run to resume was started with 80"):
        said("--resume", "--checkpoint", folder, "--batch-size", 7)
    with pytest.raises(ConfigError, match=r"not the games that .*imitation began with"):
        said("--resume", "--checkpoint", folder, "--replays", alone)
    with RunDir(folder / "imitation").lock(), pytest.raises(RunLockedError):
        said("--resume", "--checkpoint", folder)


def test_it_stops_where_the_loss_stops_falling(replays, tmp_path):
    code, text = trained(
        tmp_path / "policies", "--replays", replays, "--epochs", 9, "--patience", 2, "--set", "learn.min_delta=100"
    )
    assert code == 0
    assert len(EPOCH.findall(text)) == 3
    assert "no better validation loss for 2 epochs" in text
    run = tmp_path / "policies" / "imitation"
    assert f"--resume --checkpoint {run} --patience 4" in text
    _, more = said("--resume", "--checkpoint", run, "--patience", 4)
    assert len(EPOCH.findall(more)) == 2


def test_the_hint_of_a_training_that_ends_for_two_reasons_gives_it_both(replays, tmp_path):
    never = ("--patience", 2, "--set", "learn.min_delta=100")
    code, text = trained(tmp_path / "policies", "--replays", replays, "--epochs", 3, *never)
    assert code == 0
    run = tmp_path / "policies" / "imitation"
    assert f"--resume --checkpoint {run} --epochs 6 --patience 4" in text
    _, more = said("--resume", "--checkpoint", run, "--epochs", 6, "--patience", 4)
    assert len(EPOCH.findall(more)) == 2
    _, text = said("--resume", "--checkpoint", run, "--epochs", 2, "--patience", 1)
    assert f"--resume --checkpoint {run} --epochs 8 --patience 8" in text


def test_time_ends_a_training_with_policies(replays, tmp_path, monkeypatch):
    folder = tmp_path / "policies"
    monkeypatch.setattr(Training, "time_is_up", property(lambda training: training.progress.minibatches >= 2))
    code, text = trained(folder, "--replays", replays, "--epochs", 9, "--max-minutes", "60")
    assert code == 0
    assert "Stopped, and saved, after 0 epochs" in text
    for which in ("latest", "best"):
        assert load_policy(folder / f"imitation_{which}_policy").meta.config["imitation"]["losses"]["policy"]


def test_what_learned_nothing_is_not_the_best(replays, tmp_path):
    folder = tmp_path / "policies"
    code, text = trained(folder, "--replays", replays, "--epochs", 2, "--max-minutes", "1e-6")
    assert code == 0
    assert load_policy(folder / "imitation_latest_policy").meta.total_steps == 0
    assert not (folder / "imitation_best_policy").exists()
    assert not (folder / "imitation" / "best_policy").exists()
    assert f"--pretrained {folder}/imitation_latest_policy" in text


def test_the_hint_of_a_training_whose_time_is_up_gives_it_more(replays, tmp_path):
    folder = tmp_path / "policies"
    _, text = trained(folder, "--replays", replays, "--epochs", 1, "--max-minutes", "1e-6")
    more = float(re.search(r"--resume --checkpoint \S+ --max-minutes (\S+)", text)[1])
    progress = load_latest_learner(RunDir(folder / "imitation")).meta.extra["standing"]
    assert 60 * more > progress["elapsed_s"]
    said("--resume", "--checkpoint", folder, "--max-minutes", max(more, 1.0))
    assert len(rows(folder / "imitation")) == 1


# ---- the games


def test_files_that_cannot_be_used_are_named(replays, tmp_path):
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for path in replays.iterdir():
        (mixed / path.name).write_bytes(path.read_bytes())
    for i in range(5):
        (mixed / f"junk_{i}.slp").write_bytes(b"nothing" * (i + 1))
    code, text = trained(tmp_path / "policies", "--replays", mixed, "--epochs", 1)
    assert code == 0
    assert len(re.findall(r"Left out .*junk_\d.slp: \S", text)) == 3
    assert "Left out: 5; log.txt names every one" in text
    log = (tmp_path / "policies" / "imitation" / "log.txt").read_text()
    assert len(set(re.findall(r"junk_\d.slp", log))) == 5


def test_without_a_known_character_nothing_is_trained(tmp_path):
    for seed in range(2):
        write_game(tmp_path / "replays" / f"{seed}.slp", seed=seed, characters=("peach", "peach"))
    with pytest.raises(ConfigError, match="only players of character 9 to learn from; known are bowser, cptfalcon"):
        trained(tmp_path / "policies", "--replays", tmp_path / "replays")
    assert not (tmp_path / "policies").exists()


@pytest.mark.parametrize("make", [False, True])
def test_without_a_game_nothing_is_left_behind(tmp_path, make):
    if make:
        (tmp_path / "replays").mkdir()
    with pytest.raises(ConfigError, match="replays"):
        trained(tmp_path / "policies", "--replays", tmp_path / "replays")
    assert not (tmp_path / "policies").exists()


def test_nothing_to_resume(tmp_path):
    with pytest.raises(NotARunError, match="holds no training"):
        said("--resume", "--checkpoint", tmp_path)


def test_a_training_that_failed_before_its_first_state_is_not_resumed(replays, tmp_path):
    folder = tmp_path / "policies"
    for name in ("imitation", "imitation-2"):
        (folder / name / "learner").mkdir(parents=True)
        (folder / name / "imitation.json").write_text("{}")
    with pytest.raises(NotARunError, match="imitation, imitation-2 ended before the first state"):
        said("--resume", "--checkpoint", folder)
    trained(folder, "--replays", replays, "--epochs", 1)
    (folder / "imitation-4" / "learner").mkdir(parents=True)
    (folder / "imitation-4" / "imitation.json").write_text("{}")
    assert find_imitation(folder).path == folder / "imitation-3"


def test_windows_are_said_to_be_implied(replays, tmp_path):
    _, text = trained(tmp_path / "policies", "--replays", replays, "--epochs", 1, "--backbone", "attention")
    assert "attention remembers, so that it learns from windows" in text
    assert load_policy(tmp_path / "policies" / "imitation_best_policy").meta.network.options == {"window": 10}


def test_rows_and_windows_hold_the_same_decisions(replays, tmp_path):
    arguments = ["--replays", str(replays), "--no-cache", "--set", "net.window=7"]
    flat = games_of(parse(arguments).config, tmp_path)
    windows = games_of(parse([*arguments, "--temporal"]).config, tmp_path)
    assert sum(lesson.rows for lesson in flat.lessons(0)) == flat.rows == habits_of(flat).rows
    assert sum(lesson.rows for lesson in windows.lessons(3)) == flat.rows
    assert sum(lesson.rows for lesson in windows.judging()) == sum(game.rows for game in windows.validation)
    assert flat.description() == windows.description()
