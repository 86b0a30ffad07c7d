"""Draws one frame of a fight.

The camera stands still, so that pictures differ only where something moved. Who leaves the picture is shown in a
bubble at its edge; the map in the corner shows the whole blast zone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from envs.melee.actions import CATEGORIES, CATEGORY_OF
from envs.melee.tables import CHARACTERS, Tables, load_tables
from envs.melee.tables.layout import THROW_HIT
from selfplay.report.figure import BUILDS, Build, Point, pose_of, skeleton

WIDTH, HEIGHT = 640, 360
SCALE: Final = 2  # drawn this much larger, then reduced: smooth edges
COLOURS: Final = ((232, 84, 74), (76, 146, 245))
DARK, SKY, STONE, EDGE, LIGHT = (12, 13, 20), (26, 29, 44), (62, 66, 88), (152, 160, 190), (236, 238, 245)
MARGIN: Final = 34.0  # units beside the floor
BELOW: Final = 46.0  # units under it
TIMER_FRAMES: Final = 28_800
_NAMES: Final = {number: name for name, number in CHARACTERS.items()}

Colour = tuple[int, ...]


class _Canvas:
    """A picture whose coordinates are the game's."""

    def __init__(self, image: Image.Image, stage: np.void) -> None:
        self.image = image
        self.draw = ImageDraw.Draw(image, "RGBA")
        self.left = float(stage["surface_left"][0]) - MARGIN
        self.per_unit = image.width / (float(stage["surface_right"][0]) + MARGIN - self.left)
        self.top = image.height / self.per_unit - BELOW

    def at(self, x: float, y: float) -> Point:
        return (x - self.left) * self.per_unit, (self.top - y) * self.per_unit

    def circle(self, centre: Point, radius: float, fill: Colour | None, outline: Colour | None = None) -> None:
        """Centre in pixels, radius in units."""
        r = max(radius * self.per_unit, 1.0)
        x, y = centre
        self.draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=outline, width=SCALE)

    def line(self, joints: Sequence[Point], width: float, fill: Colour) -> None:
        """Joints in pixels, width in units; with round ends."""
        self.draw.line(list(joints), fill=fill, width=max(round(width * self.per_unit), 1), joint="curve")
        for joint in (joints[0], joints[-1]):
            self.circle(joint, width / 2, fill)


def draw_frame(
    game: np.void, players: NDArray[np.void], names: Sequence[str], size: tuple[int, int] = (WIDTH, HEIGHT)
) -> Image.Image:
    """One frame.

    Args:
        game: GAME record.
        players: PLAYER records [P].
        names: Of the players, by seat.
        size: Width and height in pixels.
    """
    tables = load_tables()
    stage = tables.stages[tables.stage_rows[int(game["stage"])]]
    canvas = _Canvas(_background(int(game["stage"]), size).copy(), stage)
    for seat, player in enumerate(players):
        _draw_player(canvas, tables, player, COLOURS[seat % len(COLOURS)])
    for player in players:
        _draw_hits(canvas, tables, player)
    _draw_map(canvas, stage, players)
    image = canvas.image.resize(size, Image.Resampling.BOX)
    _draw_text(image, game, players, names)
    return image


@cache
def _background(stage_id: int, size: tuple[int, int]) -> Image.Image:
    """Sky, solid body and platforms of a stage, enlarged by SCALE."""
    tables = load_tables()
    stage = tables.stages[tables.stage_rows[stage_id]]
    image = Image.new("RGB", (size[0] * SCALE, size[1] * SCALE), SKY)
    canvas = _Canvas(image, stage)
    rng = np.random.default_rng(stage_id)
    for x, y in rng.uniform(0, 1, (70, 2)):
        canvas.circle((x * image.width, y * image.height), float(rng.uniform(0.2, 0.5)), (58, 62, 84))
    count = int(stage["num_outline"])
    right = [(float(x), float(y)) for x, y in zip(stage["outline_x"][:count], stage["outline_y"][:count], strict=True)]
    body = right + [(-x, y) for x, y in reversed(right)]
    canvas.draw.polygon([canvas.at(x, y) for x, y in body], fill=STONE)
    for row in range(int(stage["num_surfaces"])):
        y = float(stage["surface_y"][row])
        ends = [canvas.at(float(stage[f"surface_{side}"][row]), y - 0.6) for side in ("left", "right")]
        canvas.line(ends, 1.4, EDGE)
    return image


def _draw_player(canvas: _Canvas, tables: Tables, player: np.void, colour: Colour) -> None:
    category = CATEGORIES[CATEGORY_OF[int(player["action"])]]
    x, y = canvas.at(float(player["x"]), float(player["y"]))
    width, height = canvas.image.size
    if category == "dead":
        if int(player["stocks"]) > 0 or player["action_frame"] < 60:
            _draw_blast(canvas, player, colour)
    elif not (0 <= x <= width and 0 <= y <= height):
        _draw_bubble(canvas, (x, y), colour)
    else:
        _draw_figure(canvas, tables, player, category, colour)


def _draw_figure(canvas: _Canvas, tables: Tables, player: np.void, category: str, colour: Colour) -> None:
    looks = tables.characters[tables.character_rows[int(player["character"])]]
    height = float(looks["hurt_height"])
    frame, facing = float(player["action_frame"]), float(player["facing"])
    x, y = float(player["x"]), float(player["y"])
    if player["hitlag"] > 0:
        x += 0.6 * (-1) ** int(player["hitlag"])  # both shake while a hit freezes them
    build = BUILDS.get(_NAMES.get(int(player["character"]), ""), Build())
    bones = skeleton(pose_of(category, frame), height, build)

    def place(joints: Sequence[Point]) -> list[Point]:
        return [canvas.at(x + facing * forward, y + up) for forward, up in joints]

    if category == "respawn":
        canvas.line([canvas.at(x - 7, y - 0.7), canvas.at(x + 7, y - 0.7)], 1.6, (250, 214, 110))
    body = _shade(player, category, colour)
    behind = tuple(round(part * 0.62) for part in body)
    limb, head = build.limbs * height, place([bones.head])[0]
    for outline, grow in ((DARK, 0.06 * height), (None, 0.0)):
        if bones.tail:
            canvas.line(place(bones.tail), 0.8 * limb + grow, outline or behind)
        for joints in bones.back:
            canvas.line(place(joints), limb + grow, outline or behind)
        for ear in bones.ears:
            canvas.draw.polygon(place(ear), fill=outline or body, outline=outline or body, width=1 + int(grow * SCALE))
        canvas.line(place(bones.torso), 2.0 * limb + grow, outline or body)
        canvas.circle(head, 0.13 * height + grow / 2, outline or body)
        for joints in bones.front:
            canvas.line(place(joints), limb + grow, outline or body)
    canvas.circle((head[0] + facing * 0.06 * height * canvas.per_unit, head[1]), 0.03 * height, DARK)
    if category in ("shield", "shield_stun"):
        radius = float(looks["shield_radius"]) * (0.15 + 0.85 * float(player["shield"]) / 60.0)
        canvas.circle(canvas.at(x, y + float(looks["shield_y"])), radius, (*colour, 90), (*LIGHT, 200))
    if player["hitstun"] > 0:
        _draw_sparks(canvas, canvas.at(x, y + height / 2), height * 0.75, int(player["action_frame"]))


def _shade(player: np.void, category: str, colour: Colour) -> Colour:
    """White while frozen by a hit, pale while nothing can hit the player."""
    if player["hitlag"] > 0:
        return 255, 250, 235
    if player["invulnerable"] or category in ("spot_dodge", "roll", "air_dodge"):
        return tuple((part + 2 * 235) // 3 for part in colour)
    return colour


def _draw_hits(canvas: _Canvas, tables: Tables, player: np.void) -> None:
    """The circles that hit on this frame."""
    action = tables.actions[tables.character_rows[int(player["character"])], int(player["action"])]
    frame = int(player["action_frame"])
    for hit in tables.hits[int(action["first_hit"]) : int(action["first_hit"] + action["num_hits"])]:
        if hit["kind"] == THROW_HIT or not hit["start"] <= frame <= hit["end"]:
            continue
        forward, up = tables.points[int(hit["first_point"]) + frame - int(hit["start"])]
        centre = canvas.at(float(player["x"] + player["facing"] * forward), float(player["y"] + up))
        canvas.circle(centre, float(hit["radius"]), (255, 196, 84, 150), (255, 240, 190, 220))


def _draw_sparks(canvas: _Canvas, centre: Point, radius: float, frame: int) -> None:
    for ray in range(6):
        angle = ray * math.tau / 6 + frame * 0.7
        ends = [
            (centre[0] + math.cos(angle) * r * canvas.per_unit, centre[1] + math.sin(angle) * r * canvas.per_unit)
            for r in (radius, radius * 1.35)
        ]
        canvas.line(ends, 0.9, (255, 226, 120))


def _draw_blast(canvas: _Canvas, player: np.void, colour: Colour) -> None:
    """Rays from the edge where the player left, shorter and shorter for half a second."""
    left = 1.0 - float(player["action_frame"]) / 30.0
    if left <= 0:
        return
    width, height = canvas.image.size
    x, y = canvas.at(float(player["x"]), float(player["y"]))
    start = min(max(x, 0.0), width), min(max(y, 0.0), height)
    inwards = math.atan2(height / 2 - start[1], width / 2 - start[0])
    for ray in range(-3, 4):
        angle = inwards + ray * 0.16
        length = left * (height * 0.55 - abs(ray) * height * 0.1)
        tip = start[0] + math.cos(angle) * length, start[1] + math.sin(angle) * length
        canvas.line([start, tip], 3.5 - abs(ray) * 0.6, LIGHT if ray == 0 else colour)


def _draw_bubble(canvas: _Canvas, point: Point, colour: Colour) -> None:
    """A circle at the edge of the picture with an arrow to who is outside."""
    width, height = canvas.image.size
    inset = 7.0 * canvas.per_unit
    x = min(max(point[0], inset), width - inset)
    y = min(max(point[1], inset), height - inset)
    angle = math.atan2(point[1] - y, point[0] - x)
    canvas.circle((x, y), 4.5, (*LIGHT, 210), DARK)
    canvas.circle((x, y), 2.6, colour)
    tip = [
        (x + math.cos(angle + turn) * r * canvas.per_unit, y + math.sin(angle + turn) * r * canvas.per_unit)
        for turn, r in ((0.0, 6.6), (0.35, 4.6), (-0.35, 4.6))
    ]
    canvas.draw.polygon(tip, fill=LIGHT)


def _draw_map(canvas: _Canvas, stage: np.void, players: NDArray[np.void]) -> None:
    """The blast zone with floor and players, in the top right corner."""
    left, right = float(stage["blast_left"]), float(stage["blast_right"])
    bottom, top = float(stage["blast_bottom"]), float(stage["blast_top"])
    scale = canvas.image.width * 0.15 / (right - left)
    x0, y0 = canvas.image.width - (right - left) * scale - 8 * SCALE, 8 * SCALE

    def at(x: float, y: float) -> Point:
        return x0 + (min(max(x, left), right) - left) * scale, y0 + (top - min(max(y, bottom), top)) * scale

    canvas.draw.rectangle((*at(left, top), *at(right, bottom)), fill=(*DARK, 150), outline=(*EDGE, 255), width=SCALE)
    for row in range(int(stage["num_surfaces"])):
        y = float(stage["surface_y"][row])
        ends = [at(float(stage["surface_left"][row]), y), at(float(stage["surface_right"][row]), y)]
        canvas.draw.line(ends, fill=EDGE, width=SCALE)
    for seat, player in enumerate(players):
        canvas.circle(at(float(player["x"]), float(player["y"])), 1.2, COLOURS[seat % len(COLOURS)])


def _draw_text(image: Image.Image, game: np.void, players: NDArray[np.void], names: Sequence[str]) -> None:
    """Timer, and for each seat its name, percent and stocks."""
    draw = ImageDraw.Draw(image)
    left = max(TIMER_FRAMES - int(game["frame"]), 0) / 60
    clock = f"{int(left // 60)}:{left % 60:04.1f}"
    draw.text((image.width / 2, 8), clock, LIGHT, _font(15), anchor="ma")
    for seat, player in enumerate(players):
        x = image.width * (2 * seat + 1) / (2 * len(players))
        y = image.height
        colour = COLOURS[seat % len(COLOURS)]
        percent = float(player["percent"])
        draw.rounded_rectangle((x - 74, y - 56, x + 74, y - 4), 8, DARK, colour, 1)
        draw.text((x, y - 52), names[seat], colour, _font(12), anchor="ma")
        draw.text((x - 62, y - 9), f"{int(percent)}%", _heat(percent), _font(28), anchor="ls")
        for stock in range(min(int(player["stocks"]), 8)):
            cx = x + 64 - 12 * (stock % 4)
            cy = y - 16 - 12 * (stock // 4)
            draw.ellipse((cx - 4, cy - 4, cx + 4, cy + 4), colour)


def _heat(percent: float) -> Colour:
    """White at 0, yellow at 60, red from 150 on."""
    if percent < 60:
        return 255, 255, round(245 - percent / 60 * 150)
    return 255, round(255 - min(percent - 60, 90) / 90 * 180), 95


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
