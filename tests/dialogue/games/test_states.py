"""States of the matching: what is drawn, what it is worth, and what is refused."""

import json
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_dialogue.hardness import first_hard, solo_worth
from selfplay_dialogue.states import LAPTOP, MatchingRules, MatchingState, assignment, draw_states

SMALL = MatchingRules(size=3, values=20, unseen=9.5, hardness=1.1)


def worths(values):
    """Of all assignments."""
    return [sum(values[row, column] for row, column in enumerate(order)) for order in permutations(range(len(values)))]


def worths_alone(table, mask, unseen):
    """Of all assignments that are best on the cells of a mask."""
    seen = np.where(mask, table, unseen)
    looks = worths(seen)
    return [worth for worth, look in zip(worths(table), looks, strict=True) if look > max(looks) - 1e-6]


def same(one, other):
    return (
        np.array_equal(one.table, other.table)
        and np.array_equal(one.masks, other.masks)
        and (one.scales, one.best) == (other.scales, other.best)
    )


@pytest.mark.parametrize("rules", [LAPTOP, SMALL, MatchingRules()], ids=["laptop", "small", "dialop"])
def test_every_state_is_hard(rules):
    for state in draw_states(rules, range(8)):
        for mask in state.masks if rules.size <= 4 else ():
            assert state.best > rules.hardness * min(worths_alone(state.table, mask, rules.unseen))
        seen = state.masks.any(0)
        assert (state.table[~seen] == rules.unseen).all()
        assert ((state.table[seen] >= 0) & (state.table[seen] < rules.values)).all()
        assert all(1 <= scale <= 10 for scale in state.scales)
        assert rules.scaled or state.scales == (1.0, 1.0)


def test_a_state_depends_on_its_seed_alone():
    together = draw_states(LAPTOP, range(20))
    for seed in (19, 3):
        assert same(together[seed], draw_states(LAPTOP, [seed])[0])
    assert not same(together[0], together[1])
    assert same(draw_states(MatchingRules(), [5])[0], draw_states(MatchingRules(), [7, 5])[1])


def test_seeds_keep_their_states():
    (state,) = draw_states(LAPTOP, [0])
    assert state.table.tolist() == [[0, 4.5, 4.5, 4.5], [5, 8, 2, 1], [7, 0, 0, 4], [4.5, 0, 7, 4.5]]
    assert state.best == 26.5


def test_cells_are_seen_as_often_as_the_rules_say():
    rules = replace(LAPTOP, hardness=1.0, known=0.3)
    masks = np.stack([state.masks for state in draw_states(rules, range(1500))])
    assert masks.mean() == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_the_best_is_that_of_all_assignments(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        values = rng.integers(0, 9, (size, size)).astype(float)
        most = max(worths(values))
        assert values[assignment(values)].sum() == most
        assert solo_worth(values, np.ones((size, size), bool), 0.0) == most


@pytest.mark.full
def test_the_filter_finds_what_a_plain_one_finds():
    rng = np.random.default_rng(0)
    masks = rng.random((2, 4000, 3, 3)) < 0.4
    tables = np.where(masks.any(0), rng.integers(0, 10, (4000, 3, 3)), 4.5)
    own = [[worths_alone(tables[i], masks[seat, i], 4.5) for i in range(4000)] for seat in range(2)]
    clear = [i for i in range(4000) if all(len(set(each[i])) == 1 for each in own)]  # no tie matters
    tables, masks = tables[clear], masks[:, clear]
    chances = rng.random((2, len(clear), 3))
    hard = [
        place
        for place, i in enumerate(clear)
        if max(worths(tables[place])) > 1.25 * max(own[seat][i][0] for seat in range(2))
    ]
    assert len(hard) > 3
    start = 0
    for i in hard:
        assert start + first_hard(tables[start:], masks[:, start:], chances[:, start:], 4.5, 1.25) == i
        start = i + 1
    assert first_hard(tables[start:], masks[:, start:], chances[:, start:], 4.5, 1.25) == -1


TIED = np.array([[9.0, 1.0, 2.0], [3.0, 4.0, 8.0], [6.0, 5.0, 7.0]])
ONE_SEEN = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]], bool)


@pytest.mark.parametrize(
    ("mask", "unseen", "mean"),
    [(ONE_SEEN, 4.5, (20 + 22) / 2), (ONE_SEEN, 10.0, (11 + 15 + 10 + 12) / 4), (np.zeros((3, 3), bool), 4.3, 15.0)],
)
def test_alone_a_player_earns_the_mean_of_what_looks_best_to_it(mask, unseen, mean):
    for rows, columns in product(permutations(range(3)), repeat=2):
        table, seen = TIED[np.ix_(rows, columns)], mask[np.ix_(rows, columns)]
        assert solo_worth(table, seen, unseen) == pytest.approx(mean)


@pytest.mark.parametrize("rules", [LAPTOP, SMALL], ids=["laptop", "small"])
def test_that_mean_is_over_all_assignments(rules):
    for state in draw_states(rules, range(30)):
        for seat in range(2):
            mean = np.mean(worths_alone(state.table, state.masks[seat], rules.unseen))
            assert state.solo(seat, rules.unseen) == pytest.approx(mean)


def test_ties_are_drawn_evenly_whatever_the_order():
    chances = np.random.default_rng(0).random((2, 20_000, 3))
    masks = np.zeros((2, 20_000, 3, 3), bool)
    low = np.mean([worth * 1.25 < 22 for worth in worths(TIED)])  # of the six that look alike
    for rows, columns in ((0, 1, 2), (0, 1, 2)), ((2, 0, 1), (0, 1, 2)), ((1, 0, 2), (2, 1, 0)):
        tables = np.broadcast_to(TIED[np.ix_(rows, columns)], (20_000, 3, 3)).copy()
        found, start = 0, 0
        while (i := first_hard(tables[start:], masks[:, start:], chances[:, start:], 4.5, 1.25)) >= 0:
            found, start = found + 1, start + i + 1
        assert found / 20_000 == pytest.approx(low**2, abs=0.015)


def test_what_is_shown_is_scaled_and_rounded_down():
    table = np.array([[10.0, 3.0], [7.0, 50.0]])
    state = MatchingState(table, np.array([[[1, 1], [0, 0]], [[0, 1], [0, 1]]], bool), (2.59, 1.0), 60.0)
    assert state.shown(0) == [(0, 0, 25), (0, 1, 7)]
    assert state.shown(1) == [(0, 1, 3), (1, 1, 50)]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("size", 1), ("size", 9), ("known", 0), ("known", 1.1), ("known", float("nan")), ("values", 1), ("unseen", 100),
        ("unseen", -1), ("hardness", 0.9), ("max_turns", 1), ("retries", -1), ("error_penalty", -0.1),
        ("error_penalty", float("inf")), ("table", "html"), ("told", "half"),
    ],
)  # fmt: skip
def test_impossible_settings_are_named(setting, value):
    with pytest.raises(GameError, match=f"^matching: {setting} is .* \\(valid: "):
        MatchingRules(**{setting: value})


def test_states_that_do_not_occur_are_one_clear_error():
    with pytest.raises(GameError, match=r"no state is as hard as 1\.25 with known 1$"):
        draw_states(replace(LAPTOP, known=1.0), [0])


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize("rules", [LAPTOP, MatchingRules(size=5)], ids=["laptop", "scaled"])
def test_a_state_comes_back_from_json(rules):
    for state in draw_states(rules, range(5)):
        document = json.loads(json.dumps(state.to_json()))
        assert same(state, MatchingState.from_json(document))
        assert list(document) == ["table", "mask1", "mask2", "scale1", "scale2", "best_assignment_reward"]


FINE = {"table": [[1, 5], [4.5, 2]], "mask1": [[1, 0], [0, 0]], "mask2": [[1, 1], [0, 1]], "scale1": 1, "scale2": 2.5}


def test_the_best_is_computed_where_it_is_not_written():
    assert MatchingState.from_json(FINE).best == 9.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": None}, "table must be a square"),
        ({"table": "ab"}, "table must be a square"),
        ({"table": [[1, 2]]}, "table must be a square"),
        ({"table": [[1, 2], [3]]}, "table must be a square"),
        ({"table": [[1]]}, "table must be a square of 2 to 8 rows"),
        ({"table": [[0] * 9] * 9}, "table must be a square of 2 to 8 rows"),
        ({"table": [[1, -1], [0, 0]]}, "table has a cell '-1'"),
        ({"table": [[1, "2"], [0, 0]]}, "table has a cell '2'"),
        ({"table": [[1, True], [0, 0]]}, "table has a cell 'True'"),
        ({"table": [[1, None], [0, 0]]}, "table has a cell 'None'"),
        ({"table": [[1, float("nan")], [0, 0]]}, "table has a cell 'nan'"),
        ({"table": [[1, float("inf")], [0, 0]]}, "table has a cell 'inf'"),
        ({"table": [[1, 10**400], [0, 0]]}, "table has a cell '1000000"),
        ({"table": [[1, [2]], [0, 0]]}, "table has a cell"),
        ({"table": [[0, 0], [0, 0]]}, "no assignment of this table is worth anything"),
        ({"mask1": [[1, 2], [0, 0]]}, "mask1 has a cell '2'"),
        ({"mask1": [[1, 0.5], [0, 0]]}, "of 0 and 1"),
        ({"mask2": [[1, 0, 0]] * 3}, "mask1 and mask2 must be 2 x 2"),
        ({"scale1": 0}, "scale1 is '0'"),
        ({"scale2": "2"}, "scale2 is '2'"),
        ({"scale2": float("nan")}, "scale2 is 'nan'"),
        ({"best_assignment_reward": 9}, "best_assignment_reward is 9, but the best assignment is worth 9.5"),
        ({"best_assignment_reward": float("nan")}, "best_assignment_reward is nan"),
        ({"best_assignment_reward": "9.5"}, "best_assignment_reward is '9.5'"),
    ],
)
def test_hostile_json_is_refused(change, message):
    with pytest.raises(GameError, match=message):
        MatchingState.from_json({**FINE, **change})


@pytest.mark.parametrize("document", [None, [], "x", 3, {}, {key: FINE[key] for key in ("table", "mask1")}])
def test_what_is_no_state_is_refused(document):
    with pytest.raises(GameError, match="a state needs table, mask1, mask2, scale1 and scale2"):
        MatchingState.from_json(document)
