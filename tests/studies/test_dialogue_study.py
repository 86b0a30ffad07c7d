"""Studies of dialogue games: only missing cells are measured, and the tables show the figures."""

import json
import re

import pytest

from scripts.studies.dialogue import exchange as study
from scripts.studies.dialogue.exchange import DialogueStudy
from scripts.studies.dialogue.files import VARIABLES, FilesStudy, table
from selfplay.config.dialogue_cli import parse
from selfplay.errors import SelfPlayError

COPY = """#!/bin/sh
test -n "$PYTHON" || exit 3
for i in $(seq $NUM_ITERATIONS); do
  goal=$DATA_DIR/kuhn_text_game_selfplay_iterations/iter_$i
  mkdir -p $goal && cp -r $INITIAL_MODEL $goal/checkpoint
done
echo "$GAMES_PER_ITER $SEED" >> $DATA_DIR/calls
"""


@pytest.fixture
def files(tmp_path):
    """A study of a training that gives back the model that it is given."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "run_selfplay_iteration.sh").write_text(COPY)
    (scripts / "run_selfplay_iteration.sh").chmod(0o755)
    return FilesStudy(scripts, tmp_path / "runs", tmp_path / "out", lambda _: None)


@pytest.fixture
def page(tmp_path):
    """With room for the tables."""
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name}: begin -->\n<!-- {name}: end -->\n" for name in ("laptop", "files")))
    return page


def configured(model, seed):
    given = ("--game-type", "kuhn_text", "--model", str(model), "--seed", str(seed), "--evaluation-states", "8")
    return parse(list(given)).config


def test_a_training_from_files_is_judged_after_each_iteration_and_done_once(files, page, kuhn_start, tmp_path):
    for _ in range(2):
        files.train(configured(kuhn_start, 5))
    assert (tmp_path / "runs" / "files-5" / "calls").read_text() == f"{VARIABLES['GAMES_PER_ITER']} 5\n"
    cell = json.loads((tmp_path / "out.json").read_text())["files_5"]
    assert [judged["states"] for judged in cell["iterations"]] == [8] * int(VARIABLES["NUM_ITERATIONS"])
    assert cell["evaluation"] == cell["iterations"][-1]
    assert cell["paired_gain"] == {"gain": 0.0, "interval": 0.0, "states": 8}  # it is the model that it began with
    files.write(page, [4, 5])
    row = page.read_text().splitlines()[5]
    assert row.startswith("| 5 | ")
    assert "+0.000 ± 0.000" in row


def test_a_training_from_files_that_fails_leaves_no_figures(files, kuhn_start, tmp_path):
    (tmp_path / "scripts" / "run_selfplay_iteration.sh").write_text("#!/bin/sh\nexit 7\n")
    with pytest.raises(SelfPlayError, match="ended with 7"):
        files.train(configured(kuhn_start, 5))
    assert not (tmp_path / "out.json").exists()


def test_a_run_is_kept_with_its_curves_and_done_once(monkeypatch, kuhn_start, page, tmp_path):
    line = (
        f"x y --game-type kuhn_text --model {kuhn_start} --num-games 32 --games 96 --evaluation-states 8"
        " --set run.threads=1 --seed {seed}"
    )
    monkeypatch.setattr(study, "COMMAND", line)
    of = DialogueStudy(tmp_path / "runs", tmp_path / "out", lambda _: None)
    of.train("grpo", 3)
    cell = json.loads((tmp_path / "out.json").read_text())["grpo_3"]
    assert cell["games"] == 96
    assert [games for games, _ in cell["curves"]["reward"]] == [0.032, 0.064, 0.096]
    saved = (tmp_path / "runs" / "grpo-3" / "summary.json").stat().st_mtime_ns
    of.train("grpo", 3)
    assert (tmp_path / "runs" / "grpo-3" / "summary.json").stat().st_mtime_ns == saved
    cell["teaching"] = {"seconds": 60.0}
    (tmp_path / "out.json").write_text(json.dumps({"grpo_3": cell}))
    of.write(page, [3])
    rows = page.read_text().splitlines()
    assert re.match(rf"\| grpo \| 3 \| {cell['evaluation']['reward']:.3f} ± ", rows[3])
    assert any(row.startswith("| supervised start | 3 |") for row in rows)
    assert any(row.startswith("| `random` |") for row in rows)
    assert (tmp_path / "out" / "reward.svg").read_text().startswith("<svg")


def test_a_table_without_runs_has_its_head():
    assert table([]).splitlines()[0].startswith("| seed | start | iteration 1 |")
