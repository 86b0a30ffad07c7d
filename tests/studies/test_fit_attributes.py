import numpy as np
import pytest

from scripts.studies.fidelity.coverage import has_usual_rules, is_playable
from scripts.studies.fit_character.attributes import attributes, disagreements, number_of
from scripts.studies.fit_character.lengths import action_lengths, hurt_lengths, intangible_spans, landing_lags
from scripts.studies.fit_character.samples import Frames, character_frames, line, mode, runs_of
from selfplay.errors import ConfigError
from selfplay_melee import actions as a
from selfplay_melee.replay import Recording, replay_of, seat_of
from selfplay_melee.state import PLAYER, GameState, records
from selfplay_melee.tables import CHARACTERS, load_tables
from selfplay_melee.tables.layout import with_arrays
from tests.melee.arena import Arena, pad

REST = pad()


def recorded(character, script, x=-50.0, **places):
    """A game of the mock of (frames, controller) for seat 0, as if read from a file."""
    arena = Arena(character, "fox").place(1, -80.0).place(0, x, **places)
    recording = Recording()
    for frames, controller in ((5, REST), *script):
        for _ in range(frames):
            game, players, _, controllers = arena.play(1, controller).arrays
            recording.take(GameState(game, players[None], controllers[None]))
    state = recording.state()
    seats = tuple(seat_of(seat, int(state.players["character"][0, seat])) for seat in range(2))
    return replay_of(state, seats, int(state.game["stage"][0]), path="mock.slp")


def scripts():
    """Inputs of short games that each show something."""
    full = pad(x=1.0)
    for x in (0.3, 0.4, 0.5, 0.6, 0.7):
        yield [(24, pad(x=x)), (40, REST), (8, pad(x=-x)), (40, REST)]
        yield [(2, pad("X", x=x)), (25, pad(x=x)), (90, REST)]
        yield [(20, pad("X", x=x)), (20, pad(x=-x)), (2, pad("X", x=x)), (90, REST)]
        yield [(20, pad("X")), (2, pad("X", x=x)), (90, REST)]
    for x in (1.0, 0.96, 0.92, 0.88):
        yield [(1, full), (20, pad(x=x)), (60, REST)]
        yield [(1, full), (60, REST)]
    for _ in range(2):
        yield [(3, pad(x=0.5)), (30, pad(x=0.75)), (20, pad(x=0.78)), (40, REST)]
        yield [(30, full), (80, pad(x=-1.0)), (40, REST)]
        yield [(30, full), (2, pad("X", x=1.0)), (90, REST)]
        yield [(18, full), (2, pad("X")), (90, REST)]
        yield [(20, pad(y=-1.0)), (40, REST)]
        yield [(20, pad("X")), *[(3, REST), (1, pad(y=-1.0))] * 12, (60, REST)]
        yield [(16, pad("L")), (1, pad("L", x=1.0)), (60, REST)]
        yield [(16, pad("L")), (1, pad("L", x=-1.0)), (60, REST)]
        yield [(16, pad("L")), (1, pad("L", y=-1.0)), (60, REST)]
        yield [(20, pad("X")), (2, pad("X")), (2, REST), (1, pad("L")), (90, REST)]


@pytest.fixture(scope="module", params=["fox", "marth", "mewtwo"])
def shown(request):
    frames = character_frames([recorded(request.param, script) for script in scripts()], CHARACTERS[request.param])
    tables = load_tables()
    row = tables.character_rows[CHARACTERS[request.param]]
    return request.param, frames, runs_of(frames), tables.characters[row], tables.actions[row]


KNOWN = (
    *("gravity", "fall_speed", "fast_fall_speed", "walk_start", "walk_acceleration", "walk_max", "traction"),
    *("dash_start", "dash_to_run", "run_max", "run_brake_frames", "run_turn_frames", "run_turn_break"),
    *("turn_flip", "turn_frames", "squat_frames", "squat_rise_frames", "jump_squat", "full_hop", "short_hop"),
    *("air_jumps", "air_max", "air_friction", "air_acceleration", "air_acceleration_stick", "jump_start_x"),
)


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_mock_plays_is_what_its_table_says(shown, name):
    _, frames, runs, table, _ = shown
    measured = attributes(frames, runs)[name]
    assert measured.value == pytest.approx(float(table[name]), abs=2e-3)
    assert measured.frames >= 2


def test_no_measured_value_is_far_from_the_table(shown):
    name, frames, runs, table, _ = shown
    for attribute, measured in attributes(frames, runs).items():
        if measured.value is not None and not (name == "mewtwo" and attribute == "double_jump_y"):
            assert measured.value == pytest.approx(float(table[attribute]), abs=5e-3), attribute


def test_lengths_and_frames_without_a_hurtbox_are_those_of_the_table(shown):
    _, frames, runs, _, actions = shown
    lengths, spans = action_lengths(frames, runs), intangible_spans(frames, runs)
    for action in (a.ROLL_F, a.ROLL_B, a.SPOT_DODGE):
        assert lengths[action].value == actions["frames"][action]
    for action in (a.ROLL_F, a.ROLL_B, a.SPOT_DODGE, a.AIR_DODGE):
        span = spans[action]
        assert (span.first, span.last) == (actions["intangible_from"][action], actions["intangible_to"][action])


def test_a_table_that_agrees_has_no_disagreements(shown):
    name, frames, runs, _, _ = shown
    assert [line for line in disagreements(name, frames, runs) if not line.startswith("double_jump_y")] == []


def test_a_wrong_table_is_named(shown, monkeypatch):
    name, frames, runs, _, _ = shown
    tables = load_tables()
    wrong = tables.characters.copy()
    wrong["gravity"] += 0.01
    wrong["air_friction"] += 0.01
    monkeypatch.setattr(
        "scripts.studies.fit_character.attributes.load_tables", lambda: with_arrays(tables, characters=wrong)
    )
    named = {line.split(" ")[0] for line in disagreements(name, frames, runs)}
    assert {"gravity", "air_friction"} <= named


def test_landing_lags_are_told_apart_by_the_cancel():
    jump = [(20, pad("X")), (26, REST), (1, pad("A"))]
    uncancelled, cancelled = [*jump, (60, REST)], [*jump, *[(5, pad("L")), (1, REST)] * 6, (30, REST)]
    frames = character_frames([recorded("marth", s) for s in (uncancelled, uncancelled)], CHARACTERS["marth"])
    assert a.LANDING_NAIR in frames.p["action"]
    frames.l_cancel[:] = 2
    assert landing_lags(frames, runs_of(frames))[a.NAIR][0].value == 15.0
    frames = character_frames([recorded("marth", s) for s in (cancelled, cancelled)], CHARACTERS["marth"])
    frames.l_cancel[:] = 1
    assert landing_lags(frames, runs_of(frames))[a.NAIR][1].value == 7.0


def test_lengths_of_being_hurt_are_those_that_ran_out_or_stood_still():
    flight, strong = a.DAMAGE_FLY_TOP, a.DAMAGE_AIR_3
    shown = [(flight, frame, 0.0) for frame in range(1, 80)] + [(a.DAMAGE_FALL, 0, 0.0)]
    shown += [(strong, frame, 9.0) for frame in (*range(1, 31), 30, 30)] + [(a.JUMP_AERIAL_F, 1, 0.0)]
    shown += [(flight, frame, 0.0) for frame in range(1, 20)] + [(a.NAIR, 1, 0.0)]  # cut short
    shown *= 2
    players, none = records(PLAYER, len(shown)), np.zeros(len(shown))
    players["action"], players["action_frame"], players["hitstun"] = zip(*shown, strict=True)
    whole = none.astype(np.int32)
    linked = np.arange(len(shown)) > 0
    frames = Frames(linked, players, players, none, none, whole, whole, whole)
    found = hurt_lengths(frames, runs_of(frames))
    assert {action: (length.value, length.frames) for action, length in found.items()} == {
        flight: (79.0, 2),
        strong: (29.0, 2),
    }


def test_the_value_of_most_frames_counts_not_their_mean():
    rng = np.random.default_rng(0)
    measured = mode(np.concatenate([np.full(20, 0.23), rng.uniform(0.0, 3.0, 60)]))
    assert measured.value == 0.23
    assert (measured.frames, measured.of) == (20, 80)
    assert mode(np.array([])).value is None
    assert mode(np.array([1.0, 2.0])).value is None


def test_a_line_needs_three_positions_of_the_stick():
    x = np.array([0.3, 0.5, 0.8, 1.0, 1.0, 0.6])
    y = 0.02 + 0.06 * x
    start, slope = line(x, y)
    assert (start.value, slope.value) == (pytest.approx(0.02), pytest.approx(0.06))
    assert line(x[3:5], y[3:5])[0].value is None
    y[5] = 0.5
    assert line(x, y)[1].value == pytest.approx(0.06)


def test_names_without_a_table_are_known_and_others_refused():
    assert number_of("gameandwatch") == number_of("24") == 24
    with pytest.raises(ConfigError, match="nobody"):
        number_of("nobody")


def test_games_with_other_rules_are_left_out():
    replay = recorded("fox", [(5, REST)])
    assert has_usual_rules(replay)
    assert is_playable(replay)
    small = type(replay.seats[0])(0, 1, 2, 0, True, "", (1.0, 0.5, 0.35))
    object.__setattr__(replay, "seats", (small, replay.seats[1]))
    assert not is_playable(replay)
    assert len(character_frames([replay], CHARACTERS["fox"]).p) == 0
