import threading

import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.dialogue.language.endpoint import Endpoint
from selfplay.dialogue.language.remote import RemoteWriter, RequestLimits
from selfplay.dialogue.language.wire import SGLang
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.runner import DialogueCollector, DialogueOrder, Played
from selfplay.errors import RunnerError
from tests.dialogue.language.stub_server import SGLANG, Stub
from tests.dialogue.language.taught import GREEDY, kuhn, taught_model
from tests.support.processes import LIMIT_S

ORDER = DialogueOrder((4, 5), (14, 15), games_each=3)


def test_an_order_is_played_in_whole_groups():
    model = taught_model()
    collector = DialogueCollector(*kuhn(), LocalWriter(model, GREEDY))
    games = collector.collect(ORDER)
    assert all(isinstance(game, Played) for game in games)
    assert [game.game_id for game in games] == ["4-0", "4-1", "4-2", "5-0", "5-1", "5-2"]
    assert len({game.seed for game in games}) == 6
    tokens = [game.instances[seat].written for game in games for seat in range(2)]
    assert collector.progress >= max(tokens) > 1
    collector.close()


def test_a_thread_that_waits_for_a_server_is_freed_at_once():
    model, asked, free = taught_model(), threading.Event(), threading.Event()

    def hang(number):
        asked.set()
        free.wait(LIMIT_S)

    with Stub(SGLANG, None, hang) as stub:
        endpoint = Endpoint("stub", SGLang(), lambda: stub.url, loopback=True)
        collector = DialogueCollector(
            *kuhn(), RemoteWriter(model.chat, model.context, GREEDY, endpoint, RequestLimits())
        )
        freed = []
        killer = threading.Thread(target=lambda: (asked.wait(LIMIT_S), freed.append(collector.kill())))
        killer.start()
        with pytest.raises(RunnerError, match="cancelled"):
            collector.collect(ORDER)
        killer.join(LIMIT_S)  # it may come to note what it did only now
        assert freed == [True]
        collector.close()
        stub.ruin = lambda number: "die"
        free.set()


def test_one_that_has_not_begun_can_be_stopped_and_closed():
    collector = DialogueCollector(*kuhn(), LocalWriter(taught_model(), GREEDY))
    assert collector.kill() is False
    assert collector.collect(ORDER) == []
    collector.close()
