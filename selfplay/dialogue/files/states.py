"""Writes initial states of a game, for trainers that play the games themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from selfplay.checkpoint.store import make_folder, write_file
from selfplay.dialogue.contract import DialogueGame, JsonObject
from selfplay.dialogue.files.parquet import Shape, to_parquet
from selfplay.dialogue.find import find_dialogue
from selfplay.errors import ConfigError, boundary
from selfplay.seeding import derive

SOURCE_SUFFIX: Final = "_game_selfplay"  # follows the name of the game in the column ``data_source``
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


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """Settings from NAME=VALUE, ConfigError for another form; values are JSON or else strings."""
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


def write_states(
    folder: Path,
    game: str,
    sizes: Mapping[str, int],
    settings: Mapping[str, Any],
    seed: int,
    seats: int,
    notice: Callable[[str], None],
) -> list[Path]:
    """Write a parquet file for each part, named in ``sizes`` with the number of its states; existing ones are replaced.

    A state depends only on the seed, the name of its part and its number there. Columns: ``prompt``, the messages that
    a seat reads before the first turn; ``game_state`` and ``game_rules``, JSON;
    ``player_index``; ``game_id``; ``index``, the number in the part; ``data_source``. A state has a row for each of the
    first ``seats``.

    Raises:
        ConfigError: a negative number, or the folder cannot be created.
        GameError: invalid settings.
        CheckpointError: a file cannot be written.
    """
    for name, size in sizes.items():
        if size < 0:
            raise ConfigError(f"--num_{name} {size}: must be at least 0")
    rules = find_dialogue(game).configure(False, settings)
    with boundary(ConfigError, f"cannot write to {folder}"):
        make_folder(folder)
    files = {}
    for name, size in sizes.items():
        rows = _rows(game, rules, name, size, seed, seats, notice)
        files[folder / f"{name}.parquet"] = to_parquet(rows, STATE_COLUMNS, {})
    for path, data in files.items():
        write_file(path, data)
    return list(files)


def _rows(
    game: str,
    rules: Any,  # noqa: ANN401
    part: str,
    size: int,
    seed: int,
    seats: int,
    notice: Callable[[str], None],
) -> list[JsonObject]:
    entry, rows, source = find_dialogue(game), list[JsonObject](), f"{game}{SOURCE_SUFFIX}"
    for first in range(0, size, CHUNK):
        numbers = range(first, min(first + CHUNK, size))
        states = entry.states(rules, [derive(seed, part, number) for number in numbers])
        for number, state in zip(numbers, states, strict=True):
            begun, name = entry.start(rules, state), f"{part}-{seed}-{number}"
            rows += [
                state_row(begun, rules, seat=seat, game_id=name, index=number, data_source=source)
                for seat in range(seats)
            ]
        notice(f"{part}: {numbers.stop} of {size} states")
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
