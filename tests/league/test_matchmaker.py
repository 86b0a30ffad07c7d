import json
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.errors import LeagueError
from selfplay.league.matchmaker import Matchmaker
from selfplay.league.modes import CATEGORIES, EXPLOITERS, MODES
from selfplay.league.records import check_player, generation_number

SCRIPTED = ("random", "rusher", "tank")
GENERATIONS = [f"gen_{i}" for i in range(0, 100, 10)]


def make(mode="simple_mix", seed=0, scripted=SCRIPTED, generations=GENERATIONS, **options):
    maker = Matchmaker(mode, np.random.default_rng(seed), scripted, **options)
    maker.set_pool(generations)
    maker.rotate()
    return maker


def shares(maker, count=20_000):
    drawn = maker.draw(count)
    names = [opponent.category for opponent in drawn]
    return {name: names.count(name) / count for name in set(names)}


def test_simple_mix_draws_in_its_proportions():
    assert shares(make()) == pytest.approx({"current": 0.4, "recent": 0.3, "scripted": 0.2, "any_past": 0.1}, abs=0.012)


def test_latest_is_always_the_mirror():
    assert {(opponent.kind, opponent.id) for opponent in make("latest").draw(500)} == {("current", "current")}


@pytest.mark.parametrize(
    ("scripted", "generations", "expected"),
    [
        ((), GENERATIONS, {"current": 4 / 8, "recent": 3 / 8, "any_past": 1 / 8}),
        (SCRIPTED, (), {"current": 4 / 6, "scripted": 2 / 6}),
        ((), (), {"current": 1.0}),
    ],
)
def test_shares_of_empty_categories_go_to_the_others(scripted, generations, expected):
    assert shares(make(scripted=scripted, generations=generations)) == pytest.approx(expected, abs=0.015)


@given(st.dictionaries(st.sampled_from(sorted(MODES["simple_mix"])), st.floats(0.05, 9.0), min_size=1))
@settings(max_examples=25)
def test_weights_can_be_set_and_need_not_sum_to_one(weights):
    expected = {name: weight / sum(weights.values()) for name, weight in weights.items()}
    found = shares(make(weights=weights), 4000)
    assert found == pytest.approx({name: expected[name] for name in found}, abs=0.05)
    assert all(expected[name] < 0.01 for name in set(expected) - set(found))


def test_players_of_a_category_are_alike_likely():
    ids = [opponent.id for opponent in make(weights={"scripted": 1.0}).draw(9000)]
    assert [ids.count(name) / 9000 for name in SCRIPTED] == pytest.approx([1 / 3] * 3, abs=0.02)


def test_recent_is_the_newer_half_and_any_past_all():
    recent, anybody = set(), set()
    maker = make()
    for _ in range(200):
        maker.rotate()
        for opponent in maker.draw(40):
            if opponent.category in ("recent", "any_past"):
                assert opponent.kind == "generation"
                (recent if opponent.category == "recent" else anybody).add(opponent.id)
    assert recent == set(GENERATIONS[5:])
    assert anybody == set(GENERATIONS)


def test_generations_are_ordered_by_age_and_not_by_spelling():
    maker = make(generations=["gen_100", "gen_20", "gen_3"], weights={"recent": 1.0})
    assert maker.bench == ("gen_20", "gen_100")


@pytest.mark.parametrize("places", [1, 2, 4, 9])
def test_few_frozen_generations_are_in_play_at_a_time(places):
    maker = make(max_frozen=places)
    for _ in range(20):
        maker.rotate()
        met = {opponent.id for opponent in maker.draw(400) if opponent.kind == "generation"}
        assert met <= set(maker.bench)
        assert 0 < len(maker.bench) <= places


def test_one_place_serves_both_categories_of_generations():
    assert shares(make(max_frozen=1)) == pytest.approx(
        {"current": 0.4, "recent": 0.3, "scripted": 0.2, "any_past": 0.1}, abs=0.012
    )


def test_the_bench_is_full_as_soon_as_there_are_enough_generations():
    assert {len(make(seed=seed, max_frozen=5).state()["bench"]) for seed in range(20)} == {5}
    assert make(generations=["gen_0"]).bench == ("gen_0",)


def test_the_bench_stays_until_it_is_rotated():
    maker = make()
    bench = maker.bench
    maker.set_pool([*GENERATIONS, "gen_100"])
    maker.draw(100)
    assert maker.bench == bench
    maker.set_pool([name for name in GENERATIONS if name != bench[0]])
    assert maker.bench == bench[1:]


def fight(maker, iterations, games=64, length=7):
    """Episodes of ``length`` iterations; yields, each iteration, who is in play and who is on the bench."""
    fighting: list[tuple[int, str]] = []
    for now in range(iterations):
        in_play = {name for _, name in fighting}
        maker.rotate(in_play)
        free = games - len(fighting)
        fighting += [(now + length - i % 3, opponent.id) for i, opponent in enumerate(maker.draw(free))]
        yield {name for _, name in fighting if name.startswith("gen_")}, set(maker.bench)
        fighting = [(end, name) for end, name in fighting if end > now]


@pytest.mark.parametrize("places", [1, 2, 3, 4])
def test_however_long_episodes_last_few_generations_are_in_play(places):
    maker = make(max_frozen=places)
    met = set()
    for in_play, bench in fight(maker, 300):
        assert len(in_play | bench) <= 2 * places
        assert bench
        met |= in_play
    assert met == set(GENERATIONS if places > 1 else GENERATIONS[5:])


class Tally(NamedTuple):
    """Opponents of the episodes of a run, [seeds, players]: how many there were, and how many the chances promise."""

    names: list[tuple[str, str]]  # category, and its player where it has frozen ones
    met: np.ndarray
    promised: np.ndarray


def promises(maker, drawn):
    """Expected counts of ``drawn`` by category, and by player, under the current weights and probabilities."""
    found = {name: list(CATEGORIES[name].eligible(maker._pool, maker.results)) for name in maker._weights}
    found = {name: players for name, players in found.items() if players} or {"current": ["current"]}
    total = sum(maker._weights.get(name, 1.0) for name in found)
    for name, players in found.items():
        yield (name, ""), len(drawn) * maker._weights.get(name, 1.0) / total
        if CATEGORIES[name].kind == "generation":
            draws = CATEGORIES[name].chances
            chances = np.full(len(players), 1 / len(players)) if draws is None else draws(maker.results, players)
            episodes = sum(opponent.category == name for opponent in drawn)
            yield from (((name, player), episodes * chance) for player, chance in zip(players, chances, strict=True))


def season(mode, seed, strength, since=0, iterations=400, length=50, save_every=10):
    """A run of a fake game: episodes of random lengths, a generation every ``save_every`` iterations.

    Returns the episodes by category and player from iteration ``since`` on, and those that the chances promised.
    """
    luck = np.random.default_rng(1000 + seed)
    maker = Matchmaker(mode, np.random.default_rng(seed), SCRIPTED)
    met, promised, fighting = Counter(), Counter(), []
    for now in range(iterations):
        if now % save_every == 0:
            exploiters = [f"league_exploiter_{i}" for i in range(40, now + 1, 40)]
            maker.set_pool([f"gen_{i}" for i in range(0, now + 1, save_every)], exploiters, ["guest_0", "guest_1"])
        maker.rotate(name for _, name in fighting)
        drawn = maker.draw(GAMES[mode] - len(fighting))
        if now >= since:
            met.update((opponent.category, "") for opponent in drawn)
            met.update((opponent.category, opponent.id) for opponent in drawn if opponent.kind == "generation")
            for key, count in promises(maker, drawn):
                promised[key] += count
        ends = now + 1 + luck.gamma(3.0, length / 3.0, len(drawn))
        if not now:  # games of a real run are out of step
            ends *= luck.random(len(drawn))
        fighting += [(end, opponent.id) for end, opponent in zip(ends, drawn, strict=True)]
        ended = [name for end, name in fighting if end <= now + 1]
        maker.record({name: [float(luck.random() < strength(name))] for name in ended if name != "current"})
        fighting = [(end, name) for end, name in fighting if end > now + 1]
    return met, promised


def seasons(mode, strength, count, since=0):
    played = [season(mode, seed, strength, since) for seed in range(count)]
    names = sorted(set().union(*(promised for _, promised in played)))
    assert set().union(*(met for met, _ in played)) <= set(names)
    met, promised = (np.array([[one[side][name] for name in names] for one in played]) for side in (0, 1))
    return Tally(names, met, promised)


def learner_against(name):
    """The learner's chance to win: it beats early generations, and loses to exploiters."""
    if name.startswith("league_exploiter"):
        return 0.2
    number = generation_number(name)
    return 0.5 if number is None else max(0.4, 0.98 - number / 500)


GAMES = dict.fromkeys(MODES, 256) | {"league": 128} | dict.fromkeys(EXPLOITERS, 64)  # a league shares its games


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", GAMES)
def test_episodes_have_the_shares_that_each_mode_states(mode):
    """At the size of a real run: 256 games, 400 iterations, 40 generations, games of 50 iterations on average."""
    tally = seasons(mode, learner_against, 3)
    whole = np.array([player == "" for _, player in tally.names])
    totals = np.stack([tally.met[:, tally.names.index((category, ""))] for category, _ in tally.names], 1)
    totals[:, whole] = tally.met[:, whole].sum(1, keepdims=True)
    error = np.sqrt(np.maximum(tally.promised * (1.0 - tally.promised / np.maximum(totals, 1)), 1.0))
    off = (tally.met - tally.promised) / error  # in standard errors of independent draws
    assert np.abs(off.mean(0)).max() < 4.0 * np.sqrt(2.0 / len(off)), "a share is biased"
    assert (off**2).mean() < 2.0, "a run strays further than its sampling error"


def test_pfsp_hardly_plays_those_whom_it_always_beats():
    weak = {f"gen_{i}" for i in range(0, 200, 10)}
    tally = seasons("pfsp", lambda name: 1.0 if name in weak else 0.5, 3, since=200)
    of_weak = [player in weak for _, player in tally.names]
    frozen = [player != "" for _, player in tally.names]
    met, promised = (side[:, of_weak].sum() / side[:, frozen].sum() for side in (tally.met, tally.promised))
    assert met == pytest.approx(promised, abs=0.02)
    assert met < 0.15  # half of the generations at the end; few games say little of each


def test_nobody_leaves_the_bench_when_nobody_can_come():
    maker = make(generations=["gen_0"])
    for _in_play, bench in fight(maker, 30):
        assert bench == {"gen_0"}


def test_the_histogram_counts_every_draw():
    maker = make()
    drawn = maker.draw(300) + maker.draw(200)
    histogram = maker.histogram()
    assert sum(histogram["category"].values()) == sum(histogram["id"].values()) == 500
    assert histogram["id"]["current"] == sum(opponent.kind == "current" for opponent in drawn)
    assert histogram["category"]["scripted"] == sum(histogram["id"].get(name, 0) for name in SCRIPTED)


@given(before=st.integers(0, 40), rotations=st.integers(0, 3), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_a_restored_matchmaker_goes_on_with_the_same_draws(before, rotations, seed):
    original = make(seed=seed)
    original.draw(before)
    for _ in range(rotations):
        original.rotate()
    state = json.loads(json.dumps(original.state()))
    resumed = Matchmaker("simple_mix", np.random.default_rng(12345), SCRIPTED)
    resumed.restore(state)
    for maker in (original, resumed):
        maker.set_pool([*GENERATIONS, "gen_100"])
    for _ in range(3):
        assert resumed.draw(50) == original.draw(50)
        original.rotate()
        resumed.rotate()
        assert resumed.bench == original.bench
    assert resumed.histogram() == original.histogram()
    assert resumed.state() == original.state()


def test_a_shorter_bench_is_restored_and_filled():
    state = json.loads(json.dumps(make(max_frozen=4).state()))
    resumed = Matchmaker("simple_mix", np.random.default_rng(1), SCRIPTED)
    resumed.restore(state)
    assert resumed.state()["bench"] == state["bench"]
    before = set(resumed.bench)
    resumed.rotate(before)
    assert len(resumed.state()["bench"]) == 16
    assert {opponent.id for opponent in resumed.draw(500) if opponent.kind == "generation"} <= set(resumed.bench)


@pytest.mark.parametrize("state", [{}, {"generations": [], "bench": [], "met": {}, "rng": {"bit_generator": "Dice"}}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(LeagueError, match="not a matchmaker's state"):
        make().restore(state)


def test_an_unknown_mode_names_the_valid_ones():
    with pytest.raises(LeagueError, match=r"'elo' \(valid: simple_mix, latest, delta_uniform, quality, pfsp, "):
        make("elo")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"curent": 1.0}, r"'curent' \(valid: current, recent, scripted, any_past, "),
        ({"current": -0.1}, "weight of 'current' is -0.1"),
        ({"recent": float("nan")}, "weight of 'recent' is nan"),
        ({"current": 0.0, "scripted": 0.0}, "all weights are zero"),
        ({}, "all weights are zero"),
    ],
)
def test_impossible_weights_are_named(weights, message):
    with pytest.raises(LeagueError, match=message):
        make(weights=weights)


def test_a_bench_without_places_is_refused():
    with pytest.raises(LeagueError, match="max_frozen must be at least 1, not 0"):
        make(max_frozen=0)


def test_only_generations_are_past():
    with pytest.raises(LeagueError, match="not generations: rusher"):
        make(generations=["gen_0", "rusher"])


def test_weights_of_another_mode_do_not_matter():
    maker = make("latest", weights={"current": 0.4, "recent": 0.3, "scripted": 0.2, "any_past": 0.1})
    assert {opponent.kind for opponent in maker.draw(200)} == {"current"}


def test_held_out_players_are_those_not_passed_in():
    assert "tank" not in {opponent.id for opponent in make(scripted=("random", "rusher")).draw(2000)}


def test_every_mode_is_made_of_known_categories():
    for shares_of_mode in MODES.values():
        assert set(shares_of_mode) <= set(CATEGORIES)
        assert sum(shares_of_mode.values()) == pytest.approx(1.0)


def test_the_current_policy_cannot_be_rated():
    moving = [opponent.id for opponent in make().draw(100) if opponent.kind == "current"]
    with pytest.raises(ValueError, match="no rating"):
        check_player(moving[0])


@pytest.mark.parametrize("mode", sorted(set(MODES) - {"latest", "league", "opponents"}))
def test_every_mode_keeps_its_shares(mode):
    assert shares(make(mode)) == pytest.approx(MODES[mode], abs=0.015)


def often(mode, scores, rounds=400):
    """Share of each generation in the frozen opponents, after the learner had these scores against it."""
    maker = make(mode, max_frozen=2)
    for _ in range(60):
        maker.record({name: [score] for name, score in scores.items()})
    met = Counter()
    for _ in range(rounds):
        maker.rotate()
        met.update(opponent.id for opponent in maker.draw(20) if opponent.kind == "generation")
    return {name: met[name] / met.total() for name in GENERATIONS}


def test_pfsp_meets_the_hard_ones_and_counts_draws_half():
    scores = dict.fromkeys(GENERATIONS, 1.0) | {"gen_30": 0.0, "gen_60": 0.5}
    met = often("pfsp", scores)  # (1 - x)^2: 0.94, 0.25, and 0.001 eight times
    assert met["gen_30"] == pytest.approx(0.78, abs=0.06)
    assert met["gen_60"] == pytest.approx(0.21, abs=0.06)


def test_pfsp_by_variance_meets_its_equals():
    scores = dict.fromkeys(GENERATIONS, 1.0) | {"gen_30": 0.0, "gen_60": 0.5}
    met = often("pfsp_variance", scores)  # x (1 - x): 0.25, and 0.03 nine times
    assert met["gen_60"] == pytest.approx(0.47, abs=0.08)
    assert met["gen_30"] < 0.15


def test_few_results_say_little():
    maker = make("pfsp", max_frozen=1)
    maker.record({"gen_0": [0.0]})
    met = {maker.bench[0] for _ in range(200) if maker.rotate() is None}
    assert met == set(GENERATIONS)


def test_quality_falls_for_those_who_are_beaten_and_newcomers_start_at_the_top():
    maker = make("quality", generations=GENERATIONS[:4], max_frozen=1)
    for _ in range(3000):
        maker.record({"gen_0": [1.0], "gen_10": [0.0, 0.5]})
    met = [maker.bench[0] for _ in range(600) if maker.rotate() is None]
    assert met.count("gen_0") < 0.1 * met.count("gen_10")
    before = maker.state()["results"]["quality"]
    maker.set_pool(GENERATIONS[:5])
    after = maker.state()["results"]["quality"]
    assert after["gen_40"] == max(before.values())


def test_delta_uniform_meets_the_newer_half():
    maker = make("delta_uniform")
    met = set()
    for _ in range(100):
        maker.rotate()
        met |= set(maker.bench)
    assert met == set(GENERATIONS[5:])


def test_results_are_part_of_the_state():
    original = make("pfsp")
    original.record({"gen_0": [0.0] * 30, "gen_50": [1.0] * 30})
    resumed = Matchmaker("pfsp", np.random.default_rng(1), SCRIPTED)
    resumed.restore(json.loads(json.dumps(original.state())))
    for _ in range(20):
        original.rotate()
        resumed.rotate()
        assert resumed.bench == original.bench


def test_nothing_is_kept_of_who_is_gone():
    maker = Matchmaker("quality", np.random.default_rng(0), SCRIPTED)
    for newest in range(30):
        maker.set_pool([f"gen_{i}" for i in range(max(0, newest - 5), newest + 1)])
        maker.rotate()
        drawn = [opponent.id for opponent in maker.draw(50)]
        maker.record({name: [1.0, 0.0] for name in drawn if name != "current"})
    state = maker.state()
    pool = {f"gen_{i}" for i in range(24, 30)}
    assert set(state["results"]["quality"]) == pool
    known = pool | {*SCRIPTED, "current"}
    assert set(state["results"]["games"]) <= known
    assert set(state["met"]["id"]) <= known
    assert maker.results.games(SCRIPTED[0]) > 50, "who stays is remembered"
    assert sum(state["met"]["category"].values()) == 1500
