"""Arrays survive the disk bit for bit; hostile files are refused for a stated reason and without cost."""

import contextlib
import json
import tracemalloc

import hypothesis.extra.numpy as arrays_of
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.checkpoint import tensors
from selfplay.checkpoint.tensors import decode_arrays, encode_arrays
from selfplay.errors import CheckpointError, CorruptError
from tests.checkpoint.samples import same

SCALARS = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
RECORD = np.dtype([("x", "f8"), ("flag", "?"), ("n", "i2")], align=True)

names = st.from_regex(r"[a-z0-9_]{1,8}(/[a-z0-9_.]{1,8})?", fullmatch=True).filter(lambda name: ".." not in name)
plain = st.sampled_from(SCALARS).flatmap(
    lambda dtype: arrays_of.arrays(dtype, arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
structured = arrays_of.arrays(RECORD, arrays_of.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4))


def values(array: np.ndarray) -> list[bytes]:
    """The bytes of an array without padding."""
    return [array[name].tobytes() for name in array.dtype.names] if array.dtype.names else [array.tobytes()]


@settings(max_examples=100)
@given(st.dictionaries(names, plain | structured, max_size=5))
def test_round_trip(arrays):
    back = decode_arrays(encode_arrays(arrays, "file"), "file")
    assert list(back) == sorted(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert values(back[name]) == values(array)
        assert back[name].flags.writeable
        assert back[name].flags.aligned


def test_layouts_that_are_not_row_by_row_and_little_endian():
    array = np.arange(24, dtype=">i4").reshape(2, 3, 4)
    back = decode_arrays(encode_arrays({"big": array, "turned": array.T, "part": array[:, ::2]}, "file"), "file")
    for name, expected in {"big": array, "turned": array.T, "part": array[:, ::2]}.items():
        np.testing.assert_array_equal(back[name], expected)
        assert back[name].dtype == "<i4"


def test_special_floats_keep_their_bits():
    array = np.array([np.nan, -0.0, np.inf, 5e-324], "f8")
    array.view("u8")[0] |= 123  # a NaN with a payload
    assert same({"a": array}, decode_arrays(encode_arrays({"a": array}, "file"), "file"))


def test_structured_types_stay_aligned_for_compiled_rules():
    back = decode_arrays(encode_arrays({"a": np.zeros(3, RECORD)}, "file"), "file")
    assert back["a"].dtype.isalignedstruct


def test_equal_values_give_equal_bytes_whatever_lies_in_the_padding():
    a, b = np.zeros(3, RECORD), np.frombuffer(b"\xff" * 3 * RECORD.itemsize, RECORD).copy()
    for name in RECORD.names:
        b[name] = a[name]
    assert encode_arrays({"a": a}, "file") == encode_arrays({"a": b}, "file")


def test_other_programs_can_read_the_file():
    array = np.arange(6, dtype="f4").reshape(2, 3)
    np.testing.assert_array_equal(safetensors.numpy.load(encode_arrays({"a": array}, "file"))["a"], array)


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["text"]),
        np.array([1j]),
        np.array(["2026-01-01"], "datetime64[D]"),
        np.zeros(2, [("inner", [("x", "f4")])]),
        np.zeros(2, [("row", "f4", 3)]),
        np.zeros(2, [("what", "O")]),
    ],
    ids=["object", "text", "complex", "date", "nested", "subarray", "object field"],
)
def test_types_that_are_not_kept_are_refused_on_writing(array):
    with pytest.raises(CheckpointError, match="file: a"):
        encode_arrays({"a": array}, "file")


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", "../a", "a/../b", "ä", "a b", "a\n", "x" * 300, "__metadata__/.."]
)
def test_odd_names_are_refused_both_ways(name):
    with pytest.raises(CheckpointError, match="is not a valid"):
        encode_arrays({name: np.zeros(1)}, "file")
    with pytest.raises(CorruptError, match="is not a valid"):
        decode_arrays(raw({name: tensor()}, 4), "file")


def raw(header: object, data_bytes: int = 0, size: int | None = None) -> bytes:
    """A file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if size is None else size).to_bytes(8, "little") + text + bytes(data_bytes)


def tensor(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def record(**changes: object) -> dict[str, object]:
    layout = {"names": ["x"], "formats": ["<f4"], "offsets": [0], "itemsize": 4, "align": False} | changes
    return {"a": tensor("U8", (1, 4)), "__metadata__": {"records": json.dumps({"a": layout})}}


HOSTILE = {
    "nothing": (b"", "header"),
    "short": (b"1234567", "header"),
    "header beyond the file": (raw(b"{}", size=100), "header of 100 bytes"),
    "header of 2^63 bytes": (raw(b"{}", size=2**63), "header"),
    "huge header": (raw(b" " * (tensors.MAX_HEADER_BYTES + 1)), "limit"),
    "not JSON": (raw(b"{'a': 1}"), "not a JSON document"),
    "not UTF-8": (raw(b'{"\xff": 1}'), "not a JSON document"),
    "a list": (raw(b"[]"), "object"),
    "deep": (raw(b'{"a":' + b"[" * 100_000), "not a JSON document"),
    "huge number": (raw(b'{"a":' + b"9" * 100_000 + b"}"), "not a JSON document"),
    "NaN": (raw(b'{"a": NaN}'), "not a JSON document"),
    "a name twice": (raw(b'{"a": {}, "a": {}}'), "twice"),
    "too many": (
        raw({f"t{i}": tensor(shape=(0,), offsets=(0, 0)) for i in range(tensors.MAX_TENSORS + 1)}),
        "the limit",
    ),
    "shape of 1e12": (raw({"a": tensor(shape=(10**12,))}, 4), "invalid shape, data type, or offset"),
    "shape of 1e12 that the header confirms": (
        raw({"a": tensor(shape=(10**12,), offsets=(0, 4 * 10**12))}, 4),
        "not fully covered",
    ),
    "shape that overflows": (raw({"a": tensor(shape=(2**40, 2**40, 0))}, 4), "overflow"),
    "shape that wraps to the right size": (raw({"a": tensor(shape=(2**32, 2**32, 1))}, 4), "overflow"),
    "negative shape": (raw({"a": tensor(shape=(-1, -1))}, 4), "invalid value: integer `-1`"),
    "fractional shape": (raw({"a": tensor(shape=(1.5,))}, 4), "floating point `1.5`"),
    "too many dimensions": (raw({"a": tensor(shape=(1,) * 65)}, 4), "dimension"),
    "negative offset": (raw({"a": tensor(offsets=(-4, 0))}, 4), "invalid value: integer `-4`"),
    "reversed offsets": (raw({"a": tensor(offsets=(4, 0))}, 4), "offset for tensor `a`"),
    "overlap": (raw({"a": tensor(), "b": tensor()}, 8), "offset for tensor"),
    "gap": (raw({"a": tensor(), "b": tensor(offsets=(8, 12))}, 12), "offset for tensor `b`"),
    "data left over": (raw({"a": tensor()}, 5), "not fully covered"),
    "data missing": (raw({"a": tensor()}, 3), "not fully covered"),
    "unknown type": (raw({"a": tensor("PYOBJ")}, 4), "type 'PYOBJ'"),
    "bfloat16": (raw({"a": tensor("BF16", (2,))}, 4), "type 'BF16'"),
    "no entry": (raw({"a": 3}), "expected struct TensorInfo"),
    "metadata of numbers": (raw({"__metadata__": {"x": 1}}), "not a safetensors file"),
    "metadata of a list": (raw({"__metadata__": []}), "text to text"),
    "records of numbers": (raw({"__metadata__": {"records": 1}}), "text to text"),
    "record of objects": (raw(record(formats=["|O"]), 4), "pattern"),
    "record of a date": (raw(record(formats=["<M8"]), 4), "pattern"),
    "record of another size": (raw(record(itemsize=8), 4), "does not match its tensor"),
    "record of nothing": (raw({"__metadata__": record()["__metadata__"]}), "does not match its tensor"),
    "record beyond its item": (raw(record(offsets=[2]), 4), "ValueError"),
    "record of unequal lists": (raw(record(names=["x", "y"]), 4), "ValueError"),
    "record with a name twice": (
        raw(record(names=["x", "x"], formats=["<f2", "<f2"], offsets=[0, 2]), 4),
        "ValueError",
    ),
}


def test_what_a_header_says_beside_types_shapes_and_places_means_nothing():
    data = raw({"a": {**tensor(), "code": "print"}}, 4)
    assert same({"a": np.zeros(1, "f4")}, decode_arrays(data, "file"))


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_with_the_reason(case):
    data, reason = HOSTILE[case]
    tracemalloc.start()
    try:
        with pytest.raises(CorruptError, match=reason) as caught:
            decode_arrays(data, "file.safetensors")
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
    assert "file.safetensors" in str(caught.value)
    assert len(str(caught.value)) < 500


@settings(max_examples=300)
@given(st.data())
def test_no_damage_gives_anything_but_a_refusal_or_arrays(data):
    good = encode_arrays({"a": np.arange(3), "b": np.zeros(2, RECORD)}, "file")
    position = data.draw(st.integers(0, len(good) - 1))
    bad = good[:position] + bytes([good[position] ^ data.draw(st.integers(1, 255))]) + good[position + 1 :]
    with contextlib.suppress(CorruptError):
        decode_arrays(bad, "file")
