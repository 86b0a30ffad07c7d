from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from selfplay.errors import ConfigError
from selfplay.evaluation import evaluate as evaluation
from selfplay.evaluation.evaluate import evaluate
from selfplay.games.api import PAYOFF_STATS
from selfplay.games.objective import Objective
from selfplay.league.rewards import BY_WINS, score_of
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender, MatchResult, Rules
from selfplay_melee.mock import ENDED_BY, STATS
from tests.run.policies import save_other
from tests.support.fight_rules import fight_rules

SHORT = fight_rules(max_episode_frames=1200)
PLAIN = Rules("pennies")
STRONG, WEAK = Contender("rusher"), Contender("idle")


@pytest.fixture
def played(monkeypatch):
    """Pairings that are asked for, in calls; A always ends with two stocks, B with one."""
    calls = []

    def play(pairings, players, rules, traced):
        calls.append(list(pairings))
        stats = np.zeros((len(pairings), 2), STATS)
        for row, pairing in zip(stats, pairings, strict=True):
            for seat, name in zip(row, pairing.players, strict=True):
                seat["stocks"] = 2 if name == "A" else 1
                seat["damage"] = 80 if name == "A" else 20
                seat["stocks_taken"] = 3 if name == "A" else 2
                seat["frames"] = 600
                seat["ended"] = ENDED_BY.index("cap" if len(pairings) < 10 else "stocks")
        return [MatchResult(each, (0.5, 0.5), row, each.seed) for each, row in zip(pairings, stats, strict=True)]

    monkeypatch.setattr(evaluation, "play", play)
    return calls


def test_every_seed_is_played_from_both_seats(played):
    result = evaluate(STRONG, WEAK, 10, SHORT)
    (pairings,) = played
    assert [p.players for p in pairings] == [("A", "B"), ("B", "A")] * 5
    assert [p.seed for p in pairings[::2]] == [p.seed for p in pairings[1::2]]
    assert len({p.seed for p in pairings}) == 5
    assert (result.games, result.wins, result.losses, result.draws) == (10, 10, 0, 0)
    assert (result.score, result.figures["finished"]) == (1.0, 1.0)
    assert result.figures["damage"] == (80.0, 20.0)  # A's first, whatever the seat
    assert result.figures["seconds"] == 10.0
    assert result.figures["stocks_per_minute"] == (18.0, 12.0)
    assert result.figures["damage_per_minute"] == (480.0, 120.0)


def test_games_that_the_cap_ended_are_not_finished(played):
    result = evaluate(STRONG, WEAK, 4, SHORT)
    assert (result.score, result.figures["finished"]) == (1.0, 0.0)  # with unequal stocks


def test_with_two_characters_both_ways_round(played):
    evaluate(STRONG, WEAK, 8, fight_rules(characters=("mewtwo", "fox"), max_episode_frames=1200))
    (pairings,) = played
    assert {(p.players, p.roles) for p in pairings[:4]} == {
        (players, characters)
        for players in (("A", "B"), ("B", "A"))
        for characters in (("mewtwo", "fox"), ("fox", "mewtwo"))
    }
    assert len({p.seed for p in pairings[:4]}) == 1


@pytest.mark.parametrize("games", [2, 8, 250])
def test_as_many_games_as_asked_for_in_blocks(played, games):
    assert evaluate(STRONG, WEAK, games, SHORT).games == games
    assert sum(map(len, played)) == games
    assert max(map(len, played)) <= evaluation.BLOCK


def test_another_seed_gives_other_games(played):
    evaluate(STRONG, WEAK, 2, SHORT, seed=0)
    evaluate(STRONG, WEAK, 2, SHORT, seed=1)
    assert played[0][0].seed != played[1][0].seed


def test_real_games_agree_from_both_sides():
    ours = evaluate(STRONG, WEAK, 8, SHORT)
    theirs = evaluate(WEAK, STRONG, 8, SHORT)
    assert ours == evaluate(STRONG, WEAK, 8, SHORT)
    assert ours.score > 0.5
    assert ours.score == pytest.approx(1 - theirs.score)
    assert (ours.wins, ours.losses, ours.draws) == (theirs.losses, theirs.wins, theirs.draws)
    assert ours.low <= ours.score <= ours.high
    assert ours.figures["damage"] == theirs.figures["damage"][::-1]
    assert ours.figures["damage"][0] > ours.figures["damage"][1] == 0.0


def test_rules_decide_who_won():
    by_percent = evaluate(STRONG, WEAK, 4, SHORT)
    by_stocks = evaluate(STRONG, WEAK, 4, fight_rules(max_episode_frames=1200, result_rule="stocks"))
    assert by_percent.wins == 4
    assert by_stocks.wins + by_stocks.draws == 4


def test_real_games_are_finished_when_a_player_is_out_of_stocks():
    long = evaluate(STRONG, WEAK, 4, fight_rules(max_episode_frames=28_800))
    assert long.figures["finished"] == 1.0
    assert long.figures["stocks_per_minute"] == pytest.approx((4 * 60 / long.figures["seconds"], 0.0))
    assert evaluate(STRONG, WEAK, 4, fight_rules(max_episode_frames=60)).figures["finished"] == 0.0


def test_one_game_is_not_fair():
    with pytest.raises(ConfigError, match="--games 1: at least 2"):
        evaluate(STRONG, WEAK, 1, SHORT)


def test_the_verdict_of_a_perfect_score(played):
    result = evaluate(STRONG, WEAK, 100, SHORT)
    assert (result.elo, result.elo_high) == (None, None)
    assert result.elo_low > 200
    assert (result.sprt, result.games_needed) == ("accepted", None)
    assert result.superiority > 0.999
    assert result.verdict("a", "b").startswith("a against b: won every game: the difference has no upper end")
    assert "lost every game: the difference has no lower end" in replace(result, score=0.0).verdict("a", "b")
    assert "won nearly every game: the difference has no upper end" in replace(result, score=0.995).verdict("a", "b")


@pytest.mark.parametrize(
    ("a", "b", "games", "sprt", "words"),
    [
        ("rusher", "idle", 40, "accepted", "settled, rusher is stronger."),
        ("idle", "rusher", 40, "rejected", "settled, idle is not 30 Elo stronger."),
        ("rusher", "walker", 8, "open", "not settled"),
    ],
)
def test_verdicts_of_real_games(a, b, games, sprt, words):
    result = evaluate(Contender(a), Contender(b), games, SHORT)
    assert result.sprt == sprt
    assert f"; sequential test of 0 against 30 Elo: {words}" in result.verdict(a, b)
    assert (result.llr_low, result.llr_high) == pytest.approx((-2.944, 2.944), abs=1e-3)
    if sprt == "open" and result.games_needed is not None:
        assert result.games_needed > 0
        assert f"about {result.games_needed} more games" in result.verdict(a, b)


def test_the_figures_of_a_verdict_agree(monkeypatch):
    """The first seat wins 9 of 10 games of A, and 6 of 10 of B: 65%."""
    luck = np.random.default_rng(1)

    def play(pairings, players, rules, traced):
        won = [float(luck.random() < (0.9 if pairing.players[0] == "A" else 0.6)) for pairing in pairings]
        stats = np.zeros(2, PAYOFF_STATS)
        return [MatchResult(each, (w, 1.0 - w), stats, each.seed) for each, w in zip(pairings, won, strict=True)]

    monkeypatch.setattr(evaluation, "play", play)
    found = [evaluate(STRONG, WEAK, 40, PLAIN, seed) for seed in range(40)]
    assert [each.elo_low > 0 for each in found] == [each.superiority > 0.975 for each in found]
    assert 10 < sum(each.elo_low > 0 for each in found) < 40


BOARD = "selfplay.examples.tic_tac_toe:TicTacToe"


@pytest.mark.parametrize(
    ("game", "other", "greedy", "repeats"),
    [
        (BOARD, None, True, True),
        (BOARD, None, False, False),
        (BOARD, "random", True, False),
        ("kuhn", None, True, False),  # cards are dealt
    ],
)
def test_games_that_repeat_count_once(tmp_path, game, other, greedy, repeats):
    policy = load_policy(save_other(tmp_path / "run", game) / "generations" / "gen_3")
    players = Contender("a", policy), Contender("b", policy) if other is None else Contender(other)
    rules = Rules(game=game, greedy=greedy)
    few, many = (evaluate(*players, games, rules) for games in (2, 120))
    assert (many.games, many.counted) == (120, 2 if repeats else 120)
    assert many.wins + many.losses + many.draws == 120
    assert (many.repeats() is not None) == repeats
    if repeats:
        assert (many.low, many.high, many.superiority) == (few.low, few.high, few.superiority)
        assert (many.sprt, many.games_needed) == ("open", None)


def test_wins_alone_are_no_repetition(played):
    """A wins all games by the same score, but they went different ways."""
    assert evaluate(STRONG, WEAK, 100, SHORT).counted == 100


def test_policies_that_draw_do_not_repeat_games(monkeypatch):
    def play(pairings, players, rules, traced):
        return [MatchResult(each, (1.0, 0.0), np.zeros(2, PAYOFF_STATS)) for each in pairings]

    monkeypatch.setattr(evaluation, "play", play)
    drawing = Contender("policy", object())
    assert evaluate(drawing, WEAK, 100, PLAIN).counted == 100
    assert evaluate(drawing, WEAK, 100, replace(PLAIN, greedy=True)).counted == 2


def test_every_player_has_each_seat_equally_often(played):
    for games, made, other in ((3, 4, "fox"), (4, 4, "fox"), (5, 8, "marth")):
        played.clear()
        assert evaluate(STRONG, WEAK, games, fight_rules(characters=("fox", other))).games == made
        assert [pairing.players for pairing in played[0]].count(("A", "B")) == made / 2


@pytest.fixture
def pays(monkeypatch):
    """Evaluates a game of an objective in which A and B are paid these amounts, in turn."""

    def evaluated(objective, *paid, games=40):
        numbers = count()

        def play(pairings, players, rules, traced):
            found = []
            for pairing in pairings:
                number = next(numbers)
                both = np.array(paid[number // 2 % len(paid)], float)
                first, second = both if pairing.players[0] == "A" else both[::-1]
                stats = np.zeros(2, PAYOFF_STATS)
                stats["reward_payoff"] = first, second
                found.append(
                    MatchResult(pairing, (score_of((first, second)), score_of((second, first))), stats, number)
                )
            return found

        monkeypatch.setattr(evaluation, "play", play)
        monkeypatch.setattr(Rules, "objective", property(lambda _: objective))
        return evaluate(STRONG, WEAK, games, PLAIN)

    return evaluated


RARE_LOSS = ((1.0, -1.0),) * 3 + ((-5.0, 5.0),)  # A wins a small stake three times, and loses a large one once
GUESSED = Objective("outcome", measured=True)


def test_a_game_of_payoffs_is_judged_by_them(pays):
    result = pays(Objective("reward", unit="chips"), *RARE_LOSS, games=4000)
    assert (result.score, result.reward, result.paid.lead) == (0.75, -0.5, -0.5)
    assert result.paid.lead_low == pytest.approx(-0.5 - result.reward_error, rel=0.01)
    assert (result.superiority, result.sprt, result.elo) == (pytest.approx(0.0, abs=1e-6), "rejected", None)
    assert result.verdict("a", "b") == (
        f"a against b: -0.500 chips a game (95% interval {result.paid.lead_low:+.3f} to {result.paid.lead_high:+.3f}), "
        "likelihood of being stronger 0.0%; "
        "sequential test of 0 against 30 normalised Elo: settled, a is not 30 normalised Elo stronger."
    )
    found = result.document()
    assert {
        "objective": "reward",
        "unit": "chips",
        "reward": -0.5,
        "lead": -0.5,
        "score": 0.75,
    }.items() <= found.items()
    assert not {"elo", "elo_low", "paid"} & found.keys()


def test_the_rich_one_is_stronger_though_it_loses_most_games(pays):
    result = pays(Objective("reward"), *((lost, won) for won, lost in RARE_LOSS), games=4000)
    assert (result.score, result.sprt) == (0.25, "accepted")
    assert result.superiority > 0.999


def test_of_general_payoffs_both_are_told(pays):
    result = pays(Objective("reward", unit="coins"), (3.0, 1.0), (2.0, 1.0))
    assert (result.paid.lead, result.reward, result.paid.reward_b) == (0.75, 2.5, 1.0)
    assert "half the difference of +2.500 for a and +1.000 for b, likelihood" in result.verdict("a", "b")


@pytest.mark.parametrize("kind", ["shared", "reward"])
def test_equal_payoffs_do_not_have_an_interval_without_width(pays, kind):
    few, many = (pays(Objective(kind), (3.0, 3.0), games=games) for games in (4, 400))
    assert few.reward == many.reward == 3.0
    assert few.reward_error > 1.0 > 0.1 > many.reward_error > 0.0


def test_of_a_shared_payoff_nobody_is_stronger(pays):
    result = pays(Objective("shared", unit="points"), (3.0, 3.0), (4.0, 4.0))
    low, high = 3.5 - result.reward_error, 3.5 + result.reward_error
    assert result.verdict("a", "b") == (
        f"a with b: 3.500 points a game (95% interval {low:.3f} to {high:.3f}); "
        "both get it, so neither is the stronger one."
    )
    found = result.document()
    assert {"objective": "shared", "reward": 3.5, "reward_b": 3.5}.items() <= found.items()
    assert not {"superiority", "sprt", "llr", "lead", "elo"} & found.keys()


@pytest.mark.parametrize(
    ("objective", "paid", "told"),
    [(GUESSED, RARE_LOSS, True), (GUESSED, ((1.0, -1.0),), False), (Objective("outcome"), RARE_LOSS, False)],
)
def test_payoffs_that_contradict_random_play_are_told(pays, objective, paid, told):
    result = pays(objective, *paid)
    assert (result.by_wins, result.rewards() is not None) == (told, told)
    assert result.paid is None
    assert (result.elo is None) == (len(paid) == 1)  # won every game
    assert {"reward", "by_wins", "elo", "superiority"} < result.document().keys()
    if told:
        assert result.rewards().startswith("mean reward -0.500 (95% interval -1.")
        assert result.rewards().endswith(BY_WINS)
        assert 'objective = "reward"' in BY_WINS


def test_games_without_stocks_are_judged_by_the_game():
    result = evaluate(Contender("always_bet"), Contender("equilibrium"), 400, Rules("kuhn"))
    assert result.games == result.wins + result.losses + result.draws == 400
    assert result.low <= result.score <= result.high
    assert result.paid.lead == result.reward == -result.paid.reward_b
    assert result.paid.lead < 0.0 < result.score - 0.5  # wins the most games and loses antes
    assert result.figures == {}
