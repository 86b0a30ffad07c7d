"""The pool of threads that does not depend on the main thread."""

import gc
import threading

import pytest

from selfplay.threads import ThreadPool


def test_calls_run_in_threads_that_have_begun():
    begun = threading.local()
    with ThreadPool(2, "pool", lambda: setattr(begun, "there", True)) as pool:
        meet = threading.Barrier(2)
        both = [pool.submit(meet.wait) for _ in range(2)]
        assert sorted(each.result() for each in both) == [0, 1]
        assert list(pool.map(lambda number: (begun.there, number), range(5))) == [(True, number) for number in range(5)]
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 // 0).result()


def test_threads_end_with_a_pool_that_nobody_has_any_more():
    pool = ThreadPool(1, "pool")
    thread = pool.submit(threading.current_thread).result()
    assert thread.daemon
    del pool
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()
