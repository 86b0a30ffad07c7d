"""A server of pages for browsers on this machine.

It listens on loopback. Other users of the machine reach its port, and pages of other sites can send it requests. Each
request therefore needs the token, which only the printed address has, and the ``Host`` that a browser sends for this
address; one that changes something needs the ``Origin`` of the page, too. Sizes, times and numbers are limited.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import io
import json
import os
import re
import secrets
import socket
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any, Final

from selfplay.errors import ConfigError, boundary
from selfplay.games.files import chunks, opened

ADDRESS: Final = "127.0.0.1"
REQUEST_S: Final = 20.0  # to send a whole request, counted from the answer before it; and to take an answer
CONNECTIONS: Final = 32
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_KEY_BYTES: Final = 32


class Refused(Exception):
    """A request that is not answered; the message is for the user of the page."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


def lasting_token(folder: Path, subject: str) -> str:
    """A token that is the same at each start, so that an open page finds a server that was started again.

    It is made of what the page is about and of a key in ``folder``, which only this user can read. If there cannot be
    such a key, the token is a new one.
    """
    try:
        key = _key(folder)
    except OSError:
        return secrets.token_urlsafe(24)
    return hmac.new(key, subject.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _key(folder: Path) -> bytes:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "page_key"
    if not path.exists():
        with tempfile.NamedTemporaryFile(dir=folder) as file:  # only this user can read it
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            with suppress(FileExistsError):
                os.link(file.name, path)  # another start never reads a part of it
    with opened(path) as handle:
        found, key = os.fstat(handle), b"".join(chunks(handle, _KEY_BYTES))
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077 or len(key) < _KEY_BYTES:
        raise PermissionError(f"{path} is not a key of this user alone")
    return key


@contextmanager
def opening_file(address: str, folder: Path) -> Iterator[Path]:
    """A file that leads a browser to an address. Other users see the arguments of programs, but not into this file."""
    with boundary(ConfigError, f"cannot write to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        file = tempfile.NamedTemporaryFile("w", dir=folder, prefix="open-", suffix=".html")  # noqa: SIM115
    with file:
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(address)}"><title>play</title>'
        )
        file.flush()
        yield Path(file.name).absolute()


class LoopbackServer(ThreadingTCPServer):
    """Listens from the start; answers while ``serve`` runs, as soon as ``page`` is set."""

    daemon_threads = False  # a thread that the interpreter's end catches within torch aborts the process
    allow_reuse_address = True
    request_queue_size = CONNECTIONS

    def __init__(
        self, handler: type[LoopbackHandler], port: int, request_s: float = REQUEST_S, token: str | None = None
    ) -> None:
        """Open the port.

        Args:
            handler: answers the requests.
            port: to listen on; 0 takes a free one.
            request_s: seconds that a request may take to come.
            token: of the address; None makes a new one.

        Raises:
            ConfigError: the port cannot be used.
        """
        self._connections: set[socket.socket] = set()
        try:
            super().__init__((ADDRESS, port), handler)
        except OSError as error:
            raise ConfigError(f"--port {port}: {error.strerror}; --port 0 takes a free port") from None
        self.token = token or secrets.token_urlsafe(24)
        self.host = f"{ADDRESS}:{self.server_address[1]}"
        self.origin = f"http://{self.host}"
        self.page: bytes | None = None
        self.request_s = request_s
        self._free = threading.Semaphore(CONNECTIONS)

    @property
    def address(self) -> str:
        """Address of the page. Anyone who has it can do what the page can."""
        return f"{self.origin}/{self.token}/"

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


class LoopbackHandler(BaseHTTPRequestHandler):
    """Answers the requests to paths below the token. A subclass has more of them."""

    protocol_version = "HTTP/1.1"  # a page keeps its connection
    disable_nagle_algorithm = True
    server: LoopbackServer

    def setup(self) -> None:
        super().setup()
        self._arriving = _Arriving(self.connection)
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self) -> None:
        self._arriving.deadline = time.monotonic() + self.server.request_s
        super().handle_one_request()

    def do_GET(self) -> None:
        self.answer({"": self.page})

    def answer(self, known: Mapping[str, Callable[[str], tuple[str, bytes]]]) -> None:
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

    def page(self, query: str) -> tuple[str, bytes]:
        self.body(0)
        if self.server.page is None:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the page is being made")
        return "text/html; charset=utf-8", self.server.page

    def posted(self, limit: int) -> bytes:
        if self.headers.get_all("Origin") != [self.server.origin]:
            raise Refused(HTTPStatus.FORBIDDEN, "only the page of this server may send something")
        return self.body(limit)

    def body(self, limit: int) -> bytes:
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
