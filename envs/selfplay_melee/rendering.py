"""A game of the mock in the render modes of Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.errors import GameError
from selfplay.half_blocks import ansi
from selfplay_melee.drawing.film import Recorder
from selfplay_melee.drawing.items import shots_of
from selfplay_melee.drawing.overlay import HEIGHT, WIDTH
from selfplay_melee.drawing.picture import Painter
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.drawing.story import action_name, clock
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film
    from selfplay_melee.mock import MockMelee

COLUMNS, ROWS = 80, 22  # of the picture in a terminal: 16 to 9
SHARP: Final = 4  # drawn this much larger, then reduced


class View:
    """View of a block of one game, for ``render``: shows the frame of the last ``take``.

    Args:
        game: The block.
        mode: ``human`` (a window), ``rgb_array`` or ``ansi``.
        names: Of the players, by seat.
        fps: Moments a second, at which the window shows them.

    Raises:
        GameError: there is no library for a window.
    """

    def __init__(self, game: MockMelee, mode: str, names: tuple[str, str], fps: float) -> None:
        self._game, self._mode, self._names = game, mode, names
        self._film: Film | None = None
        self._window = _Window(fps) if mode == "human" else None

    def take(self) -> None:
        """Keep the current moment to be shown; a window shows it at once."""
        recorder = Recorder()
        recorder.take(self._game.state, items=shots_of(self._game.memory[0]))
        self._film = recorder.film("", self._names)
        if self._window is not None:
            self._window.show(_pixels(self._film))

    def show(self) -> NDArray[np.uint8] | str | None:
        """A picture [360, 640, 3], text with colours for a terminal, or None where a window shows it.

        Raises:
            GameError: no episode has begun.
        """
        if self._film is None:
            raise GameError("there is nothing to render: call reset() first")
        if self._window is not None:
            return None
        return _text(self._film) if self._mode == "ansi" else _pixels(self._film)

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()


def _pixels(film: Film) -> NDArray[np.uint8]:
    return np.asarray(Painter(scene_of(film)).picture(0))


def _text(film: Film) -> str:
    painter = Painter(scene_of(film), (COLUMNS * SHARP, 2 * ROWS * SHARP), texts=False)
    lines = [
        f"{name[:20]:<20} {np.nan_to_num(player['percent']):4.0f}%  {'●' * int(player['stocks']):<4}  "
        f"{action_name(int(player['action']))}"
        for name, player in zip(film.names, film.players[0], strict=True)
    ]
    picture = ansi(np.asarray(painter.picture(0).reduce(SHARP)))
    return "\n".join([picture, *lines, clock(max(int(film.frames[0]), 0) / FPS)])


class _Window:
    """A window on the screen; it opens with the first picture."""

    def __init__(self, fps: float) -> None:
        try:
            import pygame
        except ModuleNotFoundError as error:
            raise GameError("render_mode 'human' needs pygame, which is not installed: pip install pygame") from error
        self._pygame: Any = pygame
        self._fps = fps
        self._screen: Any = None

    def show(self, pixels: NDArray[np.uint8]) -> None:
        """Show a picture, and wait as long as a moment lasts."""
        pygame = self._pygame
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption("selfplay")
            self._screen, self._clock = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
        pygame.surfarray.blit_array(self._screen, pixels.swapaxes(0, 1))
        pygame.event.pump()  # else the desktop takes the window for one that hangs
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
