import numpy as np
import pytest

from selfplay.games.check import check_game
from selfplay.games.errors import GameError
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game, make_game

DOUBLED = "tests.games.blocks:DoubledKuhn"


@pytest.fixture(autouse=True)
def _named_by_a_person():
    for name in ("DoubledKuhn", "NoRandom", "failing"):
        allow(f"tests.games.blocks:{name}")


def test_its_entry_says_what_a_block_of_one_is_like():
    mine, kuhn = find_game(DOUBLED), find_game("kuhn")
    assert (mine.obs_width, mine.actions, mine.ladder) == (kuhn.obs_width, kuhn.actions, kuhn.ladder)
    assert set(mine.rated.players) == set(kuhn.ladder)
    assert mine.repeats
    assert mine.single is None


def test_its_games_are_its_own():
    seeds, rewards = np.arange(6, dtype=np.uint64), []
    for name in ("kuhn", DOUBLED):
        game = make_game(name, num_games=6)
        game.bots[:] = game.bot_names.index("random")
        game.reset(seeds)
        steps = [game.step(game.actions.first_highest(game.legal)).reward.copy() for _ in range(8)]
        rewards.append(np.array(steps))
    assert rewards[0].any()
    np.testing.assert_array_equal(2 * rewards[0], rewards[1])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NoRandom", "scripted players always_bet; 2 seats and a player 'random' are needed"),
        ("failing", "--game-type tests.games.blocks:failing: ValueError: no 1"),
    ],
)
def test_what_no_trainer_can_use_is_refused(name, words):
    with pytest.raises(GameError, match=words):
        find_game(f"tests.games.blocks:{name}")


def test_what_nobody_named_is_not_imported():
    with pytest.raises(GameError, match=r"add --game-type tests\.games\.blocks:unnamed$"):
        find_game("tests.games.blocks:unnamed")


def test_it_keeps_the_contract():
    check_game(lambda games: make_game(DOUBLED, num_games=games))
