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


def test_a_cancelled_call_is_left_out_and_the_thread_goes_on():
    begun, go_on = threading.Event(), threading.Event()

    def first():
        begun.set()
        return go_on.wait(60)

    with ThreadPool(1, "pool") as pool:
        pool.submit(first)
        assert begun.wait(60)
        left_out = pool.submit(go_on.clear)
        assert left_out.cancel()
        go_on.set()
        assert pool.submit(go_on.is_set).result()
