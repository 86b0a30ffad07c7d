"""The policies that come with the project."""

from pathlib import Path

import numpy as np
import pytest

from envs.melee import bots
from scripts.studies.shipped import CARDS, JOBS, RECIPES
from selfplay import load_policy
from selfplay.checkpoint import read_policy_meta, resolve_policy, shipped_policies
from selfplay.checkpoint.policies import is_policy
from selfplay.config.fighting_cli import parse
from selfplay.errors import NotARunError
from selfplay.league.anchors import find_table
from selfplay.league.records import check_player, generation_number
from selfplay.train.fighting.rating import settings_of


def test_each_recipe_is_installed_with_its_card():
    assert set(shipped_policies()) == set(RECIPES)
    text = CARDS.read_text(encoding="utf-8")
    for name, recipe in RECIPES.items():
        assert f"## {name}\n" in text
        assert " ".join(recipe.words) in text


@pytest.mark.parametrize("name", RECIPES)
def test_a_shipped_policy_plays_by_its_name(name):
    policy = load_policy(name)
    assert policy.meta.id == check_player(name)
    assert name not in bots.NAMES
    assert generation_number(name) is None
    assert "run" not in policy.meta.config  # paths of the machine that trained it
    actions = policy.act(np.zeros((2, policy.network.spec.obs_width), np.float32), greedy=True)
    assert actions.shape == (2, 13)


@pytest.mark.parametrize("words", JOBS)
def test_the_policies_are_above_the_scripted_players_of_the_main_jobs(words):
    settings = settings_of(parse([*words]).config)
    table, _ = find_table(settings.settings)
    hashes = {name: read_policy_meta(path).weights_hash for name, path in shipped_policies().items()}
    assert table.policies == hashes, "python -m scripts.studies.shipped"
    assert settings.anchors == table.by_strength()
    assert settings.anchors[-3:] == ("medium", "strong", "expert")


def test_a_name_is_the_shipped_policy_and_a_path_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strong").mkdir()
    assert resolve_policy(Path("strong")) == shipped_policies()["strong"]
    assert is_policy(shipped_policies()["strong"])
    with pytest.raises(NotARunError, match="holds no policy"):
        resolve_policy(tmp_path / "strong")
