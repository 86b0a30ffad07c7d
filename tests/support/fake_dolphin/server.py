"""The spectator server: what is shown of menus and games, as JSON messages over ENet."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, Final, Protocol

from selfplay.games.errors import GameError
from tests.support.fake_dolphin.say import say

ADDRESS: Final = b"127.0.0.1"
MAX_PEERS: Final = 4
CHANNELS: Final = 2
NICK: Final = "stand-in"
DOLPHIN_VERSION: Final = "3.4.0"


class _Peer(Protocol):
    """What is used of an ENet peer."""

    incomingPeerID: int

    def send(self, channel: int, packet: object) -> int: ...

    def disconnect(self) -> None: ...


class Spectators:
    """Whoever looks on. Whoever comes late is told of the current game from its start, or of the latest menu frame.

    Args:
        port: UDP port on this machine. If it is taken, the game goes on without spectators, as in Dolphin.

    Raises:
        GameError: ENet is not installed.
    """

    def __init__(self, port: int) -> None:
        try:
            import enet
        except ModuleNotFoundError as error:
            from selfplay.distribution import install_command

            raise GameError("the module enet is missing: " + install_command("dolphin")) from error
        self._enet = enet
        try:
            self._host = enet.Host(enet.Address(ADDRESS, port), MAX_PEERS, CHANNELS, 0, 0)
        except (OSError, MemoryError):
            say(f"UDP port {port} cannot be opened")
            self._host = enet.Host(None, MAX_PEERS, CHANNELS, 0, 0)
        self._peers: dict[int, _Peer] = {}  # those that said hello, by ENet's number
        self._history: list[bytes] = []  # messages of the current game
        self._menu: bytes | None = None  # the latest menu frame, while no game is on
        self._cursor = 0  # game events sent so far

    def service(self) -> None:
        """Send what is to be sent, and take what has come."""
        while (event := self._host.service(0)).type != self._enet.EVENT_TYPE_NONE:
            if event.type == self._enet.EVENT_TYPE_DISCONNECT:
                self._peers.pop(event.peer.incomingPeerID, None)
            elif event.type == self._enet.EVENT_TYPE_RECEIVE:
                self._receive(event.peer, event.packet.data)

    def _receive(self, peer: _Peer, data: bytes) -> None:
        try:
            message = json.loads(data)
        except ValueError:
            return
        if isinstance(message, dict) and message.get("type") == "connect_request":
            self._welcome(peer)

    def _welcome(self, peer: _Peer) -> None:
        hello = {"type": "connect_reply", "nick": NICK, "version": DOLPHIN_VERSION, "cursor": 0}
        self._peers[peer.incomingPeerID] = peer
        for message in (_json(hello), *([self._menu] if self._menu is not None else self._history)):
            self._send_to(peer, message)
        self._host.flush()

    def begin_game(self) -> None:
        """Forget the game before; what follows is a new one."""
        self._menu, self._history = None, []
        self._keep(_json({"type": "start_game", "cursor": self._cursor, "next_cursor": self._cursor}))

    def game(self, events: bytes, *, keep: bool = True) -> None:
        """Show events of the current game, and to those who come late if they are to be kept."""
        before, self._cursor = self._cursor, self._cursor + 1
        message = b'{"type":"game_event","cursor":%d,"next_cursor":%d,"payload":"%b"}'
        (self._keep if keep else self.raw)(message % (before, self._cursor, b64encode(events)))

    def end_game(self) -> None:
        """Say that the current game has ended."""
        ended = {"type": "end_game", "cursor": self._cursor, "next_cursor": self._cursor, "dolphin_closed": False}
        self._keep(_json(ended))

    def menu(self, event: bytes) -> None:
        """Show a menu frame."""
        self._menu = b'{"type":"menu_event","payload":"%b"}' % b64encode(event)
        self.raw(self._menu)

    def raw(self, message: bytes) -> None:
        """Send bytes that need not be a message, and keep nothing of them."""
        for peer in self._peers.values():
            self._send_to(peer, message)
        self.service()

    def disconnect(self) -> None:
        """Drop all peers."""
        for peer in self._peers.values():
            peer.disconnect()
        self._peers.clear()
        self._host.flush()

    def _keep(self, message: bytes) -> None:
        self._history.append(message)
        self.raw(message)

    def _send_to(self, peer: _Peer, message: bytes) -> None:
        peer.send(0, self._enet.Packet(message, self._enet.PACKET_FLAG_RELIABLE))


def _json(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()
