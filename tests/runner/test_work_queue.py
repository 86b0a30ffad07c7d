import asyncio

import pytest

from selfplay.runner.work_queue import (
    FIRST_TIMEOUT_S,
    GRACE_S,
    LEAST_TIMEOUT_S,
    MEDIANS,
    Job,
    Limits,
    WaitLimits,
    WorkQueue,
)
from tests.support.fakes import FakeClock


def job(*, timed=True):
    return Job(lambda resource: None, timed)


async def settle():
    """Let everything happen that can happen now."""
    for _ in range(10):
        await asyncio.sleep(0)


async def asking(queue, jobs):
    task = asyncio.create_task(queue.ask(jobs))
    await settle()
    return task


def test_results_come_together_and_whole():
    async def main():
        queue = WorkQueue(["a", "b"])
        jobs = {"a": job(), "b": job()}
        asked = await asking(queue, jobs)
        assert await queue.next_job("a") is jobs["a"]
        queue.deliver("a", jobs["a"], "first", 1.0)
        await settle()
        assert not asked.done()
        queue.deliver("b", jobs["b"], "second", 1.0)
        assert await asked == {"a": "first", "b": "second"}

    asyncio.run(main())


def test_a_runner_without_a_job_waits_for_the_next():
    async def main():
        queue = WorkQueue(["a"])
        waiting = asyncio.create_task(queue.next_job("a"))
        await settle()
        assert not waiting.done()
        first, second = job(), job()
        asked = await asking(queue, {"a": first})
        assert await waiting is first
        queue.deliver("a", first, 1, 1.0)
        await asked
        waiting = asyncio.create_task(queue.next_job("a"))
        await settle()
        assert not waiting.done()  # a job is done once
        asked = await asking(queue, {"a": second})
        assert await waiting is second
        queue.deliver("a", second, 2, 1.0)
        assert await asked == {"a": 2}

    asyncio.run(main())


def test_a_job_survives_the_death_of_its_runner():
    async def main():
        queue = WorkQueue(["a"])
        posted = job()
        asked = await asking(queue, {"a": posted})
        assert await queue.next_job("a") is posted  # taken by a runner that then dies
        assert await queue.next_job("a") is posted  # and again by the one that takes its place
        queue.deliver("a", posted, "whole", 1.0)
        assert await asked == {"a": "whole"}

    asyncio.run(main())


def test_whoever_is_given_up_is_not_waited_for():
    async def main():
        queue = WorkQueue(["a", "b"])
        jobs = {"a": job(), "b": job()}
        asked = await asking(queue, jobs)
        queue.deliver("a", jobs["a"], 1, 1.0)
        queue.give_up("b", "broken")
        assert await asked == {"a": 1}
        assert queue.expected == {"a"}
        assert queue.given_up == {"b": "broken"}

    asyncio.run(main())


def test_with_everybody_given_up_an_answer_comes_at_once():
    async def main():
        queue = WorkQueue(["a"])
        queue.give_up("a", "broken")
        assert await queue.ask({"a": job()}) == {}

    asyncio.run(main())


def test_with_patience_somebody_may_come_back():
    clock = FakeClock()
    began = clock.time()

    async def main():
        queue, jobs = WorkQueue(["a"], patience=WaitLimits(60.0, 60.0), clock=clock), {"a": job()}
        queue.give_up("a", "no room")

        async def come_back():
            assert await queue.next_job("a") is jobs["a"]
            clock.call_later(100, lambda: queue.deliver("a", jobs["a"], 1, 1.0))

        clock.call_later(59, lambda: returning.append(asyncio.ensure_future(come_back())))
        returning = []
        there = await queue.ask(jobs), clock.time() - began
        queue.give_up("a", "no room")
        nobody = await queue.ask({"a": job()}), clock.time() - began
        again = await queue.ask({"a": job()}), clock.time() - began
        return there, nobody, again

    assert clock.run(main()) == (({"a": 1}, 159), ({}, 219), ({}, 219))


def test_before_a_first_delivery_patience_is_another():
    clock = FakeClock()
    began = clock.time()

    async def main():
        queue = WorkQueue(["a"], patience=WaitLimits(5.0, 60.0), clock=clock)
        queue.give_up("a", "broken")
        return await queue.ask({"a": job()}), clock.time() - began

    assert clock.run(main()) == ({}, 5)


def test_one_that_comes_back_and_fails_again_does_not_renew_the_patience():
    clock = FakeClock()
    began = clock.time()

    async def main():
        queue, jobs = WorkQueue(["a"], patience=WaitLimits(60.0, 60.0), clock=clock), {"a": job()}
        queue.give_up("a", "broken")

        async def come_back():
            await queue.next_job("a")
            clock.call_later(10, lambda: queue.give_up("a", "broken again"))

        returning = []
        for when in (20, 45):
            clock.call_later(when, lambda: returning.append(asyncio.ensure_future(come_back())))
        return await queue.ask(jobs), clock.time() - began, queue.given_up

    assert clock.run(main()) == ({}, 60, {"a": "broken again"})


def test_without_its_core_a_question_has_no_answer_and_what_the_others_deliver_does_not_count():
    clock = FakeClock()
    began = clock.time()

    async def main():
        queue = WorkQueue(["main", "other"], patience=WaitLimits(60.0, 60.0), clock=clock)
        queue.give_up("main", "broken")
        times = []
        for _ in range(2):
            jobs = {"main": job(), "other": job()}
            clock.call_later(10, lambda jobs=jobs: queue.deliver("other", jobs["other"], 1, 1.0))
            assert await queue.ask(jobs, ["main"]) == {"other": 1}
            times.append(clock.time() - began)
        return times

    assert clock.run(main()) == [70, 80]


def test_at_the_end_only_those_who_can_work_are_waited_for():
    async def main():
        queue = WorkQueue(["a", "b", "c"], patience=WaitLimits(60.0, 60.0))
        jobs = {name: job() for name in "abc"}
        asked = await asking(queue, jobs)
        for name in "ab":
            await queue.next_job(name)  # c has not got so far: its game is being started
        queue.end()
        await settle()
        assert not asked.done()
        queue.leave("b")  # it crashed
        queue.deliver("a", jobs["a"], 1, 1.0)
        assert await asked == {"a": 1}
        snapshots = {name: job(timed=False) for name in "abc"}
        asked = await asking(queue, snapshots)
        queue.deliver("a", snapshots["a"], 2, 1.0)
        assert await asked == {"a": 2}

    asyncio.run(main())


def test_at_the_end_a_game_in_real_time_that_stands_still_is_not_waited_for():
    slow = Slow("a")

    async def main():
        for _ in range(3):
            await slow.ask(a=6)  # each tells that a segment took 1 s
        asked = asyncio.ensure_future(slow.ask())
        await slow.queue.next_job("a")
        await slow.wait(100)
        slow.queue.end()
        return await asked

    assert slow.run(main) == ({}, 100 + LEAST_TIMEOUT_S)


def test_a_cut_ends_a_question_at_once_and_limits_later_ones():
    clock = FakeClock()

    async def main():
        queue = WorkQueue(["a", "b"], clock=clock)
        jobs = {name: job() for name in "ab"}
        asked = await asking(queue, jobs)
        for name in "ab":
            await queue.next_job(name)
        queue.deliver("a", jobs["a"], 1, 1.0)
        queue.cut()
        first = await asked
        clock.advance(5)
        began, snapshots = clock.time(), {name: job(timed=False) for name in "ab"}
        asked = asyncio.ensure_future(queue.ask(snapshots))
        await settle()
        queue.deliver("a", snapshots["a"], 2, 1.0)
        return first, await asked, clock.time() - began

    assert clock.run(main()) == ({"a": 1}, {"a": 2}, LEAST_TIMEOUT_S)


def test_at_the_end_with_nobody_there_an_answer_comes_at_once():
    async def main():
        queue = WorkQueue(["a", "b"], patience=WaitLimits(60.0, 60.0))
        queue.give_up("b", "broken")
        asked = await asking(queue, {"a": job(), "b": job()})
        assert not asked.done()
        queue.end()
        assert await asked == {}

    asyncio.run(main())


def test_nobody_is_waited_for_with_jobs_that_are_not_timed():
    clock = FakeClock()
    began = clock.time()

    async def main():
        queue = WorkQueue(["a"], patience=WaitLimits(60.0, 60.0), clock=clock)
        queue.give_up("a", "no room")
        return await queue.ask({"a": job(timed=False)}), clock.time() - began

    assert clock.run(main()) == ({}, 0)


def test_who_comes_back_is_waited_for_again():
    async def main():
        queue = WorkQueue(["a", "b"])
        jobs = {"a": job(), "b": job()}
        asked = await asking(queue, jobs)
        queue.give_up("b", "broken")
        assert await queue.next_job("b") is jobs["b"]  # the job is still there
        assert queue.given_up == {}
        queue.deliver("a", jobs["a"], 1, 1.0)
        await settle()
        assert not asked.done()
        queue.deliver("b", jobs["b"], 2, 1.0)
        assert await asked == {"a": 1, "b": 2}

    asyncio.run(main())


def test_only_those_asked_are_waited_for():
    async def main():
        queue = WorkQueue(["a", "b"])
        posted = job()
        asked = await asking(queue, {"b": posted})
        queue.deliver("b", posted, 2, 1.0)
        assert await asked == {"b": 2}

    asyncio.run(main())


def test_stale_results_are_dropped():
    async def main():
        queue = WorkQueue(["a"])
        stale, fresh = job(), job()
        asked = await asking(queue, {"a": stale})
        asked.cancel()  # the learner crashed
        await asyncio.wait([asked])
        asked = await asking(queue, {"a": fresh})
        queue.deliver("a", stale, "old", 99.0)
        await settle()
        assert not asked.done()
        queue.deliver("a", fresh, "new", 2.0)
        queue.deliver("a", fresh, "twice", 99.0)
        assert await asked == {"a": "new"}
        assert queue.timeout_s == MEDIANS * 2.0  # neither of the two counts

    asyncio.run(main())


def test_an_ask_that_ends_takes_its_jobs_back():
    async def main():
        queue = WorkQueue(["a"])
        asked = await asking(queue, {"a": job()})
        asked.cancel()
        await asyncio.wait([asked])
        waiting = asyncio.create_task(queue.next_job("a"))
        await settle()
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(main())


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ([], FIRST_TIMEOUT_S),
        ([0.01, 0.02, 0.5], LEAST_TIMEOUT_S),
        ([2.0, 3.0, 400.0], 10 * 3.0),  # one slow segment does not count
        ([100.0] * 60 + [2.0] * 50, 10 * 2.0),  # nor do those long ago
    ],
)
def test_the_time_limit_follows_the_median(durations, expected):
    async def main():
        queue = WorkQueue(["a"])
        for seconds in durations:
            posted = job()
            asked = await asking(queue, {"a": posted})
            queue.deliver("a", posted, None, seconds)
            await asked
        return queue.timeout_s

    assert asyncio.run(main()) == pytest.approx(expected)


def test_jobs_of_another_kind_do_not_count():
    async def main():
        queue = WorkQueue(["a"])
        posted = job(timed=False)
        asked = await asking(queue, {"a": posted})
        queue.deliver("a", posted, None, 1000.0)
        await asked
        assert queue.timeout_s == FIRST_TIMEOUT_S

    asyncio.run(main())


def test_the_users_limit_holds_from_the_start():
    assert WorkQueue(["a"], timeout_s=0.5).timeout_s == 0.5


def test_limits_hold_the_median():
    async def main():
        queue = WorkQueue(["a"], limits=Limits(first_s=700.0, least_s=70.0))
        first, posted = queue.timeout_s, job()
        asked = await asking(queue, {"a": posted})
        queue.deliver("a", posted, None, 0.1)
        await asked
        return first, queue.timeout_s

    assert asyncio.run(main()) == (700.0, 70.0)


# ---- those who are left behind


class Slow:
    """A queue that leaves behind, on a clock of its own, and runners that deliver after so many seconds."""

    def __init__(self, *names):
        self.clock = FakeClock()
        self.queue = WorkQueue(names, leave_behind=True, clock=self.clock)
        self.names = names

    def run(self, main):
        return self.clock.run(main())

    async def ask(self, core=(), *, timed=True, **after):
        """Ask all; results, and how long that took. ``after`` are seconds by runner; the others do not deliver."""
        jobs, began = {name: job(timed=timed) for name in self.names}, self.clock.time()
        for name, seconds in after.items():
            self.clock.call_later(seconds, lambda name=name: self.queue.deliver(name, jobs[name], name, 1.0))
        return await self.queue.ask(jobs, core), self.clock.time() - began

    async def wait(self, seconds):
        await self.clock.sleep(seconds)


def test_the_others_have_as_long_again_as_half_of_them_needed():
    slow = Slow("a", "b", "c", "d")

    async def main():
        return [await slow.ask(a=3, b=5, c=9, d=99), await slow.ask(a=1, b=1, c=1)]

    (results, seconds), (following, again) = slow.run(main)
    assert (sorted(results), seconds) == (["a", "b", "c"], 10)
    assert (sorted(following), again) == (["a", "b", "c"], 1)  # nobody waits for the one that is behind already


def test_a_grace_is_not_shorter_than_half_a_second():
    slow = Slow("a", "b")

    async def main():
        return await slow.ask(a=0.01, b=0.4), await slow.ask(a=0.01)

    (first, _), (second, seconds) = slow.run(main)
    assert (sorted(first), sorted(second)) == (["a", "b"], ["a"])
    assert seconds == pytest.approx(0.01 + GRACE_S)


def test_who_is_alone_is_waited_for():
    slow = Slow("a")

    async def main():
        return await slow.ask(a=1), await slow.ask(a=5000)

    assert slow.run(main)[1] == ({"a": "a"}, 5000)


def test_with_less_than_half_there_everybody_is_waited_for():
    slow = Slow("a", "b", "c")

    async def main():
        return await slow.ask(a=1, b=600)

    assert slow.run(main) == ({"a": "a", "b": "b"}, 1200)


def test_half_of_the_core_is_waited_for():
    slow = Slow("a", "b", "c", "d")

    async def main():
        return await slow.ask(("a", "b"), a=60, b=500, c=1, d=2)

    assert slow.run(main) == ({"a": "a", "c": "c", "d": "d"}, 120)


def test_those_given_up_are_no_part_of_the_half():
    slow = Slow("a", "b", "c", "d")

    async def main():
        slow.queue.give_up("a", "broken")
        slow.queue.give_up("b", "broken")
        return await slow.ask(c=2, d=3)

    assert slow.run(main) == ({"c": "c", "d": "d"}, 3)


def test_what_comes_late_is_kept_for_one_question():
    slow = Slow("a", "b", "c")

    async def main():
        early = await slow.ask(a=1, b=1, c=5)
        assert slow.queue.take_late() == {}
        both = await slow.ask(a=4, b=4)  # c delivers what it was asked before
        assert slow.queue.take_late() == {"c": "c"}
        assert slow.queue.take_late() == {}
        return early, both

    (early, _), (both, seconds) = slow.run(main)
    assert sorted(early) == sorted(both) == ["a", "b"]
    assert seconds == 4  # it had been behind when the question was asked
    assert slow.queue.dropped == 0


def test_what_comes_between_two_questions_is_late_and_its_runner_not_behind_any_more():
    slow = Slow("a", "b", "c")

    async def main():
        await slow.ask(a=1, b=1, c=5)
        await slow.wait(10)
        assert slow.queue.take_late() == {"c": "c"}
        return await slow.ask(a=4, b=4, c=7)

    results, seconds = slow.run(main)
    assert (sorted(results), seconds) == (["a", "b", "c"], 7)


def test_what_comes_two_questions_late_is_dropped_and_counted():
    slow = Slow("a", "b", "c")

    async def main():
        await slow.ask(a=1, b=1, c=6)
        await slow.ask(a=1, b=1)
        await slow.ask(a=5, b=5)
        return slow.queue.take_late(), slow.queue.dropped

    assert slow.run(main) == ({}, 1)


def test_what_was_forgotten_is_dropped():
    slow = Slow("a", "b", "c")

    async def main():
        await slow.ask(a=1, b=1, c=9)
        slow.queue.forget()
        await slow.wait(20)
        return slow.queue.take_late(), slow.queue.dropped

    assert slow.run(main) == ({}, 1)


def test_a_question_that_is_taken_back_leaves_nobody_behind():
    slow = Slow("a", "b")

    async def main():
        asked = asyncio.create_task(slow.ask(a=99, b=99))
        await slow.wait(1)
        asked.cancel()  # the learner crashed
        await asyncio.wait([asked])
        return await slow.ask(a=3, b=4)

    assert slow.run(main) == ({"a": "a", "b": "b"}, 4)


def test_jobs_that_are_not_timed_leave_nobody_behind():
    slow = Slow("a", "b")

    async def main():
        return await slow.ask(timed=False, a=1, b=5000)

    assert slow.run(main) == ({"a": "a", "b": "b"}, 5000)


def test_who_takes_far_longer_than_usual_is_told_of_once():
    async def main():
        queue = WorkQueue(["a", "b"])

        async def deliver(seconds, *, timed=True):
            question = job(timed=timed)
            asked = await asking(queue, {"a": question})
            queue.deliver("a", question, None, seconds)
            await asked

        await deliver(30.0)  # the first one: nothing is usual yet
        for _ in range(4):
            await deliver(1.0)
        await deliver(2.9)
        await deliver(90.0, timed=False)
        assert queue.take_stragglers() == {}
        await deliver(3.1)
        assert queue.take_stragglers() == {"a": 3.1}
        assert queue.take_stragglers() == {}

    asyncio.run(main())


def test_a_second_more_is_not_much_where_segments_are_short():
    async def main():
        queue = WorkQueue(["a"])
        for seconds in (0.01, 0.01, 0.9):
            question = job()
            asked = await asking(queue, {"a": question})
            queue.deliver("a", question, None, seconds)
            await asked
        assert queue.take_stragglers() == {}

    asyncio.run(main())


def test_a_wait_ends_however_its_end_is_rounded():
    """In these seconds the time that was left could be too little to be added to the time that it is."""
    slow = Slow("a", "b")
    timers, later = [], slow.clock.call_later

    def call_later(delay_s, callback):
        timers.append(delay_s)
        assert len(timers) < 50
        return later(delay_s, callback)

    slow.clock.call_later = call_later

    async def main():
        slow.clock.advance(1020.1 - slow.clock.time())
        assert (await slow.ask(a=2.3))[0] == {"a": "a"}

    slow.run(main)
