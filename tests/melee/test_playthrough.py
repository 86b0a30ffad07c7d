"""The rules give what they gave when the playthrough was committed, compiled and uncompiled, on every machine."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee.actions import CATEGORIES, CATEGORY_OF
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.melee import playthrough
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
RARE = {"other", "shield_break", "jump_squat"}


def numbers(line):
    """All but the digest."""
    return [float(word) for word in line.split("|")[1].split()[:-1]]


@pytest.mark.parametrize("game", playthrough.read(), ids=lambda game: "-".join(game[:3]))
def test_the_committed_playthrough_still_happens(game):
    left, right, stage, stretches = game
    lines = playthrough.play(left, right, stage, [(frames, actions) for _, frames, actions in stretches])
    for number, (line, (committed, _, _)) in enumerate(zip(lines, stretches, strict=True)):
        assert line == committed, f"stretch {number}"


def test_every_character_and_stage_has_a_playthrough():
    assert {name for left, right, _ in playthrough.GAMES for name in (left, right)} == set(CHARACTERS)
    assert {stage for _, _, stage in playthrough.GAMES} == set(STAGES)
    assert {path.name for path in playthrough.FOLDER.glob("*.txt")} == {
        playthrough.path_of(*game).name for game in playthrough.GAMES
    }


def test_it_meets_most_kinds_of_action():
    seen = set()
    for left, right, stage, stretches in playthrough.read():
        for line in playthrough.play(left, right, stage, [(frames, actions) for _, frames, actions in stretches]):
            values = numbers(line)
            seen |= {CATEGORIES[CATEGORY_OF[int(values[0])]], CATEGORIES[CATEGORY_OF[int(values[6])]]}
    assert len(seen) > 0.75 * len(CATEGORIES), sorted(set(CATEGORIES) - seen)


@pytest.mark.full
@pytest.mark.timeout(600)  # uncompiled
def test_compiled_and_uncompiled_rules_agree_bit_for_bit():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.melee.playthrough"]
    uncompiled = finish(command, cwd=ROOT, env=environment, check=True)
    assert uncompiled.stdout.splitlines() == list(playthrough.comparison())


def test_actions_survive_being_written():
    rng = np.random.default_rng(0)
    for _ in range(50):
        action = [*rng.integers(0, 2, 8), *rng.integers(0, 17, 4), rng.integers(0, 5)]
        assert playthrough.parse(playthrough.code(action)) == action
