import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_melee import actions
from selfplay_melee.drawing.film import ITEM, Recorder, film_of
from selfplay_melee.drawing.items import LASER, THING, drawn_as, shots_of
from selfplay_melee.drawing.scenery import NOWHERE
from selfplay_melee.drawing.story import action_name, losses, summary
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.state import PLAYER
from selfplay_melee.tables import load_tables
from tests.melee.drawing.fights import film, replay, state


def test_a_recorder_keeps_copies_of_each_moment():
    made = film(90)
    assert len(made) == 90
    assert made.players.dtype == PLAYER
    assert made.players["x"][:, 0] == pytest.approx(-20 + 0.3 * np.arange(90))
    assert made.frames.tolist() == list(range(90))
    assert made.values is None
    assert made.controllers["main_x"][59, 0] == 0
    assert made.controllers["main_x"][60, 0] == 1
    with pytest.raises(ValueError, match="nothing was recorded"):
        Recorder().film("", ("a", "b"))


def test_estimates_are_kept_where_there_are_some():
    made = film(10, values=lambda frame: (frame, np.nan))
    assert made.values.dtype == np.float32
    assert made.values[:, 0].tolist() == list(range(10))
    assert np.isnan(made.values[:, 1]).all()


@pytest.mark.parametrize("skip", [1, 4])
def test_even_times_whatever_the_frame_skip(skip):
    moments = film(120, skip=skip).moments(20)
    assert len(moments) == 40 if skip == 1 else 39 <= len(moments) <= 40
    assert (np.diff(moments) >= 0).all()
    frames = film(120, skip=skip).frames[moments]
    assert (np.abs(frames - np.arange(len(moments)) * 3) < skip).all()


def test_a_part_of_a_film():
    whole = film_of(replay(600, items=600))
    part = whole.part(2, 3)
    assert len(part) == 180
    assert part.frames[0] == -123 + 120
    assert part.seconds == 3
    assert part.items["t"].tolist() == list(range(180))
    assert whole.items["t"].tolist() == list(range(600))
    assert len(whole.part(9.5, 100)) == 30
    assert whole.part() is whole
    for start in (10, 1e9):
        with pytest.raises(GameError, match=r"lasts 10\.0 s"):
            whole.part(start)


def test_a_replay_becomes_a_film():
    made = film_of(replay(60, items=3))
    assert made.title == "Game_1.slp"
    assert made.names == ("Player 1", "CPU 3")
    assert made.items.dtype == ITEM
    assert made.platforms is None
    assert film_of(replay(60, names=("Ann", ""))).names == ("Ann", "CPU 3")
    assert film_of(replay(60, names=("Ann", "Ann"))).names == ("Ann P1", "Ann P3")
    with pytest.raises(GameError, match="holds no frame"):
        film_of(replay(0))


def test_things_without_a_place_are_left_out():
    of = replay(60, items=3)
    of.items["x"][1] = np.nan
    assert film_of(of).items["t"].tolist() == [0, 2]


def test_stocks_lost_are_told_with_their_percent():
    def change(now, frame):
        blue = now.players[0, 1]
        blue["percent"] = 130 if frame < 50 else 0
        blue["stocks"] = 4 if frame < 50 else 3

    made = film(100, change=change)
    (loss,) = losses(made)
    assert (loss.t, loss.seat, loss.percent, loss.left) == (50, 1, 130, 3)
    lines = summary(made)
    assert lines[0].startswith("gen_5 (Fox) against random (Mewtwo), Final Destination, 0:01.7")
    assert [line for line in lines if "random loses a stock at 130%, 3 left" in line]


def test_actions_have_names():
    assert action_name(actions.FSMASH) == "fsmash"
    assert action_name(actions.JUMP_SQUAT) == "jump squat"
    assert action_name(359) == "special 359"
    assert action_name(150) == "action 150"


def test_a_film_of_what_no_table_knows():
    of = replay(10)
    of.state.game["stage"], of.state.players["character"] = -1, 250
    (first, *_) = summary(film_of(of))
    assert "Character 250" in first
    assert NOWHERE in first


def test_fountain_platforms_are_recorded():
    made = film(10, stage="fountain_of_dreams", change=lambda now, frame: now.game.__setitem__("fountain_left", frame))
    assert made.platforms[:, 0].tolist() == list(range(10))
    assert state("fountain_of_dreams").game["fountain_right"] == 28


def test_items_are_recorded_with_their_moment():
    recorder = Recorder()
    for count in range(4):
        recorder.take(state(), items=np.ones(count, ITEM))
    made = recorder.film("", ("a", "b"))
    assert made.items["t"].tolist() == [1, 2, 2, 3, 3, 3]
    assert film(4).items is None


def test_shots_of_the_mock_are_items():
    memory, hits = np.zeros(2, MEMORY), load_tables().hits
    memory["laser_life"][0, 1], memory["laser_x"][0, 1], memory["laser_speed_x"][0, 1] = 20, 7, -5
    memory["laser_life"][1, 0] = 9
    memory["laser_hit"][0, 1] = np.argmax(hits["tail"] > 0)
    memory["laser_hit"][1, 0] = np.argmax(hits["item_type"] == 112)  # a shadow ball
    laser, ball = shots_of(memory)
    assert (laser["type"], laser["x"], laser["vx"], ball["type"]) == (54, 7, -5, 112)
    assert drawn_as(shots_of(memory))["kind"].tolist() == [LASER, THING]
