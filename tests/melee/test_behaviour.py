"""What players do, counted: small games made by hand, and whole games of the mock against its own counts."""

import numpy as np
import pytest

from selfplay_melee import actions as a
from selfplay_melee.behaviour import BEHAVIOUR, behaviour
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.replay import End, Recording, ReplayError, end_of, read_replay
from selfplay_melee.slp.columns import absence
from selfplay_melee.state import GameState
from tests.melee.slp_files import REAL, needs_real_files


def game(actions, first=0, **columns):
    """A game whose seat 0 does this, a frame each; seat 1 stands 100 units to the right."""
    state = GameState.zeros(len(actions))
    state.game["frame"] = np.arange(first, first + len(actions))
    state.players["action"][:, 0] = actions
    state.players["action"][:, 1] = a.WAIT
    state.players["x"][:, 1] = 100.0
    state.players["stocks"] = 4
    for name, values in columns.items():
        state.players[name][:, 0] = values
    return state


def counts(actions, name, first=0, **columns):
    return behaviour(game(actions, first, **columns))[name][0]


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([a.WAIT, a.JAB_1, a.JAB_2, a.WAIT, a.JAB_1], {"attacks": 2}),
        ([a.WAIT, a.FTILT, a.DSMASH, a.WAIT], {"attacks": 2}),
        ([a.WAIT, 341, 342, 343, a.FALL, 350], {"attacks": 2, "specials": 2}),
        ([a.WAIT, a.CATCH, a.CATCH_PULL, a.CATCH_WAIT, a.THROW_F], {"attacks": 1, "grabs": 1}),
        ([a.JAB_1, a.WAIT], {}),  # begun before the first row
        ([a.WAIT, a.CLIFF_ATTACK_QUICK, a.WAIT, a.DOWN_ATTACK], {}),
        ([a.WAIT, a.GUARD_ON, a.GUARD, a.GUARD_STUN, a.GUARD, a.GUARD_OFF, a.WAIT, a.GUARD_ON], {"shields": 2}),
        ([a.WAIT, a.GUARD_ON, a.ROLL_F, a.GUARD_ON, a.SPOT_DODGE], {"shields": 2, "dodges": 2}),
        ([a.WAIT, a.TECH_F, a.WAIT, a.CLIFF_ROLL_QUICK], {}),
        ([a.JUMP_SQUAT, a.JUMP_F, a.NAIR, a.FALL, a.JUMP_AERIAL_F], {"jumps": 2, "attacks": 1}),
        ([a.JUMP_SQUAT, a.AIR_DODGE, a.LANDING_FALL_SPECIAL], {"jumps": 1, "dodges": 1}),
        ([a.JUMP_SQUAT, a.FAIR, a.LANDING_FAIR], {"jumps": 1, "attacks": 1}),
        ([a.JUMP_SQUAT, a.USMASH], {"attacks": 1}),
        ([-1, 999, a.WAIT], {}),
    ],
)
def test_what_begins_is_counted_once(actions, expected):
    (mine, other) = behaviour(game(actions))
    names = ("attacks", "specials", "grabs", "shields", "dodges", "jumps")
    assert {name: mine[name] for name in names if mine[name]} == expected
    assert not any(other[name] for name in names)


def test_only_frames_from_go_on_count():
    actions = [a.WAIT, a.JAB_1, a.WAIT, a.JAB_1, a.WAIT]
    assert counts(actions, "attacks", first=-2) == 1
    assert counts(actions, "attacks", first=-3) == 1  # begins on frame 0; the row before says so
    assert counts(actions, "attacks", first=-9) == 0
    assert counts(actions, "minutes", first=-2) == 3 / 3600
    assert counts(actions, "damage", first=-4) == 0


def test_damage_is_what_the_opponents_percent_rises_by():
    result = behaviour(game([a.WAIT] * 6, first=-1, percent=[0, 1, 1, 13.5, 0, 2]))
    assert result["damage"].tolist() == [0.0, 15.5]


@pytest.mark.parametrize(
    ("actions", "x", "seconds", "gained"),
    [
        ([a.DASH] * 4, [0, 2, 4, 6], 3, 6),
        ([a.DASH] * 4, [0, -2, -4, -6], 3, -6),
        ([a.WAIT] * 4, [0, 0, 0, 0], 3, 0),
        ([a.DASH] * 4, [68, 69, 71, 73], 2, 3),  # the last step begins within 30 units
        ([a.DASH, a.DAMAGE_FLY_TOP, a.DAMAGE_FALL, a.FALL], [0, 2, 4, 6], 0, 0),  # thrown there
        ([a.WAIT, a.FTILT, a.WAIT, a.WAIT], [0, 2, 4, 6], 1, 2),
    ],
)
def test_approach_is_own_movement_from_afar(actions, x, seconds, gained):
    result = behaviour(game(actions, x=x))[0]
    assert result["apart"] == pytest.approx(seconds / 60)
    assert result["gained"] == pytest.approx(gained)


def test_the_opponents_movement_is_no_approach():
    state = game([a.WAIT] * 3)
    state.players["x"][:, 1] = [100, 90, 80]
    assert behaviour(state)["gained"].tolist() == [0, 20]


def test_nobody_approaches_who_is_gone_or_across_a_gap():
    state = game([a.DASH] * 4, x=[0, 2, 4, 6])
    state.players["action"][:2, 1] = [a.DEAD_DOWN, a.REBIRTH]
    assert behaviour(state)["gained"][0] == 2
    state.game["frame"] = [0, 1, 2, 9]
    assert behaviour(state)["gained"][0] == 0


FELL = [a.WAIT, a.FALL, a.FALL, a.DEAD_DOWN, a.DEAD_DOWN]
HIT = [a.WAIT, a.DAMAGE_FLY_TOP, a.FALL, a.DEAD_DOWN, a.DEAD_DOWN]


@pytest.mark.parametrize(
    ("actions", "own"),
    [
        (FELL, True),
        (HIT, False),
        ([a.DAMAGE_FLY_TOP, a.LANDING, a.FALL, a.DEAD_DOWN, a.DEAD_DOWN], True),  # it was on its feet again
        ([a.DAMAGE_FLY_TOP, a.CLIFF_WAIT, a.FALL, a.DEAD_DOWN, a.DEAD_DOWN], True),
        ([a.WAIT, a.DAMAGE_AIR_1, 350, a.DEAD_DOWN, a.DEAD_DOWN], False),  # did not come back
        ([a.WAIT, a.THROWN_F, a.FALL, a.DEAD_DOWN, a.DEAD_DOWN], False),
        ([a.DAMAGE_FALL, a.REBIRTH, a.FALL, a.DEAD_DOWN, a.DEAD_DOWN], True),
        ([a.WAIT, a.DAMAGE_FLY_TOP, a.DEAD_UP, a.DEAD_UP, a.DEAD_UP], False),  # a star KO costs its stock late
        ([a.FALL, a.FALL, a.FALL, a.DEAD_DOWN, a.DEAD_DOWN], True),
    ],
)
@pytest.mark.parametrize("at", [3, 4])
def test_a_stock_lost_without_the_opponent_is_a_self_destruct(actions, own, at):
    stocks = np.where(np.arange(5) < at, 4, 3)
    mine, other = behaviour(game(actions, stocks=stocks))
    assert mine["stocks_lost"] == 1
    assert mine["self_destructs"] == own
    assert other["stocks_lost"] == other["self_destructs"] == 0


@pytest.mark.parametrize(
    ("end", "stocks", "lost"),
    [
        (End(2, None, (1, 0)), 1, 1),
        (End(2, None, (0, 1)), 1, 0),
        (End(2, None, (1, 0)), 2, 0),  # cut off, not one frame short
        (End(2, None, (1, 0)), 0, 0),  # the row is there
        (End(7, None, (1, 0)), 1, 0),
        (End(2, None, None), 1, 0),
        (None, 1, 0),
    ],
)
def test_the_stock_that_decides_counts_where_its_frame_is_missing(end, stocks, lost):
    for actions, own in ((FELL[:3], lost), (HIT[:3], 0)):
        result = behaviour(game(actions, stocks=stocks), end)[0]
        assert (result["stocks_lost"], result["self_destructs"]) == (lost, own)


def test_what_a_file_does_not_record_is_not_known():
    state = game([a.WAIT, a.JAB_1, a.WAIT])
    for name in ("x", "percent", "stocks", "hitstun", "on_ground"):
        state.players[name] = absence(state.players.dtype[name])
    result = behaviour(state, End(2, None, (1, 0)))
    assert np.isnan(result["damage"]).all()
    assert np.isnan(result["stocks_lost"]).all()
    assert np.isnan(result["self_destructs"]).all()
    assert result["attacks"].tolist() == [1, 0]
    assert result["apart"].tolist() == [0, 0]


def test_a_game_without_frames_counts_nothing():
    np.testing.assert_array_equal(behaviour(GameState.zeros(0)), np.zeros(2, BEHAVIOUR))


@pytest.fixture(scope="module")
def played():
    """Games of scripted players: what is counted, and the mock's own counts."""
    rows, stats = [], []
    for seed, names in enumerate((("random", "all_rounder"), ("edge_guarder", "all_rounder"), ("random", "random"))):
        block = MockMelee(1, characters=("fox", "mewtwo"), stage="battlefield", max_episode_frames=4800)
        block.bots[0] = [block.bot_names.index(name) for name in names]
        block.bot_skip = 4
        block.reset(np.array([seed], np.uint64))
        recording = Recording()
        while True:
            recording.take(block.state)
            batch = block.step(neutral_actions(1))
            if batch.ended[0]:
                break
        row = batch.stats[0].copy()
        rows.append(behaviour(recording.state(), end_of(row["stocks"], row["percent"])))
        stats.append(row)
    return np.array(rows), np.array(stats)


@pytest.mark.full
def test_games_of_the_mock_give_the_mocks_own_counts(played):
    rows, stats = played
    np.testing.assert_allclose(rows["minutes"] * 3600, stats["frames"])
    np.testing.assert_array_equal(rows["stocks_lost"], 4 - stats["stocks"])
    np.testing.assert_allclose(rows["damage"], stats["damage"], atol=1e-9)
    assert stats["damage"].sum() > 50


def test_self_destructs_are_those_of_the_mock_and_those_soon_after_a_hit(played):
    """The mock credits a death to the opponent for ten seconds after a hit, whoever stood on the ground since."""
    rows, stats = played
    assert (rows["self_destructs"] >= stats["self_destructs"]).all()
    assert stats["self_destructs"].sum() >= 2
    assert (rows["self_destructs"] < rows["stocks_lost"]).any()


@needs_real_files
def test_real_games_of_every_version_are_counted():
    counted = 0
    for path in sorted(REAL.glob("*.slp")):
        try:
            replay = read_replay(path)
        except ReplayError:
            continue
        result = behaviour(replay.state, replay.end)
        stocks = replay.state.players["stocks"]
        if len(stocks):
            counted += 1
            assert not any(np.isnan(result[name]).any() for name in BEHAVIOUR.names)
            np.testing.assert_array_equal(result["stocks_lost"], stocks[0] - stocks[-1])
            assert (result["self_destructs"] <= result["stocks_lost"]).all()
    assert counted > 5
