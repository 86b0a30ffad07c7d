"""The mock: many games of Melee-like rules, stepped as one block of arrays by compiled code.

One step: every seat's action becomes its controller (held for ``frame_skip`` frames, arriving ``delay`` frames
late), the frames are played, rewards and observations are written, finished games start anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from envs.api import F32, Actions, Bool, Seeds, StepBatch
from envs.errors import GameError, UnknownNameError
from envs.melee import bots
from envs.melee.controller import ACTION_SPEC, NEUTRAL, check_actions, decode, mirror
from envs.melee.observation import OBS_WIDTH, encode, encode_seat
from envs.melee.physics.compile import compiled, is_compiled
from envs.melee.physics.frame import advance_frame, start_game
from envs.melee.physics.memory import MEMORY
from envs.melee.reward import reward_terms
from envs.melee.rng import mix, unit
from envs.melee.state import CONTROLLER, NUM_SEATS, STOCKS, GameState, records
from envs.melee.tables import CHARACTERS, STAGES, load_tables

SPAWN_JITTER: Final = 8.0  # units; both seats start that much nearer or farther at most, so that games differ
ENDED_BY: Final = ("stocks", "timer", "cap")

# Counts of one episode, for each seat.
STATS: Final = np.dtype(
    [
        ("stocks", "i4"),  # left at the end
        ("percent", "f8"),  # at the end
        ("stocks_taken", "i4"),
        ("damage", "f8"),  # dealt
        ("damage_taken", "f8"),
        ("self_destructs", "i4"),
        ("frames", "i4"),
        ("ended", "i4"),  # index into ENDED_BY
        ("reward_stock", "f8"),
        ("reward_damage", "f8"),
    ],
    align=True,
)

# What a block knows of a game beside its state.
EPISODE: Final = np.dtype(
    [("seed", "i8"), ("number", "i4"), ("frames", "i4"), ("cap", "i4"), ("clock", "i4")], align=True
)


class MockMelee:
    """B games (``VectorGame``).

    Args:
        num_games: B.
        characters: Of seat 0 and seat 1, by name; or such a pair for each game.
        stage: By name.
        frame_skip: Frames that one step plays.
        delay: Frames from seeing to acting; a number, one for each seat, or one for each game and seat.
        max_episode_frames: Cap; an episode that reaches it is truncated.
        stagger: First episodes end at caps spread over the whole range, so that games do not end in step.
        reward_stock: Reward of a stock.
        reward_damage: Reward of a percent of damage.
    """

    num_seats: Final = NUM_SEATS
    obs_width: Final = OBS_WIDTH
    actions: Final = ACTION_SPEC
    stats_dtype: Final = STATS
    bot_names: Final[tuple[str, ...]] = bots.NAMES

    def __init__(
        self,
        num_games: int,
        *,
        characters: Sequence[str] | Sequence[Sequence[str]] = ("mewtwo", "mewtwo"),
        stage: str = "final_destination",
        frame_skip: int = 1,
        delay: ArrayLike = 0,
        max_episode_frames: int = 3600,
        stagger: bool = False,
        reward_stock: float = 5.0,
        reward_damage: float = 0.05,
    ) -> None:
        if num_games < 1 or frame_skip < 1 or max_episode_frames < 1:
            raise GameError("num_games, frame_skip and max_episode_frames must be at least 1")
        delays = np.asarray(delay)
        if delays.dtype.kind not in "iu" or (delays < 0).any():
            raise GameError(f"delay must be whole frames, 0 or more, got {delay!r}")
        names = np.asarray(characters)
        if names.shape not in ((NUM_SEATS,), (num_games, NUM_SEATS)):
            raise GameError(f"characters must be a pair, or a pair for each of {num_games} games, got {characters!r}")
        for name in names.flat:
            if name not in CHARACTERS:
                raise UnknownNameError("character", str(name), CHARACTERS)
        if stage not in STAGES:
            raise UnknownNameError("stage", stage, STAGES)
        self.num_games = num_games
        self.frame_skip = frame_skip
        self.bot_skip = frame_skip  # frames between two decisions of a scripted player
        self.max_episode_frames = max_episode_frames
        self.state = GameState.zeros(num_games)
        self.state.players["character"] = np.vectorize(CHARACTERS.__getitem__, otypes="i")(names)
        self.state.game["stage"] = STAGES[stage]
        self.bots = np.full((num_games, NUM_SEATS), -1, np.int8)  # scripted player of a seat, -1 = none
        self._delay = np.broadcast_to(delays.astype(np.int64), (num_games, NUM_SEATS)).copy()
        self._tables = load_tables()
        self._memory = records(MEMORY, num_games, NUM_SEATS)
        self._bot_memory = records(bots.BOT, num_games, NUM_SEATS)
        self._episode = records(EPISODE, num_games)
        self._line = records(CONTROLLER, num_games, NUM_SEATS, int(self._delay.max()) + frame_skip)
        self._chosen = records(CONTROLLER, num_games, NUM_SEATS)
        self._mirrored = np.zeros((num_games, NUM_SEATS), np.bool_)
        self._stagger = stagger
        self._rewards = np.array([reward_stock, reward_damage])
        self._sums = np.zeros((num_games, NUM_SEATS, len(self._rewards)))
        shape = (num_games, NUM_SEATS)
        self._batch = StepBatch(
            np.zeros((*shape, OBS_WIDTH), np.float32),
            np.zeros(shape, np.float32),
            np.zeros(num_games, np.bool_),
            np.zeros(num_games, np.bool_),
            np.zeros((*shape, OBS_WIDTH), np.float32),
            np.zeros(shape, np.float32),
            np.zeros(shape, STATS),
        )

    def reset(self, seeds: Seeds) -> F32:
        """See ``VectorGame.reset``."""
        seeds = np.asarray(seeds)
        if seeds.shape != (self.num_games,) or seeds.dtype.kind not in "iu":
            raise GameError(f"seeds must be {self.num_games} whole numbers, got {seeds.dtype} of shape {seeds.shape}")
        self._episode["seed"] = seeds.astype(np.uint64).view(np.int64) & np.int64(2**62 - 1)
        self._episode["number"] = 0
        self._episode["cap"] = self.max_episode_frames
        for b in range(self.num_games):
            self._start(b)
            if self._stagger:
                part = unit(mix(int(self._episode[b].seed), 7))
                self._episode[b].cap = max(1, int(self.max_episode_frames * (1.0 - part)))
        return self._observe()

    def _start(self, b: int) -> None:
        _start_episode(
            self._episode[b : b + 1], self.state.game[b], self.state.players[b], self._memory[b],
            self.state.controllers[b], self._chosen[b], self._line[b], self._bot_memory[b], self._sums[b], self._tables,
            self.max_episode_frames,
        )  # fmt: skip

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``.

        Args:
            actions: int8 [B, P, 13].
            acts: Whose action counts, [B, P]; the others hold their controller. By default everybody's. That of a
                scripted player never does.

        Raises:
            ActionError: see ``controller.check_actions``.
        """
        actions = mirror(check_actions(actions, self.num_games, NUM_SEATS), self._mirrored)
        acting = self.bots < 0
        if acts is not None:
            acting &= acts
        if acting.all():
            decode(actions, self._chosen)
        else:  # scripted players, and who does not act now, keep what they chose
            chosen = self._chosen[acting]
            decode(actions[acting], chosen)
            self._chosen[acting] = chosen
        batch = self._batch
        _step_games(
            self.frame_skip, self.bot_skip, self.max_episode_frames, self._delay, self._rewards, self._episode,
            self.state.game, self.state.players, self.state.controllers, self._memory, self.bots, self._bot_memory,
            self._chosen, self._line, self._mirrored, self._sums, self._tables, batch.obs, batch.reward,
            batch.terminated, batch.truncated, batch.final_obs, batch.score, batch.stats.view(np.recarray),
        )  # fmt: skip
        return batch

    def play(self, controllers: NDArray[np.void]) -> None:
        """Play raw CONTROLLER frames [T, B, P], resets included, with no delay, reward or observation."""
        _play_games(
            controllers, self.max_episode_frames, self._episode, self.state.game, self.state.players,
            self.state.controllers, self._memory, self._chosen, self._line, self._bot_memory, self._sums, self._tables,
        )  # fmt: skip
        self._observe()

    @property
    def memory_bytes(self) -> int:
        """Of game states, memories, controllers on their way, and observations, over all games."""
        batch = self._batch
        kept = (*self._parts().values(), batch.obs, batch.final_obs, batch.reward, batch.stats)
        return sum(array.nbytes for array in kept)

    def kill(self) -> bool:
        """Nothing to end by force: the games live in this process."""
        return False

    def close(self) -> None:
        """Nothing to let go of."""

    def _observe(self) -> F32:
        self._batch.obs[...], self._mirrored[...] = encode(self.state, self._tables)
        return self._batch.obs

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """See ``VectorGame.snapshot``."""
        return {name: np.array(array) for name, array in self._parts().items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``.

        Raises:
            GameError: not a snapshot of such a block.
        """
        parts = self._parts()
        if {n: (a.shape, a.dtype) for n, a in parts.items()} != {n: (a.shape, a.dtype) for n, a in arrays.items()}:
            raise GameError("the snapshot is of another block: names, shapes or types differ")
        for name, array in arrays.items():
            parts[name][...] = array
        return self._observe()

    def _parts(self) -> dict[str, NDArray[Any]]:
        state = self.state
        parts: dict[str, NDArray[Any]] = {
            "game": state.game, "players": state.players, "controllers": state.controllers, "memory": self._memory,
            "bots": self.bots, "bot_memory": self._bot_memory, "episode": self._episode, "line": self._line,
            "sums": self._sums, "delay": self._delay, "chosen": self._chosen,
        }  # fmt: skip
        return {f"{name}-{_layout(array.dtype)}": _as_bytes(array) for name, array in parts.items()}


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of an array, the bytes of an element along a last axis."""
    raw: NDArray[np.uint8] = array.view(np.ndarray).view(np.dtype((np.void, array.itemsize))).view(np.uint8)
    return raw.reshape(*array.shape, array.itemsize)


def _layout(dtype: np.dtype[Any]) -> str:
    """A short name of a type, so that bytes of another layout are not taken for it."""
    return f"{zlib.crc32(str(dtype).encode()):08x}"


def rules_are_compiled() -> bool:
    """Whether a first step will start at once; otherwise it compiles for about half a minute."""
    return is_compiled(_step_games)


def neutral_actions(num_games: int) -> Actions:
    """Hands off: int8 [B, P, 13]."""
    return np.broadcast_to(NEUTRAL, (num_games, NUM_SEATS, len(NEUTRAL))).copy()


@compiled
def _start_episode(episode, game, players, memory, controllers, chosen, line, bot_memory, sums, tables, cap):
    """Start the next episode of one game; its seed follows from the game's seed and the episode's number."""
    seed = mix(episode[0].seed, episode[0].number)
    episode[0].number += 1
    episode[0].frames = 0
    episode[0].cap = cap
    episode[0].clock = 0
    start_game(game, players, memory, tables, (2.0 * unit(seed) - 1.0) * SPAWN_JITTER)
    for seat in range(2):
        _release(controllers[seat])
        _release(chosen[seat])
        for i in range(len(line[seat])):
            _release(line[seat, i])
        bot_memory[seat].kind = -1
        sums[seat, :] = 0.0


@compiled
def _release(controller):
    controller.main_x = 0.0
    controller.main_y = 0.0
    controller.c_x = 0.0
    controller.c_y = 0.0
    controller.shoulder = 0.0
    controller.buttons = 0


@compiled
def _copy(source, target):
    target.main_x = source.main_x
    target.main_y = source.main_y
    target.c_x = source.c_x
    target.c_y = source.c_y
    target.shoulder = source.shoulder
    target.buttons = source.buttons


@compiled
def _step_games(
    frame_skip, bot_skip, cap, delay, weights, episode, game, players, controllers, memory, bot_kind, bot_memory,
    chosen, line, mirrored, sums, tables, obs, reward, terminated, truncated, final_obs, score, stats,
):  # fmt: skip
    for b in range(len(game)):
        for seat in range(2):
            if bot_kind[b, seat] >= 0 and episode[b].clock % bot_skip == 0:
                _bot_chooses(b, seat, episode, game, players, bot_kind, bot_memory, chosen, tables)
            _enter(chosen[b, seat], line[b, seat], episode[b].clock + delay[b, seat], frame_skip)
        before_0, before_1 = players[b, 0].stocks, players[b, 1].stocks
        dealt_0, dealt_1 = memory[b, 0].damage_dealt, memory[b, 1].damage_dealt
        over = 0
        for _ in range(frame_skip):
            over = _frame(b, episode, game, players, controllers, memory, line, tables)
            if over == 1 or episode[b].frames >= episode[b].cap:
                break
        terminated[b] = over == 1
        truncated[b] = over == 0 and episode[b].frames >= episode[b].cap
        dealt_0, dealt_1 = memory[b, 0].damage_dealt - dealt_0, memory[b, 1].damage_dealt - dealt_1
        stock, damage = reward_terms(
            (before_0, before_1), players[b, 0], players[b, 1], dealt_0, dealt_1, weights[0], weights[1]
        )
        reward[b, 0] = stock + damage
        reward[b, 1] = -reward[b, 0]
        sums[b, 0, 0] += stock
        sums[b, 0, 1] += damage
        sums[b, 1, 0] -= stock
        sums[b, 1, 1] -= damage
        if terminated[b] or truncated[b]:
            _finish(b, over, episode, game, players, controllers, memory, sums, tables, final_obs, score, stats)
            _start_episode(
                episode[b : b + 1],
                game[b],
                players[b],
                memory[b],
                controllers[b],
                chosen[b],
                line[b],
                bot_memory[b],
                sums[b],
                tables,
                cap,
            )
        for seat in range(2):
            mirrored[b, seat] = encode_seat(
                game[b], players[b, seat], players[b, 1 - seat], controllers[b, seat], tables, obs[b, seat]
            )


@compiled
def _bot_chooses(b, seat, episode, game, players, bot_kind, bot_memory, chosen, tables):
    """Let the scripted player of a seat choose; a new one begins with a seed of its own."""
    bot = bot_memory[b, seat]
    if bot.kind != bot_kind[b, seat]:
        bots.start_bot(bot, bot_kind[b, seat], mix(mix(episode[b].seed, episode[b].number), seat + 11))
    bots.decide(bot, game[b], players[b, seat], players[b, 1 - seat], tables, chosen[b, seat])


@compiled
def _enter(controller, line, first, frames):
    """Hold a controller from frame ``first`` of the delay line on; the line is a ring."""
    for i in range(frames):
        _copy(controller, line[(first + i) % len(line)])


@compiled
def _frame(b, episode, game, players, controllers, memory, line, tables):
    """One frame with the controllers that have arrived; 1 when the game is over."""
    place = episode[b].clock % len(line[b, 0])
    for seat in range(2):
        _copy(line[b, seat, place], controllers[b, seat])
    over = advance_frame(game[b], players[b], memory[b], controllers[b], tables)
    episode[b].clock += 1
    episode[b].frames += 1
    return over


@compiled
def _finish(b, over, episode, game, players, controllers, memory, sums, tables, final_obs, score, stats):
    """Last observations, score and counts of an episode that has just ended."""
    first, second = players[b, 0], players[b, 1]
    lead = first.stocks - second.stocks
    if lead == 0 and first.percent != second.percent:
        lead = 1 if first.percent < second.percent else -1
    score[b, 0] = 0.5 if lead == 0 else (1.0 if lead > 0 else 0.0)
    score[b, 1] = 1.0 - score[b, 0]
    by_stocks = first.stocks == 0 or second.stocks == 0
    ended = 0 if by_stocks else (1 if over == 1 else 2)
    for seat in range(2):
        row = stats[b, seat]
        row.stocks = players[b, seat].stocks
        row.percent = players[b, seat].percent
        row.stocks_taken = STOCKS - players[b, 1 - seat].stocks
        row.damage = memory[b, seat].damage_dealt
        row.damage_taken = memory[b, 1 - seat].damage_dealt
        row.self_destructs = memory[b, seat].self_destructs
        row.frames = episode[b].frames
        row.ended = ended
        row.reward_stock = sums[b, seat, 0]
        row.reward_damage = sums[b, seat, 1]
        encode_seat(game[b], players[b, seat], players[b, 1 - seat], controllers[b, seat], tables, final_obs[b, seat])


@compiled
def _play_games(inputs, cap, episode, game, players, controllers, memory, chosen, line, bot_memory, sums, tables):
    for b in range(len(game)):
        for t in range(len(inputs)):
            for seat in range(2):
                _copy(inputs[t, b, seat], controllers[b, seat])
            over = advance_frame(game[b], players[b], memory[b], controllers[b], tables)
            episode[b].frames += 1
            if over == 1 or episode[b].frames >= episode[b].cap:
                _start_episode(
                    episode[b : b + 1],
                    game[b],
                    players[b],
                    memory[b],
                    controllers[b],
                    chosen[b],
                    line[b],
                    bot_memory[b],
                    sums[b],
                    tables,
                    cap,
                )
