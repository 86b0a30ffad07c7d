from datetime import UTC, datetime

import numpy as np
import pytest
import torch

from envs.errors import GameError
from envs.melee import bots
from envs.melee.controller import ACTION_SPEC, NEUTRAL
from envs.melee.mock import STATS
from envs.melee.observation import ENCODER_VERSION, OBS_WIDTH
from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta
from selfplay.errors import RunnerError
from selfplay.policy.network import build_network
from selfplay.policy.policy import Policy
from selfplay.runner.match import Contender, Pairing, Rules, play

RULES = Rules(max_episode_frames=240)
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
        frame_skip=frame_skip,
        delay=delay,
        characters=("mewtwo",),
        stage="final_destination",
        created=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Policy(meta, build_network(spec, heads, torch.Generator().manual_seed(seed)).eval())


PLAYERS = {"random": Contender("random"), "idle": Contender("idle"), "rusher": Contender("rusher")}


def pairings(*seeds, players=("random", "rusher")):
    return [Pairing(players, MEWTWO, seed) for seed in seeds]


def test_every_game_is_played_once_to_its_end():
    stats = play(pairings(1, 2, 3), PLAYERS, RULES)
    assert stats.shape == (3, 2)
    assert stats.dtype == STATS
    assert (stats["frames"] > 0).all()
    assert (stats["frames"] <= 240).all()
    np.testing.assert_array_equal(stats["damage"], stats["damage_taken"][:, ::-1])


def test_a_game_depends_on_its_seed_and_not_on_its_neighbours():
    rules = Rules(max_episode_frames=900)  # long enough for blows, of which each seed has its own
    together = play([*pairings(1, 2), *pairings(3, players=("idle", "random"))], PLAYERS, rules)
    alone = [play(pairings(1), PLAYERS, rules), play(pairings(2), PLAYERS, rules)]
    np.testing.assert_array_equal(together[:2], np.concatenate(alone))
    assert together[0].tobytes() != together[1].tobytes()


def test_the_same_pairings_give_the_same_games_with_policies_too():
    players = PLAYERS | {"gen_0": Contender("gen_0", policy()), "gen_5": Contender("gen_5", policy(seed=5))}
    games = [Pairing(("gen_0", "gen_5"), ("fox", "mewtwo"), 7), Pairing(("random", "gen_0"), ("mewtwo", "fox"), 8)]
    first, second = (play(games, players, RULES) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_game_of_policies_is_the_same_alone_as_among_many():
    players = PLAYERS | {f"gen_{n}": Contender(f"gen_{n}", policy(3 + n, delay=n, seed=n)) for n in range(3)}
    games = [
        Pairing(pair, ("fox", "mewtwo"), seed)
        for seed in range(4)
        for pair in (
            ("gen_0", "gen_1"),
            ("gen_1", "gen_0"),
            ("gen_2", "rusher"),
            ("random", "gen_2"),
            ("gen_0", "gen_2"),
        )
    ]
    rules = Rules(max_episode_frames=1200)
    together = play(games, players, rules)
    for i in (1, 7, 12, 19):
        assert play(games[i : i + 1], players, rules).tobytes() == together[i].tobytes()


class Counting:
    """A policy that counts for how many seats it decided, call by call."""

    def __init__(self, inner):
        self.meta = inner.meta
        self.calls = []
        self._inner = inner

    def act(self, obs, *, greedy, uniform):
        self.calls.append(len(obs))
        return self._inner.act(obs, greedy=greedy, uniform=uniform)


def test_each_policy_decides_at_its_own_frame_skip():
    slow, fast = Counting(policy(frame_skip=6)), Counting(policy(frame_skip=2, seed=1))
    players = {"slow": Contender("slow", slow), "fast": Contender("fast", fast)}
    steps = []
    games = [Pairing(("slow", "fast"), MEWTWO, 1), Pairing(("fast", "slow"), MEWTWO, 2)]
    stats = play(games, players, Rules(max_episode_frames=60), stop=lambda: bool(steps.append(1)))
    assert len(steps) == 30  # of two frames: the largest step that suits both
    assert (stats["frames"] == 60).all()
    assert len(slow.calls) == 10
    assert len(fast.calls) == 30
    assert set(slow.calls) == set(fast.calls) == {2}


def test_scripted_players_keep_their_pace_whatever_the_opponents():
    players = PLAYERS | {f"every-{n}": Contender(f"every-{n}", Standing(policy(frame_skip=n))) for n in (1, 4)}
    alone, one, four = (
        play([Pairing(("random", name), MEWTWO, 5)], players, RULES)[0, 0] for name in ("idle", "every-1", "every-4")
    )
    assert one == four == alone


class Standing:
    """A policy that never touches the controller."""

    def __init__(self, inner):
        self.meta = inner.meta

    def act(self, obs, *, greedy, uniform):
        return np.tile(NEUTRAL, (len(obs), 1))


def test_greedy_and_sampled_play_differ():
    players = PLAYERS | {"gen_0": Contender("gen_0", policy())}
    games = pairings(3, players=("gen_0", "rusher"))
    sampled, greedy = (play(games, players, Rules(max_episode_frames=240, greedy=g)) for g in (False, True))
    assert sampled.tobytes() != greedy.tobytes()


def test_stopping_ends_it_at_once():
    watched = []
    with pytest.raises(RunnerError, match="stopped"):
        play(pairings(1), PLAYERS, RULES, stop=lambda: len(watched) == 2, watch=watched.append)
    assert len(watched) == 2


def test_unknown_characters_are_named():
    with pytest.raises(GameError, match="unknown character 'foxx'; did you mean 'fox'"):
        play([Pairing(("random", "idle"), ("foxx", "fox"), 1)], PLAYERS, RULES)


def test_contenders_tell_what_they_are():
    scripted, learned = Contender("random"), Contender("gen_0", policy(frame_skip=3, delay=2))
    assert (scripted.frame_skip, scripted.delay) == (bots.FRAME_SKIP, 0)
    assert (learned.frame_skip, learned.delay) == (3, 2)
    assert scripted.version == f"bots-{bots.VERSION}"
    assert learned.version == "0" * 64


def test_who_watches_sees_every_frame_and_changes_nothing():
    players = {"slow": Contender("slow", policy(4, delay=3)), "slower": Contender("slower", policy(6, seed=1))}
    games = pairings(5, players=("slow", "slower"))
    frames = []
    watched = play(games, players, RULES, watch=lambda game: frames.append(int(game.state.game["frame"][0])))
    assert watched.tobytes() == play(games, players, RULES).tobytes()
    assert frames == list(range(240))
