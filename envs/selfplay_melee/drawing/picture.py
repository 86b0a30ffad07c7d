"""Draws one frame of a scene with Pillow, as ``draw.js`` of the page does on a canvas.

The camera follows the players. A player above the picture is shown by a bubble at its edge; the map in the corner shows
the whole blast zone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw

from selfplay_melee.drawing import burst
from selfplay_melee.drawing.costumes import SEAT, SHADE, SHADED
from selfplay_melee.drawing.items import DECORATION, LASER
from selfplay_melee.drawing.overlay import COLOURS, DARK, EDGE, GOLD, HEIGHT, LIGHT, WIDTH, Colour, Point, draw_overlay
from selfplay_melee.drawing.scene import FROZEN, RAYS, SAFE

if TYPE_CHECKING:
    from selfplay_melee.drawing.figure import BodyPart
    from selfplay_melee.drawing.scene import FightScene

Points = NDArray[Any]  # [N, 2]
Place = Sequence[float] | NDArray[Any]  # x, y

SCALE: Final = 2  # drawn this much larger, then reduced: smooth edges
SKY, STONE, STAR = (26, 29, 44), (62, 66, 88), (58, 62, 84)
WHITE, GLOW = (255, 250, 235), (255, 226, 120)
OUTLINE: Final = 0.05  # of the layers of a figure, in shares of its height, both sides together
RIM: Final = 0.07  # around the whole figure, in the colour of the seat
RIM_LEAST: Final = 1 / 120  # of the height of the picture
PALE: Final = {FROZEN: 0.75, SAFE: 0.5}  # share of light in the colours of a figure, by its tint
STREAK: Final = 9.0  # units, of a laser


class Painter:
    """Draws the frames of a scene.

    Args:
        scene: The scene to draw.
        size: Width and height of pictures in pixels.
        texts: Names, percents and the timer are drawn into the picture.
    """

    def __init__(self, scene: FightScene, size: tuple[int, int] = (WIDTH, HEIGHT), *, texts: bool = True) -> None:
        self._scene = scene
        self._size = size
        self._texts = texts

    def picture(self, t: int) -> Image.Image:
        scene = self._scene
        canvas = _background(scene, self._size, scene.camera[t])
        _draw_stage(canvas, scene, t)
        for seat, (shot, player) in enumerate(zip(scene.shots[t], scene.film.players[t], strict=True)):
            _draw_player(canvas, scene, shot, int(player["action"]), COLOURS[seat])
        for shot in scene.shots[t]:
            _draw_circles(canvas, scene, shot)
        _draw_items(canvas, scene, t)
        image = canvas.image.reduce(SCALE)
        if self._texts:
            draw_overlay(image, scene, t)
        return image


class _Canvas:
    """A picture with the coordinates of the game."""

    def __init__(self, image: Image.Image, camera: NDArray[np.float32]) -> None:
        self.image = image
        self.draw = ImageDraw.Draw(image, "RGBA")
        x, y, width = (float(part) for part in camera)
        self.per_unit = image.width / width
        self._left, self._top = x - width / 2, y + image.height / self.per_unit / 2

    def at(self, point: Place) -> Point:
        """In pixels."""
        return (float(point[0]) - self._left) * self.per_unit, (self._top - float(point[1])) * self.per_unit

    def circle(
        self, centre: Sequence[float] | Points, radius: float, fill: Colour, outline: Colour | None = None
    ) -> None:
        """All in units."""
        r = max(radius * self.per_unit, 1.0)
        x, y = self.at(centre)
        self.draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=outline, width=SCALE)

    def line(self, points: Sequence[Place] | Points, width: float, fill: Colour) -> None:
        """All in units; with round ends."""
        pixels = [self.at(point) for point in points]
        self.draw.line(pixels, fill=fill, width=max(round(width * self.per_unit), 1), joint="curve")
        for end in (points[0], points[-1]):
            self.circle(end, width / 2, fill)

    def polygon(self, points: Sequence[Place] | Points, fill: Colour, grow: float = 0.0) -> None:
        """All in units; ``grow`` is the width of its edge, half of which lies outside."""
        self.draw.polygon([self.at(point) for point in points], fill=fill)
        if grow:
            self.line([*points, points[0]], grow, fill)


def _background(scene: FightScene, size: tuple[int, int], camera: NDArray[np.float32]) -> _Canvas:
    canvas = _Canvas(Image.new("RGB", (size[0] * SCALE, size[1] * SCALE), SKY), camera)
    left, right, bottom, top = scene.scenery.blast
    stars = np.random.default_rng(scene.film.stage + 1).uniform(0, 1, (160, 3))
    for x, y, radius in stars:
        canvas.circle((left + x * (right - left), bottom + y * (top - bottom)), 0.2 + 0.3 * radius, STAR)
    return canvas


def _draw_stage(canvas: _Canvas, scene: FightScene, t: int) -> None:
    for left, right, height in scene.moving[t]:
        canvas.line([(left, height - 0.6), (right, height - 0.6)], 1.4, EDGE)
    for body in scene.scenery.bodies:
        canvas.polygon(body, STONE)
    for floor in scene.scenery.floors:
        canvas.line(floor - (0.0, 0.6), 1.4, EDGE)


def _draw_player(canvas: _Canvas, scene: FightScene, shot: np.void, action: int, colour: Colour) -> None:
    x, y = canvas.at((shot["x"], shot["y"]))
    width, height = canvas.image.size
    if shot["rays"]:
        _draw_burst(canvas, shot, action, colour)
    elif shot["gone"]:
        return
    elif not (0 <= x <= width and 0 <= y <= height):
        _draw_bubble(canvas, (x, y), colour)
    else:
        _draw_figure(canvas, scene, shot, colour)


def _draw_figure(canvas: _Canvas, scene: FightScene, shot: np.void, colour: Colour) -> None:
    look = scene.looks[int(shot["look"])]
    feet = np.array([shot["x"], shot["y"]])
    joints = scene.figures[int(shot["figure"])].astype(np.float64)
    if shot["halo"]:
        canvas.line(feet + np.array([(-7, -0.7), (7, -0.7)]), 1.6, GOLD)
    mirror = np.array([int(shot["facing"]), 1])
    rig = scene.rigs[int(shot["look"])]
    layers = [[(part, part.places(joints) * mirror + feet) for part in layer] for layer in rig]
    edge, rim = OUTLINE * look.height, max(RIM * look.height, canvas.image.height / canvas.per_unit * RIM_LEAST)
    outline = mix(DARK, LIGHT, PALE.get(int(shot["tint"]), 0.0))
    for layer in layers:
        _draw_outlines(canvas, layer, colour, edge + rim)
    for layer in layers:
        _draw_outlines(canvas, layer, outline, edge)
        for part, points in layer:
            _draw_part(canvas, part, points, _paint(part.paint, colour, int(shot["tint"])))
    if shot["shield"] > 0:
        canvas.circle(feet + np.array([0, look.shield_y]), float(shot["shield"]), (*colour, 90), (*LIGHT, 200))
    if shot["sparks"]:
        _draw_sparks(canvas, feet + np.array([0, look.height / 2]), look.height * 0.75, int(shot["figure"]))


def _paint(paint: str, seat: Colour, tint: int) -> Colour:
    share = PALE.get(tint, 0.0)
    colour = seat if paint == SEAT else mix(seat, (0, 0, 0), SHADED) if paint == SHADE else ImageColor.getrgb(paint)
    return mix(colour, LIGHT, share)


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    return tuple(round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))


def _draw_outlines(canvas: _Canvas, layer: Sequence[tuple[BodyPart, Points]], colour: Colour, grow: float) -> None:
    for part, points in layer:
        if not part.inner:
            _draw_part(canvas, part, points, colour, grow)


def _draw_part(canvas: _Canvas, part: BodyPart, points: Points, colour: Colour, grow: float = 0.0) -> None:
    if part.kind == "line":
        canvas.line(points, part.size + grow, colour)
    elif part.kind == "circle":
        canvas.circle(points[0], part.size + grow / 2, colour)
    else:
        canvas.polygon(points, colour, grow)


def _draw_circles(canvas: _Canvas, scene: FightScene, shot: np.void) -> None:
    for forward, up, radius in scene.circles[int(shot["circles"])]:
        centre = (float(shot["x"] + shot["facing"] * forward), float(shot["y"] + up))
        canvas.circle(centre, float(radius), (255, 196, 84, 150), (255, 240, 190, 220))


def _draw_items(canvas: _Canvas, scene: FightScene, t: int) -> None:
    """Lasers as streaks along their way, other things as discs."""
    for item in scene.items_at(t):
        place = np.array([item["x"], item["y"]])
        if item["kind"] == LASER:
            way = np.array([math.cos(item["way"]), math.sin(item["way"])]) * STREAK / 2
            canvas.line([place - way, place + way], 1.6, (255, 92, 92))
            canvas.line([place - way, place + way], 0.6, WHITE)
        elif item["kind"] == DECORATION:
            canvas.circle(place, 2.2, (96, 102, 130))
        else:
            canvas.circle(place, 2.4, GLOW, DARK)


def _draw_sparks(canvas: _Canvas, centre: Place, radius: float, turn: int) -> None:
    for ray in range(6):
        angle = ray * math.tau / 6 + turn * 0.7
        way = np.array([math.cos(angle), math.sin(angle)])
        canvas.line([centre + way * radius, centre + way * radius * 1.35], 0.9, GLOW)


def _draw_burst(canvas: _Canvas, shot: np.void, action: int, colour: Colour) -> None:
    """A burst from the blast line, or from the edge of the picture, where the player was knocked out."""
    age = 1 - float(shot["rays"]) / RAYS
    width, height = canvas.image.size
    x, y = canvas.at((shot["x"], shot["y"]))
    start = np.array([min(max(x, 0.0), width), min(max(y, 0.0), height)])
    right, up = burst.INWARDS[min(max(action, 0), len(burst.INWARDS) - 1)]
    unit, inwards, (head, tail) = height / 2, math.atan2(-up, right), burst.ray_at(age)

    def circle(radius: float, edge: float, fill: Colour | None, outline: Colour | None) -> None:
        box = (*(start - radius), *(start + radius))
        canvas.draw.ellipse(box, fill=fill, outline=outline, width=max(round(edge), 1))

    circle(unit * burst.RING * head, unit * burst.RING_WIDTH * (1 - age), None, (*colour, round(255 * (1 - age))))
    for ray in burst.RAYS:
        way = np.array([math.cos(inwards + ray.angle), math.sin(inwards + ray.angle)])
        across = np.array([-way[1], way[0]]) * unit * ray.width * (1 - age) / 2
        from_, to = start + way * unit * ray.length * tail, start + way * unit * ray.length * head
        corners = [from_, from_ + (to - from_) / 3 + across, to, from_ + (to - from_) / 3 - across]
        canvas.draw.polygon([tuple(corner) for corner in corners], fill=LIGHT if ray.light else colour)
    circle(unit * burst.FLASH * (1 - age) ** 2, 1, LIGHT, None)


def _draw_bubble(canvas: _Canvas, point: Point, colour: Colour) -> None:
    """A circle at the edge of the picture with an arrow to the player outside."""
    width, height = canvas.image.size
    unit = height / 120
    x = min(max(point[0], 7 * unit), width - 7 * unit)
    y = min(max(point[1], 7 * unit), height - 7 * unit)
    angle = math.atan2(point[1] - y, point[0] - x)
    tip = [
        (x + math.cos(angle + turn) * r * unit, y + math.sin(angle + turn) * r * unit)
        for turn, r in ((0.0, 6.6), (0.35, 4.6), (-0.35, 4.6))
    ]
    canvas.draw.polygon(tip, fill=LIGHT)
    for radius, fill in ((4.5, LIGHT), (2.6, colour)):
        r = radius * unit
        canvas.draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=DARK, width=SCALE)
