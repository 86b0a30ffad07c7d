"""Scripted players: seeded, compiled and uncompiled alike, sound, and as strong as the ladder says.

``python -m tests.melee.test_bots`` prints what the uncompiled players are compared with.
"""

import hashlib
import json
import os
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee import actions, bots, controller
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.physics import RULES_VERSION
from selfplay_melee.tables import STAGES, load_tables
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "data" / "round_robin.json"
ACTIVE = bots.NAMES[1:]
CAP = 3600
BODIES = [
    ("mewtwo", "final_destination"),
    ("fox", "final_destination"),
    ("mewtwo", "battlefield"),
    ("fox", "battlefield"),
]


class Games:
    """Scripted players against each other, side by side, each game for one episode."""

    def __init__(self, first, second, num_games, seed=0, body=BODIES[0], cap=CAP):
        self.game = MockMelee(
            num_games, characters=body[:1] * 2, stage=body[1], frame_skip=bots.FRAME_SKIP, max_episode_frames=cap
        )
        self.game.bots[:, 0] = bots.NAMES.index(first)
        self.game.bots[:, 1] = bots.NAMES.index(second)
        self.game.reset(np.arange(num_games, dtype=np.uint64) + np.uint64(seed))
        self._actions = neutral_actions(num_games)
        self._nobody = np.zeros((num_games, 2), bool)

    def step(self):
        return self.game.step(self._actions, self._nobody)

    def play(self):
        """Counts of both seats at the end, ``mock.STATS`` [G, 2]."""
        batch = self.step()
        stats = np.zeros_like(batch.stats)
        left = np.ones(len(stats), bool)
        while True:
            ended = batch.ended & left
            stats[ended] = batch.stats[ended]
            left &= ~ended
            if not left.any():
                return stats
            batch = self.step()

    def digest(self, decisions):
        """Short text that depends on every bit of states, inputs and what a step gives over some decisions."""
        digest = hashlib.sha256()
        for _ in range(decisions):
            batch = self.step()
            digest.update(self.game.state.players.tobytes() + self.game.state.controllers.tobytes())
            for field in fields(batch):
                digest.update(getattr(batch, field.name).tobytes())
        return digest.hexdigest()[:16]


def scores(stats):
    """Score of seat 0 in each game."""
    lead = np.sign(stats["stocks"][:, 0] - stats["stocks"][:, 1]).astype(float)
    level = lead == 0
    lead[level] = np.sign(stats["percent"][:, 1] - stats["percent"][:, 0])[level]
    return (lead + 1) / 2


def comparison():
    """A line for each player: some hundred frames against the strongest with both bodies, in short episodes."""
    return [
        f"{name} {body[0]} {body[1]} {Games(name, ACTIVE[-1], 1, seed=5, body=body, cap=180).digest(90)}"
        for name in bots.NAMES
        for body in (BODIES[0], BODIES[3])
    ]


def test_the_ladder_leaves_out_who_does_nothing():
    assert bots.NAMES[0] == "idle"
    assert bots.LADDER == ACTIVE
    assert bots.LADDER[0] == "random"


@pytest.mark.parametrize("name", ACTIVE)
def test_one_seed_gives_one_game_and_another_seed_another(name):
    first = Games(name, "walker", 2, seed=3)
    digests = [
        first.digest(200),
        Games(name, "walker", 2, seed=3).digest(200),
        Games(name, "walker", 2, seed=4).digest(200),
    ]
    assert digests[0] == digests[1] != digests[2]
    assert first.game.state.players[0].tobytes() != first.game.state.players[1].tobytes()


@pytest.mark.full
@pytest.mark.timeout(600)  # uncompiled
def test_compiled_and_uncompiled_players_agree_bit_for_bit():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.melee.test_bots"]
    uncompiled = finish(command, cwd=ROOT, env=environment, check=True)
    assert uncompiled.stdout.splitlines() == comparison()


def test_idle_does_nothing():
    games = Games("idle", "idle", 2)
    start = games.game.state.players.copy()
    for _ in range(100):
        games.step()
        for name in (*controller.AXES, "shoulder", "buttons"):
            assert not games.game.state.controllers[name].any()
    assert np.array_equal(games.game.state.players["x"], start["x"])
    assert (games.game.state.players["action"] == actions.WAIT).all()


def test_random_presses_each_button_one_time_in_ten_and_any_stick_code():
    games = Games("random", "random", 16)
    pads = []
    for _ in range(400):
        games.step()
        pads.append(controller.encode(games.game.state.controllers))
    codes = np.stack(pads)
    assert codes[..., : controller.MAIN_X].mean((0, 1, 2)) == pytest.approx(np.full(8, 0.1), abs=0.02)
    for field, size in zip(range(controller.MAIN_X, controller.TAP), controller.ACTION_SPEC.sizes[:-1], strict=True):
        share = np.bincount(codes[..., field].ravel(), minlength=size) / codes[..., field].size
        assert share == pytest.approx(np.full(size, 1 / size), abs=0.02)


@pytest.mark.parametrize("name", ACTIVE)
def test_it_presses_nothing_that_a_policy_could_not_press(name):
    games = Games(name, "rusher", 8)
    exact = np.zeros_like(games.game.state.controllers)
    for _ in range(400):
        games.step()
        pads = games.game.state.controllers
        controller.decode(controller.encode(pads), exact)
        assert all(np.array_equal(pads[field], exact[field]) for field in pads.dtype.names)


@pytest.mark.parametrize("body", BODIES, ids="-".join)
@pytest.mark.parametrize("name", ACTIVE[1:])
def test_it_fights_and_stays_on_the_stage(name, body):
    against_idle = Games(name, "idle", 8, body=body).play()
    against_random = Games(name, "random", 8, seed=100, body=body).play()
    harm = against_idle["damage"][:, 0] + 100 * against_idle["stocks_taken"][:, 0]  # idle does not come back
    assert harm.mean() > 80
    assert against_random["damage"][:, 0].mean() > 15
    lost = against_idle["self_destructs"][:, 0].mean() + against_random["self_destructs"][:, 0].mean()
    assert lost <= 0.5, "stocks a game, lost without being hit"


@pytest.mark.parametrize("body", BODIES, ids="-".join)
@pytest.mark.parametrize("name", ACTIVE[2:])
@pytest.mark.parametrize("side", [-1, 1])
def test_it_comes_back_to_the_stage(name, body, side):
    games = Games(name, "idle", 1, body=body)
    edge = load_tables().stages[load_tables().stage_rows[STAGES[body[1]]]]["surface_right"][0]
    player = games.game.state.players[0, 0]
    games.step()
    player.x, player.y, player.facing = side * (edge + 30.0), 10.0, -side
    player.on_ground, player.jumps_left, player.action = 0, 1, actions.FALL
    while not player.on_ground and not actions.CLIFF_CATCH <= player.action <= actions.CLIFF_WAIT:
        games.step()
        assert player.stocks == 4, "fell"


def test_the_ends_of_the_ladder_are_far_apart():
    strongest, weakest = bots.LADDER[-1], bots.LADDER[0]
    stats = Games(strongest, weakest, 40).play()
    points = scores(stats)
    assert points.mean() >= 0.95
    more = stats["stocks"][:, 0] > stats["stocks"][:, 1]
    assert more[points == 1].mean() >= 0.8
    for weaker in bots.LADDER[1:2]:
        assert scores(Games(strongest, weaker, 40, seed=1).play()).mean() >= 0.8
        assert scores(Games(weaker, strongest, 40, seed=2).play()).mean() <= 0.2


def test_the_committed_round_robin_is_of_these_players_and_keeps_the_order():
    figures = json.loads(FIGURES.read_text("utf-8"))
    versions = {"bots": bots.VERSION, "rules": RULES_VERSION}
    assert {name: figures["versions"][name] for name in versions} == versions, (
        "run scripts/studies/round_robin.py again"
    )
    assert tuple(figures["ladder"]) == bots.LADDER
    pairs = {(pair["a"], pair["b"]): pair for pair in figures["pairs"]}
    assert all(pair["games"] >= 200 for pair in pairs.values())
    for weaker, stronger in zip(bots.LADDER, bots.LADDER[1:], strict=False):
        assert pairs[stronger, weaker]["score"] >= 0.6
    extremes = pairs[bots.LADDER[-1], bots.LADDER[0]]
    assert extremes["score"] >= 0.99
    assert extremes["finished"] >= 0.5  # within the cap, a minute


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in comparison()))
