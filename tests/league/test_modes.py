import json

import numpy as np
import pytest

from selfplay.league.matchmaker import Matchmaker
from selfplay.league.modes import (
    EXPLOITERS,
    EXTERNAL,
    FORGOTTEN_BELOW,
    LESSONS_BELOW,
    MAIN,
    MODES,
    with_external_opponents,
)

SCRIPTED = ("random", "rusher")
GENERATIONS = [f"gen_{i}" for i in range(0, 60, 10)]
EXPLOITS = ["main_exploiter_20", "league_exploiter_40"]
EXTERNAL_OPPONENTS = ["run_a.gen_9", "run_b.gen_4"]


def make(mode, seed=0, exploiters=EXPLOITS, external_opponents=(), **options):
    maker = Matchmaker(mode, np.random.default_rng(seed), SCRIPTED, **options)
    maker.set_pool(GENERATIONS, exploiters, external_opponents)
    maker.rotate()
    return maker


def shares(maker, count=20_000):
    names = [opponent.category for opponent in maker.draw(count)]
    return {name: names.count(name) / count for name in set(names)}


def benched(maker, rounds=300):
    """Share of the rotations after which somebody is on the bench."""
    seats = {}
    for _ in range(rounds):
        maker.rotate()
        for name in maker.bench:
            seats[name] = seats.get(name, 0.0) + 1.0 / rounds
    return seats


def beaten(maker, losses_against=(), wins_against=(), games=50):
    maker.record({name: [0.0] * games for name in losses_against} | {name: [1.0] * games for name in wins_against})


def test_the_main_agent_plays_the_league_by_difficulty():
    maker = make("league", max_frozen=2)
    beaten(maker, ["main_exploiter_20"], [*GENERATIONS, "league_exploiter_40"])
    seats = benched(maker)
    assert seats["main_exploiter_20"] > 0.95
    assert max(share for name, share in seats.items() if name != "main_exploiter_20") < 0.6
    assert shares(maker) == pytest.approx(MODES["league"], abs=0.015)


def test_only_those_who_beat_it_are_forgotten():
    maker = make("league")
    beaten(maker, (), [*GENERATIONS, *EXPLOITS])
    maker.rotate()
    without = {name: share for name, share in MODES["league"].items() if name != "forgotten"}
    assert shares(maker) == pytest.approx({k: v / sum(without.values()) for k, v in without.items()}, abs=0.015)
    beaten(maker, ["gen_20"], games=400)
    assert maker.results.score("gen_20") < FORGOTTEN_BELOW
    for _ in range(30):
        maker.rotate()
    assert "gen_20" in {o.id for o in maker.draw(4000) if o.category == "forgotten"}
    assert shares(maker)["forgotten"] == pytest.approx(MODES["league"]["forgotten"], abs=0.015)


def test_an_exploiter_of_the_main_agent_meets_nobody_else_while_it_has_a_chance():
    maker = make("main_exploiter")
    assert {(o.kind, o.id) for o in maker.draw(500)} == {("main", MAIN)}


def test_a_hopeless_exploiter_takes_lessons_with_the_past_of_the_main_agent():
    maker = make("main_exploiter")
    beaten(maker, [MAIN])
    assert maker.results.score(MAIN) < LESSONS_BELOW
    maker.rotate()
    drawn = maker.draw(4000)
    assert {o.id for o in drawn if o.category == "lessons"} <= set(GENERATIONS)
    assert sum(o.category == "lessons" for o in drawn) == pytest.approx(2000, abs=150)
    beaten(maker, (), [MAIN], games=400)
    assert {o.kind for o in maker.draw(500)} == {"main"}, "with a chance again it goes back to the main agent"


def test_an_exploiter_of_the_league_meets_all_that_is_frozen():
    maker = make("league_exploiter", max_frozen=3)
    assert set(benched(maker)) == {*GENERATIONS, *EXPLOITS}
    assert {o.kind for o in maker.draw(500)} == {"generation"}


def test_lessons_are_with_those_of_its_own_strength():
    maker = make("main_exploiter", max_frozen=1)
    maker.record({MAIN: [0.0] * 50, **{name: [0.0] * 50 for name in GENERATIONS}})
    maker.record({"gen_30": [1.0] * 50})
    seats = benched(maker)
    assert seats["gen_30"] == max(seats.values()) > 0.35


def test_who_starts_over_forgets_its_results():
    maker = make("main_exploiter")
    beaten(maker, [MAIN])
    maker.forget()
    assert maker.results.score(MAIN) == 0.5
    assert {o.kind for o in maker.draw(100)} == {"main"}


@pytest.mark.parametrize("mode", sorted(set(MODES) - {"opponents", "league"}))
def test_external_opponents_take_their_share_of_every_mode(mode):
    maker = make(mode, external_opponents=EXTERNAL_OPPONENTS, weights=with_external_opponents(MODES[mode], 0.25))
    assert shares(maker)[EXTERNAL] == pytest.approx(0.25, abs=0.015)
    rest = {name: 0.75 * share for name, share in MODES[mode].items()}
    assert shares(maker) == pytest.approx(rest | {EXTERNAL: 0.25}, abs=0.015)
    for _ in range(20):
        maker.rotate()
    assert {o.id for o in maker.draw(4000) if o.category == EXTERNAL} <= set(EXTERNAL_OPPONENTS)


def test_with_opponents_alone_nobody_else_is_met():
    maker = make("opponents", external_opponents=EXTERNAL_OPPONENTS)
    met = {o.id for _ in range(10) for o in maker.draw(100)}
    assert met == set(EXTERNAL_OPPONENTS)


def test_no_share_leaves_a_mode_as_it_is():
    assert with_external_opponents(MODES["pfsp"], 0.0) == MODES["pfsp"]
    assert with_external_opponents(MODES["opponents"], 0.2) == MODES["opponents"]


@pytest.mark.parametrize("mode", ["league", *EXPLOITERS])
def test_a_restored_league_goes_on_with_the_same_draws(mode):
    original = make(mode)
    beaten(original, ["gen_10", MAIN])
    resumed = Matchmaker(mode, np.random.default_rng(99), SCRIPTED)
    resumed.restore(json.loads(json.dumps(original.state())))
    for _ in range(5):
        original.rotate()
        resumed.rotate()
        assert resumed.bench == original.bench
        assert resumed.draw(40) == original.draw(40)


def test_whoever_is_gone_is_not_met():
    maker = make("league_exploiter")
    maker.set_pool(GENERATIONS[:2], ())
    assert set(maker.bench) <= set(GENERATIONS[:2])
    maker.rotate()
    assert {o.id for o in maker.draw(200)} <= set(GENERATIONS[:2])
