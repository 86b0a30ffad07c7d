"""The server of a play page, for browsers on this machine: it plays policies that pages cannot, and takes games back.

It listens on loopback. Other users of the machine reach its port, and pages of other sites can send it requests. Each
request therefore needs the token, which only the printed address has, and the ``Host`` that a browser sends for this
address; one that changes something needs the ``Origin`` of the page, too. Sizes, times and numbers are limited.
"""

from __future__ import annotations

import hmac
import io
import json
import re
import secrets
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

import numpy as np
import torch

from selfplay.errors import ConfigError, SelfPlayError
from selfplay.games.errors import GameError
from selfplay.policy.recurrent_state import RecurrentState
from selfplay_melee.play.games import MAX_BYTES

if TYPE_CHECKING:
    from selfplay.policy.policy import Policy

ADDRESS: Final = "127.0.0.1"
PORT: Final = 8465
REQUEST_S: Final = 20.0  # to send a whole request, counted from the answer before it; and to take an answer
CONNECTIONS: Final = 32
EPISODES: Final = 64  # whose memory is kept; the one that has not decided for longest is dropped for a new one
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_EPISODE: Final = re.compile(r"[0-9a-f-]{36}")
_COUNT: Final = re.compile(r"[0-9]{1,7}")


class Refused(Exception):
    """A request that is not answered; the message is for the user of the page."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(slots=True)
class _Episode:
    policy: Policy
    memory: RecurrentState = field(default_factory=lambda: RecurrentState(1))
    decision: int = 0


class Decisions:
    """Runs the networks of policies for seats of pages, and keeps what they remember in an episode."""

    def __init__(self, policies: Mapping[str, Policy]) -> None:
        """``policies``: by their ids on the page."""
        self._policies = policies
        self._episodes: OrderedDict[str, _Episode] = OrderedDict()
        self._lock = threading.Lock()

    def outputs(self, policy: str, episode: str, decision: str, obs: bytes) -> bytes:
        """The logits and the value for an observation, little-endian float32 as the observation is.

        ``episode`` is a random name for an episode of one seat, ``decision`` the number of the decision in it, from 0.
        Refused for an unknown policy or an invalid episode or observation.
        """
        if policy not in self._policies:
            raise Refused(HTTPStatus.NOT_FOUND, "this page's server has no such policy")
        if not _EPISODE.fullmatch(episode) or not _COUNT.fullmatch(decision):
            raise Refused(HTTPStatus.BAD_REQUEST, "invalid episode or decision")
        row = np.frombuffer(obs, "<f4") if len(obs) % 4 == 0 else np.empty(0)
        width = self._policies[policy].network.spec.obs_width
        if row.size != width or not np.isfinite(row).all():
            raise Refused(HTTPStatus.BAD_REQUEST, f"an observation has {width} finite numbers")
        with self._lock, torch.inference_mode():
            seat = self._seat(policy, episode, int(decision))
            logits, value = seat.memory.step(seat.policy.network, torch.tensor(row[None]), slice(None))
            seat.decision += 1
        return torch.cat([logits[0], value]).numpy().astype("<f4").tobytes()

    def _seat(self, policy: str, episode: str, decision: int) -> _Episode:
        if decision == 0:
            self._episodes[episode] = _Episode(self._policies[policy])
            if len(self._episodes) > EPISODES:
                self._episodes.popitem(last=False)
        seat = self._episodes.get(episode)
        if seat is None or seat.decision != decision or seat.policy is not self._policies[policy]:
            raise Refused(HTTPStatus.CONFLICT, "the server no longer has this game: start another")
        self._episodes.move_to_end(episode)
        return seat


class PlayServer(ThreadingTCPServer):
    """Listens from the start; answers while ``serve`` runs, as soon as ``page`` is set."""

    daemon_threads = False  # a thread that the interpreter's end catches within torch aborts the process
    allow_reuse_address = True
    request_queue_size = CONNECTIONS

    def __init__(
        self,
        decisions: Decisions,
        keep: Callable[[bytes], Mapping[str, object]],
        port: int = PORT,
        request_s: float = REQUEST_S,
    ) -> None:
        """Open the port.

        Args:
            decisions: of the policies that the page may ask for.
            keep: takes the document of a game; what is said about it, as JSON. Called by one thread at a time. Raises
                SelfPlayError or GameError where it refuses the game.
            port: to listen on; 0 takes a free one.
            request_s: seconds that a request may take to come.

        Raises:
            ConfigError: the port cannot be used.
        """
        self._connections: set[socket.socket] = set()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise ConfigError(f"--port {port}: {error.strerror}; --port 0 takes a free port") from None
        self.token = secrets.token_urlsafe(24)
        self.host = f"{ADDRESS}:{self.server_address[1]}"
        self.origin = f"http://{self.host}"
        self.page: bytes | None = None
        self.decisions = decisions
        self.request_s = request_s
        self._keep = keep
        self._keeping = threading.Lock()
        self._free = threading.Semaphore(CONNECTIONS)

    @property
    def address(self) -> str:
        """Address of the page. Anyone who has it can play and have games kept."""
        return f"{self.origin}/{self.token}/"

    @property
    def described(self) -> dict[str, str]:
        """Address and token of the server, for the page."""
        return {"url": self.origin, "token": self.token}

    def serve(self) -> None:
        """Answer until Ctrl-C."""
        with suppress(KeyboardInterrupt):
            self.serve_forever()

    def server_close(self) -> None:
        """Close the port and wait for the answers to requests that have come."""
        for connection in list(self._connections):
            with suppress(OSError):  # the other side has closed it
                connection.shutdown(socket.SHUT_RD)
        super().server_close()

    def keep(self, document: bytes) -> Mapping[str, object]:
        """See ``keep`` of the constructor; Refused for a game that cannot be kept."""
        with self._keeping:
            try:
                return self._keep(document)
            except (SelfPlayError, GameError) as error:
                raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error

    def process_request(self, request: Any, client_address: Any) -> None:  # types of the base class  # noqa: ANN401
        if self._free.acquire(blocking=False):
            self._connections.add(request)
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.discard(request)
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        if not isinstance(sys.exception(), OSError):  # the other side has gone, or was too slow
            super().handle_error(request, client_address)


class _Arriving(io.RawIOBase):
    """Raw stream of a socket that raises TimeoutError after a deadline, even if bytes keep arriving slowly."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        self._connection.settimeout(max(self.deadline - time.monotonic(), 1e-3))
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a page keeps its connection
    disable_nagle_algorithm = True
    server: PlayServer

    def setup(self) -> None:
        super().setup()
        self._arriving = _Arriving(self.connection)
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self) -> None:
        self._arriving.deadline = time.monotonic() + self.server.request_s
        super().handle_one_request()

    def do_GET(self) -> None:
        self._answer({"": self._page})

    def do_POST(self) -> None:
        self._answer({"decide": self._decide, "games": self._keep})

    def _answer(self, known: Mapping[str, Callable[[str], tuple[str, bytes]]]) -> None:
        """Answer a request to one of the known paths below the token; what each does gets the query."""
        try:
            path, _, query = self.path.partition("?")
            what = known.get(self._below_token(path))
            if what is None:
                raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
            kind, body = what(query)
        except Refused as refused:
            self.send_error(refused.status, str(refused))
        except OSError:
            raise
        except Exception:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed: its terminal says how")
            raise
        else:
            self._send(HTTPStatus.OK, kind, body)

    def _below_token(self, path: str) -> str:
        _, token, rest = (*path.split("/", 2), "", "")[:3]
        if self.headers.get_all("Host") != [self.server.host]:
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers to its own address only")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "the address is of another start of the server: take the one it prints")
        return rest

    def _page(self, query: str) -> tuple[str, bytes]:
        self._body(0)
        if self.server.page is None:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the page is being made")
        return "text/html; charset=utf-8", self.server.page

    def _decide(self, query: str) -> tuple[str, bytes]:
        obs = self._posted(2**16)
        try:
            given = parse_qs(query, strict_parsing=True, max_num_fields=3)
            (policy,), (episode,), (decision,) = (given[name] for name in ("policy", "episode", "decision"))
        except (KeyError, ValueError):
            raise Refused(HTTPStatus.BAD_REQUEST, "policy, episode and decision are needed") from None
        return "application/octet-stream", self.server.decisions.outputs(policy, episode, decision, obs)

    def _keep(self, query: str) -> tuple[str, bytes]:
        return "application/json", json.dumps(self.server.keep(self._posted(MAX_BYTES))).encode()

    def _posted(self, limit: int) -> bytes:
        if self.headers.get_all("Origin") != [self.server.origin]:
            raise Refused(HTTPStatus.FORBIDDEN, "only the page of this server may send something")
        return self._body(limit)

    def _body(self, limit: int) -> bytes:
        lengths = self.headers.get_all("Content-Length", ["0"])
        if "Transfer-Encoding" in self.headers or len(lengths) > 1 or not re.fullmatch(r"[0-9]{1,9}", lengths[0]):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "one length is needed")
        length = int(lengths[0])
        if length > limit:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{length} bytes, at most {limit} are possible")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionResetError("the request ends early")
        return body

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the message as JSON, and close the connection: what comes next may be the rest of a request."""
        self.close_connection = True
        said = message or HTTPStatus(code).phrase
        self._send(code, "application/json", json.dumps({"error": said}).encode())

    def _send(self, code: int, kind: str, body: bytes) -> None:
        self.connection.settimeout(self.server.request_s)
        self.send_response(code)
        lasting = {"Connection": "close"} if self.close_connection else {}
        length = {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in (HEADERS | length | lasting).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "selfplay"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: addresses have the token."""
