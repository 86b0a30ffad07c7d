import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from scripts.studies.fidelity import coverage
from scripts.studies.fidelity.figures import of_file
from scripts.studies.fidelity.measure import WINDOW, measure
from scripts.studies.fidelity.reconstruct import reconstruct_memory
from scripts.studies.fidelity.report import report
from scripts.studies.fidelity.select import all_in, any_in
from scripts.studies.fidelity.table import closeness, text
from scripts.studies.fidelity.windows import LENGTH, play_windows
from selfplay_melee import actions as a
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.replay import Recording, read_replay, replay_of, seat_of
from selfplay_melee.tables import CHARACTERS, load_tables
from selfplay_melee.tables.layout import with_arrays

REAL = Path(__file__).resolve().parents[3] / "shared" / "replays"


def recorded(names=("all_rounder", "edge_guarder"), frames=900, stage="final_destination"):
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


def shifted(replay, x):
    """The same game with both players moved by ``x``, [T, 2]."""
    state = replay.state
    moved = state.players.copy()
    moved["x"] += x
    return replay_of(
        type(state)(state.game, moved.view(np.recarray), state.controllers),
        replay.seats,
        replay.stage,
        path="moved.slp",
    )


@pytest.mark.full
def test_the_mock_repeats_its_own_games(own):
    """What a file tells, and what ``reconstruct_memory`` works out, is enough to play on as the mock did."""
    measured = measure(own)
    made = of_file(measured)
    assert measured.windows["moves"].sum() > 100
    assert made["position_error_30_median"] < 1e-3
    assert made["position_error_30_p90"] < 0.05
    assert made["same_actions"] > 0.95
    assert made["damage_within_1pct"] == made["hitlag_exact"] == made["hitstun_within_1"] == 1.0
    assert made["knockback_within_1pct"] == 1.0


@pytest.mark.full
def test_contacts_and_landings_of_its_own_games_are_found(own):
    measured = measure(own)
    made = of_file(measured)
    assert measured.contacts["real"].sum() >= 5
    assert made["contacts_recall"] == made["contacts_precision"] == 1.0
    assert len(measured.landings) >= 3
    assert made["landing_exact"] > 0.9


@pytest.mark.full
def test_contacts_out_of_reach_are_missed(own):
    away = np.zeros((len(own.state.players), 2))
    away[:, 0] = -60.0
    measured = measure(shifted(own, away))
    assert measured.contacts["real"].sum() >= 5
    assert of_file(measured)["contacts_recall"] < 0.1


@pytest.mark.full
def test_contacts_that_the_game_does_not_have_are_invented(own):
    """Both players at one place: attacks that missed would connect."""
    together = np.zeros((len(own.state.players), 2))
    together[:, 0] = own.state.players["x"][:, 1] - own.state.players["x"][:, 0]
    contacts = measure(shifted(own, together)).contacts
    assert (~contacts["real"]).sum() > 0
    assert contacts["found"][~contacts["real"]].all()


@pytest.mark.full
def test_a_wrong_move_is_noticed(own):
    """The score falls when the real game does something else than the mock: here a wind blows over the stage."""
    wind = 0.05 * np.arange(len(own.state.players))[:, None]
    assert of_file(measure(shifted(own, wind)))["position_error_30_median"] > 0.4


@pytest.mark.full
def test_windows_are_compared_from_their_first_real_frame(own):
    played = play_windows(own, reconstruct_memory(own))
    assert played.error.shape == (len(own.state.players) - LENGTH, 2, 4)
    assert (played.error[:, :, 0] < 0.05).mean() > 0.95
    assert ((played.close >= 0) & (played.close <= LENGTH)).all()
    assert ((played.same >= 0) & (played.same <= LENGTH)).all()


@pytest.mark.full
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
    replay.state.players["action"][10, 1] = a.SLIDE_OFF
    replay.state.players["character"][20, 0] = 9  # Peach has no table
    reasons = coverage.reasons(replay)
    assert reasons[10] == coverage.ACTION
    assert reasons[20] == coverage.CHARACTER
    assert (np.delete(reasons, [10, 20]) == coverage.COVERED).all()
    assert not coverage.is_playable(replay)


@pytest.mark.full
def test_a_frame_with_an_action_that_is_not_claimed_is_not_covered():
    replay = recorded(frames=60)
    replay.state.players["action"][10, 1] = a.SLIDE_OFF
    assert measure(replay).covered == 59


def test_special_moves_are_claimed_where_the_tables_have_them():
    tables = load_tables()
    claimed = coverage.claimed_actions(tables)
    fox = tables.character_rows[CHARACTERS["fox"]]
    assert claimed[fox, 360]
    without = tables.actions.copy()
    without["frames"][fox, 360] = 0
    assert not coverage.claimed_actions(with_arrays(tables, actions=without))[fox, 360]
    assert claimed[fox, a.WAIT]
    assert not claimed[fox, a.SLIDE_OFF]
    assert not claimed[-1].any()


def test_projectiles_are_claimed_where_the_tables_fire_them():
    tables = load_tables()
    laser = next(kind for kind, made in coverage.PROJECTILES.items() if made[:2] == ("laser", "fox"))
    assert coverage.is_projectile_claimed(laser, tables)
    hits = tables.hits.copy()
    hits["kind"] = 0
    assert not coverage.is_projectile_claimed(laser, with_arrays(tables, hits=hits))
    assert not coverage.is_projectile_claimed(999, tables)


def test_dead_and_returning_players_do_not_count():
    replay = recorded(frames=60)
    replay.state.players["action"][5:9, 0] = a.REBIRTH
    assert np.flatnonzero(~coverage.counted(replay)).tolist() == [5, 6, 7, 8]


def test_games_with_unusual_strength_are_left_out_as_a_whole_and_others_not_at_all():
    replay = recorded(frames=60)
    assert coverage.CHARACTER not in coverage.reasons(replay)
    strong = dataclasses.replace(replay.seats[0], ratios=(2.0, 1.0, 1.0))
    changed = dataclasses.replace(replay, seats=(strong, replay.seats[1]))
    assert (coverage.reasons(changed) == coverage.CHARACTER).all()


def test_every_action_belongs_to_one_mechanic():
    spans = [range(first, last + 1) for _, first, last, _ in coverage.GROUPS]
    assert len(set().union(*spans)) == sum(map(len, spans))


def test_flags_of_windows():
    flags = np.random.default_rng(1).random((90, 2)) < 0.03
    naive = [flags[i : i + LENGTH + 1] for i in range(90 - LENGTH)]
    assert (any_in(flags) == [part.any(0) for part in naive]).all()
    assert (all_in(~flags) == [(~part).all(0) for part in naive]).all()
    assert len(any_in(flags[:LENGTH])) == 0


@pytest.mark.full
def test_the_report_names_everything(own):
    measured = measure(own)
    made = report([measured])
    keys = {"position_error_30_median", "position_error_30_p90", "same_actions", "knockback_within_1pct"}
    assert keys | {"hitlag_exact", "hitstun_within_1", "covered", "contacts_recall", "landing_exact"} <= set(made)
    assert made["files"][0]["file"] == "mock.slp"
    assert {row["name"] for row in made["mechanics"]} >= {"all windows", "movement windows", "stand", "aerial"}
    json.dumps(made, allow_nan=False)
    shown = text(made)
    assert "mock.slp" in shown
    assert "| stand |" in shown
    assert "1 of 1 files count; each was scored with the tables of the mock." in shown
    assert "of 5 folds" in text(report([measured], 5))
    assert set(closeness([measured])) <= {"fox", "mewtwo"}
    assert measured.windows.dtype == WINDOW


@pytest.mark.full
def test_a_file_that_the_mock_cannot_play_is_listed_only():
    replay = recorded(frames=60)
    replay.state.players["character"][:] = 9
    measured = measure(replay)
    assert not measured.judged
    assert len(measured.windows) == len(measured.contacts) == measured.covered == 0
    assert report([measured])["covered"] is None


@pytest.mark.full
@pytest.mark.skipif(not REAL.is_dir(), reason=f"real replays are not at {REAL}")
def test_real_replays_are_repeated():
    """No figure falls far, on the public files that record everything."""
    files = [measure(read_replay(path)) for path in sorted(REAL.glob("[a-z]*.slp"))]
    made = report(files)
    assert made["position_error_30_median"] <= 0.01
    assert made["same_actions"] >= 0.9
    assert made["all_same_actions"] >= 0.65
    assert made["landing_exact"] >= 0.75
    assert made["contacts_recall"] >= 0.7
    assert made["contacts_precision"] >= 0.9
    assert made["knockback_within_1pct"] >= 0.95
    assert made["hitlag_exact"] >= 0.9
    assert made["hitstun_within_1"] >= 0.95
    assert made["covered"] >= 0.9


@pytest.mark.full
@pytest.mark.skipif(not REAL.is_dir(), reason=f"real replays are not at {REAL}")
def test_frames_that_were_rolled_back_are_as_good_as_others():
    """Their last record follows from the frame before it, so that windows may have them."""
    replay = read_replay(REAL / "falco_falco_YS_v3.15_rollback.slp")
    played = play_windows(replay, reconstruct_memory(replay))
    after = replay.rolled_back[1 : len(played.same) + 1]
    covered = coverage.counted(replay)[: len(played.same)]
    same = (played.same >= 1).all(1)
    assert after.sum() > 100
    assert same[after & covered].mean() > same[~after & covered].mean() - 0.02
