import numpy as np
import pytest

from envs.melee.tables import CHARACTERS, STAGES
from selfplay.commands.watch import fight
from selfplay.errors import ConfigError, NotARunError
from tests.train.policies import save, save_imitation


def test_a_fight_is_recorded_frame_by_frame(tmp_path):
    film = fight(save(tmp_path / "run", 0, 10).path, ["gen_0", "random"], seed=3)
    assert film.names == ("gen_0", "random")
    assert film.title == "run, seed 3"
    assert np.diff(film.frames).tolist() == [1] * (len(film) - 1)
    assert len(film) == 120  # the cap that the run played with
    assert np.ptp(film.players["x"][:, 1]) > 0


def test_estimates_are_made_when_a_policy_decides(tmp_path):
    film = fight(save(tmp_path / "run", 0).path, ["gen_0", "random"], seed=3)
    values = film.values[:, 0]
    assert np.isfinite(values).all()
    assert np.isnan(film.values[:, 1]).all()
    changes = np.flatnonzero(np.diff(values)) + 1
    assert len(changes) > 10
    assert (changes % 4 == 0).all()  # its frame skip


def test_scripted_players_estimate_nothing(tmp_path):
    assert fight(save(tmp_path / "run", 0).path, ["idle", "random"], seed=0, seconds=0.5).values is None


def test_the_newest_generation_stands_in(tmp_path):
    folder = save(tmp_path / "run", 0, 10).path
    assert fight(folder, [], seed=0, seconds=0.1).names == ("gen_10", "gen_10")
    assert fight(folder, ["random"], seed=0, seconds=0.1).names == ("gen_10", "random")
    assert len(fight(folder, ["random"], seed=0, seconds=0.1)) == 6


def test_a_policy_folder_fights_under_its_own_rules(tmp_path):
    mine = save_imitation(tmp_path / "mine", "gru", stage="dreamland")
    other = save_imitation(tmp_path / "other")
    film = fight(mine, [], seed=3, seconds=0.5)
    assert film.names == ("mine", "mine")
    assert film.title == "mine, seed 3"
    assert (film.stage, film.players["character"][0].tolist()) == (STAGES["dreamland"], [CHARACTERS["fox"]] * 2)
    assert np.isfinite(film.values).all()
    assert fight(mine, [str(other)], seed=3, seconds=0.5).names == ("mine", "other")
    assert fight(mine, ["random", str(other)], seed=3, seconds=0.5).names == ("random", "other")
    assert len(fight(save(tmp_path / "run", 0).generations / "gen_0", [], seed=0)) == 120


def test_who_cannot_fight(tmp_path):
    with pytest.raises(NotARunError, match="no generation yet"):
        fight(save(tmp_path / "empty").path, [], seed=0)
    folder = save(tmp_path / "run", 0).path
    with pytest.raises(ConfigError, match="two players fight, 3 are named"):
        fight(folder, ["a", "b", "c"], seed=0)
    with pytest.raises(ConfigError, match="gen_7"):
        fight(folder, ["gen_7"], seed=0)
