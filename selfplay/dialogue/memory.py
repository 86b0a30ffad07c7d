"""Lower bound of the memory of a dialogue run, checked before the run starts.

The length of texts varies, so a few games are played and measured. Activations of the network are left out: they depend
on the minibatches, which are small.
"""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any, Final

from selfplay.dialogue.contract import SEATS
from selfplay.dialogue.rules import is_embedded
from selfplay.dialogue.runner import GameSpec, play_games
from selfplay.errors import ConfigError
from selfplay.memory_limits import as_size, available_memory, resident_memory

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry
    from selfplay.dialogue.settings import DialogueConfig

BASE_MB: Final = 600  # libraries and the embedded model: a peak (VmHWM) of 615 MB while it is taught
SAMPLE: Final = 4  # games


def check_dialogue_memory(config: DialogueConfig, entry: DialogueEntry, rules: Any, *, resumed: bool) -> None:  # noqa: ANN401
    """Refuse more games at once than fit into memory; ``resumed``: their number cannot change any more.

    ConfigError names what is needed, what there is, and the flag to lower.
    """
    left = available_memory()
    if left is None:
        return
    there = left.amount + resident_memory()
    need = dialogue_estimate(config, entry, rules)
    if need <= there:
        return
    remedy = "resume it where there is more" if resumed else f"lower --num-games {config.run.num_games}"
    raise ConfigError(
        f"the run needs at least {as_size(need)} of memory, and {left.where} has {as_size(there)} for it: {remedy}"
    )


def dialogue_estimate(config: DialogueConfig, entry: DialogueEntry, rules: Any) -> int:  # noqa: ANN401
    """Bytes at least."""
    kept = 0
    if is_embedded(config):
        kept = _kept_keys_and_values(SEATS * config.run.num_games)
    return (BASE_MB << 20) + config.run.num_games * _game_bytes(entry, rules) + kept


def _kept_keys_and_values(conversations: int) -> int:
    """Bytes of keys and values that the embedded model keeps for so many conversations, at their initial size."""
    from selfplay.dialogue.language.decoding import FIRST_COLUMNS, STORE_BYTES  # here: they need an extra
    from selfplay.dialogue.language.tiny import TinySpec

    spec = TinySpec()
    column = 2 * spec.layers * spec.shared * (spec.width // spec.heads) * 4
    return min(conversations * FIRST_COLUMNS * column, STORE_BYTES)  # one writer at least


def _game_bytes(entry: DialogueEntry, rules: Any) -> int:  # noqa: ANN401
    """Bytes of one game of a scripted player against itself, measured with ``tracemalloc``."""

    def player(seed: int) -> Any:  # noqa: ANN401
        return entry.players[entry.teacher or next(iter(entry.players))](rules, seed)

    def play(count: int) -> object:
        states = entry.states(rules, range(count))
        return play_games(
            [GameSpec(i, str(i), entry.start(rules, state), i, (player, player)) for i, state in enumerate(states)]
        )

    play(1)  # loads what all games share, which is not counted
    traced = tracemalloc.is_tracing()
    tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    play(SAMPLE)
    peak = tracemalloc.get_traced_memory()[1]
    if not traced:
        tracemalloc.stop()
    return (peak - before) // SAMPLE
