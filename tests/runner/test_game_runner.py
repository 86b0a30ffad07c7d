import asyncio
import threading
import time
from itertools import count

import pytest

from selfplay.runner.game_runner import SlowOpening, Turns
from selfplay.runner.work_queue import Job, WorkQueue
from selfplay.runner.worker import Worker
from selfplay.supervision import ChildParked, NotFoundError, ParkPolicy, StartError
from tests.runner.pools import Resources, failures, runners, settle, throwing


def name_of(resource):
    return resource.name


def raises_first(resource):
    if resource.incarnation == 1:
        raise ArithmeticError("segment 3 went wrong")
    return resource.name


def hangs_first(resource):
    return resource.hang() if resource.incarnation == 1 else resource.name


def test_jobs_are_done_by_the_runner_that_they_are_posted_for():
    resources = Resources()

    async def main():
        queue = WorkQueue(["a", "b"])
        async with runners(queue, resources, "ab") as (pool, _):
            assert [child.id for child in pool.which_children()] == ["a", "b"]
            for _ in range(3):
                assert await queue.ask({n: Job(name_of) for n in "ab"}) == {"a": ("a", 1), "b": ("b", 1)}

    asyncio.run(main())
    assert sorted(resources.log) == sorted([(what, n, 1) for n in "ab" for what in ("open", "cancel", "close")])


def test_what_raises_is_replaced_and_its_job_is_done_by_the_next():
    resources = Resources()

    async def main():
        queue = WorkQueue(["a", "b"])
        async with runners(queue, resources, "ab") as (_, reports):
            result = await queue.ask({"a": Job(raises_first), "b": Job(name_of)})
            assert result == {"a": ("a", 2), "b": ("b", 1)}  # nobody else was disturbed
            assert await queue.ask({"a": Job(name_of)}) == {"a": ("a", 2)}
            assert failures(reports) == ["ArithmeticError: segment 3 went wrong"]

    asyncio.run(main())
    assert resources.log.count(("close", "a", 1)) == 1
    assert resources.count("open") == resources.count("close") == 3


def test_a_runner_that_cannot_open_fails_to_start():
    async def main():
        queue = WorkQueue(["a"])
        with pytest.raises(StartError, match="no game for a"):
            async with runners(queue, Resources(fail=9), "a"):
                pytest.fail("it started")

    asyncio.run(main())


def test_what_opens_slowly_is_started_at_once_and_opens_in_turn():
    let, waiting = threading.Semaphore(0), threading.Semaphore(0)

    def prepare(resource):
        waiting.release()
        let.acquire()

    async def main():
        queue = WorkQueue(["a", "b"])
        opening = SlowOpening(Turns(1, longest_s=60.0), prepare, within_s=60.0)
        async with runners(queue, Resources(), "ab", opening=opening):
            await asyncio.to_thread(waiting.acquire)  # both are started, one of them opens
            await settle()
            assert not waiting.acquire(blocking=False)
            let.release()
            await asyncio.to_thread(waiting.acquire)
            let.release()
            assert await queue.ask({n: Job(name_of) for n in "ab"}) == {"a": ("a", 1), "b": ("b", 1)}

    asyncio.run(main())


def test_who_opens_for_long_gives_its_turn_to_the_next():
    let, waiting = threading.Semaphore(0), threading.Semaphore(0)

    def prepare(resource):
        waiting.release()
        let.acquire()

    async def main():
        queue = WorkQueue(["a", "b"])
        opening = SlowOpening(Turns(1, longest_s=0.02), prepare, within_s=60.0)
        async with runners(queue, Resources(), "ab", opening=opening):
            for _ in range(2):
                await asyncio.to_thread(waiting.acquire)  # the second opens although the first is not done
            let.release(2)
            assert await queue.ask({n: Job(name_of) for n in "ab"}) == {"a": ("a", 1), "b": ("b", 1)}

    asyncio.run(main())


@pytest.mark.parametrize("can_kill", [True, False])
def test_what_does_not_open_in_its_time_is_replaced_and_closed(can_kill):
    resources = Resources(can_kill=can_kill)
    before = Worker.abandoned

    async def main():
        queue = WorkQueue(["a"])
        opening = SlowOpening(Turns(1, longest_s=60.0), hangs_first, within_s=1.0)
        async with runners(queue, resources, "a", opening=opening) as (_, reports):
            assert await queue.ask({"a": Job(name_of)}) == {"a": ("a", 2)}
            (message,) = failures(reports)
            assert "a did not open within 1 s" in message

    asyncio.run(main())
    assert Worker.abandoned == before + (not can_kill)
    assert resources.count("open") == resources.count("close") == 2


def test_who_has_delivered_is_no_crash_loop():
    def raises_later(resource):
        if resource.name in proven:
            raise ArithmeticError("again")
        proven.append(resource.name)

    proven = []

    async def main():
        queue = WorkQueue(["a"])
        async with runners(queue, Resources(), "a", park=ParkPolicy(max_restarts=1, period_s=60.0)) as (_, reports):
            for _ in range(9):
                await queue.ask({"a": Job(raises_later)})
            assert not [report for report in reports if isinstance(report, ChildParked)]
            assert len(failures(reports)) == 8

    asyncio.run(main())


def test_a_hang_in_a_thread_is_abandoned_counted_and_replaced():
    resources = Resources()
    before = Worker.abandoned

    async def main():
        queue = WorkQueue(["a"], timeout_s=1.0)
        async with runners(queue, resources, "a") as (_, reports):
            assert await queue.ask({"a": Job(hangs_first)}) == {"a": ("a", 2)}
            (message,) = failures(reports)
            assert "a gave no segment within 1 s" in message
            assert "--collect-timeout" in message
            resources.release()  # the old thread ends after all: nobody may take its result
            assert await queue.ask({"a": Job(name_of)}) == {"a": ("a", 2)}

    asyncio.run(main())
    assert Worker.abandoned == before + 1
    assert resources.log.count(("kill", "a", 1)) == 1


def test_a_limit_does_not_pass_while_the_process_is_stopped():
    """As by Ctrl-Z: neither the thread of the runner nor the event loop runs for longer than the limit."""
    resources = Resources()

    async def main():
        queue = WorkQueue(["a"], timeout_s=2.0)
        async with runners(queue, resources, "a") as (_, reports):
            asked = asyncio.create_task(queue.ask({"a": Job(lambda resource: resource.hang())}))
            await settle()
            time.sleep(2.5)  # noqa: ASYNC251 - nothing runs on the loop
            await settle()
            assert failures(reports) == []
            resources.made["a", 1].gate.set()
            assert await asked == {"a": "late"}
            assert failures(reports) == []

    asyncio.run(main())


def test_who_makes_progress_is_waited_for_and_who_makes_none_is_replaced():
    def progress(resource):
        looks.append(resource.name)
        if len(looks) == 3:
            resource.gate.set()
        return len(looks)

    looks = []

    async def main():
        queue = WorkQueue(["a"], timeout_s=0.01)
        async with runners(queue, Resources(can_kill=True), "a") as (_, reports):
            assert await queue.ask({"a": Job(lambda resource: resource.hang(), progress=progress)}) == {"a": "late"}
            assert failures(reports) == []
        queue = WorkQueue(["b"], timeout_s=1.0)
        async with runners(queue, Resources(can_kill=True), "b") as (_, reports):
            assert await queue.ask({"b": Job(hangs_first, progress=lambda resource: 7)}) == {"b": ("b", 2)}
            (message,) = failures(reports)
            assert message.endswith("no reply came to b within 1 s; it is replaced")

    asyncio.run(main())


def test_a_hang_that_a_kill_ends_leaves_nothing():
    resources = Resources(can_kill=True)
    before = Worker.abandoned

    async def main():
        queue = WorkQueue(["a"], timeout_s=1.0)
        async with runners(queue, resources, "a"):
            assert await queue.ask({"a": Job(hangs_first)}) == {"a": ("a", 2)}

    asyncio.run(main())
    assert Worker.abandoned == before
    assert resources.count("open") == resources.count("close") == 2


def test_stopping_cancels_the_work_in_progress():
    resources = Resources()

    async def main():
        queue = WorkQueue(["a", "b"])
        async with runners(queue, resources, "ab") as (pool, reports):
            asked = asyncio.create_task(queue.ask({"a": Job(lambda r: r.hang()), "b": Job(name_of)}))
            await settle()
            await pool.terminate_child("a")
            assert [child.id for child in pool.which_children()] == ["b"]
            with pytest.raises(NotFoundError):
                await pool.terminate_child("a")
            queue.give_up("a", "stopped")
            assert await asked == {"b": ("b", 1)}
            assert failures(reports) == []

    asyncio.run(main())
    assert ("cancel", "a", 1) in resources.log
    assert resources.count("open") == resources.count("close") == 2


def test_an_error_at_every_await_costs_no_job():
    """Thrown in wherever the runner waits: opening, waiting for a job, working; and each time nothing is left."""
    for at in count(1):
        resources = Resources()
        thrown = []

        def wrap(child, at=at, thrown=thrown):
            async def chaotic(ctx):
                if ctx.incarnation == 1:
                    thrown.append(at)
                    await throwing(child(ctx), at, OSError("chaos"))
                await child(ctx)

            return chaotic

        async def main(at=at, resources=resources, wrap=wrap):
            queue = WorkQueue(["a"])
            results = []
            try:
                async with runners(queue, resources, "a", wrap) as (_, reports):
                    while len(results) < 3:
                        results.append((await queue.ask({"a": Job(name_of)}))["a"])
                    return results, failures(reports)
            except StartError:  # while it opened: whoever starts runners starts another
                assert at == 1
                return results, ["OSError: chaos"]

        results, failed = asyncio.run(main())
        assert resources.count("open") == resources.count("close"), f"left open after an error at await {at}"
        assert [r[1] for r in results] == sorted(r[1] for r in results)
        if not failed:  # the chaos came later than the last wait
            break
        assert failed == ["OSError: chaos"]
        if at > 1:
            assert len(results) == 3
    assert at > 5
