"""Games that are written down whole: many of one table, and one of rules for people.

Many are stepped together by a few look-ups. B games, two seats, D features, M actions.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games import game
from selfplay.games.api import F32, PAYOFF_STATS, Actions, Bool, Seeds, StepBatch
from selfplay.games.errors import ActionError, GameError
from selfplay.games.snapshots import copied, put_back
from selfplay.games.solved.table import action_spec
from selfplay.games.splitmix import words

if TYPE_CHECKING:
    from selfplay.games.solved.table import Player, Rules, Table

BOTS: Final = np.uint64(0x5C21B7ED)
"""Sets the random numbers of scripted players apart from those that begin the episodes."""


class TableGame:
    """B games (``ScriptedGame``)."""

    num_seats: Final = 2
    stats_dtype: Final = PAYOFF_STATS
    outsider: Final = None

    def __init__(self, table: Table, num_games: int) -> None:
        if num_games < 1:
            raise GameError("num_games must be at least 1")
        self._table = table
        self._masked = table.masked
        self.num_games = num_games
        self.bot_names = tuple(table.players)
        self._chances = np.cumsum([*table.players.values()], -1)  # [players, N, P, M]
        self.notes: list[str] = []
        self.obs_width = table.obs.shape[2]
        self.actions = action_spec(table.actions)
        self.bots = np.full((num_games, 2), -1, np.int8)
        self._seeds = np.zeros(num_games, np.uint64)
        self._episode = np.zeros(num_games, np.int64)
        self._steps = np.zeros(num_games, np.int64)
        self._state = np.zeros(num_games, np.int64)

    @property
    def legal(self) -> Bool | None:
        return self._table.legal[self._state] if self._masked else None

    def reset(self, seeds: Seeds) -> F32:
        self._seeds[:] = seeds
        self._episode[:] = self._steps[:] = 0
        self._state[:] = self._first()
        return self._table.obs[self._state]

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``; a seat that does not act plays its first legal action."""
        table = self._table
        if acts is not None:
            actions = np.where(acts[..., None], actions, self.actions.first_highest(table.legal[self._state]))
        chosen = self._checked(self._with_bots(actions))
        reached = table.after[self._state, chosen[:, 0], chosen[:, 1]]
        over = table.over[reached]
        self._steps += 1
        won = np.where(over, table.payoff[reached], np.float32(0))
        reward = np.stack([won, -won], 1)
        stats = np.zeros((self.num_games, 2), PAYOFF_STATS)
        stats["frames"], stats["reward_payoff"] = self._steps[:, None], reward
        final_obs = table.obs[reached]
        self._episode += over
        self._steps[over] = 0
        self._state = np.where(over, self._first(), reached)
        score = (np.sign(reward) + 1) / 2
        return StepBatch(
            table.obs[self._state], reward, over, np.zeros(self.num_games, np.bool_), final_obs, score, stats
        )

    def snapshot(self) -> dict[str, NDArray[Any]]:
        return copied(self._parts())

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``."""
        put_back(self._parts(), arrays)
        return self._table.obs[self._state]

    def kill(self) -> bool:
        """Nothing to end by force: the games live in this process."""
        return False

    def close(self) -> None:
        """Do nothing: there are no resources."""

    def _parts(self) -> dict[str, NDArray[Any]]:
        return {"seeds": self._seeds, "episode": self._episode, "steps": self._steps, "state": self._state}

    def _first(self) -> NDArray[np.int64]:
        """[B] where the episodes of now begin: by the game's seed and the episode's number."""
        drawn = words(self._seeds, self._episode.astype(np.uint64))
        return (drawn % np.uint64(self._table.starts)).astype(np.int64)

    def _with_bots(self, actions: Actions) -> Actions:
        """The actions [B, P, 1], with those of the scripted players. Their draws follow from seed, episode and step."""
        if (self.bots < 0).all():
            return actions
        actions = actions.copy()
        streams = words(self._seeds ^ BOTS, self._episode.astype(np.uint64))
        numbers = (2 * self._steps[:, None] + np.arange(2)).astype(np.uint64)
        draws = (words(streams[:, None], numbers) >> np.uint64(11)) * 2.0**-53
        for b, seat in np.argwhere(self.bots >= 0).tolist():
            chances = self._chances[self.bots[b, seat], self._state[b], seat]
            actions[b, seat] = min(int((chances <= draws[b, seat]).sum()), len(chances) - 1)
        return actions

    def _checked(self, actions: Actions) -> NDArray[np.int64]:
        """The actions [B, 2], all of them legal now."""
        names, now = self._table.actions, self._table.legal[self._state]
        whole, allowed = self.actions.checked(actions, now)
        if not allowed.all():
            b, seat, _ = np.argwhere(~allowed)[0]
            valid = np.flatnonzero(now[b, seat])
            raise ActionError(
                f"game {b}, seat {seat}: action {actions[b, seat, 0]:g} is not one that it has now "
                f"(valid: {', '.join(f'{n} {names[n]}' for n in valid)})"
            )
        return whole[..., 0]


class SolvedGame(game.Game):
    """A game of ``rules``. A seat with one legal action waits; in a ``TableGame`` it sees the game meanwhile.

    A seed begins the same episode as it does in a ``TableGame``.
    """

    state: Any

    def __init__(self, rules: Rules[Any], players: Mapping[str, Player], version: int) -> None:
        self.rules = rules
        self.num_actions = len(rules.actions)
        self.obs_width = len(rules.observe(rules.starts()[0], 0))
        self.version = version
        self.players = {name: partial(_draw, player) for name, player in players.items()}

    def reset(self, seed: int) -> None:
        starts = self.rules.starts()
        drawn = words(np.array([seed], np.uint64), np.zeros(1, np.uint64))[0]
        self.state = starts[int(drawn) % len(starts)]

    def begun(self) -> list[SolvedGame]:
        """Games in each of the states in which an episode may begin, all alike likely."""
        games = [copy.copy(self) for _ in self.rules.starts()]
        for made, state in zip(games, self.rules.starts(), strict=True):
            made.state = state
        return games

    def to_act(self) -> Sequence[int]:
        return [seat for seat in game.BOTH if len(self.rules.legal(self.state, seat)) > 1]

    def observe(self, seat: int) -> Sequence[float]:
        return self.rules.observe(self.state, seat)

    def legal(self, seat: int) -> Bool:
        return np.isin(np.arange(len(self.rules.actions)), self.rules.legal(self.state, seat))

    def step(self, actions: Sequence[game.Action]) -> tuple[Sequence[float], bool, bool]:
        legal = [self.rules.legal(self.state, seat) for seat in game.BOTH]
        first, second = (
            np.asarray(action).item() if len(valid) > 1 else valid[0]  # the action given for a waiting seat is ignored
            for action, valid in zip(actions, legal, strict=True)
        )
        self.state = self.rules.after(self.state, (first, second))
        payoff = self.rules.payoff(self.state)
        won = payoff or 0.0
        return (won, -won), payoff is not None, False

    def render(self) -> str:
        return self.rules.render(self.state)

    def action_name(self, action: int) -> str:
        return self.rules.actions[action]


def _draw(player: Player, game: SolvedGame, seat: int, rng: np.random.Generator) -> int:
    """Draw from the probabilities of the actions of a scripted player."""
    chances = player(game.state, seat)
    return int(rng.choice(len(chances), p=chances))
