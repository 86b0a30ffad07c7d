"""The play page: a person fights policies and scripted players of the mock, in one file without a server.

The rules run as WebAssembly and the policies in JavaScript, see ``docs/melee/internals/browser_rules.md`` and
``docs/melee/internals/browser_policies.md``. All that a page needs is in the JSON element ``game``, which
``view/play.js`` reads.
"""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.code_cache import sources_hash
from selfplay.league.bradley_terry import UPSETS
from selfplay.league.normal_equations import PSEUDO, RIDGE
from selfplay.league.ratings import PRIOR_DRAWS
from selfplay.league.scale import ANCHOR_ELO, ELO
from selfplay.league.statistics import Z95
from selfplay.report.standalone_page import read, read_modules, standalone_page, theme
from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.browser.figures import kept_move_tables
from selfplay_melee.browser.scene import SCRIPTS, scene_facts
from selfplay_melee.drawing.openings import opening_facts
from selfplay_melee.physics.actions.special import SIDE_STICK, UP_STICK
from selfplay_melee.play_page import NAME_LETTERS, NAMELESS
from selfplay_melee.play_page.special_slots import STARTS, WORDS, special_slots
from selfplay_melee.show.page import little_endian, player
from selfplay_melee.tables import CHARACTERS, STAGES

VERSION: Final = 1
STYLES: Final = ("controls.css", "play.css")
MODULES: Final = (
    "packing.js", "dom.js", "match.js", "keyboard.js", "gamepad.js", "touch.js", "controls.js", "controls_panel.js",
    "loop.js", "choices.js", "specials.js", "menu.js", "hints.js", "interruptions.js", "lens.js", "sound.js",
    "touch_view.js", "arena.js", "openings.js", "share.js", "highlight.js", "clip.js", "result.js", "remote.js",
    "rating.js", "person_rating.js", "rating_view.js", "play.js",
)  # fmt: skip
"""The modules of ``view``, each after those that it imports."""
FIT: Final = {
    "origin": ANCHOR_ELO, "step": ELO, "upsets": UPSETS, "draws": PRIOR_DRAWS, "pseudo": PSEUDO, "ridge": RIDGE,
    "z": Z95,
}  # fmt: skip
"""Constants of the fit of ratings, for ``view/rating.js``."""

SPECIAL_MOVES: Final = {"words": WORDS, "starts": STARTS, "side": SIDE_STICK, "up": UP_STICK}
"""What ``special_slots`` gives in words, and where a stick asks for a special move, for ``view/specials.js``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """A policy or a scripted player that a person can choose.

    ``delay`` and ``frame_skip`` are in frames. ``interval`` is the 95% interval of ``elo``.
    """

    id: str
    label: str
    group: str  # the heading in the list
    about: str = ""
    elo: float | None = None
    interval: tuple[float | None, float | None] | None = None
    generation: int | None = None
    characters: Sequence[str] = ()  # that a policy was trained with: its own, then the other; by name
    stage: str | None = None  # that it was trained on
    delay: int = 0
    frame_skip: int = 1
    bot: int | None = None  # number of a scripted player; None: a policy
    rated: bool = True  # whether games against it can count for ratings
    description: Mapping[str, Any] | None = None  # of ``browser_policy``
    weights: bytes | None = None  # of ``browser_policy``; None: the server plays it


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayContent:
    """Content of a play page; characters and stages by name."""

    title: str
    about: str
    characters: Sequence[str]
    stages: Sequence[str]
    opponents: Sequence[Opponent]
    options: Mapping[str, int]  # of all games, see ``step_options``
    policy_script: str  # the modules of ``selfplay.policy.browser`` as parts of one script
    defaults: Mapping[str, Any] = field(default_factory=dict)  # initial choices, see ``view/choices.js``
    rated: Mapping[str, Any] | None = None  # the choices of games that count for ratings, and a name of their scale
    server: Mapping[str, str] | None = None  # that takes games back: its ``url`` and ``token``
    person: str = ""


def play_page(content: PlayContent) -> str:
    """The page. The first one takes a minute, since the rules are compiled for browsers.

    Raises:
        WasmError: the rules cannot be compiled for browsers.
        UnknownNameError: there is no such character or stage.
    """
    view = resources.files(__package__) / "view"
    parts = player("h2")
    melee = resources.files("selfplay_melee.browser")
    scripts = (content.policy_script, read_modules(melee, RULES_JS.name, *SCRIPTS), parts.script)
    return standalone_page(
        read(view, "play.html"),
        theme() + parts.style + read(view, *STYLES),
        "".join(scripts) + read_modules(view, *MODULES),
        {"game": game_data(content)},
        wasm=True,
        served=content.server is not None,
        title=html.escape(content.title),
        player=parts.html,
    )


def game_data(content: PlayContent) -> dict[str, Any]:
    """Document that ``view/play.js`` reads."""
    characters, stages = _ids(content.characters, CHARACTERS), _ids(content.stages, STAGES)
    tables = kept_move_tables(list(characters.values()))
    facts = scene_facts(list(characters.values()), list(stages.values()))
    return {
        "version": VERSION,
        "sources": sources_hash("selfplay_melee"),
        "title": content.title,
        "about": content.about,
        "rules": packed_bytes(rules_module()),
        "tables": packed_bytes(table_bytes(content.characters, content.stages)),
        "facts": facts,
        "openings": opening_facts(),
        "figures": {name: packed(table, differences=name == "figures") for name, table in tables.items()},
        "characters": [
            {"id": number, "name": name, "label": look["name"], "specials": special_slots(name)}
            for (name, number), look in zip(characters.items(), facts["looks"], strict=True)
        ],
        "stages": [
            {"id": number, "name": name, "label": facts["stages"][number]["stage"]} for name, number in stages.items()
        ],
        "opponents": [_opponent(opponent) for opponent in content.opponents],
        "options": dict(content.options),
        "defaults": dict(content.defaults),
        "rated": content.rated,
        "fit": FIT,
        "special_moves": SPECIAL_MOVES,
        "server": content.server,
        "person": content.person,
        "name_letters": NAME_LETTERS,
        "nameless": NAMELESS,
    }


def _ids(names: Collection[str], ids: Mapping[str, int]) -> dict[str, int]:
    """Ids by name, in a fixed order; unknown names are left to ``table_bytes``."""
    return {name: ids[name] for name in sorted(set(names)) if name in ids}


def _opponent(opponent: Opponent) -> dict[str, Any]:
    weights = None if opponent.weights is None else packed(np.frombuffer(opponent.weights, "<f4"))
    return asdict(replace(opponent, weights=None)) | {
        "kind": "policy" if opponent.bot is None else "bot",
        "weights": weights,
        "remote": opponent.bot is None and weights is None,
    }


def packed(array: NDArray[np.generic], *, differences: bool = False) -> dict[str, Any]:
    """An array, compressed by gzip, in base64; ``view/packing.js`` unpacks it.

    The first byte of all numbers stands before the second of all and so on, since neighbours are alike.

    Args:
        array: Of one of the types of ``fight.page``.
        differences: Of rows that resemble the one before: keep by how much each differs from it. Of whole numbers only.
    """
    kind, little = little_endian(array)
    content: dict[str, Any] = {"type": kind}
    if differences:
        rows = little.reshape(len(little), -1)
        content["row"] = rows.shape[1]
        little = rows.copy()
        little[1:] -= rows[:-1]
    planes = little.reshape(-1, 1).view(np.uint8).T
    content["data"] = base64.b64encode(gzip.compress(planes.tobytes(), mtime=0)).decode()
    return content


def packed_bytes(content: bytes) -> dict[str, Any]:
    return packed(np.frombuffer(content, np.uint8))
