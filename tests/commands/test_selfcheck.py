"""Judging runs of small games, with training short and bands moved."""

import dataclasses

import numpy as np
import pytest

from selfplay.commands.selfcheck import CASES, Case, check, judge
from selfplay.config.ppo import Config
from selfplay.games.solved.enumeration import find_tree

SHORT = {"timesteps": 4 * 512}


def short(case: Case, band: float) -> Case:
    """A few iterations of a case."""
    return Case(band, {**case.settings, "run": {**case.settings["run"], **SHORT}})


def test_every_case_is_of_a_known_game_and_a_valid_configuration():
    for game, case in CASES.items():
        find_tree(game)
        Config.model_validate({**case.settings, "game": {"type": game}})


def test_a_short_run_is_trained_judged_and_gone(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))  # made at first use
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = check("kuhn", short(CASES["kuhn"], 2.0), 3)
    assert (found.game, found.seed, found.generations) == ("kuhn", 3, 2)
    assert 0.0 < found.recommended < 2.0
    assert found.passed
    assert not dataclasses.replace(found, band=found.recommended / 2).passed
    assert list(tmp_path.iterdir()) == []
    assert check("kuhn", short(CASES["kuhn"], 2.0), 3) == found  # equal, bit for bit


class Always:
    """A policy that plays one action, whatever it sees."""

    def __init__(self, action):
        self.action = action

    def probabilities(self, obs, legal):
        return np.eye(legal.shape[1], dtype=np.float32)[np.full(len(legal), self.action)]


def test_what_cannot_be_beaten_is_found_in_a_pool_of_beatable_players():
    found = judge("rps", 0.06, 0, [Always(i) for i in (0, 1, 2)])
    assert found.last == pytest.approx(4.0)  # scissors, beaten by rock in both seats
    assert found.recommended == pytest.approx(0.0, abs=1e-3)
    assert found.average == pytest.approx(1.0)  # paper and scissors, half each: rock takes a half of each seat
    assert found.passed
