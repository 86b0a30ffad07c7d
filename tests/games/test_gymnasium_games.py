import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from selfplay.games.errors import ActionError, GameError
from selfplay.games.gymnasium_games import GymnasiumGames
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game, make_game
from tests.games.vector_environments import Climb, Duels, climbs

HERE = "tests.games.vector_environments"
RED, BLUE = [1, 0], [0, 1]  # the last two features: whose seat it is


def begun(env, seed=5):
    """Its games, and what the seats of the first one see."""
    games = GymnasiumGames(env, env.num_envs // 2)
    return games, games.reset(np.arange(seed, seed + games.num_games, dtype=np.uint64)).tolist()


def both(red, blue, games=1):
    """The same actions of each game."""
    return np.array([[[red], [blue]]] * games, np.int8)


# ---------------------------------------------------------------- ends


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_the_step_that_ends_a_game_begins_the_next(mode):
    games, first = begun(climbs(1, mode, limit=2))
    assert first == [[[0, 0, *RED], [0, 0, *BLUE]]]
    batch = games.step(both(0, 2))  # steps of 1 and 3 metres
    assert batch.obs.tolist() == [[[1, 1, *RED], [3, 1, *BLUE]]]
    assert batch.reward.tolist() == [[1, 3]]
    assert not batch.ended.any()
    batch = games.step(both(1, 1))
    assert batch.obs.tolist() == [[[0, 0, *RED], [0, 0, *BLUE]]]
    assert batch.final_obs.tolist() == [[[3, 2, *RED], [5, 2, *BLUE]]]
    assert (batch.terminated.tolist(), batch.truncated.tolist()) == ([True], [False])
    assert batch.score.tolist() == [[0, 1]]
    assert batch.stats["frames"].tolist() == [[2, 2]]
    assert batch.stats["reward_payoff"].tolist() == [[3, 5]]
    batch = games.step(both(2, 0))  # nothing is left of the episode before
    assert batch.obs.tolist() == [[[3, 1, *RED], [1, 1, *BLUE]]]
    assert games.step(both(0, 2)).score.tolist() == [[0.5, 0.5]]


def test_a_step_that_only_begins_a_game_is_no_decision():
    games, _ = begun(climbs(1, AutoresetMode.NEXT_STEP, limit=2))
    assert games.legal.all()
    games.step(both(0, 2))
    batch = games.step(both(1, 1))
    assert batch.terminated.tolist() == [True]
    assert batch.final_obs.tolist() == [[[3, 2, *RED], [5, 2, *BLUE]]]
    assert batch.obs.tolist() == [[[0] * 4] * 2]
    assert games.legal.tolist() == [[[True, False, False]] * 2]
    batch = games.step(both(0, 0))
    assert batch.obs.tolist() == [[[0, 0, *RED], [0, 0, *BLUE]]]
    assert batch.reward.tolist() == [[0, 0]]
    assert not batch.ended.any()
    assert games.legal.all()
    games.step(both(2, 0))
    batch = games.step(both(2, 0))
    assert batch.stats["frames"].tolist() == [[2, 2]]
    assert batch.stats["reward_payoff"].tolist() == [[6, 2]]


class Uneven(Climb):
    """Of two games, the first has a step and the second has two; they count themselves."""

    made = 0

    def __init__(self, **options):
        super().__init__(limit=1 + Uneven.made % 4 // 2, **options)
        Uneven.made += 1


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("mask", ["infos", "seen"])
def test_one_game_ends_and_the_other_goes_on(mode, mask, monkeypatch):
    monkeypatch.setattr("tests.games.vector_environments.Climb", Uneven)
    games, _ = begun(climbs(2, mode, mask=mask))
    batch = games.step(both(0, 1, games=2))
    assert batch.terminated.tolist() == [True, False]
    assert batch.final_obs[0].tolist() == [[1, 1, *RED], [2, 1, *BLUE]]
    assert batch.obs[1].tolist() == [[1, 1, *RED], [2, 1, *BLUE]]
    assert games.legal[1].tolist() == [[False, True, True], [True, False, True]]
    if mode != AutoresetMode.NEXT_STEP:
        assert batch.obs[0].tolist() == [[0, 0, *RED], [0, 0, *BLUE]]
        assert games.legal[0].all()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_truncated_game_shows_what_was_last_seen(mode):
    games, _ = begun(climbs(1, mode, limit=1, truncates=True))
    batch = games.step(both(0, 2))
    assert (batch.terminated.tolist(), batch.truncated.tolist()) == ([False], [True])
    assert batch.final_obs.tolist() == [[[1, 1, *RED], [3, 1, *BLUE]]]


def test_seats_that_do_not_end_together_are_refused():
    games, _ = begun(climbs(2, goal=3))
    with pytest.raises(GameError, match=r"^game 0: one seat has ended and the other has not; both end together$"):
        games.step(both(0, 2, games=2))


def test_a_game_of_which_one_seat_is_truncated_is_over():
    class Mixed(Duels):
        def step(self, actions):
            obs, reward, ended, _, infos = super().step(actions)
            return obs, reward, ended & [True, False], ended, infos

    games, _ = begun(Mixed(1))
    ends = [games.step(np.zeros((1, 2, 2), np.int8)) for _ in range(3)][-1]
    assert (ends.terminated.tolist(), ends.truncated.tolist()) == ([True], [False])


def test_a_last_observation_that_is_missing_is_told():
    class Silent(Duels):
        def step(self, actions):
            return *super().step(actions)[:4], {}

    games, _ = begun(Silent(1))
    nothing = np.zeros((1, 2, 2), np.int8)
    games.step(nothing)
    games.step(nothing)
    with pytest.raises(GameError, match=r"^autoreset_mode is SAME_STEP, final_obs: KeyError: 'final_obs'$"):
        games.step(nothing)


# ---------------------------------------------------------------- what seats see and do


def test_observations_are_flattened_and_actions_given_as_the_space_has_them():
    games, first = begun(Duels(2))
    keys = [0, 0, 0], [1, 0, 0, 0]  # met and round: Gymnasium sorts the keys
    assert first == [[[*keys[0], *keys[1], *seat] for seat in (RED, BLUE)]] * 2
    batch = games.step(np.array([[[0, 1], [1, 0]], [[2, 0], [2, 1]]], np.int8))
    assert games.env.given[0].tolist() == [[0, 1], [1, 0], [2, 0], [2, 1]]
    assert batch.reward.tolist() == [[-1, 1], [0, 0]]
    assert batch.obs[0].tolist() == [[0, 1, 0, 0, 1, 0, 0, *RED], [1, 0, 0, 0, 1, 0, 0, *BLUE]]
    for _ in range(2):
        batch = games.step(np.zeros((2, 2, 2), np.int8))
    assert batch.final_obs[1].tolist() == [[1, 0, 0, 0, 0, 0, 1, *RED], [1, 0, 0, 0, 0, 0, 1, *BLUE]]
    assert games.actions.sizes == (3, 2)


@pytest.mark.parametrize("mask", ["infos", "seen"])
def test_masks_are_kept(mask):
    games, first = begun(climbs(1, mask=mask, limit=50))
    assert first == [[[0, 0, *RED], [0, 0, *BLUE]]]  # the mask is no feature
    games.step(both(0, 2))
    assert games.legal.tolist() == [[[False, True, True], [True, True, False]]]
    with pytest.raises(ActionError, match=r"game 0, seat 1: 2 in part 0 of the action is not legal now \(valid: 0, 1"):
        games.step(both(1, 2))
    assert games.step(both(1, 0)).obs.tolist() == [[[3, 2, *RED], [4, 2, *BLUE]]]
    games.bots[:] = games.bot_names.index("random")
    seen = [games.step(both(-1, -1)).reward[0].tolist() for _ in range(40)]  # Climb asserts that they are legal
    assert {move for moves in seen for move in moves} == {1, 2, 3}


def test_seats_that_do_not_act_play_their_first_legal_action():
    games, _ = begun(climbs(1, mask="infos"))
    games.step(both(0, 2))
    assert games.step(both(2, 2), np.array([[False, False]])).reward.tolist() == [[2, 1]]


class Told(Duels):
    """Its masks are what a test says."""

    mask = None

    def step(self, actions):
        *rest, infos = super().step(actions)
        return *rest, infos | {"action_mask": self.mask}


def test_a_mask_that_allows_nothing_makes_a_seat_wait():
    games, _ = begun(Told(1))
    games.env.mask = np.array([[0, 0, 0, 0, 0], [0, 1, 1, 0, 0]])
    games.step(np.zeros((1, 2, 2), np.int8))
    assert games.legal.tolist() == [[[True, False, False, True, False], [False, True, True, True, False]]]
    assert games.actions.choices(games.legal).tolist() == [[False, True]]


def test_masks_of_several_parts_are_joined_and_others_refused():
    games, _ = begun(Told(1))
    games.env.mask = np.array([[1, 0, 1], [1, 1, 1]]), np.array([[1, 1], [0, 1]])
    games.step(np.zeros((1, 2, 2), np.int8))
    assert games.legal.tolist() == [[[True, False, True, True, True], [True, True, True, False, True]]]
    games.env.mask = np.ones((2, 3))
    with pytest.raises(GameError, match=r"the action_mask of both seats of all games has 6 entries \(valid: 10\)"):
        games.step(np.array([[[0, 0], [0, 1]]], np.int8))


def test_rewards_that_are_no_numbers_are_refused():
    class Broken(Duels):
        def step(self, actions):
            return (*super().step(actions)[:1], [0, np.nan], [False] * 2, [False] * 2, {})

    games, _ = begun(Broken(1))
    with pytest.raises(GameError, match=r"game 0: step 0 gave the rewards \[0.0, nan\]"):
        games.step(np.zeros((1, 2, 2), np.int8))


def test_what_older_interfaces_give_is_refused():
    class Lists(Duels):
        def step(self, actions):
            return *super().step(actions)[:4], [{}, {}]

    class Four(Duels):
        def step(self, actions):
            return super().step(actions)[:4]

    class Narrow(Duels):
        def _seen(self):
            return {"round": np.zeros(2, int), "met": np.zeros((2, 1))}

    nothing = np.zeros((1, 2, 2), np.int8)
    with pytest.raises(GameError, match=r"^infos is a list \(valid: a dict of arrays, as Gymnasium 1.x has it\)$"):
        begun(Lists(1))[0].step(nothing)
    with pytest.raises(GameError, match=r"^step: ValueError: not enough values to unpack"):
        begun(Four(1))[0].step(nothing)
    with pytest.raises(GameError, match=r"^seats see what is not in Dict\('met': Box\(.*: ValueError: cannot reshape"):
        begun(Narrow(1))


# ---------------------------------------------------------------- beginning anew


def test_seeds_of_all_games_fix_the_seed_of_the_environment():
    seeds = [begun(Duels(2), seed)[0].env.seeds[0] for seed in (5, 5, 6)]
    assert seeds[0] == seeds[1] != seeds[2]
    assert 0 <= min(seeds) <= max(seeds) < 2**31


def test_restored_games_begin_anew_and_say_so():
    games, _ = begun(Duels(1))
    games.step(np.zeros((1, 2, 2), np.int8))
    other = GymnasiumGames(Duels(1), 1)
    assert other.restore(games.snapshot()).tolist() == [[[0, 0, 0, 1, 0, 0, 0, *seat] for seat in (RED, BLUE)]]
    assert other.notes == ["games cannot be copied and began anew: their episodes in progress are lost"]
    assert games.notes == []
    assert other.env.seeds[0] != games.env.seeds[0]  # not the same beginning once more
    for _ in range(3):
        batch = other.step(np.zeros((1, 2, 2), np.int8))
    assert batch.stats["frames"].tolist() == [[3, 3]]
    with pytest.raises(GameError, match="the snapshot is of another block"):
        GymnasiumGames(Duels(2), 2).restore(games.snapshot())


# ---------------------------------------------------------------- as a game by name


def test_what_is_known_of_one():
    allow(f"{HERE}:Duels")
    entry = find_game(f"{HERE}:Duels")
    assert (entry.obs_width, entry.actions.sizes, entry.ladder) == (3 + 4 + 2, (3, 2), ("random",))
    assert not entry.repeats
    assert entry.single is None
    assert make_game(f"{HERE}:Duels", num_games=3).num_games == 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("odd", "num_envs is 3: with two seats a game, num_games=1 needs 2"),
        ("continuous", r"a seat plays Box\(-1.0, 1.0, \(2,\), float32\): continuous actions are not supported yet"),
        ("pictures", r"a seat sees Box\(0, 255, \(8, 8, 3\), uint8\): images are not supported yet"),
        ("unsaid", r"metadata\['autoreset_mode'\]: ValueError: None is not a valid AutoresetMode"),
    ],
)
def test_what_cannot_be_trained_is_refused_before(name, words):
    allow(f"{HERE}:{name}")
    with pytest.raises(GameError, match=f"^--game-type {HERE}:{name}: {words}$"):
        find_game(f"{HERE}:{name}")


class Lost(Climb):
    """What is seen at a height of three metres is no number."""

    def _shown(self):
        obs, info = super()._shown()
        return np.where(obs[0] == 3, np.nan, obs).astype(np.float32), info


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("limit", [1, 9])
def test_observations_that_are_not_finite_are_refused_by_game_and_seat(mode, limit):
    """Also the last one of an episode, which some modes give apart."""
    env = SyncVectorEnv([lambda: Lost(limit=limit)] * 4, autoreset_mode=mode)
    games, _ = begun(env)
    with pytest.raises(GameError, match=r"game 0, seat 1: after 1 steps the observation has nan as feature 0$"):
        games.step(both(0, 2, games=2))
