"""The mock fighter as Gymnasium environments: one game (``MockMeleeEnv``) and a block (``MockMeleeVectorEnv``).

Importing this module registers ``selfplay/MockMelee-v1``: ``gymnasium.make("selfplay/MockMelee-v1")``, and
``gymnasium.make_vec`` for the block; ``"selfplay_melee.gym:selfplay/MockMelee-v1"`` imports it too.

The agent has seat 0. It sees the game mirrored where that puts its opponent on the right (``melee.observation``), and
its stick actions are given in the same view: x code 16 always means "to the right on the player's own screen".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from selfplay.games.api import F32, ActionSpec
from selfplay.games.errors import GameError, UnknownNameError
from selfplay_melee.duel import FRAME_SKIP, Duel
from selfplay_melee.opponents import name_of
from selfplay_melee.state import FPS

# Gymnasium 0.29, which other trainers pin, has no such modes, and its VectorEnv is not generic.
try:
    from gymnasium.vector import AutoresetMode
except ImportError:
    AUTORESET: dict[str, Any] = {}
else:
    AUTORESET = {"autoreset_mode": AutoresetMode.SAME_STEP}

if TYPE_CHECKING:
    from selfplay_melee.mock import MockMelee
    from selfplay_melee.opponents import Opponent
    from selfplay_melee.rendering import View

    Block = VectorEnv[F32, NDArray[np.int64], NDArray[Any]]
else:
    Block = VectorEnv

ENV_ID: Final = "selfplay/MockMelee-v1"
RENDER_MODES: Final = ("human", "rgb_array", "ansi")
# Above all features; the largest is the speed of the hardest launch, 30.
OBS_LIMIT: Final = 64.0

Info = dict[str, Any]


def observation_space(width: int) -> spaces.Box[np.float32]:
    """Observation space of one seat."""
    return spaces.Box(-OBS_LIMIT, OBS_LIMIT, (width,), np.float32)


def action_space(actions: ActionSpec) -> spaces.MultiDiscrete:
    """Action space of one seat: buttons, then the categorical heads."""
    return spaces.MultiDiscrete([2] * actions.binary + list(actions.sizes), dtype=np.int64)


class MockMeleeEnv(gymnasium.Env[F32, NDArray[np.int64]]):
    """One game; the agent has seat 0.

    An episode is terminated by the last stock or the timer, truncated by ``max_episode_frames``. The step that ends
    it has the result in ``info``: ``score`` (1 a win, 0.5 a draw, 0 a loss), ``ended_by`` (stocks, timer or cap) and
    ``stats``.

    Seeds: ``reset(seed=)`` starts a series of games that the seed fixes; ``reset()`` after an episode's end goes on
    to the next game of the series, elsewhere it begins a new series.

    Args:
        opponent: In seat 1: the name of a scripted player, a callable (one observation -> one action, at the agent's
            frame skip and delay), or an ``opponents.Player``, such as a policy that was loaded. Scripted players and
            policies play at their own frame skip and delay.
        frame_skip: Frames that one step of the agent lasts.
        delay: Frames from seeing to acting, of the agent.
        render_mode: ``human`` opens a window (needs pygame), ``rgb_array`` draws a picture [360, 640, 3], ``ansi``
            gives text with colours for a terminal. One moment a step: ``metadata["render_fps"]`` is 60 / frame_skip.
            After the end of an episode it is the moment before its last step.
        options: Of ``MockMelee``: characters, stage, max_episode_frames, rewards and others.

    Raises:
        GameError: an unknown mode, or no library for a window.
    """

    metadata: dict[str, Any] = {"render_modes": [*RENDER_MODES], "render_fps": FPS / FRAME_SKIP}  # noqa: RUF012 Gymnasium declares it so

    def __init__(
        self,
        opponent: Opponent = "random",
        *,
        frame_skip: int = FRAME_SKIP,
        delay: int = 0,
        render_mode: str | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self._duel = Duel(1, opponent, frame_skip, delay, **options)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": FPS / frame_skip}
        self._view = view_of(self._duel.game, render_mode, ("agent", name_of(opponent)), FPS / frame_skip)
        self.observation_space = observation_space(self._duel.game.obs_width)
        self.action_space = action_space(self._duel.game.actions)
        self._next: F32 | None = None  # first observation of the next game, where an episode has just ended
        self._playing = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[F32, Info]:
        """Begin an episode; see the class for seeds. There are no options."""
        super().reset(seed=seed)
        obs = self._next
        if seed is not None or obs is None:
            obs = self._duel.reset([draw_seed(self.np_random)])[0]
        self._next = None
        self._playing = True
        if self._view is not None:
            self._view.take()
        return obs, {}

    def step(self, action: ArrayLike) -> tuple[F32, float, bool, bool, Info]:
        """Play ``frame_skip`` frames, fewer where the episode ends.

        Raises:
            ActionError: an action that no controller can express.
            GameError: there is no episode to play.
        """
        if not self._playing:
            raise GameError("no episode is in progress: call reset() first")
        out = self._duel.step([action])
        terminated, truncated = bool(out.terminated[0]), bool(out.truncated[0])
        if terminated or truncated:
            self._next = out.obs[0]
            self._playing = False
            return out.final_obs[0], float(out.reward[0]), terminated, truncated, out.infos[0]
        if self._view is not None:
            self._view.take()
        return out.obs[0], float(out.reward[0]), False, False, {}

    def render(self) -> Any:  # noqa: ANN401 Gymnasium's type has no text
        """Render the current frame as ``render_mode`` says, see the class; None without a mode or with a window.

        Raises:
            GameError: no episode has begun.
        """
        if self._view is None:
            gymnasium.logger.warn(f"nothing is rendered: make the environment with a render_mode of {RENDER_MODES}")
            return None
        return self._view.show()

    def close(self) -> None:
        """Close the window."""
        if self._view is not None:
            self._view.close()


class MockMeleeVectorEnv(Block):
    """B games, each exactly as ``MockMeleeEnv`` plays it; finished games are reset in the same step.

    ``reset(seed=s)`` seeds game i as ``MockMeleeEnv.reset(seed=s + i)`` does; a list gives each game its seed. Where
    an episode ended, ``infos`` has ``final_obs`` and ``final_info``, as Gymnasium's own vector environments give them
    in this mode.

    See ``MockMeleeEnv`` for the arguments; an opponent that is a Player decides for all games at once.
    """

    metadata: dict[str, Any] = {"render_modes": [], **AUTORESET}  # noqa: RUF012 Gymnasium declares it so

    def __init__(
        self,
        num_envs: int = 1,
        opponent: Opponent = "random",
        *,
        frame_skip: int = FRAME_SKIP,
        delay: int = 0,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.num_envs = num_envs
        self._duel = Duel(num_envs, opponent, frame_skip, delay, **options)
        self.single_observation_space = observation_space(self._duel.game.obs_width)
        self.single_action_space = action_space(self._duel.game.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators = [np_random()[0] for _ in range(num_envs)]
        self._playing = False

    def reset(self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None) -> tuple[F32, Info]:
        """Restart every game; without a seed, with the next seeds of each game's generator.

        Raises:
            GameError: not one seed per game, or a reset of some games only, which this environment does itself.
        """
        if options and "reset_mask" in options:
            raise GameError("games are reset by themselves in the step that ends them, reset_mask has no meaning here")
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            if len(seeds) != self.num_envs:
                raise GameError(f"{self.num_envs} games need {self.num_envs} seeds, got {len(seeds)}")
            self._generators = [np_random(each)[0] for each in seeds]
        self._playing = True
        return self._duel.reset([draw_seed(generator) for generator in self._generators]), {}

    def step(self, actions: ArrayLike) -> tuple[F32, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Play one step of every game.

        Raises:
            ActionError: an action that no controller can express.
            GameError: before the first reset.
        """
        if not self._playing:
            raise GameError("no episode is in progress: call reset() first")
        out = self._duel.step(actions)
        infos: Info = {}
        for b, info in out.infos.items():
            infos = self._add_info(infos, {"final_obs": out.final_obs[b], "final_info": info}, b)
        return out.obs, out.reward, out.terminated, out.truncated, infos


def draw_seed(generator: np.random.Generator) -> int:
    return int(generator.integers(2**62))


def view_of(game: MockMelee, mode: str | None, names: tuple[str, str], fps: float) -> View | None:
    """Make the view that renders a block of one game; None without a mode.

    Raises:
        GameError: an unknown mode, or no library for a window.
    """
    if mode is None:
        return None
    if mode not in RENDER_MODES:
        raise UnknownNameError("render_mode", mode, RENDER_MODES)
    from selfplay_melee.rendering import View  # draws with Pillow, which programs that only play can do without

    return View(game, mode, names, fps)


gymnasium.register(
    id=ENV_ID, entry_point="selfplay_melee.gym:MockMeleeEnv", vector_entry_point="selfplay_melee.gym:MockMeleeVectorEnv"
)
