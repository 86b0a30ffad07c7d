"""Games of OpenSpiel: names, what a seat sees and may do, chance, rewards, and what judges the players."""

import copy
import re
import sys

import numpy as np
import pytest

from selfplay.config.programs import check_game as check_game_type
from selfplay.config.programs import invoke_ppo
from selfplay.errors import ConfigError
from selfplay.games import plugins
from selfplay.games.check import check_game
from selfplay.games.errors import GameError
from selfplay.games.openspiel_games import OpenSpielGame
from selfplay.games.openspiel_names import canonical
from selfplay.games.registry import find_game, shares_policies
from selfplay.games.solved.enumeration import enumerate_game
from selfplay.games.solved.exact import nash_conv
from selfplay.games.solved.state_key import state_key

pyspiel = pytest.importorskip("pyspiel", reason="needs OpenSpiel, which is not installed")

REPEATED = "repeated_game(stage_game=matrix_pd(),num_repetitions=3)"


def find(spelled):
    """The game of a name that a person typed."""
    plugins.allow(f"openspiel:{spelled}")
    return find_game(f"openspiel:{spelled}")


def play(game, seed, steps=10_000):
    """Play at random; the rewards of each step."""
    rng, rewards, over = np.random.default_rng(seed), [], False
    game.reset(seed)
    while not over and len(rewards) < steps:
        acts = {seat: int(rng.choice(np.flatnonzero(game.legal(seat)))) for seat in game.to_act()}
        gained, over, truncated = game.step([acts.get(seat, 0) for seat in (0, 1)])
        assert not truncated
        rewards.append(gained)
    return np.array(rewards)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("leduc_poker(players=2)", "leduc_poker"),
        ("leduc_poker()", "leduc_poker"),
        ("go(komi=5,board_size=9)", "go(board_size=9,komi=5.0)"),
        (
            "turn_based_simultaneous_game(game=goofspiel(players=2,num_cards=3))",
            "turn_based_simultaneous_game(game=goofspiel(num_cards=3))",
        ),
        ("universal_poker(stack=200 200)", "universal_poker(stack=200 200)"),
    ],
)
def test_a_game_has_one_name(spelled, name):
    assert canonical(spelled) == name
    assert canonical(name) == name


def test_policies_of_one_game_play_it_by_each_of_its_names():
    short, long = "openspiel:kuhn_poker", "openspiel:kuhn_poker(players=2)"
    assert shares_policies(short, long)
    assert find_game(short).rated == find_game(long).rated
    assert not shares_policies(short, "openspiel:leduc_poker")


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ("kuhn_pokr", "unknown game of OpenSpiel 'kuhn_pokr'; did you mean 'kuhn_poker'? (valid: 2048, "),
        ("kuhn_poker(player=2)", "unknown parameter of kuhn_poker 'player'; did you mean 'players'? (valid: players)"),
        ("kuhn_poker(players=3)", "kuhn_poker with players=3: only games of two are supported (valid: players=2)"),
        ("kuhn_poker(", "'kuhn_poker(' is no name of a game (valid: NAME or NAME(parameter=value,...))"),
        ("", "'' is no name of a game (valid: NAME"),
        ("go(board_size=nine)", "go: board_size is 'nine' (valid: a whole number, such as 19)"),
        ("leduc_poker(suit_isomorphism=1)", "suit_isomorphism is 1 (valid: True or False, such as False)"),
        ("misere(game=3)", "misere: game is 3 (valid: a game, such as kuhn_poker())"),
        ("misere(game=nope())", "unknown game of OpenSpiel 'nope'"),
        ("misere(game=" * 99 + "hex()" + ")" * 99, "the name of a game has 1,292 characters (valid: 500 at most)"),
        ("misere", "OpenSpiel refuses misere: Missing parameter game"),
        ("hearts", "hearts is a game of 4 players (valid: games of two)"),
        ("cliff_walking", "cliff_walking is a game of 1 players (valid: games of two)"),
        ("mfg_garnet", "mfg_garnet is a mean-field game, which is not supported (valid: games of two players)"),
        ("negotiation", "negotiation draws its chances inside, so that no episode can be repeated from its seed"),
        ("coordinated_mp", "coordinated_mp has no tensor of what a player sees, which a policy needs"),
        ("efg_game(filename=a.efg)", "efg_game reads the file that filename names, which is not supported"),
        ("misere(game=nfg_game(filename=a))", "nfg_game reads the file that filename names, which is not supported"),
    ],
)
def test_what_cannot_be_played_is_one_line(spelled, message):
    with pytest.raises(GameError) as error:
        find(spelled)
    assert str(error.value).startswith(f"--game-type openspiel:{spelled}"[:50])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_settings_have_the_shortest_name():
    call = invoke_ppo({"game.type": "openspiel:kuhn_poker(players=2)"})
    assert call.config.game.type == "openspiel:kuhn_poker"


def test_parameters_that_a_file_names_have_to_be_allowed(monkeypatch):
    monkeypatch.setattr(plugins, "_allowed", set())
    name = "openspiel:hex(board_size=4)"
    with pytest.raises(GameError, match=rf"files can be anybody's; if .* add --game-type '{re.escape(name)}'$"):
        find_game(name)
    before = [*sys.path]
    plugins.allow("openspiel:hex(string_rep=standard,board_size=4)")  # the same game
    assert find_game(name).actions.sizes == (16,)
    assert sys.path == before


def test_a_name_without_the_prefix_is_recognized():
    with pytest.raises(ConfigError, match=r"unknown, did you mean 'openspiel:goofspiel\(num_cards=3\)'\?"):
        check_game_type("goofspiel(num_cards=3)")


def test_without_openspiel_its_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(GameError, match=r"OpenSpiel is missing: pip install .*\[openspiel\]"):
        plugins.find_object("openspiel:hex")


# ---------------------------------------------------------------- play


def test_turns_chance_and_hidden_cards():
    game = OpenSpielGame("leduc_poker")
    game.reset(1)
    (seat,) = game.to_act()
    tensor = game.state.information_state_tensor(seat)
    assert game.observe(seat).tolist() == [*map(np.float32, tensor), 1, 0]
    assert game.observe(1).tolist()[-2:] == [0, 1]
    assert game.legal(seat).tolist() == [False, True, True]
    assert (game.num_actions, game.obs_width, game.max_steps) == (3, len(tensor) + 2, 8)
    for seed in range(20):
        rewards = play(game, seed)
        assert rewards[:-1].any() == 0
        assert rewards.sum(0).tolist() == game.state.returns()
        assert rewards[-1].sum() == 0
    assert game.observe(0).shape == (game.obs_width,)  # after the end


def test_games_without_information_states_show_observations():
    game = OpenSpielGame("tic_tac_toe")
    game.reset(0)
    game.step([4, 0])
    assert game.to_act() == (1,)
    assert game.observe(1)[:-2].tolist() == game.state.observation_tensor(1)
    assert np.flatnonzero(~game.legal(1)).tolist() == [4]


def test_both_act_at_once():
    game = OpenSpielGame(REPEATED)
    game.reset(0)
    assert game.to_act() == [0, 1]
    game.step([0, 1])  # cooperates, defects
    assert game.state.history() == [0, 1]
    assert play(game, 3).shape == (3, 2)


def test_a_seat_without_a_legal_action_waits():
    game = OpenSpielGame("turn_based_simultaneous_game(game=goofspiel(num_cards=3))")
    game.reset(0)
    assert game.to_act() == (0,)
    game.step([2, 0])
    assert game.to_act() == (1,)


def test_rewards_come_step_by_step_where_the_game_gives_them():
    game = OpenSpielGame("coop_box_pushing")
    rewards = play(game, 0)
    assert np.count_nonzero(rewards[:, 0]) > len(rewards) / 2
    assert rewards.sum(0) == pytest.approx(game.state.returns())


def test_chance_is_drawn_by_a_generator_of_the_seed(monkeypatch):
    """Exact values of a game are computed by a stand-in for the generator, which walks all outcomes."""
    seeds, drawn = [], []

    class First:
        def __init__(self, seed):
            seeds.append(seed)

        def choice(self, count, p):
            drawn.append((count, p))
            return 1

    game = OpenSpielGame("kuhn_poker")
    with monkeypatch.context() as patch:
        patch.setattr(np.random, "default_rng", First)
        game.reset(17)
    assert (seeds, [count for count, _ in drawn]) == ([17], [3, 2])
    assert [sum(p) for _, p in drawn] == pytest.approx([1, 1])
    assert game.state.history() == [1, 2]
    deals = {tuple(game.state.history()) for seed in range(60) if game.reset(seed) is None}
    assert len(deals) == 6


@pytest.mark.parametrize("name", ["leduc_poker", "goofspiel(num_cards=4)"])
def test_the_contract_of_blocks_is_kept(name):
    kind = find(name)
    assert kind.repeats
    check_game(kind.make, steps=60)


# ---------------------------------------------------------------- what players are judged by, and what people see


@pytest.mark.parametrize(
    ("name", "objective", "payoffs", "unit"),
    [
        ("leduc_poker", "reward", (-13, 13), "chips"),
        ("kuhn_poker", "reward", (-2, 2), "chips"),
        ("matrix_pd", "reward", (0, 10), "points"),
        ("backgammon(scoring_type=full_scoring)", "reward", (-3, 3), "points"),
        ("backgammon", "outcome", None, "points"),
        ("liars_dice", "outcome", None, "points"),
        ("tiny_hanabi", "shared", (0, 10), "points"),
    ],
)
def test_the_objective_is_that_of_the_payoffs(name, objective, payoffs, unit):
    game = OpenSpielGame(name)
    assert (game.objective, game.payoff_range, game.payoff_unit) == (objective, payoffs, unit)
    kind = find(name)
    assert kind.objective.kind == objective


@pytest.mark.parametrize(
    "name", ["kuhn_poker", "liars_dice(dice_sides=2)", "goofspiel(imp_info=True,num_cards=3)", "matrix_mp"]
)
def test_exact_figures_are_those_of_openspiel(name):
    kind, spiel = find(name), pyspiel.load_game(name)
    if spiel.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        spiel = pyspiel.convert_to_turn_based(spiel)
    tree = enumerate_game(lambda: kind.single(False))
    uniform = nash_conv(tree, tree.players["random"][None], np.ones(1))
    assert uniform == pytest.approx(pyspiel.nash_conv(spiel, pyspiel.UniformRandomPolicy(spiel)))


def test_a_copy_of_a_game_goes_on_alone():
    game = OpenSpielGame("leduc_poker")
    game.reset(0)
    twin = copy.deepcopy(game)
    assert state_key(twin) == state_key(game)
    assert twin.game is game.game
    twin.step([1, 1])
    assert len(game.state.history()) + 1 == len(twin.state.history())
    assert state_key(twin) != state_key(game)


def test_a_person_sees_what_their_seat_knows():
    game = OpenSpielGame("leduc_poker")
    game.reset(0)
    assert game.render() == game.state.information_state_string(0) != str(game.state)
    play(game, 0)
    assert game.render() == str(game.state)
    board = OpenSpielGame("tic_tac_toe")
    board.reset(0)
    assert board.render() == "...\n...\n..."
    at_once = OpenSpielGame("goofspiel(imp_info=True,num_cards=3)")
    at_once.reset(0)
    with pytest.raises(NotImplementedError):
        at_once.render()


def test_actions_have_the_names_of_openspiel():
    game = OpenSpielGame("leduc_poker")
    game.reset(0)
    assert [game.action_name(action) for action in (0, 1, 2)] == ["0", "Call", "Raise"]  # folding is not legal yet


@pytest.mark.full
def test_every_game_of_two_is_played_or_refused():
    played = 0
    for kind in pyspiel.registered_games():
        if kind.default_loadable:
            try:
                game = OpenSpielGame(kind.short_name)
            except GameError:
                continue
            rewards = play(game, 0, 60)
            game.observe(0)
            played += 1
            assert rewards.sum(0) == pytest.approx(game.state.returns())
    assert played > 70
