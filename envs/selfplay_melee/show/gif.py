"""A fight as an animated GIF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PIL import Image

from selfplay.report.saving import saved
from selfplay_melee.drawing.picture import Painter
from selfplay_melee.drawing.scene import scene_of

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film

GIF_FPS: Final = 20
GIF_SIZE: Final = (1280, 720)
COLOURS: Final = 64  # of a GIF


def write_gif(film: Film, path: Path, fps: int = GIF_FPS, size: tuple[int, int] = GIF_SIZE) -> int:
    """Write a GIF that repeats for ever; its size in bytes. Atomic, and errors as of ``saved``.

    All pictures share one palette, made from a sample of them, and none is dithered, so that equal parts stay equal.
    """
    painter = Painter(scene_of(film), size)
    moments = film.moments(fps)
    sample = moments[:: max(1, len(moments) // 12)]
    palette = _palette([painter.picture(int(t)) for t in sample])
    indexed = (painter.picture(int(t)).quantize(palette=palette, dither=Image.Dither.NONE) for t in moments)
    first = next(indexed)
    with saved(path) as temporary:
        first.save(temporary, "GIF", save_all=True, append_images=indexed, duration=1000 // fps, loop=0)
    return path.stat().st_size


def _palette(sample: Sequence[Image.Image]) -> Image.Image:
    width, height = sample[0].size
    sheet = Image.new("RGB", (width, height * len(sample)))
    for row, picture in enumerate(sample):
        sheet.paste(picture, (0, row * height))
    return sheet.quantize(COLOURS, Image.Quantize.MEDIANCUT)
