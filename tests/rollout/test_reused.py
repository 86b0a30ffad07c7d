import threading

import numpy as np
import pytest
import torch

from selfplay.rollout.reused import Reused

SHAPE = (4, 3)


def place(array):
    return array.__array_interface__["data"][0]


@pytest.fixture
def arrays():
    return Reused()


def test_an_array_is_given_again_once_nobody_has_it(arrays):
    first = arrays.array(SHAPE, np.float32)
    where = place(first)
    assert place(arrays.array(SHAPE, np.float32)) != where
    del first
    assert place(arrays.array(SHAPE, np.float32)) == where


@pytest.mark.parametrize("view", [lambda a: a[1:, 0], torch.from_numpy, lambda a: torch.from_numpy(a)[2], memoryview])
def test_a_view_keeps_it(arrays, view):
    first = arrays.array(SHAPE, np.float32)
    where, kept = place(first), view(first)
    del first
    assert place(arrays.array(SHAPE, np.float32)) != where
    del kept
    assert place(arrays.array(SHAPE, np.float32)) == where


def test_shorter_ones_are_the_beginning_of_longer_ones_and_longer_ones_take_their_place(arrays):
    where = place(arrays.array(SHAPE, np.float32))
    shorter = arrays.array((2, 3), np.float32)
    assert (place(shorter), shorter.shape) == (where, (2, 3))
    del shorter
    longer = arrays.array((5, 3), np.float32)
    assert longer.shape == (5, 3)
    where = place(longer)
    del longer
    assert place(arrays.array(SHAPE, np.float32)) == where


def test_other_types_and_widths_are_other_arrays(arrays):
    first = arrays.array(SHAPE, np.float32)
    where = place(first)
    del first
    others = [arrays.array(SHAPE, np.int8), arrays.array((4, 2), np.float32), arrays.array((12,), np.float32)]
    assert where not in map(place, others)
    assert [other.dtype for other in others] == [np.int8, np.float32, np.float32]


def test_no_two_threads_have_one(arrays):
    together, seen = threading.Barrier(8), []

    def take():
        for _ in range(200):
            mine = arrays.array(SHAPE, np.int64)
            mine[:] = me = threading.get_ident()
            assert (mine == me).all()
        together.wait()
        seen.append(True)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
