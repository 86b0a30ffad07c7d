import asyncio
import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from selfplay.dialogue.grpo import GRPOLearner
from selfplay.dialogue.instances import grouped, scored
from selfplay.dialogue.language.conversation import Conversation
from selfplay.dialogue.language.endpoint import KEY, Endpoint, base_of, find_endpoint
from selfplay.dialogue.language.remote import FIRST_WAIT_S, LONGEST_WAIT_S, POLL_S, RemoteWriter, RequestLimits, wait_s
from selfplay.dialogue.language.wire import ChatCompletions, Completions, SGLang
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.packing import row_of
from selfplay.dialogue.runner import Lost, Played, play_games
from selfplay.errors import ConfigError, LearnerError, RunnerError, ServerError
from selfplay.learner.grpo_loss import GRPOSettings
from selfplay.seeding import derive
from tests.dialogue.language.stub_server import CHAT, SGLANG, TEXT, VLLM, Stub
from tests.dialogue.language.taught import GREEDY, hands, taught_model
from tests.support.processes import LIMIT_S

GAMES = 12
KINDS = (SGLANG, VLLM, TEXT, CHAT)


@pytest.fixture(scope="module")
def model():
    return taught_model()


def answering(model, sampling=GREEDY):
    """What a stub answers: the model's own replies."""
    writer = LocalWriter(model, sampling)

    def answer(asked):
        conversation = Conversation(seed=len(asked))
        conversation.read(asked if isinstance(asked[0], int) else ids_of(model.chat, asked))
        (reply,) = writer.reply([conversation])
        writer.close([conversation])
        return reply

    return answer


def ids_of(chat, messages):
    """A conversation that came as texts."""
    system = messages[0]["content"] if messages[0]["role"] == "system" else ""
    first, *rest = messages[bool(system) :]
    ids = chat.open(system, first["content"])
    for message in rest:
        more = chat.ids_of if message["role"] == "assistant" else chat.go_on
        ids = ids + more([message["content"]])[0]
    return ids


class Naps:
    """Sleep that takes no time."""

    def __init__(self):
        self.slept = []

    async def __call__(self, seconds):
        self.slept.append(seconds)
        await asyncio.sleep(0)


class Asking:
    """A writer that asks a stub, for the length of a test."""

    def __init__(self, model, stub, sampling=GREEDY, endpoint=None, **limits):
        self.naps = Naps()
        self.endpoint = endpoint or find_endpoint(stub.url, model.chat, 5.0)
        limits = RequestLimits(**{"timeout_s": LIMIT_S, "failures": 1000, **limits})
        ending = self.ending = threading.Event()
        self.writer = RemoteWriter(model.chat, model.context, sampling, self.endpoint, limits, ending.is_set, self.naps)

    def __enter__(self):
        return self.writer

    def __exit__(self, *_):
        self.writer.disconnect()


def told(game):
    return game.outcome, game.turns, game.read


def local(model, count=GAMES):
    return play_games(hands(LocalWriter(model, GREEDY), count))


# ---- the same games


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_games_are_those_of_the_engine_here(model, kind):
    with Stub(kind, answering(model)) as stub, Asking(model, stub) as writer:
        games = play_games(hands(writer, GAMES))
    expected = local(model)
    assert len({game.outcome.reason for game in expected}) > 1
    assert max(len(game.turns) for game in expected) >= 2
    for game, other in zip(games, expected, strict=True):
        assert told(game) == told(other)
        for mine, theirs in zip(game.instances, other.instances, strict=True):
            np.testing.assert_array_equal(mine.ids, theirs.ids)
            np.testing.assert_array_equal(mine.sampled, theirs.sampled)
            if kind in (SGLANG, VLLM):
                np.testing.assert_allclose(mine.logprob, theirs.logprob, atol=1e-5)
                assert mine.known
            else:
                assert np.isnan(mine.logprob[mine.sampled]).all()
                assert not mine.known
    assert writer.lost == 0
    assert stub.probes == {SGLANG: 0, VLLM: 1, TEXT: 1, CHAT: 0}[kind]


@pytest.mark.parametrize("kind", [SGLANG, VLLM])
def test_ids_of_a_server_are_never_made_from_its_text(model, kind):
    answer = answering(model)

    def misspelt(asked):
        return replace(answer(asked), text="[accept] I am no token")

    with Stub(kind, misspelt) as stub, Asking(model, stub) as writer:
        games = play_games(hands(writer, GAMES))
    assert [told(game) for game in games] == [told(game) for game in local(model)]


@pytest.mark.parametrize("kind", [SGLANG, VLLM])
def test_without_log_probabilities_ids_are_kept_and_the_rest_is_not_known(model, kind):
    with Stub(kind, answering(model), logprobs=False) as stub, Asking(model, stub) as writer:
        games = play_games(hands(writer, GAMES))
    assert [told(game) for game in games] == [told(game) for game in local(model)]
    assert not any(instance.known for game in games for instance in game.instances if instance.written)


def test_what_is_asked_for(model):
    sampling = replace(GREEDY, temperature=0.7, top_p=0.9)
    bodies = {}
    for kind in KINDS:
        with Stub(kind, answering(model)) as stub, Asking(model, stub, sampling) as writer:
            play_games(hands(writer, 1))
            bodies[kind] = stub.bodies[0]
    asked = bodies[SGLANG]["sampling_params"]
    assert (asked["temperature"], asked["top_p"], asked["max_new_tokens"]) == (0.7, 0.9, 12)
    assert asked["stop_token_ids"] == sorted(model.chat.ends)
    assert bodies[SGLANG]["return_logprob"] is True
    for kind in (VLLM, TEXT, CHAT):
        assert (bodies[kind]["temperature"], bodies[kind]["top_p"], bodies[kind]["max_tokens"]) == (0.7, 0.9, 12)
    assert bodies[VLLM]["return_token_ids"] is True
    assert bodies[VLLM]["top_k"] == -1  # nothing of the model's own habits
    assert bodies[TEXT].keys() == {"model", "prompt", "max_tokens", "temperature", "top_p"}
    assert [message["role"] for message in bodies[CHAT]["messages"]][-1] == "user"


def test_requests_run_at_once_as_many_as_are_allowed_and_come_back_in_order(model):
    answer, gate = answering(model), threading.Barrier(4)

    class Together:
        """Lets go when four are there; more than four would never meet again."""

        def __call__(self, number):
            gate.wait(LIMIT_S)

    with Stub(SGLANG, answer, Together()) as stub, Asking(model, stub, in_flight=4) as writer:
        conversations = [c for seat in range(GAMES) for c in [writer.open(seat, "", "")]]
        replies = writer.reply(conversations)
        assert stub.most_at_once == 4
    expected = [answer(c.ids[: len(c.ids) - len(r.ids)]).ids for c, r in zip(conversations, replies, strict=True)]
    assert [reply.ids for reply in replies] == expected


def test_conversations_that_do_not_fit_are_not_asked_for(model):
    with Stub(VLLM, answering(model), limit=14) as stub, Asking(model, stub) as writer:
        (game,) = play_games(hands(writer, 1))
        assert game.outcome.reason == "context"
        assert stub.bodies == []


def test_a_reply_that_is_cut_off_ends_its_game(model):
    sampling = replace(GREEDY, max_new_tokens=2)
    for kind in KINDS:
        with Stub(kind, answering(model, replace(sampling, max_new_tokens=1))) as stub:
            endpoint = Endpoint(
                "stub",
                {SGLANG: SGLang(), CHAT: ChatCompletions("m")}.get(kind, Completions("m", ids=kind == VLLM)),
                lambda stub=stub: stub.url,
                loopback=True,
            )
            with Asking(model, stub, sampling, endpoint) as writer:
                (game,) = play_games(hands(writer, 1))
        assert game.outcome.reason == "cut_off"


# ---- what a server tells of likelihoods


def test_the_difference_of_a_servers_log_probabilities_is_told_and_corrected(model):
    def other(document):
        for entry in document["meta_info"]["output_token_logprobs"]:
            entry[0] = min(entry[0] - 0.25, 0.0)
        return document

    sampling = replace(GREEDY, temperature=1.0)
    with (
        Stub(SGLANG, answering(model, sampling), lambda number: other) as stub,
        Asking(model, stub, sampling) as writer,
    ):
        games = play_games(hands(writer, GAMES))
    groups = grouped(replace(i, index=0) for game in games for i in game.instances)
    update = update_with(model, sampling, groups, truncate=2.0)
    assert update.drift == pytest.approx(0.25, abs=1e-4)
    assert update.importance == pytest.approx(math.exp(0.25), abs=1e-3)


def test_what_nobody_told_is_scored_by_the_model(model):
    with Stub(TEXT, answering(model)) as stub, Asking(model, stub) as writer:
        games = play_games(hands(writer, GAMES))
    instances = [instance for game in games for instance in game.instances if instance.written]
    with pytest.raises(LearnerError, match="a log-probability is not finite"):
        row_of(instances[0])
    learner = GRPOLearner(model, GRPOSettings(), GREEDY)
    found = scored(instances, learner.logprobs)
    learner.close()
    theirs = [instance for game in local(model) for instance in game.instances if instance.written]
    for instance, other in zip(found, theirs, strict=True):
        np.testing.assert_allclose(instance.logprob, other.logprob, atol=1e-5)
    assert scored(found, None) == found  # all is known: nobody is asked


def update_with(model, sampling, groups, **settings):
    learner = GRPOLearner(model, GRPOSettings(learning_rate=1e-9, **settings), sampling)
    try:
        return learner.update(groups, torch.Generator().manual_seed(0))
    finally:
        learner.close()


# ---- failures


def wrong(document):
    """An answer with an id of no vocabulary."""
    document["output_ids"] = None
    document["meta_info"]["output_token_logprobs"][0][1] = 10**6
    return document


@pytest.mark.parametrize("trouble", ["500", "429", "garbage", "list", "die", wrong])
def test_a_failure_is_tried_again_until_it_goes(model, trouble):
    with Stub(SGLANG, answering(model), lambda number: trouble if number < 2 else None) as stub:
        asking = Asking(model, stub, in_flight=1)
        with asking as writer:
            games = play_games(hands(writer, 3))
        assert [told(game) for game in games] == [told(game) for game in local(model, 3)]
        assert writer.lost == 0
        assert writer.progress == len(stub.bodies)
        first = derive(0, "words", 0)  # the seed of the first conversation
        assert sum(asking.naps.slept) == pytest.approx(wait_s(first, 1) + wait_s(first, 2))


@pytest.mark.parametrize("trouble", ["garbage", "500"])
def test_once_the_run_is_to_end_nothing_is_tried_again(model, trouble):
    def ruin(number):
        if number == 8:
            asking.ending.set()
        return trouble

    with Stub(SGLANG, answering(model), ruin) as stub:
        asking = Asking(model, stub, in_flight=4, retries=1000, failures=1)
        with asking as writer:
            games = play_games(hands(writer, GAMES))
        assert len(stub.bodies) < 9 + GAMES
    assert all(isinstance(game, Lost) for game in games)


def test_once_the_run_is_to_end_a_failed_reply_is_not_waited_for(model):
    with Stub(SGLANG, answering(model), lambda number: "garbage") as stub:
        asking = Asking(model, stub)
        asking.ending.set()
        with asking as writer:
            assert all(isinstance(game, Lost) for game in play_games(hands(writer, GAMES)))
        assert asking.naps.slept == []


@pytest.mark.parametrize("trouble", ["hang", "garbage"])
def test_once_the_run_is_to_end_retries_are_dropped_at_once(model, trouble):
    """Those that wait for half a minute, and those whose request a server does not answer."""
    free, ended = threading.Event(), []

    def ruin(number):
        if trouble == "hang" and number >= 2:
            free.wait(LIMIT_S)
        return "garbage"

    def end():
        stub_asked.wait(LIMIT_S)
        ended.append(time.monotonic())
        asking.ending.set()

    with Stub(SGLANG, answering(model), ruin) as stub:
        stub_asked = threading.Event()
        asking = Asking(model, stub, retries=1000)
        asking.naps = asking.writer._sleep = _Nap(stub_asked)
        with asking as writer:
            threading.Thread(target=end).start()
            games = play_games(hands(writer, 2))
            late = time.monotonic() - ended[0]
        free.set()
    assert all(isinstance(game, Lost) for game in games)
    assert late < 4 * POLL_S + 1.0


class _Nap:
    """Real naps between attempts; the event is set in the fourth, or as the second attempts hang."""

    def __init__(self, event):
        self.event, self.slept = event, 0

    async def __call__(self, seconds):
        self.slept += 1
        asyncio.get_running_loop().call_later(1.0, self.event.set)
        await asyncio.sleep(seconds)


def test_a_refused_request_is_not_repeated(model):
    with Stub(SGLANG, answering(model), lambda number: "400") as stub, Asking(model, stub) as writer:
        (game,) = play_games(hands(writer, 1))
        assert len(stub.bodies) == 1
    assert game == Lost("g0", 'the server gave no reply: HTTP 400: {"error": "no\\nluck"}')


def test_a_reply_that_cannot_be_had_loses_its_game_alone(model):
    def unlucky(document):
        return {}

    answer = answering(model)

    class Ruin:
        """What the third game asks for, and only that."""

        def __call__(self, number):
            return unlucky if stub.bodies[number]["input_ids"] == victim else None

    games = local(model)
    first = games[2].instances[0]
    victim = first.ids[: int(np.flatnonzero(first.sampled)[0])].tolist()
    with Stub(SGLANG, answer, Ruin()) as stub, Asking(model, stub, retries=2) as writer:
        found = play_games(hands(writer, GAMES))
        tries = [body["input_ids"] for body in stub.bodies].count(victim)
    lost = [i for i, game in enumerate(found) if isinstance(game, Lost)]
    same = [i for i, game in enumerate(games) if game.instances[0].ids[: len(victim)].tolist() == victim]
    assert lost == same
    assert 2 in lost
    assert len(lost) < GAMES
    assert tries == 3 * len(lost)
    assert writer.lost == len(lost)
    assert found[2].why == "the server gave no reply: an invalid response: no meta_info"
    for mine, theirs in zip(found, games, strict=True):
        assert isinstance(mine, Lost) or told(mine) == told(theirs)


def test_a_server_that_dies_in_the_middle_of_its_games_ends_the_run_with_the_first_cause(model):
    def dying(number):
        return {0: None, 1: None, 2: "500"}.get(number, "die")

    with Stub(SGLANG, answering(model), dying) as stub:
        asking = Asking(model, stub, failures=3, retries=0, in_flight=1)
        with asking as writer, pytest.raises(ServerError) as caught:
            play_games(hands(writer, GAMES))
    assert str(caught.value) == (
        f"{stub.url}: 3 replies in a row could not be had (server.failures sets the limit); "
        'the first: HTTP 500: {"error": "no\\nluck"}'
    )
    assert isinstance(caught.value, RunnerError)


def test_failures_that_do_not_follow_each_other_end_nothing(model):
    with (
        Stub(SGLANG, answering(model), lambda number: "500" if number % 3 else None) as stub,
        Asking(model, stub, failures=3, retries=0, in_flight=1) as writer,
    ):
        games = play_games(hands(writer, GAMES))
    assert {type(game) for game in games} == {Lost, Played}
    assert writer.lost == sum(isinstance(game, Lost) for game in games) > 3


def test_a_slow_server_is_a_failure(model):
    free = threading.Event()

    def slow(number):
        free.wait(LIMIT_S)

    with Stub(SGLANG, answering(model), slow) as stub:
        with Asking(model, stub, timeout_s=0.05, retries=1) as writer:
            (game,) = play_games(hands(writer, 1))
        free.set()
    assert game == Lost("g0", "the server gave no reply: no whole answer within 0.05 s")


DRIPPING = (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"HTTP/1.1 200 OK\r\nDrip: ")


class Drips:
    """A server's answer that comes byte by byte and never ends, until who asked has gone; 500 bytes at most."""

    def __init__(self, begins):
        self.begins, self.left = begins, threading.Event()

    def __call__(self, handler):
        handler.close_connection = True
        handler.wfile.write(self.begins)
        pause = threading.Event()
        try:
            for _ in range(500):
                handler.wfile.write(b" ")
                pause.wait(0.01)
        except OSError:
            self.left.set()


@pytest.mark.parametrize("begins", DRIPPING)
def test_an_answer_that_drips_has_to_be_whole_in_time(model, begins, monkeypatch):
    drips = Drips(begins)
    with Stub(SGLANG, answering(model)) as stub:
        with Asking(model, stub, timeout_s=0.5, retries=0) as writer:
            monkeypatch.setattr(stub.server.RequestHandlerClass, "do_POST", lambda self: drips(self))
            (game,) = play_games(hands(writer, 1))
        assert game == Lost("g0", "the server gave no reply: no whole answer within 0.5 s")
        assert drips.left.wait(LIMIT_S)


@pytest.mark.parametrize("begins", DRIPPING)
def test_a_server_that_drips_when_it_is_asked_what_it_is_is_given_up(model, begins, monkeypatch):
    drips = Drips(begins)
    with Stub(SGLANG, answering(model)) as stub:
        monkeypatch.setattr(stub.server.RequestHandlerClass, "do_GET", lambda self: drips(self))
        with pytest.raises(ConfigError, match=r"no server answers there: no whole answer within 0\.5 s"):
            find_endpoint(stub.url, model.chat, 0.5)
        assert drips.left.wait(LIMIT_S)


def test_a_server_that_is_gone_is_waited_for(model):
    with Stub(SGLANG, answering(model)) as stub:
        places = [None, None, None, stub.url]
        endpoint = Endpoint("stub", SGLang(), lambda: places.pop(0) if len(places) > 1 else places[0], loopback=True)
        asking = Asking(model, stub, endpoint=endpoint)
        with asking as writer:
            games = play_games(hands(writer, 1))
    assert asking.naps.slept == [POLL_S] * 3
    assert [told(game) for game in games] == [told(game) for game in local(model, 1)]
    with Asking(model, None, endpoint=Endpoint("stub", SGLang(), lambda: None), absent_s=1.0, retries=0) as writer:
        (game,) = play_games(hands(writer, 1))
    assert game.why == "the server gave no reply: the server was not back within 1 s"


def test_once_the_run_is_to_end_a_server_that_is_gone_is_not_waited_for(model):
    asking = Asking(model, None, endpoint=Endpoint("stub", SGLang(), lambda: None), absent_s=1.0, retries=0)
    asking.ending.set()
    with asking as writer:
        assert all(isinstance(game, Lost) for game in play_games(hands(writer, 1)))
    assert asking.naps.slept == []


def test_waits_double_and_spread():
    for attempt in range(1, 30):
        whole = min(FIRST_WAIT_S * 2 ** (attempt - 1), LONGEST_WAIT_S)
        waits = [wait_s(seed, attempt) for seed in range(50)]
        assert all(whole / 2 <= wait <= whole for wait in waits)
        assert len(set(waits)) == 50


def test_cancelling_ends_a_call_in_progress_and_all_later_ones(model):
    asked, free = threading.Event(), threading.Event()

    def hang(number):
        asked.set()
        free.wait(LIMIT_S)

    with Stub(SGLANG, answering(model), hang) as stub, Asking(model, stub) as writer:
        threading.Thread(target=lambda: (asked.wait(LIMIT_S), writer.cancel())).start()
        for _ in range(2):
            with pytest.raises(RunnerError, match="cancelled"):
                play_games(hands(writer, 1))
        assert len(stub.bodies) == 1
        free.set()


# ---- text that is no reply


@pytest.mark.parametrize("kind", [TEXT, CHAT])
@pytest.mark.parametrize("text", ["<|end|>", "[bet]<|user|>", "words of no vocabulary"])
def test_text_that_only_a_template_writes_or_that_has_no_tokens_is_refused(model, kind, text):
    answer = answering(model)
    with (
        Stub(kind, lambda asked: replace(answer(asked), text=text)) as stub,
        Asking(model, stub, retries=0) as writer,
    ):
        (game,) = play_games(hands(writer, 1))
    assert isinstance(game, Lost)
    assert "text with tokens that are no text" in game.why


@pytest.mark.parametrize(
    ("kind", "text", "why"), [(CHAT, "\ud800", "not Unicode"), (TEXT, "[pass]" * 5 * 10**6, "an answer of more than")]
)
def test_text_that_nobody_can_read_costs_its_game_alone(model, kind, text, why):
    answer = answering(model)
    ruined = [text]

    def once(asked):
        reply = answer(asked)
        return replace(reply, text=ruined.pop()) if ruined else reply

    with Stub(kind, once) as stub, Asking(model, stub, retries=0, in_flight=1) as writer:
        lost, *others = play_games(hands(writer, 3))
    assert isinstance(lost, Lost)
    assert why in lost.why
    assert all(isinstance(game, Played) for game in others)


def test_text_is_made_into_tokens_beside_the_event_loop(model, monkeypatch):
    threads, ids_of = set(), model.chat.ids_of
    with Stub(TEXT, answering(model)) as stub, Asking(model, stub) as writer:
        monkeypatch.setattr(model.chat, "ids_of", lambda said: threads.add(threading.current_thread()) or ids_of(said))
        play_games(hands(writer, 1))
    assert threads
    assert threading.main_thread() not in threads


# ---- who answers


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_is_asked_what_it_is(model, kind):
    with Stub(kind, answering(model), limit=99) as stub:
        for url in (stub.url, f"{stub.url}/", f"{stub.url}/v1", f"{stub.url}/v1/"):
            found = find_endpoint(url, model.chat, 5.0)
            assert found.where() == found.name == stub.url
            assert found.loopback
            assert found.context == (None if kind == SGLANG else 99)
    kinds = {SGLANG: SGLang, VLLM: Completions, TEXT: Completions, CHAT: ChatCompletions}
    assert type(found.wire) is kinds[kind]
    if kind in (VLLM, TEXT):
        assert found.wire.ids == (kind == VLLM)
    assert found.wire.description


def test_nobody_there_is_one_line(model):
    with Stub("none of them", None) as stub:
        pass
    with pytest.raises(ConfigError, match=r"--server-url http://127.0.0.1:\d+: no server answers there: Connect"):
        find_endpoint(stub.url, model.chat, 5.0)
    for url in ("127.0.0.1:1", "ftp://a", "http://", "http://a:b"):
        with pytest.raises(ConfigError, match="give it as http://HOST:PORT"):
            base_of(url)


def test_somebody_else_there_is_one_line(model):
    class Other(Stub):
        def __init__(self):
            super().__init__(SGLANG, None)
            self.kind = "other"

    with Other() as stub:
        stub.kind = SGLANG
        stub.weights.folder = None  # a model_path of nothing is one still
        assert type(find_endpoint(stub.url, model.chat, 5.0).wire) is SGLang
        stub.kind = VLLM
        stub.limit = float("nan")  # that is no JSON
        with pytest.raises(ConfigError, match="neither SGLang nor OpenAI-compatible") as caught:
            find_endpoint(stub.url, model.chat, 5.0)
    assert "\n" not in str(caught.value)


def test_a_key_is_sent_where_there_is_one(model, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    seen = []
    with Stub(SGLANG, answering(model)) as stub:
        handler = stub.server.RequestHandlerClass
        read = handler.do_POST
        monkeypatch.setattr(handler, "do_POST", lambda self: (seen.append(self.headers["Authorization"]), read(self)))
        with Asking(model, stub) as writer:
            play_games(hands(writer, 1))
    assert set(seen) == {"Bearer secret"}
