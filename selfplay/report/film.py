"""A fight as an animated GIF."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from selfplay.errors import ConfigError, boundary
from selfplay.report.picture import HEIGHT, WIDTH, draw_frame

if TYPE_CHECKING:
    from envs.melee.state import GameState

COLOURS: Final = 64
FRAMES_PER_S: Final = 60


@dataclass(frozen=True, slots=True)
class _Shot:
    game: np.void
    players: NDArray[np.void]


class Recorder:
    """Keeps what one game of a block looked like, moment after moment."""

    def __init__(self, game: int = 0) -> None:
        self._game = game
        self._shots: list[_Shot] = []

    def take(self, state: GameState) -> None:
        """Keep the state as it is now."""
        self._shots.append(_Shot(state.game[self._game].copy(), state.players[self._game].copy()))

    def pictures(
        self, names: Sequence[str], fps: int, size: tuple[int, int] = (WIDTH, HEIGHT)
    ) -> Iterator[Image.Image]:
        """Pictures at even times, ``fps`` a second of game time; each shows the last state kept by then."""
        if not self._shots:
            return
        frames = np.array([int(shot.game["frame"]) for shot in self._shots])
        times = np.arange(frames[0], frames[-1] + 1, FRAMES_PER_S / fps)
        for index in np.searchsorted(frames, times, side="right") - 1:
            shot = self._shots[index]
            yield draw_frame(shot.game, shot.players, names, size)


def write_gif(pictures: Iterable[Image.Image], path: Path, fps: int) -> int:
    """Write a GIF that repeats for ever, atomically; its size in bytes.

    All pictures share one palette, made from a sample of them, and none is dithered: what stands still stays the
    same, and only the part of a picture that changed is stored.

    Raises:
        ValueError: there is no picture.
        ConfigError: the file cannot be written.
    """
    frames = list(pictures)
    if not frames:
        raise ValueError("no picture to write")
    palette = _palette(frames[:: max(1, len(frames) // 12)])
    indexed = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    temporary = path.with_name(path.name + ".tmp")
    with boundary(ConfigError, f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            indexed[0].save(file, "GIF", save_all=True, append_images=indexed[1:], duration=1000 // fps, loop=0)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    return path.stat().st_size


def _palette(sample: Sequence[Image.Image]) -> Image.Image:
    """An image with the colours of all pictures of a sample."""
    width, height = sample[0].size
    sheet = Image.new("RGB", (width, height * len(sample)))
    for row, picture in enumerate(sample):
        sheet.paste(picture, (0, row * height))
    return sheet.quantize(COLOURS, Image.Quantize.MEDIANCUT)
