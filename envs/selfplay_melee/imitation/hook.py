"""What imitation must know of fights: folders of replays, characters, buttons and sticks. Imports no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.errors import ConfigError
from selfplay.imitation.hook import Home, Imitation, Rate
from selfplay_melee.controller import BUTTONS, C_X, CENTRE, MAIN_X
from selfplay_melee.imitation.settings import PROGRAM
from selfplay_melee.limits import LEDGE_GRAB_LIMIT
from selfplay_melee.rated import FightBody
from selfplay_melee.replays.folder import replay_files
from selfplay_melee.tables import CHARACTERS

if TYPE_CHECKING:
    from selfplay.learner.imitation_metrics import ImitationMetrics
    from selfplay_melee.imitation.settings import FightImitationConfig
    from selfplay_melee.replays.games import Game
    from selfplay_melee.replays.library import Library

CACHE: Final = ".replay_cache"  # hidden from the search for runs
MAX_FRAMES: Final = 3600  # of a fight of the policies, by default


def _open(config: FightImitationConfig, parent: Path) -> Library:
    from selfplay_melee.replays.library import Library  # loads the compiled rules

    data = config.data
    cache = None if data.no_cache else Path(data.cache) if data.cache else parent / CACHE
    return Library(
        Path(data.replays or ""), data.frame_skip, data.delay, cache,
        characters=data.character, player=data.player, max_files=data.max_files,
        cache_bytes=int(data.cache_gb * 1e9),
    )  # fmt: skip


def _home(config: FightImitationConfig, games: Sequence[Game]) -> Home:
    """Fights of the most frequent character with a table, on the most frequent stage."""
    data, rows = config.data, _rows_by_character(games)
    character = next((name for name in rows if name in CHARACTERS), None)
    if character is None:
        raise ConfigError(
            f"{data.replays}: there are only players of {', '.join(rows)} to learn from; "
            f"known are {', '.join(CHARACTERS)}"
        )
    stage = Counter(game.stage for game in games).most_common(1)[0][0]
    body = FightBody(  # of both seats; the configuration has all characters
        character=character,
        opponent_character=None,
        stage=stage,
        max_episode_frames=MAX_FRAMES,
        ledge_grab_limit=LEDGE_GRAB_LIMIT,
        frame_skip=data.frame_skip,
        delay=data.delay,
    )
    return Home(asdict(body), {"rows_by_character": rows}, named="", played=f" --character {character} --stage {stage}")


def _rows_by_character(games: Sequence[Game]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for game in games:
        for seat in game.seats:
            counts[seat.character] += seat.rows
    return dict(counts.most_common())


def rates(found: ImitationMetrics) -> list[Rate]:
    """How often buttons are pressed and sticks are out."""
    pressed = zip(BUTTONS, found.pressed, strict=True)
    return [
        *(Rate(name, f"{name} pressed", *shares, f"{name} is pressed") for name, shares in pressed),
        *(Rate(f"{name}_stick_out", f"{name} stick out", *shares) for name, shares in found.off_centre.items()),
    ]


def fights() -> Imitation:
    """The imitation of fights."""
    return Imitation(
        program=PROGRAM,
        check=replay_files,
        open=_open,
        home=_home,
        emphasis=lambda config: (config.learn.button_power, config.learn.button_limit),
        pairs={"main": (MAIN_X, CENTRE), "c": (C_X, CENTRE)},
        rates=rates,
    )
