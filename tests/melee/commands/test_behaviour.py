"""Counts of folders and of policies, and the table of both."""

from dataclasses import replace

import numpy as np
import pytest

from selfplay.errors import ConfigError
from selfplay.games.errors import UnknownNameError
from selfplay.league.schedule import pairings_of
from selfplay.runner.match import Contender
from selfplay_melee.behaviour import BEHAVIOUR
from selfplay_melee.commands.behaviour import RATES, Rate, column, folder_games, mock_games, table
from selfplay_melee.commands.record import orders_of, record
from selfplay_melee.replay import read_replay, save_replay
from tests.melee.replays.replay_folders import write_game
from tests.support.fight_rules import fight_rules

RULES = fight_rules(characters=("fox", "mewtwo"), stage="battlefield", max_episode_frames=1200)
PLAYERS = {name: Contender(name) for name in ("rusher", "idle")}
FOX_MEWTWO = ("fox", "mewtwo")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, compiled_rules):
    """Four games of a rusher with fox and one who idles with mewtwo, and a file that cannot be read."""
    path = tmp_path_factory.mktemp("games")
    pairings = pairings_of(["rusher"], ["idle"], 4, FOX_MEWTWO, 0)
    list(record(orders_of(pairings, RULES, 0, path / "deep"), PLAYERS, RULES))
    (path / "bad.slp").write_bytes(b"nothing")
    return path


def rows(*values):
    """Games of one seat of which some columns are given, all others 0."""
    games = np.zeros((len(values), 1), BEHAVIOUR)
    for game, given in zip(games, values, strict=True):
        for name, value in given.items():
            game[name] = value
    return list(games)


def test_seats_of_a_folder_are_picked_by_player_and_by_character(folder):
    found = folder_games(folder)
    assert [len(game) for game in found.games] == [2] * 4
    assert found.unreadable == [f"{folder / 'bad.slp'}: byte 0: not a .slp file"]
    rusher = folder_games(folder, player="rusher").games
    assert all(len(game) == 1 and game["attacks"][0] > 0 for game in rusher)
    assert sum(game["damage"][0] for game in rusher) > 0
    idle = folder_games(folder, "mewtwo").games
    assert all(len(game) == 1 and game["attacks"][0] == 0 for game in idle)
    np.testing.assert_array_equal(folder_games(folder, "fox").games, rusher)
    np.testing.assert_array_equal(folder_games(folder, player="RUSHER").games, rusher)
    ports = [folder_games(folder, "fox", port).games for port in ("1", "2")]
    assert [len(games) for games in ports] == [2, 2]


def test_mistakes_name_what_is_there(folder, tmp_path):
    with pytest.raises(ConfigError, match=r"nobody called 'rushr' plays there \(players: idle, rusher\)"):
        folder_games(folder, player="rushr")
    with pytest.raises(ConfigError, match="nobody called 'idle' with fox"):
        folder_games(folder, "fox", "idle")
    with pytest.raises(UnknownNameError, match="did you mean 'fox'"):
        folder_games(folder, "foxx")
    for nowhere, words in ((tmp_path, r"no \.slp file is there"), (tmp_path / "no", "no such folder of replays")):
        with pytest.raises(ConfigError, match=words):
            folder_games(nowhere)
    (tmp_path / "bad.slp").write_bytes(b"nothing")
    with pytest.raises(ConfigError, match=r"no file can be used, the first is .*not a \.slp file"):
        folder_games(tmp_path)


def test_files_without_a_fight_are_left_out(tmp_path):
    path, short, elsewhere = (tmp_path / name for name in ("GAME.SLP", "short.slp", "elsewhere.slp"))
    replay = read_replay(write_game(path, 180))
    write_game(short, 179)
    save_replay(elsewhere, replace(replay, stage=-1, external_stage=84))
    found = folder_games(tmp_path)
    assert len(found.games) == 1
    assert found.unreadable == [
        f"{elsewhere}: stage 84 of replay files has no table",
        f"{short}: too short: 179 frames from GO on, at least 180 are needed",
    ]
    np.testing.assert_array_equal(folder_games(path).games, found.games)
    for alone in (short, elsewhere):
        with pytest.raises(ConfigError, match="no file can be used, the first is"):
            folder_games(alone)


def test_a_players_own_games_are_those_that_a_recording_of_it_holds(folder):
    played = list(mock_games(PLAYERS["rusher"], PLAYERS["idle"], 4, RULES, 0))
    np.testing.assert_array_equal(
        sorted(game["gained"][0] for game in played),
        sorted(game["gained"][0] for game in folder_games(folder, player="rusher").games),
    )


def test_who_meets_itself_counts_in_both_seats():
    rusher = PLAYERS["rusher"]
    (game,) = mock_games(rusher, rusher, 1, RULES, 0)
    assert len(game) == 2


def test_rates_are_over_all_the_time_there_is():
    games = rows(
        {"minutes": 1.0, "attacks": 10, "apart": 30, "gained": 60},
        {"minutes": 3.0, "attacks": 2, "apart": 10, "gained": 20},
    )
    made = column("a", games, 0)
    assert (made.games, made.minutes) == (2, 4.0)
    assert made.rates["attacks"].mean == 3.0
    assert (made.rates["attacks"].low, made.rates["attacks"].high) == pytest.approx((2 / 3, 10.0))
    assert made.rates["approach"] == Rate(2.0, 2.0, 2.0)
    assert set(made.rates) == set(RATES)


def test_intervals_hold_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(1)
    held = 0
    for trial in range(100):
        made = column("a", rows(*({"minutes": 1.0, "jumps": n} for n in rng.poisson(9, 25))), trial)
        held += made.rates["jumps"].low <= 9 <= made.rates["jumps"].high
    assert 85 <= held <= 99


def test_the_same_games_have_the_same_interval():
    games = rows(*({"minutes": 1.0, "jumps": n} for n in np.random.default_rng(0).normal(9, 1, 20)))
    assert column("a", games, 0) == column("a", games, 0) != column("a", games, 1)


def test_what_is_not_known_has_no_rate():
    games = rows({"minutes": 1.0, "damage": np.nan}, {"minutes": 1.0, "damage": 5.0})
    made = column("a", games, 0)
    assert made.rates["damage"] == Rate(5.0, None, None)
    assert made.rates["approach"] == Rate(None, None, None)
    assert str(made.rates["approach"]) == "-"
    assert str(made.rates["damage"]) == "5.00"
    assert str(made.rates["jumps"]) == "0.00 (0.00 to 0.00)"


def test_the_table_has_a_row_a_quantity():
    games = rows(*({"minutes": 0.5, "jumps": n} for n in range(4)))
    lines = table([column("people", games, 0), column("gen_0", games, 0)])
    assert lines[0].split() == ["a", "minute,", "with", "95%", "interval", "people", "gen_0"]
    assert "4 games, 2.0 min" in lines[1]
    assert len(lines) == 2 + len(RATES)
    (jumps,) = (line for line in lines if line.startswith("jumps"))
    assert jumps.count("3.00 (") == 2
