"""States of the matching game without conversations, in bulk, for trainers that play the games themselves."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from envs.dialogue.contract import JsonObject
from envs.registry import find_dialogue
from selfplay.checkpoint.store import make_folder, write_file
from selfplay.errors import ConfigError, boundary
from selfplay.seeding import derive

GAME: Final = "matching"
DATA_SOURCE: Final = "matching_game_selfplay"
CHUNK: Final = 100  # states between two words about how far it is


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be written."""

    folder: Path
    sizes: dict[str, int]  # states by name of the file
    seed: int
    settings: dict[str, Any]  # of the game
    seats: int  # rows of a state: the first seat's, or one for each


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """Settings that a user gave as NAME=VALUE, values as JSON where they are.

    Raises:
        ConfigError: one has another form.
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


def write_states(request: Request, tell: Callable[[str], None]) -> list[Path]:
    """Write a parquet file for each part, once all are made; an existing file is replaced whole.

    A state depends on the seed, the name of its part and its number in it, and on nothing else; no state is in two
    parts. Columns: ``prompt``, the messages that a seat reads before the first word; ``game_state``, JSON under the
    field names of dialop; ``game_rules``, the settings, JSON; ``player_index``; ``game_id``; ``index``, the state's
    number in its part; ``data_source``.

    Raises:
        ConfigError: a number is impossible, or the folder cannot be made.
        GameError: the settings are of no game.
        CheckpointError: a file cannot be written.
    """
    for name, size in request.sizes.items():
        if size < 0:
            raise ConfigError(f"--num_{name} {size}: must be at least 0")
    rules = find_dialogue(GAME).configure(False, request.settings)
    with boundary(ConfigError, f"cannot write to {request.folder}"):
        make_folder(request.folder)
    files = {name: _as_parquet(_rows(request, rules, name, tell)) for name in request.sizes}
    paths = []
    for name, data in files.items():
        paths.append(request.folder / f"{name}.parquet")
        write_file(paths[-1], data)
    return paths


def _rows(request: Request, rules: Any, part: str, tell: Callable[[str], None]) -> list[JsonObject]:  # noqa: ANN401
    size, rows = request.sizes[part], list[JsonObject]()
    for first in range(0, size, CHUNK):
        numbers = range(first, min(first + CHUNK, size))
        rows += _rows_of(rules, request, part, numbers)
        tell(f"{part}: {numbers.stop} of {size} states")
    return rows


def _rows_of(rules: Any, request: Request, part: str, numbers: Sequence[int]) -> list[JsonObject]:  # noqa: ANN401
    game = find_dialogue(GAME)
    states = game.states(rules, [derive(request.seed, part, number) for number in numbers])
    rows = []
    for number, state in zip(numbers, states, strict=True):
        begun = game.start(rules, state)
        for seat in range(request.seats):
            told = (("system", begun.system(seat)), ("user", begun.observe(seat)))
            rows.append(
                {
                    "prompt": [{"role": role, "content": text} for role, text in told if text],
                    "game_state": json.dumps(begun.record()),
                    "game_rules": json.dumps(asdict(rules)),
                    "player_index": seat,
                    "game_id": f"{part}-{request.seed}-{number}",
                    "index": number,
                    "data_source": DATA_SOURCE,
                }
            )
    return rows


def _as_parquet(rows: list[JsonObject]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is missing, which writes parquet: pip install -e '.[dialogue]'") from error
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    schema = pa.schema(
        [
            ("prompt", pa.list_(message)),
            ("game_state", pa.string()),
            ("game_rules", pa.string()),
            ("player_index", pa.int64()),
            ("game_id", pa.string()),
            ("index", pa.int64()),
            ("data_source", pa.string()),
        ]
    )
    buffer = io.BytesIO()
    with boundary(ConfigError, "cannot make a parquet file"):
        parquet.write_table(pa.Table.from_pylist(rows, schema), buffer)
    return buffer.getvalue()
