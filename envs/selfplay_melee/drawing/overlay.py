"""The overlay of a picture: names, percents, stocks, the timer, and a map of the blast zone."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from selfplay_melee.drawing.events import MOVE_NAMES
from selfplay_melee.drawing.story import clock, combo_text

if TYPE_CHECKING:
    from selfplay_melee.drawing.scene import FightScene

Colour = tuple[int, ...]
Point = tuple[float, float]

WIDTH, HEIGHT = 640, 360
COLOURS: Final[tuple[Colour, Colour]] = ((232, 84, 74), (76, 146, 245))  # of the seats
GOLD: Final = (250, 214, 110)
DARK, EDGE, LIGHT = (12, 13, 20), (152, 160, 190), (236, 238, 245)
TIMER_FRAMES: Final = 28_800


def draw_overlay(image: Image.Image, scene: FightScene, t: int) -> None:
    draw = ImageDraw.Draw(image, "RGBA")
    unit = image.height / HEIGHT
    _draw_map(draw, image.width, unit, scene, t)
    left = max(TIMER_FRAMES - max(int(scene.film.frames[t]), 0), 0) / 60
    draw.text((image.width / 2, 8 * unit), clock(left), LIGHT, _font(15 * unit), anchor="ma")
    for seat in range(len(COLOURS)):
        _draw_seat(draw, (image.width * (2 * seat + 1) / 4, image.height), unit, scene, t, seat)


def _draw_seat(draw: ImageDraw.ImageDraw, foot: Point, unit: float, scene: FightScene, t: int, seat: int) -> None:
    """Name, percent and stocks of a seat in a box above ``foot``, over it its move and its combo."""
    player, shot = scene.film.players[t, seat], scene.shots[t, seat]
    x, y = foot
    colour = COLOURS[seat]
    percent = float(np.nan_to_num(player["percent"]))
    box = (x - 74 * unit, y - 56 * unit, x + 74 * unit, y - 4 * unit)
    draw.rounded_rectangle(box, 8 * unit, DARK, colour, max(round(unit), 1))
    draw.text((x, y - 52 * unit), _short(scene.film.names[seat]), colour, _font(12 * unit), anchor="ma")
    draw.text((x - 62 * unit, y - 9 * unit), f"{int(percent)}%", _heat(percent), _font(28 * unit), anchor="ls")
    _draw_event(draw, (x, y - 61 * unit), unit, 12, MOVE_NAMES[int(shot["move"])], LIGHT)
    if shot["hits"]:
        _draw_event(draw, (x, y - 75 * unit), unit, 15, combo_text(int(shot["hits"]), int(shot["dealt"])), GOLD)
    for stock in range(min(int(player["stocks"]), 8)):
        _dot(draw, (x + (64 - 12 * (stock % 4)) * unit, y - (16 + 12 * (stock // 4)) * unit), 4 * unit, colour)


def _draw_event(draw: ImageDraw.ImageDraw, foot: Point, unit: float, size: float, text: str, colour: Colour) -> None:
    draw.text(foot, text, colour, _font(size * unit), anchor="ms", stroke_width=round(1.5 * unit), stroke_fill=DARK)


def _draw_map(draw: ImageDraw.ImageDraw, width: int, unit: float, scene: FightScene, t: int) -> None:
    """The blast zone with floors and players, in the top right corner."""
    left, right, bottom, top = scene.scenery.blast
    scale = width * 0.15 / (right - left)
    x0, y0 = width - (right - left) * scale - 8 * unit, 8 * unit
    line = max(round(unit), 1)

    def at(x: float, y: float) -> Point:
        return x0 + (min(max(x, left), right) - left) * scale, y0 + (top - min(max(y, bottom), top)) * scale

    draw.rectangle((*at(left, top), *at(right, bottom)), fill=(*DARK, 150), outline=(*EDGE, 255), width=line)
    for floor in scene.scenery.floors:
        draw.line([at(*point) for point in floor.tolist()], fill=EDGE, width=line)
    for seat, player in enumerate(scene.film.players[t]):
        x, y = np.nan_to_num([player["x"], player["y"]]).tolist()
        _dot(draw, at(x, y), 3 * unit, COLOURS[seat])


def _dot(draw: ImageDraw.ImageDraw, centre: Point, radius: float, colour: Colour) -> None:
    x, y = centre
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _short(name: str, longest: int = 20) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _heat(percent: float) -> Colour:
    """White at 0, yellow at 60, red from 150 on."""
    if percent < 60:
        return 255, 255, round(245 - percent / 60 * 150)
    return 255, round(255 - min(percent - 60, 90) / 90 * 180), 95


@cache
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
