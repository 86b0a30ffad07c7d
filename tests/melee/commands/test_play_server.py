"""The server of a play page: what it plays and keeps, and what it refuses."""

import http.client
import json
import re
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from selfplay import loopback
from selfplay.errors import ConfigError, CorruptError
from selfplay.league.ledger import read_records
from selfplay.loopback import CONNECTIONS
from selfplay.policy import browser
from selfplay.policy.browser.weights import SCRIPTS, browser_policy, policy_description
from selfplay.policy.recurrent_state import RecurrentState
from selfplay_melee import play_page
from selfplay_melee.play.hosting import keeper
from selfplay_melee.play.server import EPISODES, GAMES, Decisions, PlayServer
from tests.hostile.test_loopback import listening
from tests.melee.commands.page_games import page_game
from tests.melee.commands.test_added_games import encoded, kept, run  # noqa: F401  (a fixture)
from tests.policy.browser.test_browser_policy import policy
from tests.support.node import gather, needs_node, run_node
from tests.support.processes import wait_for
from tests.support.servers import served

KINDS = ("mlp", "gru", "mamba", "attention")
WIDTH = 7  # of an observation
EPISODE = "0123456789abcdef0123456789abcdef0123"
PAGE = b"<!doctype html><title>play</title>"


def serving(policies=None, keep=lambda document: {"message": f"{len(document)} bytes"}, **options):
    server = PlayServer(Decisions(policies or {}), keep, port=0, **options)
    server.page = PAGE
    return served(server)


@pytest.fixture(scope="module")
def policies():
    return {kind: policy(kind, (8, 8)) for kind in KINDS}


def ask(server, method="GET", path="", body=None, **headers):
    """Status, headers and body of an answer. Of the page's own headers those named None are left out."""
    sent = {"Host": server.host, "Origin": server.origin} | {k.replace("_", "-"): v for k, v in headers.items()}
    connection = http.client.HTTPConnection(*server.server_address, timeout=60)
    try:
        connection.putrequest(method, f"/{server.token}/{path}", skip_host=True, skip_accept_encoding=True)
        if body is not None and "Content-Length" not in sent and "Transfer-Encoding" not in sent:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def decide(server, obs, name="mlp", episode=EPISODE, decision=0, **headers):
    body = np.asarray(obs, "<f4").tobytes()
    return ask(server, "POST", f"decide?policy={name}&episode={episode}&decision={decision}", body, **headers)


def test_the_page_is_given_to_who_knows_its_address():
    with serving() as server:
        status, headers, body = ask(server)
        assert (status, body) == (200, PAGE)
        assert server.address == f"http://127.0.0.1:{server.server_address[1]}/{server.token}/"
        assert len(server.token) >= 32
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers
        assert "Python" not in headers["Server"]
        if Path("/proc/net/tcp").exists():
            assert {where for where, port in listening("tcp") if port == server.server_address[1]} == {"127.0.0.1"}


def test_a_page_that_is_being_made_is_not_there_yet():
    with serving() as server:
        server.page = None
        assert ask(server)[0] == 503


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_those_of_python(policies, kind):
    played, memory = policies[kind], RecurrentState(1)
    rows = np.random.default_rng(2).normal(size=(12, WIDTH)).astype(np.float32)
    with serving(policies) as server, torch.inference_mode():
        for t, row in enumerate(rows):
            if t == 6:  # a new episode forgets
                memory.forget([0])
            status, _, body = decide(server, row, kind, decision=t % 6)
            logits, value = memory.step(played.network, torch.tensor(row[None]), slice(None))
            assert status == 200
            np.testing.assert_array_equal(np.frombuffer(body, "<f4"), torch.cat([logits[0], value]).numpy())


@needs_node
@pytest.mark.parametrize("kind", ["mlp", "mamba"])
def test_a_seat_that_the_server_plays_draws_as_a_seat_in_the_page(tmp_path, policies, kind):
    played = policies[kind]
    rows = np.random.default_rng(3).normal(size=(20, WIDTH)).astype(np.float32)
    rows.tofile(tmp_path / "obs")
    description = policy_description(played)
    if kind == "mlp":
        data = browser_policy(played)
        description = data.description
        (tmp_path / "weights").write_bytes(data.weights)
    modules = [Path(browser.__file__).parent / name for name in SCRIPTS]
    remote = Path(play_page.__file__).parent / "view/remote.js"
    script = gather(tmp_path, *modules, remote, Path(__file__).parent / "remote_seat.js")
    with serving(policies) as server:
        about = {"server": server.described, "id": kind, "description": description, "rows": len(rows)}
        (tmp_path / "about.json").write_text(json.dumps(about | {"temperatures": [1, 0.5, 0]}))
        found = json.loads(run_node(script, tmp_path))
    assert found["told"] == [{"message": "12 bytes"}, "this page's server has no such policy"]
    assert len(found["actions"]["remote"]) == 40
    with torch.inference_mode():
        memory = RecurrentState(1)
        values = [memory.step(played.network, torch.tensor(row[None]), slice(None))[1].item() for row in rows]
    np.testing.assert_allclose(found["values"], values * 2, rtol=1e-6)
    if kind == "mlp":
        assert found["actions"]["remote"] == found["actions"]["local"]


def test_the_memory_of_a_seat_goes_on_by_one_decision_and_is_dropped_for_new_ones(policies):
    obs = np.zeros(WIDTH)
    with serving(policies) as server:
        assert decide(server, obs, "gru", decision=1)[0] == 409
        assert decide(server, obs, "gru", decision=0)[0] == 200
        assert decide(server, obs, "gru", decision=0)[0] == 200  # begins again
        assert decide(server, obs, "mlp", decision=1)[0] == 409
        assert decide(server, obs, "gru", decision=1)[0] == 200
        for number in range(EPISODES - 1):
            assert decide(server, obs, episode=f"{number:036x}")[0] == 200
        assert decide(server, obs, "gru", decision=2)[0] == 200
        assert decide(server, obs, episode="f" * 36)[0] == 200  # takes the place of the first of the others
        assert decide(server, obs, episode=f"{0:036x}", decision=1)[0] == 409
        assert decide(server, obs, "gru", decision=3)[0] == 200


OBS = np.zeros(WIDTH, "<f4").tobytes()
GOOD = f"decide?policy=mlp&episode={EPISODE}&decision=0"


REQUESTS = [
    (200, "POST", GOOD, OBS),
    (200, "POST", "games", b"{}"),
    # other paths and methods
    (404, "GET", "games"),
    (404, "GET", "../"),
    (404, "GET", "index.html"),
    (404, "GET", "decide"),
    (404, "POST", "", b""),
    (501, "PUT", "games", b"{}"),
    (501, "OPTIONS", "games"),
    (501, "HEAD", ""),
    # what is asked for
    (404, "POST", GOOD.replace("mlp", "unknown"), OBS),
    (400, "POST", GOOD.replace(EPISODE, "x" * 36), OBS),
    (400, "POST", GOOD.replace("decision=0", "decision=-1"), OBS),
    (400, "POST", GOOD.replace("decision=0", f"decision={'9' * 5000}"), OBS),
    (400, "POST", f"{GOOD}&policy=mlp", OBS),
    (400, "POST", "decide", OBS),
    (400, "POST", GOOD, OBS[:-4]),
    (400, "POST", GOOD, OBS[:-1]),
    (400, "POST", GOOD, b""),
    (400, "POST", GOOD, np.full(WIDTH, np.nan, "<f4").tobytes()),
    # sizes
    (413, "POST", GOOD, None, {"Content_Length": str(2**16 + 1)}),
    (413, "POST", "games", None, {"Content_Length": str(2**21 + 1)}),
    (411, "POST", "games", None, {"Content_Length": "-1"}),
    (411, "POST", "games", None, {"Content_Length": "1" * 5000}),
    (411, "POST", "games", b"{}", {"Transfer_Encoding": "chunked"}),
    (413, "GET", "", b"x"),
    (414, "GET", "a" * 70_000),
    (431, "GET", "", None, {"X": "a" * 70_000}),
    # who asks
    (403, "GET", "", None, {"Host": "evil.example"}),
    (403, "GET", "", None, {"Host": "localhost"}),
    (403, "GET", "", None, {"Host": None}),
    (200, "GET", "", None, {"Origin": "http://evil.example"}),  # reading it is forbidden by the browser
    (403, "POST", "games", b"{}", {"Origin": "http://evil.example"}),
    (403, "POST", "games", b"{}", {"Origin": "null"}),
    (403, "POST", "games", b"{}", {"Origin": None}),
    (403, "POST", GOOD, OBS, {"Origin": "http://127.0.0.1"}),
]


@pytest.mark.parametrize("case", REQUESTS, ids=[f"{i}-{status}" for i, (status, *_) in enumerate(REQUESTS)])
def test_requests(policies, case):
    status, method, path, *rest = case
    body, headers = (*rest, *(None, {})[len(rest) :])
    with serving(policies) as server:
        found, sent, said = ask(server, method, path, body, **headers)
        assert found == status
        assert sent["X-Content-Type-Options"] == "nosniff"
        assert server.token not in said.decode("latin-1")
        if status != 200:
            assert sent["Connection"] == "close"
            assert method == "HEAD" or set(json.loads(said)) == {"error"}


@pytest.mark.parametrize("path", ["/", "//", "", "/favicon.ico", "/{}/".format("A" * 32), "/é/", "/%2e%2e/", "*"])
def test_without_the_token_there_is_nothing(path):
    with serving() as server, socket.create_connection(server.server_address, 60) as client:
        client.sendall(f"GET {path or '/'} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
        answer = client.makefile("rb").read().decode()
        assert answer.startswith("HTTP/1.1 403 ")
        assert server.token not in answer


def test_two_hosts_are_none():
    with serving() as server, socket.create_connection(server.server_address, 60) as client:
        hosts = f"Host: {server.host}\r\nHost: evil.example\r\n"
        client.sendall(f"GET /{server.token}/ HTTP/1.1\r\n{hosts}\r\n".encode())
        assert client.makefile("rb").read().startswith(b"HTTP/1.1 403 ")


def test_a_game_is_kept_with_the_run_and_rated(run):  # noqa: F811
    told = []
    with serving(keep=keeper(run, told.append), at_once_s=60) as server:
        status, _, said = ask(server, "POST", "games", encoded(name="Anna"))
        answer = json.loads(said)
        assert (status, answer) == (200, {"message": told[0], "rated": True})
        assert "; anna is rated " in told[0]
        changed = page_game(name="Anna", seed=8)
        changed["checksums"][-1] ^= 1
        status, _, said = ask(server, "POST", "games", json.dumps(changed).encode())
        assert status == 422
        assert "played again, is another game" in json.loads(said)["error"]
        assert ask(server, "POST", "games", b"\0" * 100)[0] == 422
    assert len(list(read_records(run.people))) == 1
    assert len(kept(run)) == 2


def test_a_page_is_told_at_once_and_hears_the_rating_later():
    go_on = threading.Event()

    def keep(document):
        go_on.wait(60)
        if document == b"bad":
            raise CorruptError("it is no game")
        return {"message": document.decode()}

    with serving(keep=keep, at_once_s=0.01) as server:
        said = [json.loads(ask(server, "POST", "games", body)[2]) for body in (b"one", b"bad")]
        assert said == [
            {"message": "The server has the game; its rating follows.", "waiting": number} for number in (1, 2)
        ]
        for _ in range(GAMES - 2):
            assert ask(server, "POST", "games", b"x")[0] == 200
        assert ask(server, "POST", "games", b"x")[0] == 503
        go_on.set()
        assert json.loads(ask(server, "POST", "kept?game=1", b"")[2]) == {"message": "one"}
        assert ask(server, "POST", "kept?game=2", b"")[0] == 422
        assert ask(server, "POST", f"kept?game={GAMES}", b"")[0] == 200
        for number, status in (("0", 404), ("17", 404), ("-1", 400), ("x", 400), ("", 400), ("9" * 9, 400)):
            assert ask(server, "POST", f"kept?game={number}", b"")[0] == status
        assert ask(server, "POST", "kept?game=1", b"", Origin=None)[0] == 403


def test_a_refused_game_is_told():
    def keep(document):
        raise CorruptError("it is no game <b>")

    with serving(keep=keep) as server:
        status, headers, said = ask(server, "POST", "games", b"{}")
        assert (status, json.loads(said)) == (422, {"error": "it is no game <b>"})
        assert headers["Content-Type"] == "application/json"


def test_a_failure_is_told_and_reported(capsys):
    reported = []
    with serving(keep=lambda document: 1 / 0) as server:
        status, _, said = ask(server, "POST", "games", b"{}")
        assert (status, json.loads(said)) == (500, {"error": "the server failed: its terminal says how"})
        wait_for(lambda: reported.append(capsys.readouterr().err) or "ZeroDivisionError" in "".join(reported))


@pytest.mark.parametrize("sent", ["", "GET /", "GET / HTTP/1.1\r\nHost: x\r\n", "body"])
def test_who_is_slow_is_cut_off(sent):
    with serving(request_s=0.3) as server:
        if sent == "body":
            head = f"Host: {server.host}\r\nOrigin: {server.origin}\r\nContent-Length: 50\r\n"
            sent = f"POST /{server.token}/games HTTP/1.1\r\n{head}\r\n"
        with socket.create_connection(server.server_address, 60) as client:
            client.sendall(sent.encode())
            client.settimeout(0.05)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:  # a byte now and then keeps no connection
                try:
                    client.sendall(b"x")
                    if client.recv(1) == b"":
                        break
                except TimeoutError:
                    pass
                except OSError:
                    break
            assert time.monotonic() < deadline
        assert ask(server)[0] == 200


def test_connections_are_limited():
    with serving() as server:
        held = [socket.create_connection(server.server_address, 60) for _ in range(CONNECTIONS)]
        with socket.create_connection(server.server_address, 60) as one_more:
            assert one_more.recv(1) == b""
        for client in held:
            client.close()


def test_a_page_keeps_its_connection(policies):
    with serving(policies) as server:
        connection = http.client.HTTPConnection(*server.server_address, timeout=60)
        for decision in range(3):
            path = f"/{server.token}/decide?policy=mlp&episode={EPISODE}&decision={decision}"
            connection.request("POST", path, OBS, {"Origin": server.origin})
            assert connection.getresponse().read()
            assert connection.sock is not None
        connection.close()


def test_a_port_in_use_is_told():
    with serving() as server, pytest.raises(ConfigError, match=r"--port \d+: Address already in use; --port 0 takes"):
        PlayServer(Decisions({}), lambda document: {}, port=server.server_address[1])


def test_a_game_is_kept_to_its_end_when_the_server_is_stopped():
    begun, go_on, kept = threading.Event(), threading.Event(), []

    def keep(document):
        begun.set()
        go_on.wait(60)
        kept.append(document)
        return {}

    with PlayServer(Decisions({}), keep, port=0) as server:
        serving_ = threading.Thread(target=server.serve)
        serving_.start()
        client = threading.Thread(target=ask, args=(server, "POST", "games", b"{}"))
        client.start()
        assert begun.wait(60)
        server.shutdown()
        go_on.set()
        serving_.join()
    assert kept == [b"{}"]
    client.join()


def test_no_address_is_logged(capsys):
    with serving() as server:
        ask(server)
        ask(server, path="other")
    assert capsys.readouterr() == ("", "")


def test_the_token_is_compared_in_constant_time():
    text = Path(loopback.__file__).read_text()
    assert re.search(r"hmac\.compare_digest\(token", text)
    assert "== self.server.token" not in text
