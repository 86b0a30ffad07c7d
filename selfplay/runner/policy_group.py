"""Decides for the policies of a block of rating games.

Many policies play few games each, so that the number of operations costs more than their size: networks of one shape
run as one, and the actions of all are sampled in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.policy.heads import Heads, sample
from selfplay.policy.network_group import Member, NetworkGroup
from selfplay.policy.recurrent_state import Infer, RecurrentState, infer_directly
from selfplay.runner.counter_rng import uniforms

if TYPE_CHECKING:
    from selfplay.games.api import Actions
    from selfplay.policy.policy import Policy

Rows = NDArray[np.intp]  # seats as numbers 2g + s of game g and seat s


@dataclass(frozen=True, slots=True)
class _Group:
    """Policies that decide on the same frames."""

    frame_skip: int
    heads: Heads
    networks: NetworkGroup


class PolicyGroup:
    """The policies of G games and the seats that they play."""

    def __init__(
        self,
        players: Sequence[tuple[Policy, Rows]],
        keys: NDArray[np.uint64],
        *,
        greedy: bool = False,
        infer: Infer = infer_directly,
    ) -> None:
        """Policies with their seats, whose ``keys`` [G, 2] are those of ``counter_rng.keys_of``."""
        self._players = players
        self._keys = keys.reshape(-1)
        self._greedy = greedy
        self._memory = RecurrentState(keys.size, infer)
        self._groups = self._grouped(players)

    def leave(self, left: NDArray[np.bool_]) -> None:
        """Play only the games ``left`` [G] from now on."""
        self._groups = self._grouped([(policy, rows[left[rows // 2]]) for policy, rows in self._players])

    def act(
        self,
        obs: NDArray[np.float32],
        legal: NDArray[np.bool_] | None,
        frame: int,
        actions: Actions,
        acts: NDArray[np.bool_],
    ) -> None:
        """Compute the actions [G, 2, A] of the policies that decide on this frame, counted from 0.

        Observations [G, 2, D] and legal choices [G, 2, logits] are of every seat. ``actions`` are written where a
        policy decides; ``acts`` [G, 2], whether the seat decided, is overwritten.
        """
        acts[:] = False
        flat, width = torch.from_numpy(obs.reshape(-1, obs.shape[-1])), actions.shape[-1]
        with torch.inference_mode():
            for group in self._groups:
                if frame % group.frame_skip:
                    continue
                logits, rows = group.networks.logits(flat), group.networks.rows.numpy()
                draws = None
                if not self._greedy:
                    draws = torch.from_numpy(uniforms(self._keys[rows], frame // group.frame_skip, width))
                mask = None
                if legal is not None:
                    mask = torch.from_numpy(legal.reshape(-1, legal.shape[-1])[rows])
                drawn, _ = sample(group.heads, logits, None, mask, greedy=self._greedy, uniform=draws)
                actions.reshape(-1, width)[rows] = drawn.numpy()
                acts.reshape(-1)[rows] = True

    def _grouped(self, players: Sequence[tuple[Policy, Rows]]) -> list[_Group]:
        groups: dict[int, list[Member]] = {}
        for policy, rows in players:
            if len(rows):
                groups.setdefault(policy.body.frame_skip, []).append((policy.network, torch.from_numpy(rows)))
        return [
            _Group(skip, members[0][0].heads, NetworkGroup(members, self._memory)) for skip, members in groups.items()
        ]
