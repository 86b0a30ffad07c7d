import json

import pytest

from scripts.studies import cells
from scripts.studies import start as start_study
from scripts.studies.start import SCRATCH, StartStudy, pairs_of
from selfplay.errors import ConfigError
from tests.train.policies import save_imitation
from tests.train.runs import ITERATION

ARMS, SEEDS = (SCRATCH, "kl_0", "kl_0.5"), (0, 1)
SMALL = (
    "selfplay train --game-type mock --num-games 4 --rollout-length 64 --max-episode-frames 120 "
    "--save-interval 1 --timesteps {steps} --seed {seed}"
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    policy = save_imitation(folder / "policy", frame_skip=4, delay=0, characters=("mewtwo",), stage="final_destination")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start_study, "COMMAND", SMALL)
        for name, games in (("GAMES", 4), ("TWO_RUNS", 2), ("ALONG", 2)):
            patch.setattr(start_study, name, games)
        made = StartStudy(policy, folder / "runs", folder / "out", 2 * ITERATION, lambda _: None)
        for seed in SEEDS:
            for arm in ARMS:
                made.train(arm, seed)
        for seed in SEEDS:
            for arm in ARMS:
                made.measure(arm, seed, SEEDS)
            made.meet("kl_0", "kl_0.5", seed)
    return made, folder


def test_a_cell_has_the_games_and_the_curves(study):
    _, folder = study
    cell = json.loads((folder / "out" / "kl_0.5_1.json").read_text())
    assert cell["command"].endswith("--seed 1 --pretrained policy --teacher-kl 0.5")
    assert cell["result"]["games"] == 4
    assert [found["games"] for found in cell["against_scratch"].values()] == [2, 2]
    assert [iteration for iteration, _ in cell["win_rate"]] == [0, 1, 2]
    assert cell["win_rate"][0][1] in (0.0, 0.25, 0.5, 0.75, 1.0)
    steps = [x for x, _ in cell["curves"]["teacher_kl"]]
    assert steps == [ITERATION / 1e6, 2 * ITERATION / 1e6]
    assert "against_scratch" not in json.loads((folder / "out" / "scratch_0.json").read_text())


def test_what_is_there_is_not_made_again(study, monkeypatch):
    made, folder = study
    before = {path.name: path.read_text() for path in (folder / "out").iterdir()}
    for module, name in ((cells, "finish"), (start_study, "evaluate")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("made again"))
    made.train("kl_0", 0)
    made.measure("kl_0", 0, SEEDS)
    made.meet("kl_0", "kl_0.5", 0)
    assert {path.name: path.read_text() for path in (folder / "out").iterdir()} == before


def test_figures_of_another_policy_are_not_mixed_in(study):
    _, folder = study
    other = save_imitation(folder / "other", kind="gru")
    with pytest.raises(ConfigError, match=r"kl_0_0\.json was measured with other teacher"):
        StartStudy(other, folder / "runs", folder / "out", 2 * ITERATION, lambda _: None).measure("kl_0", 0, SEEDS)


def test_the_page_has_a_row_a_run_and_a_chart_of_each_curve(study):
    made, folder = study
    page = folder / "page.md"
    page.write_text("<!-- start: begin -->\n<!-- start: end -->\n")
    made.write(page, ARMS, SEEDS)
    text = page.read_text()
    assert text.count("| scratch | ") == 2
    assert text.count("| imitation, `--teacher-kl 0.5` | 0 |") == 1
    assert "| imitation, `--teacher-kl 0` | imitation, `--teacher-kl 0.5` | " in text
    for name in ("teacher_kl", "teacher_kl_reverse", "entropy", "win_rate"):
        assert (folder / "out" / f"{name}.svg").read_text().startswith("<svg")


def test_pairs():
    assert pairs_of(ARMS) == [("kl_0", "kl_0.5")]
