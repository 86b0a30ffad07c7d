"""The server of a play page: it plays policies that pages cannot, and takes games back. See ``selfplay.loopback``."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import numpy as np
import torch

from selfplay.errors import SelfPlayError
from selfplay.games.errors import GameError
from selfplay.loopback import REQUEST_S, LoopbackHandler, LoopbackServer, Refused
from selfplay.policy.recurrent_state import RecurrentState
from selfplay_melee.play.games import MAX_BYTES

if TYPE_CHECKING:
    from selfplay.policy.policy import Policy

PORT: Final = 8465
AT_ONCE_S: Final = 0.5  # until a page is told that the rating of its game follows
RATING_S: Final = 100.0  # that a page waits for the rating
GAMES: Final = 16  # games that wait, and those of which a page can still ask what was said
EPISODES: Final = 64  # whose memory is kept; the one that has not decided for longest is dropped for a new one
_EPISODE: Final = re.compile(r"[0-9a-f-]{36}")
_COUNT: Final = re.compile(r"[0-9]{1,7}")


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


class PlayServer(LoopbackServer):
    """Answers while ``serve`` runs, as soon as ``page`` is set."""

    def __init__(
        self,
        decisions: Decisions,
        keep: Callable[[bytes], Mapping[str, object]],
        port: int = PORT,
        request_s: float = REQUEST_S,
        at_once_s: float = AT_ONCE_S,
    ) -> None:
        """Open the port; ConfigError if it cannot be used.

        Args:
            decisions: of the policies that the page may ask for.
            keep: takes the document of a game; what is said about it, as JSON. Called by one thread at a time. Raises
                SelfPlayError or GameError where it refuses the game.
            port: to listen on; 0 takes a free one.
            request_s: seconds that a request may take to come.
            at_once_s: seconds within which a game is kept before its answer.
        """
        self._keeper = ThreadPoolExecutor(1, "keep")  # first: without a port the base class closes the server
        super().__init__(_Handler, port, request_s)
        self.decisions = decisions
        self._keep, self._at_once_s = keep, at_once_s
        self._games: OrderedDict[int, Future[Mapping[str, object]]] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    @property
    def described(self) -> dict[str, str]:
        """Address and token of the server, for the page."""
        return {"url": self.origin, "token": self.token}

    def keep(self, document: bytes) -> Mapping[str, object]:
        """Keep a game, after those before it: what ``keep`` of the constructor says.

        If that takes longer than a moment, ``waiting`` is the number with which ``kept`` has it later. Refused for a
        game that cannot be kept, and while too many wait.
        """
        with self._lock:
            if sum(not game.done() for game in self._games.values()) >= GAMES:
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"{GAMES} games are waiting: send it later")
            self._count += 1
            number = self._count
            self._games[number] = self._keeper.submit(self._keep, document)
            if len(self._games) > GAMES:
                self._games.popitem(last=False)  # the oldest, which is done
        return self.kept(number, self._at_once_s)

    def kept(self, number: int, seconds: float = RATING_S) -> Mapping[str, object]:
        """What is said about a game that waits; after so many seconds that it still does. Refused as of ``keep``."""
        with self._lock:
            game = self._games.get(number)
        if game is None:
            raise Refused(HTTPStatus.NOT_FOUND, "the server no longer knows this game")
        try:
            return game.result(seconds)
        except TimeoutError:
            return {"message": "The server has the game; its rating follows.", "waiting": number}
        except (SelfPlayError, GameError) as error:
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error

    def server_close(self) -> None:
        """Also wait for the games that came."""
        super().server_close()
        self._keeper.shutdown()


class _Handler(LoopbackHandler):
    server: PlayServer

    def do_POST(self) -> None:
        self.answer({"decide": self._decide, "games": self._keep, "kept": self._kept})

    def _decide(self, query: str) -> tuple[str, bytes]:
        obs = self.posted(2**16)
        try:
            given = parse_qs(query, strict_parsing=True, max_num_fields=3)
            (policy,), (episode,), (decision,) = (given[name] for name in ("policy", "episode", "decision"))
        except (KeyError, ValueError):
            raise Refused(HTTPStatus.BAD_REQUEST, "policy, episode and decision are needed") from None
        return "application/octet-stream", self.server.decisions.outputs(policy, episode, decision, obs)

    def _keep(self, query: str) -> tuple[str, bytes]:
        return "application/json", json.dumps(self.server.keep(self.posted(MAX_BYTES))).encode()

    def _kept(self, query: str) -> tuple[str, bytes]:
        self.posted(0)
        number = query.removeprefix("game=")
        if not _COUNT.fullmatch(number):
            raise Refused(HTTPStatus.BAD_REQUEST, "the number of a game is needed")
        return "application/json", json.dumps(self.server.kept(int(number))).encode()
