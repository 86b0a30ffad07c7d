"""The policies of a block of rating games, asked together.

With many policies of few games each, what costs is the number of operations, not their size: so each network sees its
own rows, and the actions of all are drawn in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.policy.heads import sample
from selfplay.policy.memory import Ask, Memory, directly
from selfplay.runner.luck import uniforms

if TYPE_CHECKING:
    from selfplay.policy.policy import Policy

Rows = NDArray[np.intp]  # seats as numbers 2g + s of game g and seat s


@dataclass(frozen=True, slots=True)
class _Group:
    """Policies that decide on the same frames."""

    frame_skip: int
    members: list[tuple[Policy, Rows]]
    rows: Rows  # of all members, one after the other


class Deciders:
    """Who plays which seats of G games, as long as those games last."""

    def __init__(
        self,
        players: Sequence[tuple[Policy, Rows]],
        keys: NDArray[np.uint64],
        *,
        greedy: bool = False,
        ask: Ask = directly,
    ) -> None:
        """``players``: with the seats of each; ``keys`` [G, 2]: see ``luck.keys_of``; ``ask``: how to ask networks."""
        self._players = players
        self._keys = keys.reshape(-1)
        self._greedy = greedy
        self._memory = Memory(keys.size, ask)
        self._groups = self._grouped(players)

    def leave(self, left: NDArray[np.bool_]) -> None:
        """Only the games ``left`` [G] are asked about from here on."""
        self._groups = self._grouped([(policy, rows[left[rows // 2]]) for policy, rows in self._players])

    def act(self, obs: NDArray[np.float32], frame: int, actions: NDArray[np.int8], acts: NDArray[np.bool_]) -> None:
        """Let those decide whose turn it is.

        Args:
            obs: of every seat, [G, 2, D].
            frame: of the games, from 0.
            actions: where they write what they do, [G, 2, A].
            acts: who decided, [G, 2], written here.
        """
        acts[:] = False
        flat, width = obs.reshape(-1, obs.shape[-1]), actions.shape[-1]
        with torch.inference_mode():
            for group in self._groups:
                if frame % group.frame_skip:
                    continue
                logits = torch.cat([self._logits(policy, flat, rows) for policy, rows in group.members])
                luck = None
                if not self._greedy:
                    luck = torch.from_numpy(uniforms(self._keys[group.rows], frame // group.frame_skip, width))
                heads = group.members[0][0].network.heads
                drawn, _ = sample(heads, logits, None, greedy=self._greedy, uniform=luck)
                actions.reshape(-1, width)[group.rows] = drawn.numpy()
                acts.reshape(-1)[group.rows] = True

    def _logits(self, policy: Policy, obs: NDArray[np.float32], rows: Rows) -> torch.Tensor:
        return self._memory.step(policy.network, torch.from_numpy(obs[rows]), torch.from_numpy(rows))[0]

    def _grouped(self, players: Sequence[tuple[Policy, Rows]]) -> list[_Group]:
        groups: dict[int, list[tuple[Policy, Rows]]] = {}
        for policy, rows in players:
            if len(rows):
                groups.setdefault(policy.meta.frame_skip, []).append((policy, rows))
        return [
            _Group(skip, members, np.concatenate([rows for _, rows in members])) for skip, members in groups.items()
        ]
