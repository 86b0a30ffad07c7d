"""Converts written games to tables: a row per seat of a game, or a row per state.

The first are whole games with tokens and rewards, for trainers that learn from files. The second are initial states,
for trainers that play the games themselves. Both have the columns of verl's datasets; nested states are JSON strings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from selfplay.checkpoint.store import write_file
from selfplay.dialogue.contract import SEATS
from selfplay.dialogue.files.games import GAMES, GameLine, read_games
from selfplay.dialogue.files.parquet import Shape, from_parquet, to_parquet
from selfplay.dialogue.files.settings import FileSettings, read_settings
from selfplay.dialogue.files.states import STATE_COLUMNS, state_row
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.instances import columns_of
from selfplay.errors import ConfigError, CorruptError
from selfplay.games.errors import GameError

TRAIN, VAL, STATES = "train.parquet", "val.parquet", "states.parquet"
SOURCE: Final = "selfplay_games"  # metadata key of a table: the sha256 of its games
VALIDATION: Final = 10  # one of so many states
_MESSAGE: Final[Shape] = {"role": "string", "content": "string"}
COLUMNS: Final[dict[str, Shape]] = {
    "data_source": "string",
    "prompt": [_MESSAGE],
    "messages": [_MESSAGE],
    "ability": "string",
    "reward_model": {
        "style": "string", "ground_truth": "string", "normalized_reward": "float64", "game_state": "string",
    },
    "extra_info": {
        "index": "int64", "game_id": "string", "replica": "int64", "perspective": "string", "player_index": "int64",
        "split": "string", "exp_name": "string", "reason": "string", "agreed": "bool_", "turns": "int64",
    },
    "input_ids": ["int64"],
    "attention_mask": ["int8"],
    "position_ids": ["int64"],
    "loss_mask": ["int8"],
    "reward_mask": ["int8"],
    "old_log_probs": ["float32"],
}  # fmt: skip


def convert(folder: Path, states: bool, resume: bool, notice: Callable[[str], object]) -> None:
    """Write the tables of a folder's games; existing ones are replaced.

    With ``states`` also a table of states. With ``resume`` tables that were made of the same games are kept.

    Raises:
        ConfigError: there are no games.
        CorruptError: a game, or the settings, cannot be read.
        CheckpointError: a table cannot be written.
    """
    path = folder / GAMES
    if not path.exists():
        raise ConfigError(f"{path}: no games; run_selfplay_generation.sh plays them")
    settings = read_settings(folder)
    games, digest = read_games(path)
    if resume and all(_source(folder / name) == digest for name in (TRAIN, VAL)):
        notice(f"{folder}: its tables exist")
        return
    held_out = validation_states(game.index for game in games)
    parts = {VAL: [g for g in games if g.index in held_out], TRAIN: [g for g in games if g.index not in held_out]}
    for name, part in parts.items():
        rows = offline_rows(part, settings, name.partition(".")[0])
        write_file(folder / name, to_parquet(rows, COLUMNS, {SOURCE: digest}))
        silent = SEATS * len(part) - len(rows)
        omitted = f", {silent} seats without a reply are left out" * bool(silent)
        notice(f"{folder / name}: {len(rows)} rows of {len({g.index for g in part})} states{omitted}")
    if states:
        rows = state_rows(games, settings, held_out)
        write_file(folder / STATES, to_parquet(rows, STATE_COLUMNS, {SOURCE: digest}))
        notice(f"{folder / STATES}: {len(rows)} states")


def validation_states(states: Iterable[int]) -> set[int]:
    """The first tenth of the states, at least one; those are whole groups."""
    ordered = sorted(set(states))
    return set(ordered[: max(1, len(ordered) // VALIDATION)])


def _source(path: Path) -> str | None:
    """The sha256 of the games of a table; None without a readable table."""
    try:
        return from_parquet(path, ["data_source"])[1].get(SOURCE)
    except CorruptError:
        return None


def offline_rows(games: Iterable[GameLine], settings: FileSettings, split: str) -> list[dict[str, Any]]:
    """A row per game and seat; seats without a reply are left out."""
    rows = []
    for game in games:
        for instance in game.instances():
            messages = game.messages(instance.seat)
            first_reply = next(place for place, message in enumerate(messages) if message["role"] == "assistant")
            tokens = columns_of(instance)
            rows.append(
                {
                    "data_source": settings.data_source,
                    "prompt": messages[:first_reply],
                    "messages": messages,
                    "ability": "dialogue",
                    "reward_model": {
                        "style": "rule",
                        "ground_truth": repr(instance.reward),
                        "normalized_reward": instance.reward,
                        "game_state": json.dumps(game.game_state, allow_nan=False, ensure_ascii=False),
                    },
                    "extra_info": {
                        "index": game.index,
                        "game_id": game.game_id,
                        "replica": game.replica,
                        "perspective": f"player-{instance.seat + 1}",
                        "player_index": instance.seat,
                        "split": split,
                        "exp_name": game.exp_name,
                        "reason": game.outcome.reason,
                        "agreed": game.outcome.agreed,
                        "turns": len(game.turns),
                    },
                    **{name: getattr(tokens, name).tolist() for name in tokens.__slots__},
                }
            )
    return rows


def state_rows(games: Sequence[GameLine], settings: FileSettings, held_out: set[int]) -> list[dict[str, Any]]:
    """A row per state, in the format of ``selfplay initial-states``, in the order of the states."""
    entry = find_dialogue(settings.game)
    rules = entry.rules(**settings.rules)
    rows = []
    first = {game.index: game for game in reversed(games)}
    for _, game in sorted(first.items()):
        part = "val" if game.index in held_out else "train"
        try:
            begun = entry.start(rules, entry.load(game.game_state))
        except GameError as error:
            raise CorruptError(f"game {game.game_id}: {error}") from error
        name = f"{part}-{settings.seed}-{settings.iteration}-{game.index}"
        rows.append(state_row(begun, rules, seat=0, game_id=name, index=game.index, data_source=settings.data_source))
    return rows
