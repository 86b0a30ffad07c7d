"""Writes initial states of the matching game, for trainers that play the games themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from envs.dialogue.contract import DialogueGame, JsonObject
from envs.registry import find_dialogue
from selfplay.checkpoint.store import make_folder, write_file
from selfplay.commands.dialogue_files.parquet import Shape, to_parquet
from selfplay.errors import ConfigError, boundary
from selfplay.seeding import derive

GAME: Final = "matching"
SOURCE_SUFFIX: Final = "_game_selfplay"  # follows the name of the game in the column ``data_source``
DATA_SOURCE: Final = f"{GAME}{SOURCE_SUFFIX}"
STATE_COLUMNS: Final[dict[str, Shape]] = {
    "prompt": [{"role": "string", "content": "string"}],
    "game_state": "string",
    "game_rules": "string",
    "player_index": "int64",
    "game_id": "string",
    "index": "int64",
    "data_source": "string",
}
CHUNK: Final = 100  # states between two notices


@dataclass(frozen=True, slots=True)
class Request:
    """States to write."""

    folder: Path
    sizes: dict[str, int]  # number of states by name of the file
    seed: int
    settings: dict[str, Any]  # of the game
    seats: int  # rows per state: 1 for the first seat, or 2


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """Settings from NAME=VALUE; values are JSON or else strings.

    Raises:
        ConfigError: another form.
    """
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(f"--set {word}: NAME=VALUE is needed, such as known=0.3")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings


def write_states(request: Request, notify: Callable[[str], None]) -> list[Path]:
    """Write a parquet file for each part; existing files are replaced.

    A state depends only on the seed, the name of its part and its number there. Columns: ``prompt``, the messages that
    a seat reads before the first turn; ``game_state``, JSON with dialop's field names; ``game_rules``, JSON;
    ``player_index``; ``game_id``; ``index``, the number in the part; ``data_source``.

    Raises:
        ConfigError: a negative number, or the folder cannot be created.
        GameError: invalid settings.
        CheckpointError: a file cannot be written.
    """
    for name, size in request.sizes.items():
        if size < 0:
            raise ConfigError(f"--num_{name} {size}: must be at least 0")
    rules = find_dialogue(GAME).configure(False, request.settings)
    with boundary(ConfigError, f"cannot write to {request.folder}"):
        make_folder(request.folder)
    files = {name: to_parquet(_rows(request, rules, name, notify), STATE_COLUMNS, {}) for name in request.sizes}
    paths = []
    for name, data in files.items():
        paths.append(request.folder / f"{name}.parquet")
        write_file(paths[-1], data)
    return paths


def _rows(request: Request, rules: Any, part: str, notify: Callable[[str], None]) -> list[JsonObject]:  # noqa: ANN401
    game, size, rows = find_dialogue(GAME), request.sizes[part], list[JsonObject]()
    for first in range(0, size, CHUNK):
        numbers = range(first, min(first + CHUNK, size))
        states = game.states(rules, [derive(request.seed, part, number) for number in numbers])
        for number, state in zip(numbers, states, strict=True):
            begun, name = game.start(rules, state), f"{part}-{request.seed}-{number}"
            rows += [
                state_row(begun, rules, seat=seat, game_id=name, index=number, data_source=DATA_SOURCE)
                for seat in range(request.seats)
            ]
        notify(f"{part}: {numbers.stop} of {size} states")
    return rows


def state_row(
    begun: DialogueGame,
    rules: Any,  # noqa: ANN401
    *,
    seat: int,
    game_id: str,
    index: int,
    data_source: str,
) -> JsonObject:
    """The row of a game before its first turn, for one seat; this reads the seat's first observation."""
    texts = (("system", begun.system(seat)), ("user", begun.observe(seat)))
    return {
        "prompt": [{"role": role, "content": text} for role, text in texts if text],
        "game_state": json.dumps(begun.record()),
        "game_rules": json.dumps(asdict(rules)),
        "player_index": seat,
        "game_id": game_id,
        "index": index,
        "data_source": data_source,
    }
