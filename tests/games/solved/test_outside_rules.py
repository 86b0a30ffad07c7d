"""Rules by ``module:name``."""

import numpy as np
import pytest

from selfplay.games import plugins
from selfplay.games.errors import GameError
from selfplay.games.registry import find_game, make_game
from selfplay.games.solved import table
from selfplay.games.solved.enumeration import find_tree
from selfplay.games.solved.exact import best_replies
from selfplay.games.solved.table import Rules
from tests.support.leduc import Leduc

MODULE = "tests.games.solved.outside_rules"


@pytest.mark.parametrize("name", ["RULES", "HighNumber"])
def test_rules_are_a_game_by_their_name(name):
    plugins.allow(f"{MODULE}:{name}")
    kind = find_game(f"{MODULE}:{name}")
    assert (kind.obs_width, kind.actions.sizes, kind.ladder) == (2, (3,), ("random",))
    assert (kind.objective.kind, kind.objective.low, kind.objective.high) == ("reward", -3, 3)
    block = make_game(f"{MODULE}:{name}", num_games=3)
    assert block.reset(np.arange(3, dtype=np.uint64)).shape == (3, 2, 2)
    tree = find_tree(f"{MODULE}:{name}")
    assert best_replies(tree, tree.players["random"][None], np.ones(1)) == pytest.approx((1.5, 0.5))


def test_rules_that_are_too_large_for_a_table_are_refused(monkeypatch):
    monkeypatch.setattr(table, "MOST_CELLS", 900)
    plugins.allow(f"{MODULE}:Endless")
    with pytest.raises(GameError, match=f"--game-type {MODULE}:Endless: these rules have more than 100 states"):
        find_game(f"{MODULE}:Endless")


def test_a_game_is_no_rules():
    assert not isinstance(Leduc, Rules)
    assert not isinstance(find_game("kuhn"), Rules)
