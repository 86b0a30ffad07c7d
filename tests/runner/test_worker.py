import asyncio
import gc
import threading

import pytest

from selfplay.runner.worker import Worker
from tests.support.processes import LIMIT_S


@pytest.fixture
def gate():
    """What a hanging job waits for; opened at the end, so that its thread can go."""
    event = threading.Event()
    yield event
    event.set()


def test_jobs_run_in_order_in_one_thread_of_that_name():
    async def main():
        worker = Worker("runner-007")
        futures = [worker.submit(lambda i: (i, threading.current_thread().name), i) for i in range(5)]
        results = [await future for future in futures]
        worker.close()
        return results

    assert asyncio.run(main()) == [(i, "runner-007") for i in range(5)]


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_job_raises_is_raised_where_it_is_awaited(error):
    def fail():
        raise error

    async def main():
        worker = Worker("w")
        try:
            with pytest.raises(type(error)) as caught:
                await worker.submit(fail)
            assert caught.value is error
            assert await worker.submit(lambda: "still works") == "still works"
        finally:
            worker.close()

    asyncio.run(main())


def test_the_loop_stays_responsive_while_a_job_blocks(gate):
    async def main():
        worker = Worker("w")
        blocked = worker.submit(gate.wait)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not blocked.done()
        gate.set()  # nobody could, were the loop blocked
        assert await blocked
        worker.close()

    asyncio.run(main())


def test_jobs_submitted_before_close_are_still_done():
    done = []

    async def main():
        worker = Worker("w")
        worker.submit(done.append, 1)
        last = worker.submit(done.append, 2)
        worker.close()
        await last

    asyncio.run(main())
    assert done == [1, 2]


def test_who_no_longer_waits_disturbs_nobody(gate):
    async def main():
        worker = Worker("w")
        future = worker.submit(gate.wait)
        task = asyncio.ensure_future(future)
        task.cancel()
        gate.set()
        assert await worker.submit(lambda: "next") == "next"
        worker.close()

    asyncio.run(main())


def test_a_thread_that_hangs_is_counted_and_keeps_nobody_from_ending(gate):
    before = Worker.abandoned

    async def main():
        worker = Worker("w")
        worker.submit(gate.wait)
        worker.abandon()
        worker.close()

    hanging = Worker.hanging()
    asyncio.run(main())  # returns although the thread hangs, as the program's end does
    assert Worker.abandoned == before + 1
    assert Worker.hanging() == hanging + 1


def test_a_thread_that_came_back_no_longer_hangs(gate):
    async def main():
        worker = Worker("w")
        job = worker.submit(gate.wait)
        worker.abandon()
        hanging = Worker.hanging()
        worker.close()
        gate.set()
        await job
        worker._thread.join(LIMIT_S)
        assert Worker.hanging() == hanging - 1

    asyncio.run(main())


def test_a_job_may_end_after_the_loop(gate):
    ended = threading.Event()

    def job():
        gate.wait()
        ended.set()
        raise ValueError("nobody listens any more")

    async def main():
        worker = Worker("w")
        worker.submit(job)
        worker.close()

    asyncio.run(main())
    gate.set()
    assert ended.wait(LIMIT_S)


def test_a_failure_that_nobody_waits_for_is_not_shouted_about(caplog):
    async def main():
        worker = Worker("w")
        worker.submit(lambda: 1 / 0)
        await worker.submit(lambda: None)
        worker.close()

    gc.collect()  # what earlier tests left
    caplog.clear()
    asyncio.run(main())
    gc.collect()
    assert caplog.records == []
