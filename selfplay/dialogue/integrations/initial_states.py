"""Games from dataset rows, as written by ``selfplay initial-states`` and ``selfplay convert-games``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selfplay.dialogue.files.states import SOURCE_SUFFIX
from selfplay.dialogue.find import find_dialogue
from selfplay.errors import ConfigError, boundary
from selfplay.games.files import parse_json

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry, DialogueGame, Rules, State


@dataclass(frozen=True, slots=True)
class InitialState:
    """The rules and initial state of a game, from which it can be started repeatedly."""

    game_id: str
    entry: DialogueEntry
    rules: Rules
    state: State

    def start(self) -> DialogueGame:
        return self.entry.start(self.rules, self.state)


def is_ours(data_source: object) -> bool:
    """Return True if rows of this data source are games of this package."""
    return str(data_source).endswith(SOURCE_SUFFIX)


def game_of(data_source: str) -> DialogueEntry:
    """The game that a data source names. Its seats must share one reward.

    Raises:
        ConfigError: unknown game, or separate rewards, which trainers with one reward per game cannot express.
    """
    name = data_source.removesuffix(SOURCE_SUFFIX)
    with boundary(ConfigError, f"data_source {data_source}"):
        entry = find_dialogue(name)
    if not entry.shared_reward:
        raise ConfigError(
            f"data_source {data_source}: the seats of {name} have separate rewards, which this trainer cannot express; "
            f"train it with selfplay train --game-type {name}"
        )
    return entry


def initial_state(row: Mapping[str, Any]) -> InitialState:
    """Parse a dataset row.

    Raises:
        ConfigError: a column is missing or invalid, or the seats do not share their reward.
    """
    missing = [name for name in ("data_source", "game_id", "game_state", "game_rules") if row.get(name) is None]
    if missing:
        raise ConfigError(f"a row without {missing[0]}: valid: rows written by selfplay initial-states")
    entry = game_of(str(row["data_source"]))
    with boundary(ConfigError, f"row {row['game_id']}"):
        rules = entry.rules(**parse_json(row["game_rules"]))
        begun = InitialState(str(row["game_id"]), entry, rules, entry.load(parse_json(row["game_state"])))
        begun.start()
    return begun
