import json
import sys

import numpy as np
import pytest

from scripts.studies.bench.replays import write_games
from scripts.studies.play_style import __main__ as command
from scripts.studies.play_style.columns import column, people
from scripts.studies.play_style.openings import openings
from scripts.studies.play_style.statistics import STYLE, statistics
from selfplay_melee import actions as a
from selfplay_melee.drawing.openings import RESET
from selfplay_melee.state import GameState


def opened(victim, percent=None, stocks=None, action=None, frame=None):
    """The openings of a player whose opponent does ``victim`` on each frame."""
    size = len(victim)
    return openings(
        np.full(size, a.WAIT) if action is None else np.array(action),
        np.arange(size, dtype=float) if frame is None else np.array(frame, float),
        np.array(victim),
        np.zeros(size) if percent is None else np.array(percent, float),
        np.full(size, 4) if stocks is None else np.array(stocks),
    )


def test_an_opening_ends_when_the_opponent_was_free_for_long_enough():
    victim = [a.WAIT] * 5 + [a.DAMAGE_HIGH_1] * 3 + [a.WAIT] * 100
    (one,) = opened(victim)
    assert (one["start"], one["end"]) == (5, 8 + RESET)


def test_a_fall_does_not_free_the_opponent():
    victim = [a.DAMAGE_FLY_TOP] * 3 + [a.FALL] * 100 + [a.WAIT] * 60
    (one,) = opened(victim)
    assert one["end"] == 103 + RESET


def test_a_hit_within_that_time_continues_the_opening():
    hurt = [a.DAMAGE_HIGH_1] * 3
    assert len(opened(hurt + [a.WAIT] * RESET + hurt + [a.WAIT] * 60)) == 1
    assert len(opened(hurt + [a.WAIT] * (RESET + 1) + hurt + [a.WAIT] * 60)) == 2


def test_a_lost_stock_ends_the_opening():
    victim = [a.CAPTURE_WAIT] * 4 + [a.DEAD_DOWN] * 4
    (one,) = opened(victim, percent=[0, 3, 3, 3, 3, 3, 0, 0], stocks=[4] * 6 + [3] * 2)
    assert (one["end"], one["killed"], one["damage"]) == (6, True, 3.0)


def test_hits_of_one_move_are_one():
    victim = [a.WAIT, *([a.DAMAGE_HIGH_1] * 9)]
    percent = [0, 2, 2, 4, 4, 9, 9, 9, 12, 12]
    action = [a.DAIR] * 4 + [a.NAIR] * 2 + [a.WAIT] + [a.NAIR] * 3
    (one,) = opened(victim, percent, action=action, frame=[1, 2, 3, 4, 1, 2, 1, 1, 2, 3])
    assert (one["hits"], one["damage"]) == (3, 12.0)


def played(*actions):
    """A game in which seat 0 does these actions, and the other one stands."""
    state = GameState.zeros(len(actions))
    state.game["frame"] = np.arange(len(actions))
    state.players["action"][:, 0], state.players["action"][:, 1] = actions, a.WAIT
    state.players["action_frame"] = np.arange(len(actions))[:, None]
    state.players["stocks"] = 4
    return statistics(state)


def test_dashes_and_dash_dances():
    made = played(a.WAIT, a.DASH, a.DASH, a.TURN, a.DASH, a.DASH, a.TURN, a.TURN, a.DASH)
    assert made["dashes"].tolist() == [3, 0]
    assert made["dash_dances"].tolist() == [1, 0]  # the second turn was too slow


def test_wavedashes_come_from_a_jump():
    assert played(a.WAIT, a.JUMP_SQUAT, a.AIR_DODGE, a.LANDING_FALL_SPECIAL)["wavedashes"][0] == 1
    assert played(a.WAIT, a.FALL, a.AIR_DODGE, a.LANDING_FALL_SPECIAL)["wavedashes"][0] == 0
    assert played(a.JUMP_SQUAT, *[a.FALL_SPECIAL] * 2, a.LANDING_FALL_SPECIAL)["wavedashes"][0] == 0


def test_grabs_ledges_and_standing_still():
    made = played(a.WAIT, a.CATCH, a.CATCH_PULL, a.CATCH_WAIT, a.FALL, a.CLIFF_CATCH, a.WAIT, a.CATCH_DASH)
    assert [made[name][0] for name in ("grabs", "grabs_landed", "ledge_grabs", "still")] == [2, 1, 1, 2]


def test_figures_are_shares_of_all_games():
    games = []
    for count, minutes in ((4, 1.0), (0, 3.0)):
        game = np.zeros(2, STYLE)
        game["openings"][0], game["minutes"], game["games"] = count, minutes, 1
        games.append(game)
    made = column("people", games)
    assert made["figures"]["openings a minute"]["mean"] == pytest.approx(0.5)  # of both seats
    assert made["figures"]["openings a kill"]["mean"] is None
    assert made["minutes"] == pytest.approx(4.0)


def test_only_people_count_as_people(tmp_path):
    assert list(people(write_games(tmp_path, games=1, frames=200))) == []


def test_the_command_plays_every_scripted_player(monkeypatch, capsys, tmp_path):
    made = tmp_path / "play_style.json"
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "DOCUMENT", made)
    (tmp_path / "docs/melee/internals").mkdir(parents=True)
    (tmp_path / "docs/melee/internals/fights.md").write_text("<!-- play style: begin -->\n<!-- play style: end -->\n")
    monkeypatch.setattr(sys, "argv", ["play_style", "--games", "1", "--frames", "200", "--write"])
    assert command.main() == 0
    columns = json.loads(made.read_text())["columns"]
    assert [one["title"] for one in columns][-1] == "all_rounder"
    assert "| dashes a minute |" in (tmp_path / "docs/melee/internals/fights.md").read_text()
    assert "all_rounder" in capsys.readouterr().out
