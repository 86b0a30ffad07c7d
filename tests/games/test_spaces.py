import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, Sequence, Text, Tuple, flatten
from gymnasium.vector.utils import concatenate, create_empty_array

from selfplay.games.errors import GameError
from selfplay.games.spaces import choices, features, flattened, given


@pytest.mark.parametrize(
    ("space", "value", "expected"),
    [
        (Box(-9, 9, (3,)), [1.5, -2, 3], [1.5, -2, 3]),
        (Box(-9, 9, (2, 2), np.int8), np.array([[1, 2], [3, 4]], np.int8), [1, 2, 3, 4]),
        (Box(0, 255, (2,), np.uint8), np.array([7, 255], np.uint8), [7, 255]),
        (Box(0, 1, (), np.float64), 0.25, [0.25]),
        (Discrete(3), 2, [0, 0, 1]),
        (Discrete(3, start=-1), np.int64(-1), [1, 0, 0]),
        (MultiDiscrete([2, 3]), [1, 0], [0, 1, 1, 0, 0]),
        (MultiDiscrete([2, 3], start=[5, -1]), np.array([5, 1]), [1, 0, 0, 0, 1]),
        (MultiDiscrete([[2, 2], [2, 2]]), [[0, 1], [1, 0]], [1, 0, 0, 1, 0, 1, 1, 0]),
        (MultiBinary(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (MultiBinary([2, 2]), [[1, 0], [0, 1]], [1, 0, 0, 1]),
        (Dict({"b": Discrete(2), "a": Box(0, 9, (2,))}), {"a": [8, 9], "b": 1}, [8, 9, 0, 1]),
        (Tuple([Discrete(2), Dict({"z": Tuple([MultiBinary(1), Discrete(2)])})]), (0, {"z": ([1], 1)}), [1, 0, 1, 0, 1])
    ],
)  # fmt: skip
def test_observations_become_features(space, value, expected):
    assert flatten(space, value).tolist() == expected
    assert flattened(space, value, 1).tolist() == [expected]
    space.seed(1)
    several = [space.sample() for _ in range(5)]
    batch = concatenate(space, several, create_empty_array(space, 5))
    np.testing.assert_array_equal(flattened(space, batch, 5), [flatten(space, each) for each in several])
    assert features(space, "g: a sees") == len(expected)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Box(0, 255, (8, 8, 3), np.uint8), r"Box\(0, 255, \(8, 8, 3\), uint8\): images are not supported yet"),
        (
            Dict({"eye": Box(0, 255, (8, 8), np.uint8)}),
            r"Dict\('eye': Box\(0, 255, \(8, 8\), uint8\)\): images are not supported yet",
        ),
        (Text(5), r"Text\(1, 5, .*\): no such observations \(valid: Box, Discrete, MultiDiscrete, MultiBinary, Dict"),
        (Tuple([Sequence(Discrete(2))]), r"Tuple\(Sequence\(Discrete\(2\), stack=False\)\): no such observations"),
        (Graph(Discrete(2), None), r"Graph\(.*\): no such observations"),
        (Discrete(10**12), r"Discrete\(1000000000000\): 1000000000000 features are too many \(valid: up to 65536\)"),
    ],
)
def test_other_observations_are_refused_in_the_space_s_own_words(space, message):
    with pytest.raises(GameError, match=f"^g: a sees {message}"):
        features(space, "g: a sees")


@pytest.mark.parametrize(
    ("space", "sizes", "action", "expected"),
    [
        (Discrete(3), (3,), (2,), 2),
        (Discrete(3, start=4), (3,), (np.int8(2),), 6),
        (Discrete(3), (3,), (2, 0, 0), 2),  # the other seat has three parts
        (MultiDiscrete([2, 3]), (2, 3), (1, 2), np.array([1, 2])),
        (MultiDiscrete([2, 3], start=[-1, 10]), (2, 3), (1, 2, 0), np.array([0, 12])),
        (MultiDiscrete([[2, 3], [4, 5]]), (2, 3, 4, 5), (1, 2, 3, 4), np.array([[1, 2], [3, 4]])),
        (MultiBinary(2), (2, 2), (1, 0), np.array([1, 0], np.int8)),
        (MultiBinary([2, 1]), (2, 2), np.array([1, 0, 0], np.int8), np.array([[1], [0]], np.int8)),
    ],
)
def test_actions_are_given_as_the_space_has_them(space, sizes, action, expected):
    assert choices(space, "g: a plays") == sizes
    taken = given(space, action)
    assert space.contains(taken)
    assert np.array_equal(taken, expected)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Box(-1, 1, (2,)), r"Box\(-1.0, 1.0, \(2,\), float32\): continuous actions are not supported yet"),
        (Discrete(32769), r"Discrete\(32769\): 32769 choices are too many \(valid: up to 32768\)"),
        (MultiDiscrete([2, 40000]), r"MultiDiscrete\(\[ +2 40000\]\): 40000 choices"),
        (Tuple([Discrete(2)]), r"Tuple\(Discrete\(2\)\): no such actions"),
    ],
)  # fmt: skip
def test_other_actions_are_refused_in_the_space_s_own_words(space, message):
    with pytest.raises(GameError, match=f"^g: a plays {message}"):
        choices(space, "g: a plays")


def test_the_most_choices_are_allowed():
    assert choices(Discrete(32768), "g: a plays") == (32768,)
