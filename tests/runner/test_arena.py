"""Rating games in several games at once, on mock games that fail in every way."""

import concurrent.futures.thread
import threading
from collections import Counter

import numpy as np
import pytest

from selfplay.errors import RunnerError
from selfplay.games.errors import GameError
from selfplay.league.schedule import Matchup
from selfplay.runner.arena import TRIES, Arena
from selfplay.runner.match import Contender, Traits, game_options, play, stats_of
from selfplay_melee import bots
from selfplay_melee.dolphin.roster import PLAYERS as EVERYBODY
from selfplay_melee.mock import MockMelee
from selfplay_melee.rated import MELEE
from tests.runner.test_match import PLAYERS, policy
from tests.support.fight_rules import fight_rules
from tests.support.processes import LIMIT_S

RULES = fight_rules(max_episode_frames=120)
REAL = fight_rules("dolphin", max_episode_frames=120)
MEWTWO, FOXES = ("mewtwo", "mewtwo"), ("fox", "fox")
ALL = PLAYERS | {"gen_0": Contender("gen_0", policy()), "gen_5": Contender("gen_5", policy(6, delay=2, seed=5))}


class Opened(MockMelee):
    """A game of an arena; ``steps`` counts down to a failure, or to a hang that only a kill ends."""

    bot_names = EVERYBODY

    def __init__(self, place, options, steps=10**9, *, hangs=False):
        super().__init__(**options)
        self.place, self.options = place, options
        self.seated, self.closed, self.killed = [], False, threading.Event()
        self._steps, self._hangs = steps, hangs

    def reset(self, seeds):
        self.seated.append(self.bots[0].tolist())
        self.bots[self.bots >= len(bots.NAMES)] = 0  # the mock has nobody who could play for them
        return super().reset(seeds)

    def step(self, actions, acts=None):
        self._steps -= 1
        if self._steps < 0 and self._hangs:
            assert self.killed.wait(LIMIT_S)
        if self._steps < 0:
            raise RunnerError("its process has ended")
        return super().step(actions, acts)

    def kill(self):
        self.killed.set()
        return True

    def close(self):
        assert not self.closed
        self.closed = True


class Made(list):
    """The games that an arena opened; the first ones fail after ``steps``."""

    def __init__(self, failing=0, steps=5, **more):
        super().__init__()
        self._failing, self._steps, self._more = failing, steps, more

    def __call__(self, place, options):
        fails = len(self) < self._failing
        self.append(Opened(place, options, *([self._steps] if fails else []), **self._more))
        return self[-1]


def arena(made, places=1, limit_s=60.0, notice=print):
    return Arena(made, range(10, 10 + places), limit_s, notice=notice)


def pairings(count, players=("random", "rusher"), characters=MEWTWO):
    return [Matchup(players, characters, seed) for seed in range(count)]


@pytest.mark.parametrize("places", [1, 3])
def test_games_are_those_that_are_played_side_by_side(places):
    games = [
        *pairings(3, ("gen_0", "gen_5")),
        *pairings(2, ("rusher", "gen_0"), FOXES),
        *pairings(2, ("gen_5", "random")),
    ]
    made = Made()
    found = arena(made, places).play(games, ALL, RULES)
    np.testing.assert_array_equal(stats_of(found), stats_of(play(games, ALL, RULES)))
    assert {game.place for game in made} <= set(range(10, 10 + places))
    assert all(game.closed for game in made)


def test_games_are_played_after_the_main_thread_has_ended(monkeypatch):
    monkeypatch.setattr(concurrent.futures.thread, "_shutdown", True)  # as the interpreter sets it then
    assert len(arena(Made()).play(pairings(1), PLAYERS, RULES)) == 1


def test_what_games_tell_is_told():
    made, told = Made(), []
    arena(made, notice=told.append).play(pairings(1), PLAYERS, RULES)
    games = arena(lambda place, options: made[0], notice=told.append)
    made[0].notes.append("a fresh one took its place")
    made[0].closed = False
    games.play(pairings(1), PLAYERS, RULES)
    assert told == ["rating games: a fresh one took its place"]
    assert made[0].notes == []


def test_a_game_stays_open_for_pairings_of_its_kind():
    mixed = [pairing for pair in zip(pairings(3), pairings(3, characters=FOXES), strict=True) for pairing in pair]
    made = Made()
    arena(made).play(mixed, PLAYERS, RULES)
    assert [game.options["characters"] for game in made] == [[["mewtwo", "mewtwo"]], [["fox", "fox"]]]
    assert [len(game.seated) for game in made] == [3, 3]


def test_players_have_their_seats_before_a_game_begins():
    ours, theirs = bots.NAMES.index("rusher"), EVERYBODY.index("cpu_7")
    players = ALL | {"cpu_7": Contender("cpu_7")}
    made = Made()
    games = [Matchup(pair, MEWTWO, 1) for pair in (("gen_0", "cpu_7"), ("cpu_7", "gen_0"), ("gen_0", "rusher"))]
    options = [game_options([game], players, REAL) for game in games]
    arena(made).play(games[:1], players, REAL)
    assert made[0].seated == [[-1, theirs]]
    assert [option["frame_skip"] for option in options] == [4, 4, 4]
    assert options[0] == options[1] == options[2]
    arena(made).play(games[2:], players, REAL)
    assert made[1].seated == [[-1, ours]]


def test_computer_players_have_the_version_of_the_game_and_any_frame_skip():
    assert REAL.traits(Contender("cpu_7")) == Traits(MELEE, 1, 0, any_frame_skip=True)
    assert not REAL.traits(Contender("rusher")).any_frame_skip
    assert not REAL.traits(Contender("cpu_7", policy())).any_frame_skip


def test_one_that_fails_is_replaced_and_its_pairing_played_again():
    made, told = Made(failing=2), []
    found = arena(made, notice=told.append).play(pairings(3), PLAYERS, RULES)
    assert told == ["rating game random against rusher: its process has ended; it is played again"] * 2
    np.testing.assert_array_equal(stats_of(found), stats_of(play(pairings(3), PLAYERS, RULES)))
    assert len(made) == 3
    assert all(game.closed for game in made)


def test_one_that_cannot_be_opened_counts_as_one_that_fails():
    made, tries = Made(), []

    def open_game(place, options):
        tries.append(place)
        if len(tries) < TRIES:
            raise GameError("no disc in the drive")
        return made(place, options)

    assert all(row is not None for row in Arena(open_game, [0], 60.0).play(pairings(2), PLAYERS, RULES))


def test_a_pairing_that_always_fails_is_given_up_and_the_others_are_played():
    made = Counter()

    def open_game(place, options):
        kind = options["characters"][0][0]
        made[kind] += 1
        return Opened(place, options, 5 if kind == "fox" else 10**9)

    games, told = [*pairings(1, characters=FOXES), *pairings(2)], []
    found = Arena(open_game, [0, 1], 60.0, notice=told.append).play(games, PLAYERS, RULES)
    assert [line.rpartition(" ")[2] for line in told] == ["again", "again", "up"]
    assert [row is None for row in found] == [True, False, False]
    assert made["fox"] == TRIES


def test_where_none_can_be_played_the_first_cause_is_raised():
    with pytest.raises(RunnerError, match="its process has ended"):
        arena(Made(failing=99), 2).play(pairings(3), PLAYERS, RULES)


def test_one_that_hangs_is_killed():
    made = Made(failing=1, hangs=True)
    found = arena(made, limit_s=0.05).play(pairings(1), PLAYERS, RULES)
    assert found[0] is not None
    assert [game.killed.is_set() for game in made] == [True, False]


def test_a_stop_ends_all_games_and_is_no_failure():
    made, stopped = Made(), threading.Event()
    seen = []

    def stop():
        seen.append(1)
        if len(seen) > 20:
            stopped.set()
        return stopped.is_set()

    with pytest.raises(RunnerError, match="stopped"):
        arena(made, 2).play(pairings(40), PLAYERS, RULES, stop)
    assert len(made) <= 2
    assert all(game.closed for game in made)


def test_a_kill_reaches_games_that_hang():
    made = Made(failing=2, hangs=True)
    games = arena(made, 2)
    stopped = threading.Event()

    def end():
        while len(made) < 2:
            threading.Event().wait(0.001)
        stopped.set()
        games.kill()

    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(RunnerError):
        games.play(pairings(9), PLAYERS, RULES, stopped.is_set)
    thread.join(LIMIT_S)
    assert len(made) == 2
