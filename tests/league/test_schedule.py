from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.errors import LeagueError
from selfplay.league import schedule
from selfplay.league.games import GameTable
from selfplay.league.ratings import rate
from selfplay.league.records import generation_number
from selfplay.league.schedule import LAST_WEIGHT, NEWEST_WEIGHT, Matchup, kinds_of_opponents, plan
from tests.league.pools import record, series, tournament

SCRIPTED = ["random", "rusher", "tank", "counter"]
GENERATIONS = [f"gen_{10 * i}" for i in range(8)]
PLAYERS = SCRIPTED + GENERATIONS
STRENGTHS = {name: 1500.0 + 60.0 * i for i, name in enumerate(PLAYERS)}


def fresh(players=PLAYERS):
    return rate(GameTable.of([]), players=players)


def kinds(player, names=PLAYERS):
    """Whom a player should have met, by name."""
    found = kinds_of_opponents(names.index(player), names)
    return {kind: [names[i] for i in members] for kind, members in found.items()}


def chain():
    """A ledger in which every generation only met the one before it, and gen_0 only random."""
    pairs = [("gen_0", "random"), *zip(GENERATIONS[1:], GENERATIONS[:-1], strict=True)]
    results = [(a, b, outcome) for a, b in pairs for outcome in ("win", "loss", "win") for _ in range(20)]
    return GameTable.of(series(results))


@given(budget=st.integers(0, 60), seed=st.integers(0, 2**32), games_each=st.sampled_from([2, 4]))
@settings(max_examples=40)
def test_the_budget_is_kept_and_nobody_meets_himself(budget, seed, games_each):
    fixtures = plan(fresh(), PLAYERS, budget, np.random.default_rng(seed), games_each)
    assert len(fixtures) == budget // games_each
    assert all(fixture.players[0] != fixture.players[1] for fixture in fixtures)
    assert {name for fixture in fixtures for name in fixture.players} <= set(PLAYERS)
    seeds = [fixture.seed for fixture in fixtures]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_the_same_generator_state_gives_the_same_plan():
    ratings = rate(tournament(STRENGTHS, [("gen_0", "random"), ("gen_10", "gen_0")], 5, np.random.default_rng(0)))
    first, second, other = (plan(ratings, ratings.players, 20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == second
    assert [fixture.seed for fixture in first] != [fixture.seed for fixture in other]


def test_the_newest_generation_meets_anchors_start_recent_and_old():
    fixtures = plan(fresh(), PLAYERS, 12, np.random.default_rng(0))
    met = {frozenset(fixture.players) for fixture in fixtures}
    for kind, members in kinds("gen_70").items():
        assert any(frozenset(("gen_70", member)) in met for member in members), kind


def test_a_generation_without_games_is_assumed_to_be_as_strong_as_the_interpolation_in_time():
    pairs = [("gen_0", "random"), ("gen_10", "gen_0"), ("gen_40", "gen_10")]
    results = [(a, b, outcome) for a, b in pairs for outcome in ("win", "win", "loss") for _ in range(40)]
    ratings = rate(GameTable.of(series(results)), players=["gen_0", "gen_10", "gen_20", "gen_40", "gen_50", "tank"])
    names = list(ratings.players)
    assumed = dict(zip(names, schedule._assumed(names, ratings.rating, ratings.games > 0), strict=True))
    given = dict(zip(names, ratings.rating, strict=True))
    for name in ("gen_0", "gen_10", "gen_40", "random", "tank"):
        assert assumed[name] == given[name]
    assert assumed["gen_20"] == pytest.approx((2 * given["gen_10"] + given["gen_40"]) / 3)
    assert assumed["gen_50"] == given["gen_40"]


def test_every_player_gets_games():
    fixtures = plan(fresh(), PLAYERS, 200, np.random.default_rng(0))
    assert {name for fixture in fixtures for name in fixture.players} == set(PLAYERS)


def test_a_ladder_of_which_each_rung_met_only_the_one_below_is_bridged_first():
    ratings = rate(chain(), players=PLAYERS)
    fixtures = plan(ratings, PLAYERS, 6, np.random.default_rng(0))
    newest = [fixture for fixture in fixtures if fixture.players[0] == "gen_70"]
    assert len(newest) == 3, "an anchor, the start and an old one; it met a recent one already"
    assert "gen_0" in {fixture.players[1] for fixture in newest}
    assert {fixture.players[1] for fixture in newest} & set(SCRIPTED)
    assert {fixture.players[1] for fixture in newest} & {"gen_10", "gen_20"}


def test_kinds_of_opponents():
    assert kinds("gen_40") == {
        "anchor": SCRIPTED,
        "start": ["gen_0"],
        "recent": ["gen_20", "gen_30"],
        "old": ["gen_10"],
    }
    assert kinds("gen_0") == {"anchor": SCRIPTED}
    assert kinds("gen_10") == {"anchor": SCRIPTED, "start": ["gen_0"], "recent": ["gen_0"]}
    assert kinds("tank") == {"anchor": ["random", "rusher", "counter"]}
    assert kinds("gen_40", ["random", *GENERATIONS[2:]]) == {
        "anchor": ["random"],
        "recent": ["gen_30"],
        "old": ["gen_20"],
    }, "no start"


def test_games_go_where_they_tell_most():
    """Everybody met everybody; one player far less often than the others, and two are far out of reach."""
    strengths = {"random": 1500.0, "rusher": 1510.0, "tank": 2900.0, "gen_0": 1500.0, "gen_1": 1490.0}
    names = list(strengths)
    busy = [(a, b) for a in names for b in names if a < b and "gen_1" not in (a, b)]
    rng = np.random.default_rng(0)
    records = tournament(strengths, busy, 40, rng)
    few = tournament(strengths, [("gen_1", name) for name in names if name != "gen_1"], 1, rng)
    joined = GameTable(
        records.players,
        records.groups,
        *(np.concatenate([getattr(records, name), getattr(few, name)]) for name in ("seats", "versions", "scores")),
        np.concatenate([records.pairs, few.pairs + records.pairs.max() + 1]),
        np.concatenate([records.group, few.group]),
    )
    fixtures = plan(rate(joined), names, 20, np.random.default_rng(1))
    partners = Counter(name for fixture in fixtures for name in fixture.players)
    assert partners["gen_1"] >= 7
    assert partners["tank"] < partners["gen_1"], "a game whose winner is known beforehand tells little"


def test_planned_fixtures_count_so_that_one_pair_does_not_take_all():
    names = ["random", "rusher", "tank", "gen_0"]
    ratings = rate(
        tournament(
            dict.fromkeys(names, 1500.0),
            [(a, b) for a in names for b in names if a < b],
            2,
            np.random.default_rng(0),
            draws=0.5,
        )
    )
    fixtures = plan(ratings, names, 24, np.random.default_rng(0))
    met = Counter(frozenset(fixture.players) for fixture in fixtures)
    assert len(met) >= 3
    assert max(met.values()) <= 6


def test_the_newest_generation_is_rated_best():
    """Half of the weight is its own: it has the narrowest interval, where equal weights would give it the widest."""
    rng = np.random.default_rng(3)
    names = list(STRENGTHS)
    pairs: list[tuple[str, str]] = []
    for _ in range(10):
        games = tournament(STRENGTHS, pairs, 1, rng) if pairs else GameTable.of([])
        pairs += [fixture.players for fixture in plan(rate(games, players=names), names, 32, rng)]
    ratings = rate(tournament(STRENGTHS, pairs, 1, rng), players=names)
    generations = [ratings.se[ratings.index(name)] for name in GENERATIONS]
    assert generations[-1] == min(generations)


def test_at_the_end_most_games_are_the_newest_generations():
    pins = {name: STRENGTHS[name] for name in SCRIPTED}
    ratings = rate(GameTable.of([]), players=PLAYERS, anchors=pins)
    shares = []
    for weight in (NEWEST_WEIGHT, LAST_WEIGHT):
        fixtures = plan(ratings, PLAYERS, 400, np.random.default_rng(0), newest_weight=weight)
        shares.append(sum(GENERATIONS[-1] in fixture.players for fixture in fixtures) / len(fixtures))
    assert shares[1] > 1.5 * shares[0]
    assert shares[1] > 0.4


def test_the_games_of_one_pair_give_less_and_less():
    """The closest of three pinned opponents gets most games, and the others get some."""
    pins = {"random": 1500.0, "rusher": 1600.0, "tank": 1700.0}
    records = series([("gen_0", name, outcome) for name in pins for outcome in ("win", "loss")])
    ratings = rate(GameTable.of(records), anchors=pins)
    fixtures = plan(ratings, ratings.players, 400, np.random.default_rng(0))
    met = Counter(name for fixture in fixtures for name in fixture.players if name in pins)
    assert min(met.values()) >= 40


def test_a_generation_far_above_the_one_before_it_is_found_within_a_few_rounds():
    """Without games it has the strength of the one before it; each round is planned from the games before it."""
    strengths = {
        "random": 1500.0,
        "rusher": 1900.0,
        "tank": 2300.0,
        "counter": 2700.0,
        "gen_0": 1500.0,
        "gen_10": 2600.0,
    }
    pins = {name: strengths[name] for name in SCRIPTED}
    rng = np.random.default_rng(5)
    pairs = [("gen_0", "random")] * 20
    for _ in range(4):
        ratings = rate(tournament(strengths, pairs, 1, rng), players=strengths, anchors=pins)
        pairs += [fixture.players for fixture in plan(ratings, list(strengths), 32, rng)]
    ratings = rate(tournament(strengths, pairs, 1, rng), players=strengths, anchors=pins)
    place = ratings.index("gen_10")
    assert ratings.high[place] - ratings.low[place] < 500.0
    assert ratings.low[place] < 2600.0 < ratings.high[place]


def test_the_schedule_brings_every_interval_below_the_budget_s_width():
    """Ratings after planned rounds are sharper than after as many games against the elder only."""
    rng = np.random.default_rng(7)
    names = list(STRENGTHS)
    order = {name: i for i, name in enumerate(names)}
    pairs: list[tuple[str, str]] = []
    for _ in range(20):
        games = tournament(STRENGTHS, pairs, 1, rng) if pairs else GameTable.of([])
        pairs += [fixture.players for fixture in plan(rate(games, players=names), names, 24, rng)]
    elders = [(name, names[order[name] - 1]) for name in names[1:]]
    planned = rate(tournament(STRENGTHS, pairs, 1, rng))
    chained = rate(tournament(STRENGTHS, elders * (len(pairs) // len(elders)), 1, rng))
    assert planned.se[-1] < 0.7 * chained.se[-1]


def test_idle_is_never_scheduled_and_moving_players_are_refused():
    players = ["random", "idle", "gen_0"]
    fixtures = plan(fresh(["random", "gen_0"]), players, 20, np.random.default_rng(0))
    assert {frozenset(fixture.players) for fixture in fixtures} == {frozenset({"random", "gen_0"})}
    with pytest.raises(ValueError, match="'current' changes"):
        plan(fresh(), [*PLAYERS, "current"], 20, np.random.default_rng(0))


def test_one_player_alone_has_nobody_to_play():
    assert plan(fresh(["random"]), ["random"], 20, np.random.default_rng(0)) == []


def test_a_fixture_without_games_is_refused():
    with pytest.raises(LeagueError, match="at least one game"):
        plan(fresh(), PLAYERS, 20, np.random.default_rng(0), games_each=0)


def test_seats_are_swapped():
    first, second = Matchup(("gen_1", "random"), seed=5).games([("mewtwo", "mewtwo")])
    assert first.players == ("gen_1", "random")
    assert second.players == ("random", "gen_1")
    assert first.roles == second.roles == ("mewtwo", "mewtwo")


def test_with_two_characters_each_player_has_each_in_each_seat_once():
    seatings = Matchup(("gen_1", "random"), seed=5).games([("mewtwo", "fox"), ("fox", "mewtwo")])
    seen = Counter(
        (player, character, seat)
        for game in seatings
        for seat, (player, character) in enumerate(zip(game.players, game.roles, strict=True))
    )
    assert len(seatings) == 4
    assert set(seen.values()) == {1}
    assert len(seen) == 8
    assert all(set(game.roles) == {"mewtwo", "fox"} for game in seatings)
    records = [record(*game.players, seed=5) for game in seatings[:2]]
    assert records[0].match.split("-")[0] == records[1].match.split("-")[0]


def test_newest_generations_come_first_when_the_budget_is_short():
    fixtures = plan(fresh(), PLAYERS, 8, np.random.default_rng(0))
    assert (fixtures[0].players[0], generation_number(fixtures[0].players[1]) is None) == (
        "random",
        False,
    )  # ties the scale
    assert {generation_number(fixture.players[0]) for fixture in fixtures[1:]} == {70}


def test_no_game_is_spent_on_two_whose_ratings_are_given():
    pins = {name: STRENGTHS[name] for name in SCRIPTED}
    ratings = rate(GameTable.of([]), players=PLAYERS, anchors=pins)
    fixtures = plan(ratings, PLAYERS, 400, np.random.default_rng(0))
    assert len(fixtures) == 200
    assert not any(fixture.players[0] in pins and fixture.players[1] in pins for fixture in fixtures)
    met = {frozenset(fixture.players) for fixture in fixtures}
    assert all(any(frozenset((name, bot)) in met for bot in SCRIPTED) for name in GENERATIONS)
