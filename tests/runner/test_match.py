from datetime import UTC, datetime

import numpy as np
import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta
from selfplay.errors import RunnerError
from selfplay.games.errors import GameError
from selfplay.games.registry import find_game
from selfplay.league.schedule import Matchup
from selfplay.policy.network import build_network
from selfplay.policy.policy import Policy
from selfplay.runner import match
from selfplay.runner.match import Contender, Rules, Traits, play, play_in_threads, stats_of
from selfplay_melee import bots
from selfplay_melee.conditions import fight_scores
from selfplay_melee.controller import ACTION_SPEC, NEUTRAL
from selfplay_melee.mock import STATS
from selfplay_melee.observation import ENCODER_VERSION, OBS_WIDTH
from selfplay_melee.rated import FightBody
from tests.support.fight_policies import meta_fields
from tests.support.fight_rules import fight_rules

RULES = fight_rules(max_episode_frames=240)
MEWTWO = ("mewtwo", "mewtwo")


def policy(frame_skip=4, delay=0, seed=0):
    spec = NetworkSpec(obs_width=OBS_WIDTH, hidden=(8,))
    heads = ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes)
    meta = PolicyMeta(
        id="gen_0",
        weights_hash=f"{seed:064x}",
        network=spec,
        actions=heads,
        encoder_version=ENCODER_VERSION,
        **meta_fields(frame_skip=frame_skip, delay=delay),
        created=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Policy(meta, build_network(spec, heads, torch.Generator().manual_seed(seed)).eval())


PLAYERS = {"random": Contender("random"), "idle": Contender("idle"), "rusher": Contender("rusher")}


def pairings(*seeds, players=("random", "rusher")):
    return [Matchup(players, MEWTWO, seed) for seed in seeds]


def test_every_game_is_played_once_to_its_end():
    stats = stats_of(play(pairings(1, 2, 3), PLAYERS, RULES))
    assert stats.shape == (3, 2)
    assert stats.dtype == STATS
    assert (stats["frames"] > 0).all()
    assert (stats["frames"] <= 240).all()
    np.testing.assert_array_equal(stats["damage"], stats["damage_taken"][:, ::-1])


@pytest.mark.parametrize(("games", "calls"), [(1, 1), (7, 2), (9, 3), (40, 3)])
def test_threads_play_the_same_games(monkeypatch, games, calls):
    monkeypatch.setattr(match, "THREAD_GAMES", 3)
    sizes = []
    monkeypatch.setattr(match, "play", lambda some, *rest: sizes.append(len(some)) or play(some, *rest))
    alone = play(pairings(*range(games)), PLAYERS, RULES)
    results = play_in_threads(3, pairings(*range(games)), PLAYERS, RULES)
    assert len(sizes) == calls
    assert sum(sizes) == games
    assert [result.matchup for result in results] == pairings(*range(games))
    np.testing.assert_array_equal(stats_of(results), stats_of(alone))


def test_a_stop_reaches_all_threads(monkeypatch):
    monkeypatch.setattr(match, "THREAD_GAMES", 1)
    with pytest.raises(RunnerError, match="stopped"):
        play_in_threads(2, pairings(1, 2), PLAYERS, RULES, lambda: True)


def test_a_game_depends_on_its_seed_and_not_on_its_neighbours():
    rules = fight_rules(max_episode_frames=900)  # long enough for blows, of which each seed has its own
    together = stats_of(play([*pairings(1, 2), *pairings(3, players=("idle", "random"))], PLAYERS, rules))
    alone = [stats_of(play(pairings(seed), PLAYERS, rules)) for seed in (1, 2)]
    np.testing.assert_array_equal(together[:2], np.concatenate(alone))
    assert together[0].tobytes() != together[1].tobytes()


def test_the_same_pairings_give_the_same_games_with_policies_too():
    players = PLAYERS | {"gen_0": Contender("gen_0", policy()), "gen_5": Contender("gen_5", policy(seed=5))}
    games = [Matchup(("gen_0", "gen_5"), ("fox", "mewtwo"), 7), Matchup(("random", "gen_0"), ("mewtwo", "fox"), 8)]
    first, second = (stats_of(play(games, players, RULES)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_game_of_policies_is_the_same_alone_as_among_many():
    players = PLAYERS | {f"gen_{n}": Contender(f"gen_{n}", policy(3 + n, delay=n, seed=n)) for n in range(3)}
    games = [
        Matchup(pair, ("fox", "mewtwo"), seed)
        for seed in range(4)
        for pair in (
            ("gen_0", "gen_1"),
            ("gen_1", "gen_0"),
            ("gen_2", "rusher"),
            ("random", "gen_2"),
            ("gen_0", "gen_2"),
        )
    ]
    rules = fight_rules(max_episode_frames=1200)
    together = stats_of(play(games, players, rules))
    for i in (1, 7, 12, 19):
        np.testing.assert_array_equal(stats_of(play(games[i : i + 1], players, rules))[0], together[i])


def counting(player):
    """The policy, and how many rows it was asked for each time."""
    calls = []
    player.network.register_forward_pre_hook(lambda _, inputs: calls.append(len(inputs[0])))
    return player, calls


def test_each_policy_decides_at_its_own_frame_skip():
    (slow, slow_calls), (fast, fast_calls) = counting(policy(frame_skip=6)), counting(policy(frame_skip=2, seed=1))
    players = {"slow": Contender("slow", slow), "fast": Contender("fast", fast)}
    steps = []
    games = [Matchup(("slow", "fast"), MEWTWO, 1), Matchup(("fast", "slow"), MEWTWO, 2)]
    stats = stats_of(play(games, players, fight_rules(max_episode_frames=60), stop=lambda: bool(steps.append(1))))
    assert len(steps) == 30  # of two frames: the largest step that suits both
    assert (stats["frames"] == 60).all()
    assert len(slow_calls) == 10
    assert len(fast_calls) == 30
    assert set(slow_calls) == set(fast_calls) == {2}


def test_scripted_players_keep_their_pace_whatever_the_opponents():
    players = PLAYERS | {f"every-{n}": Contender(f"every-{n}", standing(policy(frame_skip=n))) for n in (1, 4)}
    alone, one, four = (
        play([Matchup(("random", name), MEWTWO, 5)], players, RULES)[0].stats[0]
        for name in ("idle", "every-1", "every-4")
    )
    assert one == four == alone


def standing(player):
    """The policy, made to never touch the controller."""
    out = player.network.out
    with torch.no_grad():
        out.weight.zero_()
        out.bias.fill_(-50.0)
        first = ACTION_SPEC.binary
        for size, index in zip(ACTION_SPEC.sizes, NEUTRAL[ACTION_SPEC.binary :], strict=True):
            out.bias[first + int(index)] = 50.0
            first += size
    return player


def test_greedy_and_sampled_play_differ():
    players = {"gen_0": Contender("gen_0", policy()), "all_rounder": Contender("all_rounder")}
    games = pairings(3, players=("gen_0", "all_rounder"))
    sampled, greedy = (
        stats_of(play(games, players, fight_rules(max_episode_frames=600, greedy=g))) for g in (False, True)
    )
    assert sampled.tobytes() != greedy.tobytes()


def test_stopping_ends_it_at_once():
    watched = []
    with pytest.raises(RunnerError, match="stopped"):
        play(pairings(1), PLAYERS, RULES, stop=lambda: len(watched) == 2, watch=watched.append)
    assert len(watched) == 2


def test_unknown_characters_are_named():
    with pytest.raises(GameError, match="unknown character 'foxx'; did you mean 'fox'"):
        play([Matchup(("random", "idle"), ("foxx", "fox"), 1)], PLAYERS, RULES)


def test_contenders_tell_what_they_are():
    assert RULES.traits(Contender("random")) == Traits(f"bots-{bots.VERSION}", bots.FRAME_SKIP, 0)
    assert RULES.traits(Contender("gen_0", policy(frame_skip=3, delay=2))) == Traits("0" * 64, 3, 2)


def test_who_watches_sees_every_frame_and_changes_nothing():
    players = {"slow": Contender("slow", policy(4, delay=3)), "slower": Contender("slower", policy(6, seed=1))}
    games = pairings(5, players=("slow", "slower"))
    frames = []
    watched = play(games, players, RULES, watch=lambda game: frames.append(int(game.state.game["frame"][0])))
    np.testing.assert_array_equal(stats_of(watched), stats_of(play(games, players, RULES)))
    assert frames == list(range(240))


def test_who_won_is_told_by_the_game():
    for result in play(pairings(*range(6)), PLAYERS, fight_rules(max_episode_frames=1200)):
        assert result.score == (score := float(fight_scores(result.stats)), 1.0 - score)


COUNTERS = np.dtype([("stocks", "i4"), ("percent", "f4")])


@pytest.mark.parametrize(
    ("stocks", "percents", "by_percent", "by_stock"),
    [
        ((2, 1), (150.0, 0.0), 1.0, 1.0),
        ((0, 3), (0.0, 120.0), 0.0, 0.0),
        ((2, 2), (10.0, 90.0), 1.0, 0.5),
        ((2, 2), (90.0, 10.0), 0.0, 0.5),
        ((0, 0), (0.0, 30.0), 1.0, 0.5),
        ((3, 3), (42.5, 42.5), 0.5, 0.5),
    ],
)
def test_the_result_of_a_fight_follows_from_stocks_then_percent(stocks, percents, by_percent, by_stock):
    stats = np.array([*zip(stocks, percents, strict=True)], COUNTERS)
    assert [float(fight_scores(stats)), float(fight_scores(stats, "stocks"))] == [by_percent, by_stock]
    assert [float(fight_scores(stats[::-1])), float(fight_scores(stats[::-1], "stocks"))] == [
        1.0 - by_percent,
        1.0 - by_stock,
    ]


def masked_policy(game):
    """A fresh policy for a game with a table."""
    entry = find_game(game)
    spec = NetworkSpec(obs_width=entry.obs_width, hidden=(8,))
    heads = ActionHeads(binary=entry.actions.binary, sizes=entry.actions.sizes)
    meta = policy().meta.model_copy(update={"network": spec, "actions": heads, "game": game, "body": {}})
    return Policy(meta, build_network(spec, heads, torch.Generator().manual_seed(0)).eval())


@pytest.mark.parametrize("game", ["kuhn", "mixup"])
def test_solved_games_are_played_by_their_scripted_players_and_by_policies(game):
    rules = Rules(game=game)
    names = tuple(rules.rated.players)
    players = {name: Contender(name) for name in names} | {"gen_0": Contender("gen_0", masked_policy(game))}
    matchups = [Matchup((a, b), seed=seed) for seed in range(20) for a in players for b in players if a != b]
    results = play(matchups, players, rules)
    assert [result.score for result in results] == [result.score for result in play(matchups, players, rules)]
    alone = [play([matchup], players, rules)[0].score for matchup in matchups[::17]]
    assert [result.score for result in results[::17]] == alone
    assert len({result.score for result in results}) > 1


def test_a_slow_scripted_player_is_the_same_one_with_a_delay(monkeypatch):
    seen = []

    def options(matchups, contenders, rules):
        seen.append(made := game_options(matchups, contenders, rules))
        return made

    game_options = match.game_options
    monkeypatch.setattr(match, "game_options", options)
    rules = fight_rules(max_episode_frames=1200)
    slow = {**PLAYERS, "rusher_15": Contender("rusher_15")}
    (result,) = play([Matchup(("rusher_15", "idle"), MEWTWO, 5)], slow, rules)
    assert seen[0]["delay"] == [[15, 0]]
    (fast,) = play([Matchup(("rusher", "idle"), MEWTWO, 5)], slow, rules)
    assert result.stats["damage"][0] > 0
    assert result.stats["damage"].tolist() != fast.stats["damage"].tolist()


def test_delayed_policies_are_rated_beside_players_of_their_reaction():
    kind = find_game("mock")
    body = FightBody(**meta_fields(delay=15)["body"])
    assert kind.ladder_of(body) == ("random", *(f"{name}_15" for name in kind.ladder[1:]))
    assert set(kind.ladder_of(body)) <= set(kind.rated.players)
    assert kind.ladder_of(FightBody(**meta_fields(delay=2)["body"])) == kind.ladder
