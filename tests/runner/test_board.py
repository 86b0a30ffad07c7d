import asyncio

import pytest

from selfplay.runner.board import FIRST_TIMEOUT_S, LEAST_TIMEOUT_S, MEDIANS, Board, Job


def job(*, timed=True):
    return Job(lambda resource: None, timed)


async def settle():
    """Let everything happen that can happen now."""
    for _ in range(10):
        await asyncio.sleep(0)


async def asking(board, jobs):
    task = asyncio.create_task(board.ask(jobs))
    await settle()
    return task


def test_results_come_together_and_whole():
    async def main():
        board = Board(["a", "b"])
        jobs = {"a": job(), "b": job()}
        asked = await asking(board, jobs)
        assert await board.next_job("a") is jobs["a"]
        board.deliver("a", jobs["a"], "first", 1.0)
        await settle()
        assert not asked.done()
        board.deliver("b", jobs["b"], "second", 1.0)
        assert await asked == {"a": "first", "b": "second"}

    asyncio.run(main())


def test_a_runner_without_a_job_waits_for_the_next():
    async def main():
        board = Board(["a"])
        waiting = asyncio.create_task(board.next_job("a"))
        await settle()
        assert not waiting.done()
        first, second = job(), job()
        asked = await asking(board, {"a": first})
        assert await waiting is first
        board.deliver("a", first, 1, 1.0)
        await asked
        waiting = asyncio.create_task(board.next_job("a"))
        await settle()
        assert not waiting.done()  # a job is done once
        asked = await asking(board, {"a": second})
        assert await waiting is second
        board.deliver("a", second, 2, 1.0)
        assert await asked == {"a": 2}

    asyncio.run(main())


def test_a_job_survives_the_death_of_its_runner():
    async def main():
        board = Board(["a"])
        posted = job()
        asked = await asking(board, {"a": posted})
        assert await board.next_job("a") is posted  # taken by a runner that then dies
        assert await board.next_job("a") is posted  # and again by the one that takes its place
        board.deliver("a", posted, "whole", 1.0)
        assert await asked == {"a": "whole"}

    asyncio.run(main())


def test_whoever_is_given_up_is_not_waited_for():
    async def main():
        board = Board(["a", "b"])
        jobs = {"a": job(), "b": job()}
        asked = await asking(board, jobs)
        board.deliver("a", jobs["a"], 1, 1.0)
        board.give_up("b", "broken")
        assert await asked == {"a": 1}
        assert board.expected == {"a"}
        assert board.given_up == {"b": "broken"}

    asyncio.run(main())


def test_with_everybody_given_up_an_answer_comes_at_once():
    async def main():
        board = Board(["a"])
        board.give_up("a", "broken")
        assert await board.ask({"a": job()}) == {}

    asyncio.run(main())


def test_who_comes_back_is_waited_for_again():
    async def main():
        board = Board(["a", "b"])
        jobs = {"a": job(), "b": job()}
        asked = await asking(board, jobs)
        board.give_up("b", "broken")
        assert await board.next_job("b") is jobs["b"]  # the job is still there
        assert board.given_up == {}
        board.deliver("a", jobs["a"], 1, 1.0)
        await settle()
        assert not asked.done()
        board.deliver("b", jobs["b"], 2, 1.0)
        assert await asked == {"a": 1, "b": 2}

    asyncio.run(main())


def test_only_those_asked_are_waited_for():
    async def main():
        board = Board(["a", "b"])
        posted = job()
        asked = await asking(board, {"b": posted})
        board.deliver("b", posted, 2, 1.0)
        assert await asked == {"b": 2}

    asyncio.run(main())


def test_stale_results_are_dropped():
    async def main():
        board = Board(["a"])
        stale, fresh = job(), job()
        asked = await asking(board, {"a": stale})
        asked.cancel()  # the learner crashed
        await asyncio.wait([asked])
        asked = await asking(board, {"a": fresh})
        board.deliver("a", stale, "old", 99.0)
        await settle()
        assert not asked.done()
        board.deliver("a", fresh, "new", 2.0)
        board.deliver("a", fresh, "twice", 99.0)
        assert await asked == {"a": "new"}
        assert board.timeout_s == MEDIANS * 2.0  # neither of the two counts

    asyncio.run(main())


def test_an_ask_that_ends_takes_its_jobs_back():
    async def main():
        board = Board(["a"])
        asked = await asking(board, {"a": job()})
        asked.cancel()
        await asyncio.wait([asked])
        waiting = asyncio.create_task(board.next_job("a"))
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
        board = Board(["a"])
        for seconds in durations:
            posted = job()
            asked = await asking(board, {"a": posted})
            board.deliver("a", posted, None, seconds)
            await asked
        return board.timeout_s

    assert asyncio.run(main()) == pytest.approx(expected)


def test_jobs_of_another_kind_do_not_count():
    async def main():
        board = Board(["a"])
        posted = job(timed=False)
        asked = await asking(board, {"a": posted})
        board.deliver("a", posted, None, 1000.0)
        await asked
        assert board.timeout_s == FIRST_TIMEOUT_S

    asyncio.run(main())


def test_the_users_limit_holds_from_the_start():
    assert Board(["a"], timeout_s=0.5).timeout_s == 0.5
