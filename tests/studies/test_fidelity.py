import json
from pathlib import Path

import numpy as np
import pytest

from envs.melee import actions as a
from envs.melee.mock import MockMelee, neutral_actions
from envs.melee.replay import Recording, read_replay, replay_of, seat_of
from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.reconstruct import reconstruct_memory
from scripts.studies.fidelity.score import WINDOW, figures, measure, report, rows
from scripts.studies.fidelity.table import closeness, text
from scripts.studies.fidelity.windows import LENGTH, play_windows

REAL = Path(__file__).resolve().parents[3] / "shared" / "replays"


def recorded(names=("rusher", "edge_guarder"), frames=900, stage="final_destination"):
    """A game of the mock as if read from a file: single precision and all."""
    block = MockMelee(1, characters=("fox", "mewtwo"), stage=stage, max_episode_frames=frames + 1)
    block.bots[:] = [block.bot_names.index(name) for name in names]
    block.reset(np.array([5], np.uint64))
    recording = Recording()
    for _ in range(frames):
        block.step(neutral_actions(1))
        recording.take(block.state)
    state = recording.state()
    seats = tuple(seat_of(seat, int(state.players["character"][0, seat])) for seat in range(2))
    return replay_of(state, seats, int(state.game["stage"][0]), path="mock.slp")


@pytest.fixture(scope="module")
def own():
    return recorded()


def test_the_mock_repeats_its_own_games(own):
    """What a file tells, and what ``reconstruct_memory`` works out, is enough to play on as the mock did."""
    measured = measure(own)
    made = figures([measured])
    assert made["movement_windows"] > 150
    assert made["position_error_30_median"] < 1e-3
    assert made["position_error_30_p90"] < 0.05
    assert made["same_actions"] > 0.95
    assert made["damage_within_1pct"] == made["hitlag_exact"] == made["hitstun_within_1"] == 1.0


def test_a_wrong_move_is_noticed(own):
    """The score falls when the real game does something else than the mock: here a wind blows over the stage."""
    state = own.state
    moved = state.players.copy()
    moved["x"] += 0.05 * np.arange(len(moved))[:, None]
    other = replay_of(
        type(state)(state.game, moved.view(np.recarray), state.controllers), own.seats, own.stage, path="moved.slp"
    )
    assert figures([measure(other)])["position_error_30_median"] > 0.4


def test_windows_are_compared_from_their_first_real_frame(own):
    played = play_windows(own, reconstruct_memory(own))
    assert played.error.shape == (len(own.state.players) - LENGTH, 2, 4)
    assert (played.error[:, :, 0] < 0.05).mean() > 0.95
    assert ((played.close >= 0) & (played.close <= LENGTH)).all()
    assert ((played.mock_action == -1) == (played.same == LENGTH)).all()


def test_memory_follows_from_what_was_before(own):
    """Frames behind a window never reach into it: cutting the file leaves the memory before the cut alone."""
    whole = reconstruct_memory(own)
    cut = slice(0, 400)
    state = own.state
    part = replay_of(
        type(state)(state.game[cut], state.players[cut], state.controllers[cut]), own.seats, own.stage, path="cut.slp"
    )
    assert whole[cut].tobytes() == reconstruct_memory(part).tobytes()


def test_what_is_covered_is_decided_from_the_real_game():
    replay = recorded(frames=60)
    assert (coverage.reasons(replay) == coverage.COVERED).all()
    replay.state.players["action"][10, 1] = a.DIZZY
    replay.state.players["character"][20, 0] = 0  # Mario, who has no table
    reasons = coverage.reasons(replay)
    assert reasons[10] == coverage.ACTION
    assert reasons[20] == coverage.CHARACTER
    assert (np.delete(reasons, [10, 20]) == coverage.COVERED).all()


def test_dead_and_returning_players_do_not_count():
    replay = recorded(frames=60)
    replay.state.players["action"][5:9, 0] = a.REBIRTH
    assert np.flatnonzero(~coverage.counted(replay)).tolist() == [5, 6, 7, 8]


def test_every_covered_action_has_one_mechanic():
    table = coverage.mechanic_table()
    claimed = sum(last - first + 1 for _, first, last in coverage.MECHANICS)
    assert (table >= 0).sum() == claimed


def test_the_report_names_everything(own):
    measured = measure(own)
    made = report([measured])
    keys = {"position_error_30_median", "position_error_30_p90", "same_actions", "knockback_within_1pct"}
    assert keys | {"hitlag_exact", "hitstun_within_1", "covered"} <= set(made)
    assert made["files"][0]["file"] == "mock.slp"
    json.dumps(made, allow_nan=False)
    shown = text([measured])
    assert "mock.slp" in shown
    assert "stand (14)" in shown
    assert set(closeness([measured])) <= {"fox", "mewtwo"}
    assert measured.windows.dtype == WINDOW


@pytest.mark.skipif(not REAL.is_dir(), reason=f"real replays are not at {REAL}")
def test_real_replays_are_repeated():
    """The bars of the project, on the public files that record everything."""
    files = [measure(read_replay(path)) for path in sorted(REAL.glob("[a-z]*.slp"))]
    judged = [file for file in files if file.judged]
    made = figures(judged)
    assert made["position_error_30_median"] <= 0.05
    assert made["position_error_30_p90"] <= 0.5
    assert made["same_actions"] >= 0.9
    assert made["knockback_within_1pct"] >= 0.9
    assert made["hitlag_exact"] >= 0.99
    assert made["hitstun_within_1"] >= 0.95
    assert made["covered"] >= 0.7
    assert all(figures([file])["covered"] >= 0.5 for file in judged)
    assert {row.name: row.error[0, -1] for row in rows(judged) if row.error[0, -1] > 0.5} == {}
