import pytest

from selfplay.checkpoint import RunDir
from selfplay.cli.ppo import parse
from selfplay.ppo.session import Session
from selfplay_melee import bots
from selfplay_melee.mock import MockMelee


def session(*arguments):
    words = ("--preset", "none", *map(str, arguments))
    return Session(parse(words).config, RunDir("run"), "cpu")


@pytest.mark.parametrize(
    ("cores", "games", "runners", "expected"),
    [
        (2, 4, 0, [4]),  # few games are one block
        (2, 256, 0, [128, 128]),  # else one a core
        (64, 256, 0, [32] * 8),  # eight at most
        (1, 256, 0, [256]),
        (2, 10, 3, [3, 3, 4]),
        (2, 3, 8, [1, 1, 1]),  # no block without a game
    ],
)
def test_games_are_dealt_out_evenly(monkeypatch, cores, games, runners, expected):
    monkeypatch.setattr("selfplay.config.resolve.usable_cores", lambda: cores)
    blocks = session("--num-games", games, "--runners", runners).blocks
    assert list(blocks.values()) == expected
    assert list(blocks) == [f"runner-{i:03d}" for i in range(len(expected))]


@pytest.mark.parametrize(
    ("timesteps", "iterations"), [(1, 1), (512, 1), (513, 2), (1000, 2), (100_000, 196), (12_000_000, 23438)]
)
def test_iterations_are_whole_and_reach_the_steps(timesteps, iterations):
    made = session("--timesteps", timesteps)
    assert made.config.steps_per_iteration == 4 * 128
    assert made.config.iterations == iterations


def test_time_alone_plans_no_iterations():
    assert session("--max-minutes", 3).config.iterations is None


def test_who_is_met_and_who_is_rated():
    made = session("--preset", "laptop", "--held-out", "rusher,random")
    scripted = set(bots.NAMES) - {"idle"}
    assert set(made.rating.anchors) == scripted | {"weak", "medium", "strong", "expert"}
    assert set(made.training_bots) == scripted - {"rusher", "random"}


def test_options_make_the_game_that_the_flags_ask_for():
    made = session(
        *("--character", "fox", "--opponent-character", "mewtwo", "--stage", "battlefield", "--frame-skip", 3),
        *("--delay", 5, "--max-episode-frames", 99, "--set", "reward.stock=2", "--set", "reward.damage=0.5"),
    )
    options = made.game_options(7)
    assert options["characters"] == ["fox", "mewtwo"]
    assert (options["rewards"]["stock"], options["rewards"]["damage"]) == (2.0, 0.5)
    game = MockMelee(**options)
    assert (game.num_games, game.frame_skip, game.max_episode_frames) == (7, 3, 99)


def test_rating_settings_tell_what_makes_games_comparable():
    base = session().rating.settings
    assert session("--seed", 5, "--num-games", 9).rating.settings == base
    for change in (("--stage", "battlefield"), ("--character", "fox"), ("--max-episode-frames", 60)):
        assert session(*change).rating.settings != base
    one = session("--character", "fox", "--opponent-character", "mewtwo").rating
    other = session("--opponent-character", "fox").rating
    assert one.settings == other.settings  # who of the two is the learner's makes no difference
    assert (session().rating.games_each, one.games_each) == (2, 4)
