"""The server of a play page: it plays policies that pages cannot, and takes games back. See ``selfplay.loopback``."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
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
    ) -> None:
        """Open the port; ConfigError if it cannot be used.

        Args:
            decisions: of the policies that the page may ask for.
            keep: takes the document of a game; what is said about it, as JSON. Called by one thread at a time. Raises
                SelfPlayError or GameError where it refuses the game.
            port: to listen on; 0 takes a free one.
            request_s: seconds that a request may take to come.
        """
        super().__init__(_Handler, port, request_s)
        self.decisions = decisions
        self._keep = keep
        self._keeping = threading.Lock()

    @property
    def described(self) -> dict[str, str]:
        """Address and token of the server, for the page."""
        return {"url": self.origin, "token": self.token}

    def keep(self, document: bytes) -> Mapping[str, object]:
        """See ``keep`` of the constructor; Refused for a game that cannot be kept."""
        with self._keeping:
            try:
                return self._keep(document)
            except (SelfPlayError, GameError) as error:
                raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


class _Handler(LoopbackHandler):
    server: PlayServer

    def do_POST(self) -> None:
        self.answer({"decide": self._decide, "games": self._keep})

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
