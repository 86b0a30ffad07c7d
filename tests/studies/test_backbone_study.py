import json
import shutil

import pytest

from scripts.studies import backbones as backbone_study
from scripts.studies.backbones import FOLDS, BackboneStudy, paired, table
from scripts.studies.bench.replays import write_games
from selfplay.config.imitation import ImitationConfig
from selfplay.errors import ConfigError

SETTINGS = {"net": {"hidden": (16, 16), "window": 10}, "learn": {"epochs": 1, "batch_size": 100}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("replays")
    for name, games, frames in (("mock", 10, 400), ("real", 5, 461)):
        (root / name).mkdir()
        write_games(root / name, games, frames)
    return [root / "mock", root / "real"]


@pytest.fixture(scope="module")
def study(folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    config = ImitationConfig.model_validate(SETTINGS)
    made = BackboneStudy(folders, config, folder / "runs", folder / "out", lambda _: None)
    for fold in (0, 1):
        for backbone in ("mlp", "gru"):
            made.run(backbone, fold)
    return made, folder


def test_every_game_judges_once_and_never_where_it_teaches(study):
    made, _ = study
    judged = {"mock": [], "real": []}
    for fold in range(FOLDS):
        teach, judge = made._sets.parts(fold)
        for name, games in judge.items():
            judged[name] += [game.hash for game in games]
            assert not {game.hash for game in games} & {game.hash for game in teach}
        assert len(teach) == 12
    assert {name: len(set(games)) for name, games in judged.items()} == {"mock": 10, "real": 5}
    assert {name: len(games) for name, games in judged.items()} == {"mock": 10, "real": 5}


def test_a_cell_has_both_sets_apart(study):
    _, folder = study
    cell = json.loads((folder / "out" / "gru_1.json").read_text())
    assert (cell["backbone"], cell["fold"], cell["settings"]["net"]["backbone"]) == ("gru", 1, "gru")
    assert {name: found["games"] for name, found in cell["sets"].items()} == {"mock": 2, "real": 1}
    other = json.loads((folder / "out" / "mlp_1.json").read_text())
    for name in ("mock", "real"):
        assert other["sets"][name]["repeat"] == pytest.approx(cell["sets"][name]["repeat"])  # on the same decisions
        assert other["sets"][name]["model"] != cell["sets"][name]["model"]


def test_what_is_there_is_not_made_again(study, folders, monkeypatch):
    made, folder = study
    monkeypatch.setattr(backbone_study, "Training", lambda *_: pytest.fail("made again"))
    made.run("gru", 1)
    more = ImitationConfig.model_validate(SETTINGS | {"learn": {"epochs": 3}})
    with pytest.raises(ConfigError, match=r"gru_1\.json was measured with other settings"):
        BackboneStudy(folders, more, folder / "runs", folder / "out", lambda _: None).run("gru", 1)


@pytest.mark.parametrize("data", [{"delay": 3}, {"frame_skip": 5}, {"character": ("fox",)}, {"player": "2"}])
def test_a_cell_of_other_examples_is_not_taken(study, folders, data):
    _, folder = study
    other = ImitationConfig.model_validate(SETTINGS | {"data": data})
    with pytest.raises(ConfigError, match=r"gru_1\.json was measured with other settings"):
        BackboneStudy(folders, other, folder / "runs", folder / "out", lambda _: None).run("gru", 1)


@pytest.mark.parametrize("side", ["teach", "judge"])
def test_a_cell_of_other_games_is_not_taken(study, folders, tmp_path, side):
    made, folder = study
    teach, judge = made._sets.parts(1)
    gone = {"teach": teach[0], "judge": judge["mock"][0]}[side].path
    for one in folders:
        shutil.copytree(one, tmp_path / one.name)
    (tmp_path / gone.parent.name / gone.name).unlink()
    config = ImitationConfig.model_validate(SETTINGS)
    fewer = [tmp_path / one.name for one in folders]
    with pytest.raises(ConfigError, match=r"gru_1\.json was measured with other settings"):
        BackboneStudy(fewer, config, folder / "runs", folder / "out", lambda _: None).run("gru", 1)


def test_the_page_has_a_table_a_set(study):
    made, folder = study
    page = folder / "page.md"
    page.write_text("<!-- backbones: begin -->\n<!-- backbones: end -->\n")
    made.write(page, "backbones", ("mlp", "gru", "lstm"))
    text = page.read_text()
    assert text.index("**mock**") < text.index("**real**")
    assert (text.count("| `mlp` | "), text.count("| `gru` | "), text.count("| `lstm` | ")) == (4, 4, 0)
    assert text.count("| | buttons | main stick | c-stick | shoulder |") == 2
    assert text.count("| head marginals | ") == 2


def test_differences_are_paired_by_fold():
    assert paired({0: 1.0, 1: 3.0, 2: 5.0}, {0: 0.5, 1: 2.5, 2: 4.5}) == "0.5000 ± 0.0000"
    assert paired({0: 1.0, 1: 2.0}, {1: 1.0, 0: 1.0}) == "0.5000 ± 6.3550"  # t of two values: 12.71 x 0.5
    assert paired({0: 1.0}, {0: 1.0, 1: 2.0}) == ""


def test_the_reference_has_no_difference_to_itself():
    side = {"all": 1.0, "changed": 2.0}
    cell = {"fold": 0, "training_s": 3.0, "sets": {"a": {"model": side, "marginals": side, "repeat": side}}}
    assert "| `mlp` | 1.000 |  | 2.000 |  | 3 |" in table("a", {"mlp": [cell]})
