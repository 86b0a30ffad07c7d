import numpy as np

from selfplay_melee.wasm.memory import STACK_TOP, describe, layout
from tests.melee.wasm.small import POINT, program


def test_types_are_told_with_offsets_and_shapes():
    assert describe(np.dtype("f4")) == "f4"
    assert describe(POINT) == {
        "size": 24,
        "fields": {"x": [0, "f8"], "n": [8, "i4"], "path": [12, {"shape": [3], "of": "f4"}]},
    }


def test_values_lie_one_behind_the_other_above_the_stack():
    told = layout(program())
    assert list(told["values"]) == ["options.gain", "options.shift", "points"]
    assert [value["at"] - STACK_TOP for value in told["values"].values()] == [0, 64, 128]
    assert told["end"] == STACK_TOP + 128 + 2 * POINT.itemsize
    assert told["values"]["options.shift"]["type"] == "i8"
    assert told["values"]["points"]["type"] == {"shape": [2], "of": describe(POINT)}
    assert told["stack"] == STACK_TOP


def test_a_path_names_a_value_or_a_part_of_one():
    own = program()
    assert own.value("options.shift") == 1
    assert own.value("points") is own.values["points"]
