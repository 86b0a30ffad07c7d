"""Many games of ``Game`` side by side, as one block. B games, P = 2 seats, A parts of an action."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.api import F32, MOST_CHOICES, PAYOFF_STATS, Actions, ActionSpec, Bool, Seeds, StepBatch
from selfplay.games.errors import ActionError, GameError, error_context
from selfplay.games.snapshots import copied, put_back
from selfplay.games.splitmix import words

if TYPE_CHECKING:
    from selfplay.games.game import Action, Game

    Ended = Callable[[int, int, Actions, NDArray[np.float64]], object]

RANDOM: Final = "random"
"""The scripted player that every game has: uniform over the legal actions."""
MOST_REWARD: Final = float(np.finfo(np.float32).max)
_BOTS: Final = np.uint64(0x5C21B7ED)  # sets their random numbers apart from the seeds of episodes
SEED_BITS: Final = np.uint64(33)  # bits dropped from a word: C code takes seeds below 2^31


def action_spec(num_actions: int | Sequence[int]) -> ActionSpec:
    """Specification of the actions of a game, from its number of actions or those of each part."""
    sizes = (num_actions,) if isinstance(num_actions, int) else tuple(num_actions)
    if not sizes or not all(isinstance(size, int) and 1 <= size <= MOST_CHOICES for size in sizes):
        raise GameError(f"num_actions is {num_actions!r}; each part of an action can have 1 to {MOST_CHOICES} values")
    return ActionSpec(binary=0, sizes=sizes, rest=(-1,) * len(sizes))


def repeats_itself(make: Callable[[], Game], steps: int = 30, seconds: float = 1.0) -> bool:
    """Return True if two games with one seed and the same random actions have equal snapshots.

    Play goes on until an episode ends, for some seconds at most, so that a game that fails at its end is refused
    before it is trained. Of a very slow game fewer steps are compared.
    """
    pair, alike, ended, began = SyncVectorGame(make, 2), True, False, time.monotonic()
    pair.bots[:] = pair.bot_names.index(RANDOM)
    pair.reset(np.zeros(2, np.uint64))
    nothing = np.zeros((2, 2, pair.actions.width), pair.actions.dtype)
    for step in count(1):
        ended |= bool(pair.step(nothing).ended.any())
        if step <= steps:
            alike &= all(np.array_equal(*both) for both in pair.snapshot().values())
        taken = time.monotonic() - began
        if (step >= steps and (ended or taken > seconds)) or taken > 5 * seconds:
            break
    pair.close()
    return alike


class Block:
    """The part of ``ScriptedGame`` that does not depend on how a game is stepped. B games, P = 2 seats."""

    num_seats: Final = 2
    stats_dtype: np.dtype[Any] = PAYOFF_STATS
    outsider: Final = None

    def __init__(self, num_games: int, obs_width: int, actions: ActionSpec, players: tuple[str, ...] = ()) -> None:
        if RANDOM in players:
            raise GameError(f"players has {RANDOM!r}: the name is taken, since every game has a player of that name")
        self.num_games = num_games
        self.obs_width = obs_width
        self.actions = actions
        self.bot_names = (RANDOM, *players)
        self.bots = np.full((num_games, 2), -1, np.int8)
        self.notes: list[str] = []
        self._starts = actions.starts
        self._waiting = np.isin(np.arange(actions.logits), self._starts)  # one legal action, 0 in each part
        shape = (num_games, 2)
        self.legal: Bool = np.zeros((*shape, actions.logits), np.bool_)
        self._obs = np.zeros((*shape, obs_width), np.float32)
        self._final_obs = np.zeros_like(self._obs)
        self._seeds = np.zeros(num_games, np.uint64)
        self._episode = np.zeros(num_games, np.uint64)
        self._steps = np.zeros(num_games, np.int64)
        self._return = np.zeros(shape)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        return copied(self._parts())

    def kill(self) -> bool:
        """Nothing to end by force: the games live in this process."""
        return False

    def _parts(self) -> dict[str, NDArray[Any]]:
        """State arrays for snapshots; the state inside games that Python steps is unknown."""
        return {"seeds": self._seeds, "episode": self._episode, "steps": self._steps}

    def _seed(self, b: int) -> int:
        """Seed of the current episode of game ``b``."""
        return int(words(self._seeds[b : b + 1], self._episode[b : b + 1])[0] >> SEED_BITS)

    def _chosen(self, actions: Actions, acts: Bool | None) -> Actions:
        """Copy of the actions [B, P, A] of all seats; a seat that does not act plays its first legal action."""
        if acts is not None:
            actions = np.where(acts[..., None], actions, self.actions.first_highest(self.legal))
        actions = self._checked(actions)
        for b, seat in np.argwhere(self.bots >= 0).tolist():
            legal = self.legal[b, seat]
            decides = self.actions.choices(legal)
            actions[b, seat] = self._bot_action(b, seat) if decides else self.actions.first_highest(legal)
        return actions

    def _bot_action(self, b: int, seat: int) -> NDArray[np.integer[Any]]:
        """Legal action of the scripted player of a seat."""
        legal, rng = self.legal[b, seat], self._rng(b, seat)
        if (bot := int(self.bots[b, seat])) == 0:
            return self.actions.first_highest(np.where(legal, rng.random(legal.shape), -1.0))
        with error_context(f"game {b}, player {self.bot_names[bot]}"):
            chosen = np.atleast_1d(np.asarray(self._ask_player(bot - 1, b, seat, rng)))
            action, allowed = self.actions.checked(chosen, legal)
            if not allowed.all():
                raise GameError(f"{chosen.tolist()} is not legal")
        return action

    def _ask_player(self, player: int, b: int, seat: int, rng: np.random.Generator) -> Action:
        """The action of a scripted player other than ``random``, by its place in ``players``."""
        raise NotImplementedError

    def _rng(self, b: int, seat: int) -> np.random.Generator:
        """Generator of the scripted player of a seat for this step, seeded by seed, episode, step and seat."""
        number = np.array(2 * self._steps[b] + seat, np.uint64)
        stream = words(words(self._seeds[b : b + 1] ^ _BOTS, self._episode[b : b + 1]), number)
        return np.random.Generator(np.random.Philox(key=stream[0]))

    def _finite(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rewards [B, P] of a step."""
        if not (np.abs(rewards) <= MOST_REWARD).all():
            b = int(np.argwhere(~(np.abs(rewards) <= MOST_REWARD))[0, 0])
            raise GameError(
                f"game {b}: step {self._steps[b]} gave the rewards {rewards[b].tolist()} "
                f"(valid: finite numbers up to {MOST_REWARD:.1e})"
            )
        return rewards

    def _check_seen(self, obs: F32) -> None:
        """Check observations [B, P, obs_width]."""
        if not math.isfinite(np.vdot(obs, obs)):  # the squares prove it, in a fifth of the time
            for b, seat, feature in np.argwhere(~np.isfinite(obs)).tolist():
                raise GameError(
                    f"game {b}, seat {seat}: after {self._steps[b]} steps the observation has "
                    f"{obs[b, seat, feature]:g} as feature {feature}"
                )

    def _checked_view(self) -> F32:
        """What all seats see; each has a legal action, and all numbers are finite."""
        some = np.logical_or.reduceat(self.legal, self._starts, -1).all(-1)
        if not some.all():
            b, seat = np.argwhere(~some)[0].tolist()
            raise GameError(f"game {b}: seat {seat} is to act, but nothing is legal")
        self._check_seen(self._obs)
        return self._obs

    def _standing(self) -> tuple[F32, NDArray[np.void]]:
        """Score and stats [B, P] of episodes that end now: who has the larger sum of rewards has won."""
        score = (np.sign(self._return - self._return[:, ::-1]) + 1) / 2
        stats = np.zeros((self.num_games, 2), self.stats_dtype)
        stats["frames"], stats["reward_payoff"] = self._steps[:, None], self._return
        return score.astype(np.float32), stats

    def _checked(self, actions: Actions) -> Actions:
        """A copy of the actions [B, P, A], all of them legal now or of seats that scripted players have."""
        whole, allowed = self.actions.checked(actions, self.legal)
        wrong = ~allowed & (self.bots < 0)[..., None]
        if wrong.any():
            b, seat, part = np.argwhere(wrong)[0].tolist()
            first = int(self._starts[part])
            valid = np.flatnonzero(self.legal[b, seat, first : first + self.actions.sizes[part]])
            raise ActionError(
                f"game {b}, seat {seat}: {actions[b, seat, part]:g} in part {part} of the action is not legal now "
                f"(valid: {', '.join(map(str, valid))})"
            )
        return whole.astype(self.actions.dtype)


class SyncVectorGame(Block):
    """B games that are stepped one after the other (``ScriptedGame``).

    A seat that does not act has one legal action, 0 in each part, and observations of zeros. A snapshot has the seeds
    and the actions so far, and ``restore`` replays them. A game that does not reach the same state starts a new
    episode, with a note.
    """

    def __init__(self, make: Callable[[], Game], num_games: int) -> None:
        if num_games < 1:
            raise GameError("num_games must be at least 1")
        with error_context("constructor"):
            self.games = [make() for _ in range(num_games)]
        first = self.games[0]
        super().__init__(num_games, first.obs_width, action_spec(first.num_actions), tuple(first.players))
        if taken := set(PAYOFF_STATS.names or ()) & set(first.figures):
            raise GameError(f"figures has {min(taken)!r}: the name is taken, every game has a figure of that name")
        self.stats_dtype = np.dtype([*PAYOFF_STATS.descr, *((name, "f8") for name in first.figures)])
        self.on_end: Ended | None = None
        """Called at the end of an episode: number of the game, seed, actions [T, P, A], sums of rewards [P]."""
        self._players = tuple(first.players.values())
        self._everything = np.ones(self.actions.logits, np.bool_)
        self._single = isinstance(first.num_actions, int)
        self._max_steps = first.max_steps
        self._history = np.zeros((num_games, self._max_steps, 2, self.actions.width), self.actions.dtype)

    def reset(self, seeds: Seeds) -> F32:
        self._seeds[:] = seeds
        self._episode[:] = 0
        for b in range(self.num_games):
            self._begin(b)
        return self._see_all()

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``; a seat that does not act plays its first legal action."""
        rewards, terminated, truncated = self._step_all(self._chosen(actions, acts))
        self._return += rewards
        score, stats = self._standing()
        ended = np.flatnonzero(terminated | truncated).tolist()
        if ended:
            for seat in range(2):
                self._final_obs[ended, seat] = self._gather(ended, "last observation", partial(self._observed, seat))
            self._check_seen(self._final_obs)
        for b in ended:
            for name, figure in self.games[b].figures.items():
                with error_context(f"game {b}, figure {name}"):
                    stats[name][b] = [figure(self.games[b], seat) for seat in range(2)]
            if self.on_end is not None:
                self.on_end(b, self._seed(b), self._history[b, : self._steps[b]].copy(), self._return[b].copy())
            self._episode[b] += np.uint64(1)
            self._begin(b)
        obs = self._see_all()
        as_f32 = rewards.astype(np.float32)
        return StepBatch(obs, as_f32, terminated, truncated, self._final_obs, score, stats)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``."""
        put_back(self._parts(), arrays)
        wrong = np.array([not self._replay(b) for b in range(self.num_games)])
        obs = self._see_all()
        wrong |= (obs != arrays["obs"]).any((1, 2)) | (self.legal != arrays["legal"]).any((1, 2))
        for b in np.flatnonzero(wrong).tolist():
            self._episode[b] += np.uint64(1)
            self._begin(b)
        if wrong.any():
            self.notes.append("games did not repeat themselves and began anew: their episodes in progress are lost")
            obs = self._see_all()
        return obs

    def as_taken(self, actions: Actions) -> list[Any]:
        """Actions [..., A] as ``Game.step`` takes them: numbers, or lists where an action has several parts."""
        taken: list[Any] = (actions[..., 0] if self._single else actions).tolist()
        return taken

    def action_name(self, action: Sequence[int]) -> str:
        """An action for people."""
        return self.games[0].action_name(action[0]) if self._single else ",".join(map(str, action))

    def view(self) -> str | NDArray[np.uint8] | None:
        """Rendering of the first game; None if the game has no ``render``."""
        try:
            shown = self.games[0].render()
        except NotImplementedError:
            return None
        picture = isinstance(shown, np.ndarray) and shown.dtype == np.uint8 and shown.shape[2:] == (3,) and shown.size
        if not (picture or isinstance(shown, str)):
            got = f"{shown.dtype} {shown.shape}" if isinstance(shown, np.ndarray) else type(shown).__name__
            raise GameError(f"render() gave {got} (valid: text, or a picture as uint8 [H, W, 3])")
        return shown

    def close(self) -> None:
        """Close all games."""
        for game in self.games:
            game.close()

    def _parts(self) -> dict[str, NDArray[Any]]:
        return super()._parts() | {
            "return": self._return, "history": self._history, "obs": self._obs, "legal": self.legal,
        }  # fmt: skip

    def _begin(self, b: int) -> None:
        """Begin the episode ``_episode`` of a game."""
        with error_context(f"game {b}, reset"):
            self.games[b].reset(self._seed(b))
        self._history[b] = 0
        self._return[b] = 0
        self._steps[b] = 0

    def _replay(self, b: int) -> bool:
        """Play a game up to where it was; whether it came there."""
        game = self.games[b]
        try:
            game.reset(self._seed(b))
            ends = (game.step(self.as_taken(actions))[1:] for actions in self._history[b, : self._steps[b]])
            return not any(terminated or truncated for terminated, truncated in ends)
        except Exception:  # a game that goes another way may refuse the actions
            return False

    def _step_all(self, actions: Actions) -> tuple[NDArray[np.float64], Bool, Bool]:
        """Step all games; rewards [B, P], terminated [B], truncated [B]."""
        played: list[tuple[Sequence[float], bool, bool]] = []
        with error_context(lambda: f"game {len(played)}, step"):
            for game, chosen in zip(self.games, self.as_taken(actions), strict=True):
                played.append(game.step(chosen))
        try:
            rewards = np.array([each for each, _, _ in played], np.float64).reshape(self.num_games, 2)
            terminated, truncated = (
                np.array([each[i] for each in played], np.bool_).reshape(self.num_games) for i in (1, 2)
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise GameError(_odd_return(played)) from error
        self._finite(rewards)
        self._history[np.arange(self.num_games), self._steps] = actions
        self._steps += 1
        return rewards, terminated, (truncated | (self._steps >= self._max_steps)) & ~terminated

    def _see_all(self) -> F32:
        """Ask all games what the seats that act see and what they may do."""
        self._obs[...] = 0
        self.legal[...] = self._waiting
        rows: tuple[list[int], list[int]] = [], []
        b = 0
        with error_context(lambda: f"game {b}, to_act"):
            for b, game in enumerate(self.games):
                seats = game.to_act()
                try:
                    for seat in seats:
                        rows[seat].append(b)
                    nobody = len(seats) == 0
                except (TypeError, IndexError) as error:
                    raise GameError(f"it returned {seats!r} (valid: the seats that act, as (0,) or (0, 1))") from error
                if nobody:
                    raise GameError("nobody is to act, but the game is not over")
        for seat in range(2):
            acting = rows[seat]
            self._obs[acting, seat] = self._gather(acting, "observations", partial(self._observed, seat))
            self.legal[acting, seat] = self._gather(acting, "legal actions", partial(self._allowed, seat))
        return self._checked_view()

    def _gather(self, rows: list[int], what: str, ask: Callable[[Sequence[Game]], NDArray[Any]]) -> NDArray[Any]:
        """Ask some games at once; after an error one by one, so that the message names the game."""
        try:
            return ask([self.games[b] for b in rows])
        except Exception:
            for b in rows:
                with error_context(f"game {b}, {what}"):
                    ask([self.games[b]])
            raise

    def _observed(self, seat: int, games: Sequence[Game]) -> NDArray[Any]:
        """Observations of a seat [N, obs_width]."""
        seen = self.games[0].observe_all(games, seat) if games else ()
        return _rows(seen, len(games), self.obs_width, np.float32, f"observe({seat})", "numbers, its obs_width")

    def _allowed(self, seat: int, games: Sequence[Game]) -> Bool:
        """Legal actions of a seat [N, logits]."""
        masks = self.games[0].legal_all(games, seat) if games else ()
        if isinstance(masks, list):
            masks = [self._everything if mask is None else mask for mask in masks]
        return _rows(
            masks, len(games), self.actions.logits, np.bool_, f"legal({seat})", "booleans, one for each action"
        )

    def _ask_player(self, player: int, b: int, seat: int, rng: np.random.Generator) -> Action:
        return self._players[player](self.games[b], seat, rng)


def _rows(values: Any, count: int, width: int, dtype: type, method: str, what: str) -> NDArray[Any]:  # noqa: ANN401
    """Values of ``count`` games, [count, width]."""
    try:
        rows: NDArray[Any] = np.asarray(values, dtype)
    except (TypeError, ValueError) as error:
        raise GameError(f"{method} returned no array of numbers (valid: {width} {what})") from error
    if rows.size != count * width:
        raise GameError(f"{method} returned {rows.size // count} numbers (valid: {width} {what})")
    return rows.reshape(count, width)


def _odd_return(played: Sequence[Any]) -> str:
    """What is wrong with the first result of ``step`` that is not as it must be."""
    valid = "(valid: (rewards, over, truncated), the reward of each seat and two booleans)"
    for b, returned in enumerate(played):
        if not isinstance(returned, (tuple, list)):
            return f"game {b}: step returned {type(returned).__name__} {valid}"
        if len(returned) != 3:
            return f"game {b}: step returned {len(returned)} values {valid}"
        try:
            fits = np.array(returned[0], np.float64).shape == (2,)
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            return f"game {b}: step returned the rewards {' '.join(repr(returned[0]).split())[:80]} {valid}"
    return f"step returned what is no boolean as over or truncated {valid}"
