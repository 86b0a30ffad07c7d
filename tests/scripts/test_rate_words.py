"""``selfplay rate`` and ``selfplay leaderboard`` with a run of words."""

import json

import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.dialogue.report.transcripts import FILE_NAME
from selfplay.dialogue.settings import DialogueConfig
from tests.dialogue.models import model_folder
from tests.dialogue.report.talks import transcript
from tests.scripts.commands import run


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """Folder of a run of poker with two untaught generations."""
    folder = tmp_path_factory.mktemp("spoken") / "run"
    (folder / "generations").mkdir(parents=True)
    config = DialogueConfig.model_validate({"game": {"type": "kuhn_text"}, "sampling": {"max_new_tokens": 4}})
    document = {"format": 1, "family": "dialogue", "config": config.model_dump(mode="json")}
    (folder / "run.json").write_text(json.dumps(document))
    (folder / FILE_NAME).write_text(transcript().row() + "\n")
    for name, seed in (("gen_0", 1), ("gen_2", 2)):
        model_folder(folder / "generations" / name, seed=seed)
    return folder


def test_a_run_of_words_is_rated_and_shown_in_every_form(spoken, tmp_path):
    done = run("rate", spoken, "--budget", 40, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "40 comparisons played" in done.stdout
    assert "played for" in done.stdout
    shown = run("leaderboard", spoken, cwd=tmp_path)
    assert "Mean reward of the row's player" in shown.stdout
    assert "reward_with_random" in run("leaderboard", spoken, "--csv", cwd=tmp_path).stdout
    board = json.loads(run("leaderboard", spoken, "--json", cwd=tmp_path).stdout)
    assert not board["external"]
    page = run("leaderboard", spoken, "--html", "page.html", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    assert "a secret thought" in (tmp_path / "page.html").read_text()


def test_its_scripted_players_are_measured(spoken, tmp_path):
    done = run("rate", spoken, "--calibrate", "--games", 40, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((spoken / "anchors.json").read_text())["rating"]["random"] == 0.0
