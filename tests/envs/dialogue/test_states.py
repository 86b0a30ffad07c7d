"""States of the matching: what is drawn, what it is worth, and what is refused."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from envs.dialogue.hardness import best_columns, first_hard
from envs.dialogue.states import LAPTOP, MatchingRules, MatchingState, assignment, draw_states
from envs.errors import GameError

SMALL = MatchingRules(size=3, values=20, unseen=9.5, hardness=1.1)


def worths(values):
    """Of all assignments."""
    return [sum(values[row, column] for row, column in enumerate(order)) for order in permutations(range(len(values)))]


def same(one, other):
    return (
        np.array_equal(one.table, other.table)
        and np.array_equal(one.masks, other.masks)
        and (one.scales, one.best) == (other.scales, other.best)
    )


@pytest.mark.parametrize("rules", [LAPTOP, SMALL, MatchingRules()], ids=["laptop", "small", "dialop"])
def test_every_state_is_hard(rules):
    for state in draw_states(rules, range(8)):
        assert state.best > rules.hardness * max(state.solo(seat, rules.unseen) for seat in range(2))
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
    assert state.table.tolist() == [[4.5, 4.5, 4.5, 4.5], [4.5, 4.5, 1, 2], [6, 4.5, 4.5, 2], [4.5, 4.5, 4.5, 0]]
    assert state.best == 19.5


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
        assert values[np.arange(size), best_columns(values)].sum() == most
        assert sorted(best_columns(values)) == list(range(size))


def test_the_filter_finds_what_a_plain_one_finds():
    rng = np.random.default_rng(0)
    masks = rng.random((2, 400, 3, 3)) < 0.4
    tables = np.where(masks.any(0), rng.integers(0, 10, (400, 3, 3)), 4.5)

    def is_hard(i):
        alone = []
        for seat in range(2):
            columns = best_columns(np.where(masks[seat, i], tables[i], 4.5))
            alone.append(tables[i][np.arange(3), columns].sum())
        return max(worths(tables[i])) > 1.25 * max(alone)

    hard = [i for i in range(400) if is_hard(i)]
    assert len(hard) > 3
    start = 0
    for i in hard:
        assert start + first_hard(tables[start:], masks[:, start:], 4.5, 1.25) == i
        start = i + 1
    assert first_hard(tables[start:], masks[:, start:], 4.5, 1.25) == -1


def test_alone_a_player_takes_what_looks_best_to_it():
    state = draw_states(SMALL, [1])[0]
    for seat in range(2):
        view = np.where(state.masks[seat], state.table, SMALL.unseen)
        fine = [
            state.worth(list(enumerate(order)))
            for order in permutations(range(3))
            if sum(view[pair] for pair in enumerate(order)) == max(worths(view))
        ]
        assert state.solo(seat, SMALL.unseen) in fine


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
