"""The experiences of one segment of play.

Letters in shapes: T steps, S columns, D observation features, A action parts, E ended episodes. A column is one seat
of one game; it is an independent stream, cut wherever an episode ends. A column belongs to the learner only where
``learner`` says so: opponents may change, and with them whose data it is, at episode ends alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from selfplay.games.api import Actions, ActionSpec

F32 = NDArray[np.float32]
Bool = NDArray[np.bool_]
Fields = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]  # shape and type by name
LEARNED: Final = ("obs", "action", "logprob", "value", "legal", "teacher")
"""The fields of a rollout that its learner's batch repeats."""


def segment_fields(steps: int, columns: int, obs_width: int, spec: ActionSpec, *, masked: bool, taught: bool) -> Fields:
    """The arrays of a segment of T steps and S columns.

    ``masked`` says whether the game tells what may be chosen, ``taught`` whether there is a teacher.
    """
    rows, f32, flag = (steps, columns), np.dtype(np.float32), np.dtype(np.bool_)
    return {
        "obs": ((*rows, obs_width), f32),
        "action": ((*rows, spec.width), spec.dtype),
        **dict.fromkeys(("logprob", "value", "reward"), (rows, f32)),
        **dict.fromkeys(("boundary", "learner"), (rows, flag)),
        **({"legal": ((*rows, spec.logits), flag), "decides": (rows, flag)} if masked else {}),
        **({"teacher": ((*rows, spec.logits), f32)} if taught else {}),
    }


@dataclass(frozen=True, slots=True)
class Transitions:
    """The (s, a, r, s') view, N rows. ``terminal``: the game itself ended in s', so nothing follows it."""

    state: F32  # [N, D]
    action: Actions  # [N, A]
    reward: F32  # [N]
    next_state: F32  # [N, D] never the first observation of the next episode
    terminal: Bool  # [N]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One segment of one block of games under one behaviour version."""

    version: int  # of the weights that acted for the learner
    obs: F32  # [T, S, D]
    action: Actions  # [T, S, A]
    logprob: F32  # [T, S]
    value: F32  # [T, S] V(s)
    reward: F32  # [T, S]
    next_value: F32  # [T, S] V(s'): 0 where terminated, V(final observation) where truncated, V(s_T) at the end
    boundary: Bool  # [T, S] terminated or truncated: credit stops here
    learner: Bool  # [T, S] decisions of the learner; without one whose outcome is not known when the segment ends
    last_obs: F32  # [S, D] s_T
    ended_at: NDArray[np.int64]  # [E, 2] (t, column) of every boundary
    final_obs: F32  # [E, D] the last observation of the episode that ended there
    terminated: Bool  # [E] by the game itself
    legal: Bool | None = None  # [T, S, logits] what could be chosen; None in games where that is everything
    decides: Bool | None = None  # [T, S] where the seat had a choice; None: everywhere
    memory: F32 | None = None  # [S, M] recurrent state before the first step; None: the network has none
    teacher: F32 | None = None  # [T, S, logits] of the teacher, where the row is the learner's; None: there is none

    @property
    def experiences(self) -> int:
        """Rows that train."""
        return int(self.learner.sum())

    @property
    def fresh(self) -> Bool:
        """[T, S] where an episode begins, and memory with it; ``memory`` is that of the first step already."""
        begins = np.zeros(self.boundary.shape, bool)
        begins[1:] = self.boundary[:-1]
        return begins

    def transitions(self) -> Transitions:
        """All (s, a, r, s') of the learner, time-major; s' is its next decision, r the sum of rewards until then."""
        following = np.concatenate([self.obs[1:], self.last_obs[None]])
        reward, terminal = self.reward, np.zeros(self.boundary.shape, bool)
        t, column = self.ended_at.T
        following[t, column] = self.final_obs
        terminal[t, column] = self.terminated
        if self.decides is not None:
            reward = reward.copy()
            for t in range(len(reward) - 2, -1, -1):
                waits = ~self.boundary[t] & ~self.decides[t + 1]  # what follows is what follows on the next step
                reward[t, waits] += reward[t + 1, waits]
                following[t, waits], terminal[t, waits] = following[t + 1, waits], terminal[t + 1, waits]
        mine = self.learner
        return Transitions(self.obs[mine], self.action[mine], reward[mine], following[mine], terminal[mine])


def outcome_known(decides: Bool, boundary: Bool, decides_next: Bool) -> Bool:
    """[T, S] whether a decision of the segment is followed by the seat's next one or by the end of the episode.

    Of seats that sometimes wait, none is known in the last step: there only actions that end the game would be, and to
    learn from these alone would favour them. ``decides`` [T, S] says where the seat has a choice, ``decides_next`` [S]
    whether it has one in the step after the segment.
    """
    known, ahead = np.empty_like(decides), decides_next
    for t in range(len(decides) - 1, -1, -1):
        known[t] = ahead | boundary[t]
        ahead = known[t] | decides[t]
    known[-1:] &= decides.all(0)
    return known
