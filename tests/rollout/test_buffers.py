import numpy as np
import pytest

from selfplay.rollout.buffers import BufferPool, Workspace

SHAPE = (4, 3)


def place(array):
    return array.__array_interface__["data"][0]


def test_a_workspace_returns_the_same_array_for_a_name():
    workspace = Workspace()
    where = place(workspace.array("a", SHAPE, np.float32))
    assert place(workspace.array("a", SHAPE, np.float32)) == where
    assert place(workspace.array("b", SHAPE, np.float32)) != where


def test_shorter_arrays_are_the_beginning_of_longer_ones_and_longer_ones_replace_them():
    workspace = Workspace()
    where = place(workspace.array("a", SHAPE, np.float32))
    shorter = workspace.array("a", (2, 3), np.float32)
    assert (place(shorter), shorter.shape) == (where, (2, 3))
    longer = workspace.array("a", (5, 3), np.float32)
    assert longer.shape == (5, 3)
    assert place(workspace.array("a", SHAPE, np.float32)) == place(longer)


@pytest.mark.parametrize("holder", ["workspace", "pool"])
@pytest.mark.parametrize(("shape", "dtype"), [(SHAPE, np.int8), ((4, 2), np.float32), ((12,), np.float32)])
def test_another_type_or_width_is_another_array(holder, shape, dtype):
    workspace, pool = Workspace(), BufferPool()
    workspace.array("a", SHAPE, np.float32)
    pool.give_back(np.empty(SHAPE, np.float32))
    found = workspace.array("a", shape, dtype) if holder == "workspace" else pool.take(shape, dtype)
    assert (found.shape, found.dtype) == (shape, dtype)


def test_a_pool_returns_an_array_only_after_it_was_given_back():
    pool = BufferPool()
    first = pool.take(SHAPE, np.float32)
    second = pool.take(SHAPE, np.float32)
    assert place(second) != place(first)
    pool.give_back(first)
    assert pool.take(SHAPE, np.float32) is first
    assert place(pool.take(SHAPE, np.float32)) not in (place(first), place(second))
