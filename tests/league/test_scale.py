"""Ratings of games that are played for payoffs."""

import csv
import io
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from selfplay.errors import LeagueError
from selfplay.games.objective import Objective
from selfplay.league.diagnosis import diagnose
from selfplay.league.games import GameTable
from selfplay.league.gate import Gate, GateState
from selfplay.league.leaderboard import analyse, build
from selfplay.league.ledger import Ledger, read_games
from selfplay.league.nash import nash_weights
from selfplay.league.ratings import rate
from selfplay.league.records import ladder_key
from selfplay.league.render import to_csv, to_json, to_text
from selfplay.league.scale import ELO_SCALE, Scale
from selfplay.league.schedule import plan, scores_against
from selfplay.league.sprt import SprtBounds
from tests.league.pools import payoff_tournament, series
from tests.league.test_rewards import scored

CHIPS = {"random": 0.0, "raiser": 1.0, "caller": -0.5} | {f"gen_{i}": -1.0 + 0.6 * i for i in range(6)}
SHARES = {name: 3.0 + chips for name, chips in CHIPS.items()}
EVERYBODY = tuple(itertools.combinations(CHIPS, 2))


def hands(results, **changes):
    """Records of ``(first, second, payoff of the first)``, each on its own seed."""
    return [
        scored(a, b, (payoff, -payoff), seed, objective="reward", unit="chips", **changes)
        for seed, (a, b, payoff) in enumerate(results)
    ]


RAISER = [("raiser", "gen_1", 1.0)] * 7 + [("raiser", "gen_1", -13.0)] * 3 + [("raiser", "random", 0.5)] * 4


def test_who_wins_more_hands_and_loses_more_chips_is_the_weaker():
    games = GameTable.of(hands(RAISER))
    ratings = rate(games)
    gap = ratings.difference("gen_1", "raiser")
    assert 2.0 < gap.rating < 3.3  # the mean of the ten hands is 3.2, and one virtual draw is at 0
    wins = rate(GameTable.of(series([(a, b, "win" if payoff > 0 else "loss") for a, b, payoff in RAISER])))
    assert wins.difference("gen_1", "raiser").rating < 0


@pytest.mark.parametrize(("kind", "truth"), [("reward", CHIPS), ("shared", SHARES)])
@pytest.mark.parametrize("rounds", [2, 20])
def test_intervals_hold_the_true_ratings_as_often_as_they_say(kind, truth, rounds):
    rng, inside, differences = np.random.default_rng(4), [], []
    for _ in range(60):
        ratings = rate(payoff_tournament(truth, EVERYBODY, rounds, rng, kind, seat=0.7))
        known = np.array([truth[name] for name in ratings.players])
        free = ~ratings.pinned
        inside.append(((ratings.low <= known) & (known <= ratings.high))[free].mean())
        gap = ratings.difference("gen_5", "gen_4")
        differences.append(gap.low <= 0.6 <= gap.high)
    assert 0.91 <= np.mean(inside) <= 0.995
    assert np.mean(differences) >= 0.88


@pytest.mark.parametrize(("kind", "truth"), [("reward", CHIPS), ("shared", SHARES)])
def test_ratings_are_found_whatever_the_unit(kind, truth):
    games = payoff_tournament(truth, EVERYBODY, 2000, np.random.default_rng(5), kind)
    ratings = rate(games)
    np.testing.assert_allclose(ratings.rating, [truth[name] for name in ratings.players], atol=0.2)
    cents = replace(games, payoffs=100.0 * games.payoffs)
    np.testing.assert_allclose(rate(cents).rating, 100.0 * ratings.rating, rtol=1e-9)
    np.testing.assert_allclose(rate(cents).cov, 1e4 * ratings.cov, rtol=1e-9, atol=1e-9)


def test_the_anchor_of_payoffs_is_at_zero_and_others_are_pinned_at_payoffs():
    games = payoff_tournament(CHIPS, EVERYBODY, 5, np.random.default_rng(0))
    ratings = rate(games, anchors={"raiser": 1.25})
    at = {name: ratings.rating[ratings.index(name)] for name in ("random", "raiser")}
    assert at == {"random": 0.0, "raiser": pytest.approx(1.25)}
    assert ratings.pinned.sum() == 2


@pytest.mark.parametrize(("kind", "truth"), [("reward", CHIPS), ("shared", SHARES)])
def test_people_do_not_move_the_ratings_of_payoffs(kind, truth):
    truth, rng = truth | {"person-anna": truth["random"] + 5.0}, np.random.default_rng(1)
    games = payoff_tournament(truth, [*EVERYBODY, ("person-anna", "gen_5")], 50, rng, kind)
    alone, ratings = rate(games.subset(~games.of_people)), rate(games)
    for name in alone.players:
        assert ratings.rating[ratings.index(name)] == alone.rating[alone.index(name)]
    place = ratings.index("person-anna")
    assert ratings.low[place] < truth["person-anna"] < ratings.high[place]


def test_payoffs_come_back_from_the_file_and_games_that_are_won_have_none(tmp_path):
    with Ledger.open(tmp_path / "ledger.jsonl") as ledger:
        ledger.append(hands(RAISER))
    games = read_games(tmp_path / "ledger.jsonl")
    assert games.objective == Objective("reward", unit="chips")
    assert games.leads.tolist() == [payoff for _, _, payoff in RAISER]
    plain = GameTable.of(series([("gen_1", "random", "win")]))
    assert (plain.payoffs, plain.leads) == (None, None)
    assert rate(plain).scale == ELO_SCALE


def test_of_unequal_payoffs_half_the_difference_counts():
    rows = [scored("gen_1", "random", (5.0, 2.0), 1, objective="reward", unit="coins")]
    assert GameTable.of(rows).leads.tolist() == [1.5]
    assert build(GameTable.of(rows)).rows[0].payoff == 5.0


def test_each_group_has_its_own_objective():
    old = [scored("gen_1", "random", (1.0, -1.0), seed, settings="wins") for seed in range(3)]
    games = GameTable.of([*old, *hands(RAISER)])
    assert rate(games).scale.unit == "chips a game"
    assert rate(games, settings="wins").scale == ELO_SCALE
    assert rate(games, settings="wins").difference("gen_1", "random").rating > 10.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "outcome"}, "objective 'outcome'"),
        ({"unit": None}, "unit None"),
        ({"rewards": None}, "without rewards"),
        ({"unit": "pence"}, "judged in two ways"),
    ],
)
def test_rows_that_no_rating_can_use_are_refused(tmp_path, changes, message):
    path = tmp_path / "ledger.jsonl"
    first, second = (json.loads(row.row()) for row in hands(RAISER[:2]))
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second | changes)}\n")
    with pytest.raises(LeagueError, match=message):
        read_games(path)


def test_the_first_seat_is_worth_payoffs():
    games = payoff_tournament(CHIPS, EVERYBODY, 100, np.random.default_rng(3), seat=0.5)
    side = diagnose(rate(games), games).side
    assert side.low < 0.5 < side.high
    assert side.low > 0.3


def test_additive_payoffs_fit_and_payoffs_in_a_circle_do_not():
    rng = np.random.default_rng(8)
    fits = payoff_tournament(CHIPS, EVERYBODY, 40, rng)
    assert diagnose(rate(fits), fits).misfit.p > 1e-3
    circle = [("gen_1", "gen_2"), ("gen_2", "gen_3"), ("gen_3", "gen_1"), ("gen_1", "random")]
    rows = [(a, b, 1.5 * (b != "random") + float(rng.normal())) for _ in range(60) for a, b in circle]
    games = GameTable.of(hands(rows))
    study = analyse(games)
    assert study.diagnosis.misfit.p < 1e-6
    assert study.board.fit.cycles[0].scores == pytest.approx((1.5,) * 3, abs=0.5)
    assert any("the payoff depends on the pairing. For example gen_1 beats gen_2" in w for w in study.board.warnings)
    wide, narrow = study.ratings.se, rate(games).se
    assert (wide[1:] > 2.0 * narrow[1:]).all()


def test_the_mixture_that_no_player_beats_is_that_of_payoffs():
    """Rock, paper, scissors where rock against scissors pays double: equilibrium 1/4, 1/2, 1/4."""
    wins = [("gen_1", "gen_3", 2.0), ("gen_2", "gen_1", 1.0), ("gen_3", "gen_2", 1.0)]
    ratings = rate(GameTable.of(hands(wins * 2000)))
    weights = dict(zip(ratings.players, nash_weights(ratings), strict=True))
    assert [weights[f"gen_{i}"] for i in (1, 2, 3)] == pytest.approx([0.25, 0.5, 0.25], abs=0.02)


def test_with_a_shared_reward_there_is_no_mixture_no_winner_and_no_first_seat():
    games = payoff_tournament(SHARES, EVERYBODY, 30, np.random.default_rng(2), "shared")
    study = analyse(games)
    assert not nash_weights(study.ratings).any()
    assert (study.diagnosis.side, study.board.beats, study.board.fit.cycles) == (None, (), ())
    assert study.board.rows[0].nash is None
    assert study.board.rows[0].bound == "both"
    assert not study.board.warnings
    text = to_text(study.board)
    assert "no player can beat the other" in text
    assert "; better with likelihood " in text
    assert "stronger" not in text
    assert [name.strip() for name in text.splitlines()[1].strip("|").split("|")] == [
        "Rank", "Policy", "Rating", "95% interval", "Mean payoff", "Games"
    ]  # fmt: skip


def test_a_game_tells_as_much_of_payoffs_however_far_apart_the_players_are():
    """A player far above all others is met as often as one among them; by wins its games would tell nothing."""
    far = CHIPS | {"gen_6": 100.0}
    games = payoff_tournament(far, [("random", name) for name in far if name != "random"], 20, np.random.default_rng(0))
    met = [m.players for m in plan(rate(games), far, 100, np.random.default_rng(0))]
    assert sum("gen_6" in players for players in met) > 25


def test_the_gate_counts_chips():
    gate = Gate(SprtBounds())
    gate.state = GateState(best="gen_0")
    gate.challenge(["gen_0", "gen_1"])
    rows = [("gen_1", "gen_0", 1.0)] * 7 + [("gen_0", "gen_1", 13.0)] * 3
    _, test = gate.decide(GameTable.of(hands(rows * 10)))
    assert test.state == "rejected"
    gate.state = GateState(best="gen_0", candidate="gen_1")
    _, test = gate.decide(GameTable.of(hands([(b, a, payoff) for a, b, payoff in rows] * 10)))
    assert test.state == "accepted"


def test_results_against_scripted_players_are_mean_payoffs():
    rows = [("gen_1", "raiser", 13.0), ("raiser", "gen_1", 1.0), ("raiser", "gen_1", 1.0)] * 8
    (count, mean, low, high) = scores_against(GameTable.of(hands(rows)), ("raiser",))["raiser"]
    assert (count, mean) == (24, pytest.approx(11.0 / 3.0))
    assert low < mean < high


def test_the_leaderboard_of_payoffs_says_what_it_counts():
    board = build(payoff_tournament(CHIPS, EVERYBODY, 40, np.random.default_rng(0)))
    text = to_text(board)
    assert text.startswith("═══ Leaderboard ═══\n| Rank | Policy ")
    assert "Elo" not in text
    assert text.count("played for chips: ratings and payoffs are chips a game") == 1
    assert "least squares on payoffs, random = 0; 2880 games" in text
    assert f"{board.newest} is +" in text
    assert "chips a game (+" in text
    row = next(row for row in board.rows if row.policy == "gen_5")
    assert f"| {row.payoff:+.2f} ± {row.payoff_error:.2f} |" in text
    assert " (+" in str(board.beats[0].text(board.scale))
    assert json.loads(to_json(board))["scale"]["unit"] == "chips a game"
    cells = list(csv.DictReader(io.StringIO(to_csv(board))))
    assert float(cells[0]["payoff"]) == board.rows[0].payoff


def test_players_above_all_generations_are_named_with_their_rating():
    board = build(GameTable.of(hands([("gen_1", "raiser", -3.0)] * 40 + [("gen_1", "random", 1.0)] * 40)))
    above = next(row for row in board.rows if row.policy == "raiser")
    assert f"stronger than every generation: raiser ({above.rating:{board.scale.form}} chips a game); --all" in to_text(
        board
    )


def test_equal_payoffs_in_a_few_games_have_an_error():
    rows = {row.policy: row for row in build(GameTable.of(hands([("gen_1", "random", 1.0)] * 2))).rows}
    assert rows["gen_1"].payoff == 1.0
    assert rows["gen_1"].payoff_error > 0.5


def test_sequential_elo_is_refused_where_payoffs_count():
    with pytest.raises(LeagueError, match="valid: batch"):
        analyse(GameTable.of(hands(RAISER)), "sequential")


def test_games_that_all_pay_nothing_are_even():
    ratings = rate(GameTable.of(hands([("gen_1", "random", 0.0)] * 4)))
    assert not ratings.rating.any()
    assert np.isfinite(ratings.cov).all()


@pytest.mark.parametrize(("spread", "shown"), [(0.004, "+0.01235"), (4.0, "+0.01"), (400.0, "+0"), (40_000.0, "+0")])
def test_payoffs_are_written_to_the_precision_of_a_game(spread, shown):
    scale = Scale(objective="reward", unit="chips a game", origin=0.0, step=spread / 2.0)
    assert f"{0.012345:{scale.form}}" == shown
    assert f"{-1e-9:{scale.form}}" == f"{0.0:{scale.form}}" == f"{-1e-9:{scale.gap_form}}"


def test_pairs_that_play_for_different_stakes_are_no_misfit():
    """Stakes of a pair differ by factors of ten, and a tenth of the games is played for eight times as much."""
    rng, found, inside = np.random.default_rng(1), [], []
    truth = np.array([CHIPS[name] for name in sorted(CHIPS, key=ladder_key)])
    for _ in range(20):
        games = payoff_tournament(CHIPS, EVERYBODY, 30, rng, noise=0.0)
        stakes = np.exp(0.7 * rng.normal(size=len(CHIPS)))[games.seats].prod(axis=1)
        luck = stakes * np.where(rng.random(len(games)) < 0.1, 8.0, 1.0) * rng.normal(size=len(games))
        games = replace(games, payoffs=games.payoffs + np.stack([luck, -luck], axis=1))
        study = analyse(games)
        found.append(study.diagnosis.misfit.p)
        inside.append((study.ratings.low <= truth) & (truth <= study.ratings.high))
    assert min(found) > 1e-3
    assert np.mean(inside) > 0.93
