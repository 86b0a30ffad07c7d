"""One game of small rules at a time, against the block that training plays."""

from itertools import product

import numpy as np
import pytest

from selfplay.games.registry import find_game, make_game
from selfplay.games.solved import SOLVED, kuhn


@pytest.mark.parametrize(("name", "seed"), [*product(SOLVED, range(12))])
def test_a_game_goes_as_in_the_block(name, seed):
    rng = np.random.default_rng(seed)
    block, single = make_game(name, num_games=1), find_game(name).single()
    obs = block.reset(np.array([seed], np.uint64))
    single.reset(seed)
    over = False
    while not over:
        acting = single.to_act()
        assert len(acting) in (1, 2)
        mask = np.ones((1, 2, single.num_actions), bool) if block.legal is None else block.legal
        for seat in (0, 1):
            np.testing.assert_array_equal(single.legal(seat), mask[0, seat])
            assert (seat in acting) == (mask[0, seat].sum() > 1)
            np.testing.assert_array_equal(np.float32(single.observe(seat)), obs[0, seat])
        actions = [int(rng.choice(np.flatnonzero(mask[0, seat]))) for seat in (0, 1)]
        batch = block.step(np.array(actions, np.int8).reshape(1, 2, 1))
        given = [action if seat in acting else -1 for seat, action in enumerate(actions)]  # of who waits: anything
        rewards, over, truncated = single.step(given)
        np.testing.assert_array_equal(np.float32(rewards), batch.reward[0])
        assert (over, truncated) == (batch.terminated[0], False)
        seen = batch.final_obs if over else batch.obs
        np.testing.assert_array_equal(np.float32([single.observe(seat) for seat in (0, 1)]), seen[0])
        obs = batch.obs


@pytest.mark.parametrize("name", SOLVED)
def test_it_is_what_the_entry_says(name):
    entry, single = find_game(name), find_game(name).single()
    assert (single.obs_width, (single.num_actions,)) == (entry.obs_width, entry.actions.sizes)
    assert single.version == entry.encoder_version
    assert ("random", *single.players) == tuple(entry.rated.players)
    assert entry.single() is not single


def test_every_deal_of_kuhn_comes_up():
    game, cards = find_game("kuhn").single(), set()
    for seed in range(60):
        game.reset(seed)
        cards.add(game.state.cards)
    assert len(cards) == 6


def test_scripted_players_draw_from_the_chances_of_their_actions():
    game, rng = find_game("kuhn").single(), np.random.default_rng(0)
    game.state = kuhn.Hand((0, 1), "")
    assert {game.players["always_bet"](game, 0, rng) for _ in range(20)} == {kuhn.BET}
    drawn = [game.players["equilibrium"](game, 0, rng) for _ in range(3000)]
    assert set(drawn) == {kuhn.PASS, kuhn.BET}
    assert drawn.count(kuhn.BET) == pytest.approx(1000, abs=130)  # five standard deviations


def test_before_the_end_only_the_card_of_the_seat_to_act_is_shown():
    render = kuhn.Kuhn().render
    assert render(kuhn.Hand((0, 2), "")) == "seat 0 has the jack; moves: none"
    assert render(kuhn.Hand((0, 2), "p")) == "seat 1 has the king; moves: pass"
    assert render(kuhn.Hand((0, 2), "bp")) == "seat 0 has the jack, seat 1 has the king; moves: bet, pass"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("pennies", "  heads      1     -1"),
        ("rps", "      rock         0        -1         2"),
        ("leduc", "seat 0 has the jack; moves: none; pot: 1 and 1"),
        ("mixup", "points: seat 0 4, seat 1 4; exchanges left: 2"),
    ],
)
def test_games_show_what_is_at_stake(name, line):
    game = find_game(name).single()
    game.reset(0)
    assert line in game.render().splitlines()
