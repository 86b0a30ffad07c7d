"""One block of games played by one learner and its opponents, segment by segment, as plain synchronous array code.

B games with P seats are S = PB columns; column Pb + s is seat s of game b. Every game has the learner in at least one
seat, and one opponent in the others. In a mirror game all seats play, and train, the newest weights. Opponents change
only when an episode ends.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.errors import RunnerError
from selfplay.league.modes import Opponent
from selfplay.policy.heads import Heads, sample
from selfplay.policy.network_group import NetworkGroup
from selfplay.policy.recurrent_state import Infer, RecurrentState, infer_directly
from selfplay.rollout.buffers import BufferPool
from selfplay.rollout.rollout import F32, Rollout, outcome_known, segment_fields
from selfplay.runner.match import lead_of
from selfplay.runner.segment import Collected, Episode, SegmentOrder

if TYPE_CHECKING:
    from selfplay.games.api import Actions, Bool, ScriptedGame, StepBatch
    from selfplay.policy.network import ActorCritic

MIRROR = Opponent("current", "current", "current")


class Block:
    """Owns the games, who sits where, and the randomness of the block."""

    def __init__(self, game: ScriptedGame, seed: int, infer: Infer = infer_directly) -> None:
        """A block of games that has not begun. Two blocks with one seed play alike."""
        self.game = game
        seats = self._num_seats = game.num_seats
        self._infer = infer
        words = np.random.SeedSequence(seed).generate_state(game.num_games + 1, np.uint64)
        self._seeds: NDArray[np.uint64] = words.astype(np.uint64)
        self._generator = torch.Generator().manual_seed(int(self._seeds[0] >> np.uint64(1)))
        self._cancelled = False
        self._obs: F32 | None = None
        self._opponents: list[Opponent] = []
        self._episodes = np.zeros(game.num_games, np.int64)
        self._learner = np.zeros((game.num_games, seats), bool)
        self._learner_rows = torch.empty(0, dtype=torch.int64)
        self._opposing: NetworkGroup | None = None  # policies in the other seats
        self._buffers = BufferPool()  # observations of segments
        self._frozen: dict[str, ActorCritic] = {}  # that episodes in progress need
        self._memory = RecurrentState(seats * game.num_games, infer)  # of the players of the columns
        self._teacher = RecurrentState(seats * game.num_games, infer)  # of the teacher, in the learner's columns

    def warm_up(self) -> None:
        """Play one step and go back: whatever is compiled on first use is compiled now."""
        game, spec = self.game, self.game.actions
        game.reset(self._seeds[1:])
        legal = None if game.legal is None else torch.from_numpy(game.legal.reshape(-1, spec.logits))
        alike = torch.zeros(self._num_seats * game.num_games, spec.logits)
        first, _ = sample(Heads(spec.binary, spec.sizes), alike, None, legal, greedy=True)
        game.step(first.numpy().reshape(game.num_games, self._num_seats, -1))

    def begin(self) -> None:
        """Start the games now, and not with the first segment: real ones take long."""
        self._obs = self.game.reset(self._seeds[1:])

    def collect(self, order: SegmentOrder) -> Collected:
        """Play one segment. Blocks for its duration; RunnerError if the game gave numbers that are not finite."""
        torch.set_num_threads(1)
        with torch.inference_mode():
            return self._collect(order)

    def _collect(self, order: SegmentOrder) -> Collected:
        upcoming = cycle(order.opponents or (MIRROR,))
        self._frozen |= order.frozen  # a runner that was left behind with an older order may lack some of them
        met: Counter[str] = Counter()
        if self._obs is None:
            self._obs = self.game.reset(self._seeds[1:])
        if not self._opponents:
            self._opponents = [MIRROR] * self.game.num_games
            for b in range(self.game.num_games):
                self._seat(b, next(upcoming), met)
        self._group_players()  # a network of the order may be newer than that of the last segment
        segment = _Segment(order, self.game, self._memory, self._buffers)
        episodes: list[Episode] = []
        for t in range(order.steps):
            if self._cancelled:
                raise RunnerError("the segment was cancelled")
            segment.observe(t, self._obs, self.game.legal, self._learner)
            actions = self._act(order, segment, t)
            batch = self.game.step(actions)
            segment.outcome(t, batch, self._memory)
            self._obs = batch.obs
            ended = np.flatnonzero(batch.ended)
            if len(ended):
                columns = torch.from_numpy(np.flatnonzero(np.repeat(batch.ended, self._num_seats)))
                self._memory.forget(columns)
                self._teacher.forget(columns)
                for b in ended.tolist():
                    episodes.append(self._episode(b, batch))
                    self._seat(b, next(upcoming), met)
                self._group_players()
        rollout = segment.finish(order, self._obs, self.game.legal, self._memory, self._infer)
        frozen = frozenset(o.id for o in self._opponents if o.kind == "generation")
        self._frozen = {name: network for name, network in self._frozen.items() if name in frozen}
        notes = tuple(self.game.notes)
        self.game.notes.clear()
        return Collected(rollout, episodes, met, frozen, notes, self._buffers)

    def cancel(self) -> None:
        """Make a segment in progress end at its next step with an error; for other threads to call."""
        self._cancelled = True

    def kill(self) -> bool:
        """Kill the games' process, if they have one; whether that ends a call that hangs in it."""
        self._cancelled = True
        return self.game.kill()

    def close(self) -> None:
        self.game.close()

    def _act(self, order: SegmentOrder, segment: _Segment, t: int) -> Actions:
        """Actions of every seat; the learner's go into the segment with their log-probabilities and values."""
        obs = torch.from_numpy(segment.obs[t])
        legal = None if segment.legal is None else torch.from_numpy(segment.legal[t])
        actions = segment.action[t]
        rows = self._learner_rows
        if segment.decides is not None and segment.legal is not None:
            remembers = any(net.memory_width for net in (order.network, order.teacher) if net is not None)
            actions[...] = self.game.actions.first_highest(segment.legal[t])
            if not remembers:
                rows = rows[torch.from_numpy(segment.decides[t])[rows]]
        whole = len(rows) == len(obs)
        theirs, places = (obs, slice(None)) if whole else (obs[rows], rows)
        logits, value = self._memory.step(order.network, theirs, places)
        mask = legal if whole or legal is None else legal[rows]
        drawn, logprob = sample(order.network.heads, logits, self._generator, mask)
        index = slice(None) if whole else rows.numpy()
        actions[index] = drawn.numpy()
        segment.logprob[t, index] = logprob.numpy()
        segment.value[t, index] = value.numpy()
        if order.teacher is not None and segment.teacher is not None:
            taught, _ = self._teacher.step(order.teacher, theirs, places)
            segment.teacher[t, index] = taught.numpy()
        if self._opposing is not None:
            rows = self._opposing.rows
            mask = None if legal is None else legal[rows]
            drawn, _ = sample(order.network.heads, self._opposing.logits(obs), self._generator, mask)
            actions[rows.numpy()] = drawn.numpy()
        return np.reshape(actions, (self.game.num_games, self._num_seats, -1))

    def _seat(self, b: int, opponent: Opponent, met: Counter[str]) -> None:
        """Put the next opponent into game b; the learner's seat changes with the episodes, where all are free."""
        self._opponents[b] = opponent
        met[opponent.id] += 1
        outsider = self.game.outsider
        seat = (b + self._episodes[b] if outsider is None else outsider + 1) % self._num_seats
        self._episodes[b] += 1
        self._learner[b] = opponent.kind == "current"
        self._learner[b, seat] = True
        self._seat_bot(b)

    def _seat_bot(self, b: int) -> None:
        """Tell game b which scripted player the opponent is, if any."""
        opponent = self._opponents[b]
        self.game.bots[b] = -1
        if opponent.kind == "scripted":
            self.game.bots[b, ~self._learner[b]] = self.game.bot_names.index(opponent.id)

    def _group_players(self) -> None:
        """Find which columns the learner plays, and group the networks of the others."""
        columns: dict[str, list[int]] = {}
        for column in np.flatnonzero(~self._learner).tolist():
            opponent = self._opponents[column // self._num_seats]
            if opponent.kind in ("generation", "main"):
                columns.setdefault(opponent.id, []).append(column)
        self._learner_rows = torch.from_numpy(np.flatnonzero(self._learner.reshape(-1)))
        members = [(self._frozen[player], torch.tensor(found)) for player, found in sorted(columns.items())]
        self._opposing = NetworkGroup(members, self._memory) if members else None

    def _episode(self, b: int, batch: StepBatch) -> Episode:
        opponent = self._opponents[b]
        seat = int(self._learner[b].argmax())  # 0 in a mirror game
        row = batch.stats[b, seat]
        stats = {name: float(row[name]) for name in batch.stats.dtype.names or ()}
        score, over = float(batch.score[b, seat]), bool(batch.terminated[b])
        return Episode(opponent.id, opponent.kind, score, over, stats, lead_of(batch.stats[b], seat))

    def snapshot(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Everything the next segment depends on: arrays, and a JSON document."""
        if not self._opponents:
            return {}, {}
        arrays = {f"game/{name}": array for name, array in self.game.snapshot().items()}
        arrays["generator"] = self._generator.get_state().numpy().copy()
        arrays["episodes"] = self._episodes.copy()
        arrays["learner"] = self._learner.copy()
        arrays["memory"] = self._memory.all().numpy().copy()
        arrays["teacher"] = self._teacher.all().numpy().copy()
        return arrays, {"opponents": [[o.kind, o.id, o.category] for o in self._opponents]}

    def restore(self, arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]) -> None:
        """Continue from a snapshot. An empty one leaves the block as it is: not yet begun."""
        if not arrays:
            return
        game = {name.removeprefix("game/"): array for name, array in arrays.items() if name.startswith("game/")}
        self._obs = self.game.restore(game)
        self._generator.set_state(torch.from_numpy(arrays["generator"].copy()))
        self._episodes[:] = arrays["episodes"]
        self._learner[:] = arrays["learner"]
        for name, memory in (("memory", self._memory), ("teacher", self._teacher)):
            memory.restore(torch.from_numpy(np.array(arrays[name])))
        self._opponents = [Opponent(*row) for row in document["opponents"]]
        for b in range(self.game.num_games):
            self._seat_bot(b)


class _Segment:
    """The arrays of a rollout while it is being played."""

    def __init__(self, order: SegmentOrder, game: ScriptedGame, memory: RecurrentState, buffers: BufferPool) -> None:
        spec = game.actions
        fields = segment_fields(
            order.steps, game.num_games * game.num_seats, game.obs_width, spec,
            masked=game.legal is not None, taught=order.teacher is not None,
        )  # fmt: skip
        made = {name: np.zeros(*field) for name, field in fields.items() if name != "obs"}
        made["obs"] = buffers.take(*fields["obs"])
        self._arrays = made  # by the names of the fields of a rollout
        self._num_seats = game.num_seats
        self._network = order.network
        self.obs: F32 = made["obs"]
        self.action: Actions = made["action"]
        self.logprob: F32 = made["logprob"]
        self.value: F32 = made["value"]
        self.reward: F32 = made["reward"]
        self.boundary: Bool = made["boundary"]
        self.learner: Bool = made["learner"]
        self.legal: Bool | None = made.get("legal")
        self.decides: Bool | None = made.get("decides")
        self._choices = spec.choices
        self.teacher: F32 | None = made.get("teacher")
        self._first = self._remembered(memory, slice(None))
        self._ended: list[tuple[int, NDArray[np.int64], F32, NDArray[np.bool_], F32]] = []

    def observe(self, t: int, obs: F32, legal: Bool | None, learner: NDArray[np.bool_]) -> None:
        self.obs[t] = obs.reshape(self.obs.shape[1:])
        self.learner[t] = learner.reshape(-1)
        if self.legal is not None and self.decides is not None and legal is not None:
            self.legal[t] = legal.reshape(self.legal.shape[1:])
            self.decides[t] = self._choices(self.legal[t])
            self.learner[t] &= self.decides[t]

    def outcome(self, t: int, batch: StepBatch, memory: RecurrentState) -> None:
        """Record the result of step ``t``; ``memory`` is the state before the memory of ended episodes is reset."""
        self.reward[t] = batch.reward.reshape(-1)
        ended = batch.ended
        self.boundary[t] = np.repeat(ended, self._num_seats)
        if ended.any():
            columns = np.flatnonzero(self.boundary[t])
            final = batch.final_obs.reshape(self.obs.shape[1:])[columns]
            remembered = self._remembered(memory, torch.from_numpy(columns))
            self._ended.append((t, columns, final, np.repeat(batch.terminated, self._num_seats)[columns], remembered))

    def finish(
        self, order: SegmentOrder, last_obs: F32, legal: Bool | None, memory: RecurrentState, infer: Infer
    ) -> Rollout:
        """The rollout, with V(s') filled in by the weights that played."""
        if self.decides is not None and legal is not None:
            decides_next = self._choices(legal).reshape(-1)
            self.learner &= outcome_known(self.decides, self.boundary, decides_next)
        width = self.obs.shape[2]
        ended_at = np.array([(t, c) for t, columns, *_ in self._ended for c in columns], np.int64).reshape(-1, 2)
        final_obs = np.concatenate([np.empty((0, width), np.float32), *(final for _, _, final, _, _ in self._ended)])
        terminated = np.concatenate([np.empty(0, bool), *(flags for _, _, _, flags, _ in self._ended)])
        last_obs = last_obs.reshape(-1, width).copy()
        remembered = np.concatenate([self._remembered(memory, slice(None)), *(m for *_, m in self._ended)])
        values = _values(order.network, np.concatenate([last_obs, final_obs]), remembered, infer)
        next_value = np.concatenate([self.value[1:], values[None, : len(last_obs)]])
        t, column = ended_at.T
        next_value[t, column] = np.where(terminated, np.float32(0), values[len(last_obs) :])
        mine = self.learner
        numbers = (self.obs, last_obs, final_obs, self.reward, self.logprob[mine], values)
        if not all(_finite(array) for array in numbers):
            raise RunnerError("a game gave observations or rewards that are not finite; the segment is dropped")
        return Rollout(
            version=order.version,
            **self._arrays,
            next_value=next_value,
            last_obs=last_obs,
            ended_at=ended_at,
            final_obs=final_obs,
            terminated=terminated,
            memory=self._first if order.network.memory_width else None,
        )

    def _remembered(self, memory: RecurrentState, columns: torch.Tensor | slice) -> F32:
        """Recurrent state of the learner in some columns, [N, M]; undefined for columns the learner does not play."""
        return memory.read(self._network.memory_width, columns).numpy().copy()


def _finite(array: F32) -> bool:
    """Return True if all numbers are finite. A finite sum proves it, in a fifth of the time."""
    return math.isfinite(float(torch.from_numpy(array).sum())) or bool(np.isfinite(array).all())


def _values(network: ActorCritic, obs: F32, memory: F32, infer: Infer) -> F32:
    """V of observations [N, D], each with its memory [N, M]."""
    rows = RecurrentState(len(obs), infer)
    rows.restore(torch.from_numpy(memory))
    return rows.step(network, torch.from_numpy(obs), slice(None))[1].numpy()
