"""The real game as a block of one: the same state, observations, rewards and ends as the mock's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.errors import DolphinError, GameError
from envs.melee import bots
from envs.melee.dolphin.emulator import Setup
from envs.melee.dolphin.install import check_disc, find_executable
from envs.melee.dolphin.match import Dolphin, Recycling, Seat
from envs.melee.dolphin.roster import CHARACTERS, PLAYERS, level_of
from envs.melee.episodes import choose_inputs, count_frame, forget_episodes, next_inputs, settle_step
from envs.melee.fight import Fight
from envs.melee.physics.compile import plain
from envs.melee.physics.death import TIMER
from envs.melee.slp.record import TIME
from envs.melee.state import CONTROLLER, NUM_SEATS, PLAYER, records
from envs.melee.tables import STAGES

if TYPE_CHECKING:
    from envs.api import F32, Actions, Bool, Seeds, StepBatch

OTHER: Final = 1  # the seat of a computer player

_Records = NDArray[np.void]


class _Arrays(NamedTuple):
    """Arrays of one game, see ``Fight``; and the inputs of the next frame, the players of the frame before."""

    episode: _Records
    game: _Records
    players: _Records
    controllers: _Records
    memory: _Records
    bot_memory: _Records
    chosen: _Records
    line: _Records
    inputs: _Records
    before: _Records
    stats: _Records


class DolphinMelee(Fight):
    """One game in Slippi Dolphin (``VectorGame``).

    What cannot be had from the real game: seeds decide nothing but the length of the first episode, and there are no
    snapshots. An episode begins at frame 0 (GO), as the mock's does.

    Args:
        num_games: 1.
        dolphin: The launcher's folder or the executable.
        iso: The disc image.
        cpu_level: Level of the computer player in seat 1; None: the seat is ours.
        human_port: Port of a person, from 1; the other seat is ours.
        slot: Number of this game among those that run side by side, and
        slots: how many these are.
        slippi_port: UDP port of the first.
        headless: Without picture and sound.
        fast_forward: Faster than it could be shown; ExiAI builds alone can.
        replay_dir: Folder for replay files.
        start_timeout_s: Seconds in which a Dolphin must have started, and again in which a game must have begun.
        frame_timeout_s: Seconds without a frame after which it counts as hung.
        recycle_frames: Frames after which it is replaced by a fresh one, between two games; 0: never.
        recycle_mb: Megabytes by which it may grow until then; 0: any.
        **options: See ``Fight``.

    Raises:
        DolphinError: no Dolphin or no disc is there, or both a computer player and a person are wanted.
    """

    bot_names = PLAYERS
    characters = CHARACTERS

    def __init__(
        self,
        num_games: int = 1,
        *,
        dolphin: str,
        iso: str,
        cpu_level: int | None = None,
        human_port: int | None = None,
        slot: int = 0,
        slots: int = 1,
        slippi_port: int = 51441,
        headless: bool = False,
        fast_forward: bool = False,
        replay_dir: str | None = None,
        start_timeout_s: float = 60.0,
        frame_timeout_s: float = 5.0,
        recycle_frames: int = 0,
        recycle_mb: int = 0,
        **options: Any,  # noqa: ANN401
    ) -> None:
        if num_games != 1:
            raise GameError(f"a Dolphin plays one game at a time, not {num_games}")
        if cpu_level is not None and human_port is not None:
            raise DolphinError("the other seat cannot be both a computer player's and a person's")
        super().__init__(1, **options)
        self._cpu_level = cpu_level or 0
        self._stage = next(name for name, number in STAGES.items() if number == self.state.game["stage"][0])
        ports = (1, 2) if human_port is None else tuple(sorted((human_port, 2 if human_port == 1 else 1)))
        self._person = None if human_port is None else ports.index(human_port)
        self.outsider = OTHER if cpu_level else self._person
        self._wanted = self.state.players["character"][0].tolist()
        self._dolphin = Dolphin(
            Setup(
                executable=find_executable(dolphin),
                disc=check_disc(iso),
                slot=slot,
                slots=slots,
                slippi_port=slippi_port,
                headless=headless,
                fast_forward=fast_forward,
                paced=human_port is not None,
                replay_dir=None if replay_dir is None else Path(replay_dir),
                start_timeout_s=start_timeout_s,
                frame_timeout_s=frame_timeout_s,
            ),
            (ports[0], ports[1]),
            Recycling(recycle_frames, recycle_mb),
        )
        self._now = self._arrays()

    def _arrays(self) -> _Arrays:
        """What compiled functions work on, as they take it fastest."""
        state = self.state
        return _Arrays(
            *map(
                plain,
                (
                    self._episode, state.game, state.players, state.controllers, self._memory, self._bot_memory,
                    self._chosen, self._line, records(CONTROLLER, 1, NUM_SEATS), records(PLAYER, 1, NUM_SEATS),
                    self._batch.stats.view(np.recarray),
                ),
            )
        )  # fmt: skip

    def reset(self, seeds: Seeds) -> F32:
        """See ``VectorGame.reset``.

        Raises:
            DolphinError: see ``Dolphin.begin``.
        """
        self._start_all(seeds)
        return self._observe()

    def _start(self, b: int) -> None:
        levels = [level_of(int(player)) for player in self.bots[b]]
        if self.outsider is not None and self._person is None:
            levels[self.outsider] = self._cpu_level
        seats = [
            Seat(character, level, person=seat == self._person)
            for seat, (character, level) in enumerate(zip(self._wanted, levels, strict=True))
        ]
        self._dolphin.begin(seats, self._stage)
        self.state = self._dolphin.state
        now = self._now = self._arrays()
        forget_episodes(
            now.episode, now.memory, now.controllers, now.chosen, now.line, now.bot_memory, self._sums,
            self.max_episode_frames,
        )  # fmt: skip

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``, and ``Fight`` for those who act.

        Raises:
            ActionError: see ``controller.check_actions``.
            DolphinError: see ``Dolphin.advance``; the game is lost, and ``reset`` begins a new one.
        """
        self._choose(actions, acts)
        now, batch = self._now, self._batch
        stocks, dealt = tuple(now.players["stocks"][0].tolist()), tuple(now.memory["damage_dealt"][0].tolist())
        choose_inputs(
            self.frame_skip, self.bot_skip, self._delay, now.episode, now.game, now.players, self._scripted(),
            now.bot_memory, now.chosen, now.line, self._tables,
        )  # fmt: skip
        over = self._play_frames()
        settle_step(
            over, stocks, dealt, self._rewards, now.episode, now.game, now.players, now.controllers, now.memory,
            self._mirrored, self._sums, self._tables, batch.obs, batch.reward, batch.terminated, batch.truncated,
            batch.final_obs, batch.score, now.stats,
        )  # fmt: skip
        if batch.terminated[0] or batch.truncated[0]:
            self._start(0)
            self._observe()
        return batch

    def _scripted(self) -> NDArray[np.int8]:
        """Who of those that play a seat are our own scripted players, -1 for all others."""
        return np.where(self.bots < len(bots.NAMES), self.bots, np.int8(-1))

    def _play_frames(self) -> int:
        """The frames of a step; 1 where the game has ended."""
        now, dolphin = self._now, self._dolphin
        for _ in range(self.frame_skip):
            next_inputs(now.episode, now.line, now.inputs)
            now.before[...] = now.players
            if not dolphin.advance(now.inputs[0]):
                return self._ended()
            if count_frame(now.episode, now.before, now.players, now.memory) or now.game["frame"][0] >= TIMER:
                return 1
            if now.episode["frames"][0] >= now.episode["cap"][0]:
                break
        return 0

    def _ended(self) -> int:
        """The game is over without a last stock: its time is up, or somebody quit, which cuts the episode short."""
        end = self._dolphin.emulator.reader.end
        if end is not None and end.method == TIME:
            return 1
        self._episode["cap"] = self._episode["frames"]
        return 0

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Nothing: a game in Dolphin cannot be kept."""
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``snapshot``.

        Raises:
            DolphinError: always.
        """
        raise DolphinError("a game in Dolphin cannot be continued from a snapshot")

    def close(self) -> None:
        """Stop the emulator."""
        self._dolphin.close()
