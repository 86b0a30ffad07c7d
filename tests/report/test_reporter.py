import asyncio
import threading

import pytest

from selfplay.report.reporter import FAILURES, Feed, Tee
from tests.report.make import Recorder, report

ALL = [("header", ("a",)), ("notice", "b"), ("iteration", 1), ("rated", 1), ("leaderboard", "c"), ("close",)]


def tell(reporter):
    reporter.header(["a"])
    reporter.notice("b")
    reporter.iteration(report(1))
    reporter.rated(report(1))
    reporter.leaderboard("c")
    reporter.close()


def test_tee_tells_all():
    one, two = Recorder(), Recorder()
    tell(Tee([one, two]))
    assert one.calls == two.calls == ALL


def test_feed_delivers_in_order_and_ends_when_closed():
    recorder = Recorder()
    feed = Feed(recorder)
    tell(feed)
    assert recorder.calls == []
    asyncio.run(feed.run())
    assert recorder.calls == ALL


def test_feed_drops_and_counts_when_full():
    recorder = Recorder()
    feed = Feed(recorder, limit=2)
    for text in "abc":
        feed.notice(text)
    feed.close()
    asyncio.run(feed.run())
    assert feed.dropped == 1
    assert recorder.calls == [("notice", "a"), ("notice", "b"), ("close",)]


def test_a_broken_reporter_costs_one_event():
    recorder = Recorder(fail_on="b")
    feed = Feed(recorder)
    tell(feed)

    async def supervised():
        with pytest.raises(OSError, match="b"):
            await feed.run()
        await feed.run()

    asyncio.run(supervised())
    assert recorder.calls == [call for call in ALL if call != ("notice", "b")]


def test_a_reporter_that_stays_broken_is_left_out():
    class Broken(Recorder):
        def notice(self, text):
            self.calls.append(("notice", text))
            raise OSError("gone")

    broken, other = Broken(), Recorder()
    feed = Feed(Tee([other, broken]))
    for number in range(3 * FAILURES):
        feed.notice(str(number))
    asyncio.run(feed.finish())
    assert len(broken.calls) == FAILURES
    assert len(other.calls) == 3 * FAILURES + 1
    assert other.calls[-1] == ("close",)


def test_one_success_forgives_failures():
    class Moody(Recorder):
        def notice(self, text):
            super().notice(text)
            if text == "bad":
                raise OSError("for now")

    moody = Moody()
    tee = Tee([moody])
    for _ in range(3):
        for _ in range(FAILURES - 1):
            with pytest.raises(OSError, match="for now"):
                tee.notice("bad")
        tee.notice("good")
    assert len(moody.calls) == 3 * FAILURES


@pytest.mark.full
def test_finish_gives_up_on_what_never_works():
    class Hopeless(Recorder):
        def close(self):
            self.calls.append(("close",))
            raise SystemExit(1)

    hopeless = Hopeless()
    asyncio.run(Feed(hopeless).finish())
    assert 1 < len(hopeless.calls) < 1000


def test_a_reporter_that_hangs_does_not_block_the_loop():
    release = threading.Event()

    class Stuck(Recorder):
        def notice(self, text):
            release.wait()

    async def scenario():
        feed = Feed(Stuck())
        feed.notice("x")
        child = asyncio.create_task(feed.run())
        await asyncio.sleep(0)
        child.cancel()
        with pytest.raises(asyncio.CancelledError):
            await child

    asyncio.run(scenario())
    release.set()
