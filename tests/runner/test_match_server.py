"""Matchups on actors, with stand-ins for them, are those of threads bit for bit."""

import numpy as np
import pytest

from selfplay.errors import ActorLostError, RunnerError
from selfplay.league.schedule import Matchup
from selfplay.runner import match
from selfplay.runner.match import Contender, Rules, play_in_threads
from selfplay.runner.match_server import MatchServer, matches_on
from tests.runner.links import LocalLink, Shared
from tests.runner.test_match import masked_policy, policy
from tests.support.fight_rules import fight_rules


class Losing(LocalLink):
    """An actor that is lost with its first game."""

    def call(self, method, *arguments):
        if method == "play":
            raise ActorLostError("its worker process has died")
        return super().call(method, *arguments)


class Cluster:
    """Of actors in this process, the first of which are lost."""

    def __init__(self, lost=0):
        self.links, self.stored, self.lost = [], 0, lost

    def link(self, kind, name):
        assert kind is MatchServer
        made = Losing if len(self.links) < self.lost else LocalLink
        self.links.append(made(kind()))
        return self.links[-1]

    def put(self, value):
        self.stored += 1
        return Shared(value)


def assert_equal(one, other):
    assert [(each.matchup, each.score) for each in one] == [(each.matchup, each.score) for each in other]
    for here, there in zip(one, other, strict=True):
        np.testing.assert_array_equal(here.stats, there.stats)


PLAYERS = {name: Contender(name) for name in ("random", "rusher")} | {
    "gen_0": Contender("gen_0", policy()),
    "gen_1": Contender("gen_1", policy(frame_skip=6, delay=2, seed=1)),
}
GAMES = [
    Matchup(pair, ("fox", "mewtwo"), seed)
    for seed in range(3)
    for pair in (("gen_0", "gen_1"), ("gen_1", "rusher"), ("random", "gen_0"))
]
RULES = fight_rules(max_episode_frames=240)


@pytest.mark.parametrize("lost", [0, 2])
def test_actors_play_the_games_of_threads(monkeypatch, lost):
    monkeypatch.setattr(match, "THREAD_GAMES", 2)
    cluster, notes = Cluster(lost), []
    with matches_on(cluster, 3, notes.append) as matches:
        found = matches.play(GAMES, PLAYERS, RULES)
        assert_equal(found, play_in_threads(3, GAMES, PLAYERS, RULES))
        assert_equal(matches.play(GAMES[:2], PLAYERS, RULES), play_in_threads(3, GAMES[:2], PLAYERS, RULES))
    assert cluster.stored == 2  # each network once
    assert len(notes) == lost
    assert all(note.startswith("a part of 3 rating games begins again: ") for note in notes)
    assert all(link.closed for link in cluster.links)
    assert found[0].stats.flags.writeable  # of our own: nothing pins the store


def test_greedy_games_and_games_with_a_mask():
    rules = Rules(game="kuhn", greedy=True)
    players = {"gen_0": Contender("gen_0", masked_policy("kuhn")), "random": Contender("random")}
    games = [Matchup(pair, seed=seed) for seed in range(9) for pair in (("gen_0", "random"), ("random", "gen_0"))]
    with matches_on(Cluster(), 1, print) as matches:
        assert_equal(matches.play(games, players, rules), match.play(games, players, rules))


def test_games_that_are_lost_three_times_are_given_up():
    with matches_on(Cluster(9), 2, print) as matches, pytest.raises(RunnerError, match="given up after 3 lost actors"):
        matches.play(GAMES, PLAYERS, RULES)


def test_they_may_be_stopped_before_they_begin():
    with matches_on(Cluster(), 1, print) as matches, pytest.raises(RunnerError, match="stopped"):
        matches.play(GAMES, PLAYERS, RULES, lambda: True)
