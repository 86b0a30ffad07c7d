"""Games from rows of states, as ``dialop_game_init.py`` and ``convert_selfplay_to_verl.py`` write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envs.files import parse_json
from envs.registry import find_dialogue
from selfplay.errors import ConfigError, boundary
from selfplay.trainer.dialogue.game_init import SOURCE_SUFFIX

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueEntry, DialogueGame, Rules, State


@dataclass(frozen=True, slots=True)
class Beginning:
    """A game that can be played any number of times."""

    game_id: str
    entry: DialogueEntry
    rules: Rules
    state: State

    def start(self) -> DialogueGame:
        """The game, before its first word."""
        return self.entry.start(self.rules, self.state)


def is_ours(data_source: object) -> bool:
    """Whether rows of this source are of games that are played here."""
    return str(data_source).endswith(SOURCE_SUFFIX)


def game_of(data_source: str) -> DialogueEntry:
    """The game that a source of rows names; one whose seats share their reward.

    Raises:
        ConfigError: there is none, or each seat has a reward of its own. Trainers that know one reward for a game
            would teach a seat to lose.
    """
    name = data_source.removesuffix(SOURCE_SUFFIX)
    with boundary(ConfigError, f"data_source {data_source}"):
        entry = find_dialogue(name)
    if not entry.shared_reward:
        raise ConfigError(
            f"data_source {data_source}: the seats of {name} are paid differently, which this trainer cannot express; "
            f"train it with train_self_play.py --game-type {name}"
        )
    return entry


def beginning(row: Mapping[str, Any]) -> Beginning:
    """The game of a row of states.

    Raises:
        ConfigError: a column is missing or says nothing that can be played, or the seats do not share their reward.
    """
    missing = [name for name in ("data_source", "game_id", "game_state", "game_rules") if row.get(name) is None]
    if missing:
        raise ConfigError(f"a row without {missing[0]}: rows of states are needed, as dialop_game_init.py writes them")
    entry = game_of(str(row["data_source"]))
    with boundary(ConfigError, f"row {row['game_id']}"):
        rules = entry.rules(**parse_json(row["game_rules"]))
        begun = Beginning(str(row["game_id"]), entry, rules, entry.load(parse_json(row["game_state"])))
        begun.start()
    return begun
