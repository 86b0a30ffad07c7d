"""Arrays that Python packs are what node unpacks."""

import json
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee.play_page.page import packed, packed_bytes
from tests.support.node import gather, needs_node, run_node

HERE = Path(__file__).parent
MELEE = HERE.parents[2] / "envs" / "selfplay_melee"
TYPES = {"i1": "Int8", "u1": "Uint8", "i2": "Int16", "u2": "Uint16", "i4": "Int32", "u4": "Uint32", "f4": "Float32"}


def arrays():
    rng = np.random.default_rng(1)
    made = {
        kind: rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (7, 3), dtype=kind, endpoint=True)
        for kind in TYPES
        if kind != "f4"
    }
    return made | {"f4": np.array([0.0, -0.0, 1.5, np.pi, 1e-40, 3e38], np.float32)}


@needs_node
def test_arrays_come_back(tmp_path):
    made = arrays()
    file = {kind: packed(array) for kind, array in made.items()}
    file |= {f"{kind} rows": packed(array, differences=True) for kind, array in made.items() if kind != "f4"}
    file |= {"big-endian": packed(made["i2"].astype(">i2")), "empty": packed(np.zeros(0, np.uint16))}
    file |= {"bytes": packed_bytes(b"abc")}
    (tmp_path / "packed.json").write_text(json.dumps(file))
    modules = (MELEE / "show" / "player" / "data.js", MELEE / "play_page" / "view" / "packing.js")
    found = json.loads(run_node(gather(tmp_path, *modules, HERE / "unpack.js"), tmp_path / "packed.json"))
    for kind, array in made.items():
        expected = [f"{TYPES[kind]}Array", array.ravel().tolist()]
        assert found[kind] == expected
        assert found.get(f"{kind} rows", expected) == expected
    assert found["big-endian"] == found["i2"]
    assert found["empty"] == ["Uint16Array", []]
    assert found["bytes"] == ["Uint8Array", [*b"abc"]]


def test_the_same_array_gives_the_same_text():
    assert packed(arrays()["i2"]) == packed(arrays()["i2"])


def test_rows_that_resemble_each_other_need_less():
    rows = np.cumsum(np.random.default_rng(1).integers(-2, 3, (2000, 42)), axis=0).astype(np.int16)
    assert len(packed(rows, differences=True)["data"]) < 0.7 * len(packed(rows)["data"])


def test_other_types_are_refused():
    with pytest.raises(KeyError):
        packed(np.zeros(3))
