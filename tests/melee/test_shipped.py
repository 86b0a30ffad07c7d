"""The policies that come with the project."""

from pathlib import Path

import numpy as np
import pytest

from scripts.studies.shipped import (
    BETWEEN,
    CARDS,
    FIRST_ELO,
    RUNGS,
    RUNS,
    STEP_ELO,
    chosen_generations,
    names,
    rated_under,
    scripted_of,
    shipped_of,
)
from selfplay import load_policy
from selfplay.checkpoint import read_policy_meta, resolve_policy, shipped_policies
from selfplay.checkpoint.policies import is_policy
from selfplay.errors import NotARunError
from selfplay.league.anchors import find_table
from selfplay.league.records import check_player, generation_number
from selfplay_melee import bots


def test_each_is_installed_with_its_card():
    assert set(shipped_policies()) == set(names())
    text = CARDS.read_text(encoding="utf-8")
    for name in names():
        assert f"## {name}\n" in text


@pytest.mark.parametrize("name", names())
def test_a_shipped_policy_plays_by_its_name(name):
    policy = load_policy(name)
    assert policy.meta.id == check_player(name)
    assert name not in bots.NAMES
    assert generation_number(name) is None
    assert "run" not in policy.meta.config  # paths of the machine that trained it
    actions = policy.act(np.zeros((2, policy.network.spec.obs_width), np.float32), greedy=True)
    assert actions.shape == (2, 14)


@pytest.mark.parametrize("character", RUNS)
def test_the_best_policy_of_a_character_is_above_the_scripted_players_of_its_reaction(character):
    settings = rated_under(character)
    table, _ = find_table(settings.settings)
    metas = {name: read_policy_meta(path) for name, path in shipped_policies().items()}
    hashes = {name: meta.weights_hash for name, meta in metas.items() if meta.body["character"] == character}
    assert hashes.keys() == set(shipped_of(character))
    assert table.policies == hashes, "python -m scripts.studies.shipped"
    assert settings.anchors == table.by_strength()
    slower = scripted_of(character) != bots.LADDER
    others = {*bots.LADDER} if slower else set()
    order = [name for name in table.by_strength() if name not in others]
    assert order[-1] == shipped_of(character)[0]
    assert [name for name in reversed(order) if name in hashes] == shipped_of(character)


def test_policies_are_spread_between_the_scripted_players_and_the_last_generation():
    late = [f"gen_{100 * i}" for i in range(1, 11)]
    elo = {name: 2000.0 + 100.0 * i for i, name in enumerate(late)} | dict.fromkeys(bots.LADDER, 1900.0)
    found = chosen_generations("mewtwo", [], late, elo)
    assert found == {"expert": "gen_1000", "strong": "gen_700", "medium": "gen_300", "weak": "gen_100"}
    assert found.keys() == {"expert", *BETWEEN}


def test_rungs_are_equal_steps_of_elo_from_the_first():
    early, late = [f"gen_{i}" for i in range(5)], [f"gen_{100 * i}" for i in range(1, 11)]
    elo = {name: FIRST_ELO + (i - 2) * STEP_ELO / 2 for i, name in enumerate((*early, *late))}
    found = chosen_generations("marth", early, late, elo)
    assert [*found] == [*RUNGS]
    assert [*found.values()] == ["gen_2", "gen_4", "gen_200", "gen_400", "gen_600", "gen_800"]


def test_a_name_is_the_shipped_policy_and_a_path_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strong").mkdir()
    assert resolve_policy(Path("strong")) == shipped_policies()["strong"]
    assert is_policy(shipped_policies()["strong"])
    with pytest.raises(NotARunError, match="holds no policy"):
        resolve_policy(tmp_path / "strong")
