"""Matching and Kuhn poker in text, as the trainer finds them; their modules need the extra `dialogue`."""

from typing import Final

from selfplay.dialogue.contract import DialogueEntry
from selfplay.games.kind import TextKind


def _matching() -> DialogueEntry:
    from selfplay_dialogue import registry

    return registry.MATCHING


def _kuhn_text() -> DialogueEntry:
    from selfplay_dialogue import registry

    return registry.KUHN_TEXT


MATCHING: Final = TextKind(
    _matching,
    # At 1 a third of the proposals are not the best that their players know, and self-play mends that slowly.
    defaults={"start": {"temperature": 0.5}},
)
KUHN_TEXT: Final = TextKind(
    _kuhn_text,
    defaults={
        "start": {"tokens": 240_000, "batch_rows": 64, "drills": 0.15, "mixed": (0.3, 0.0)},
        "grpo": {"learning_rate": 8e-5, "entropy": 0.1, "batch_rows": 256},
        "sampling": {"max_new_tokens": 2},  # a move and its end, so that the entropy bonus applies to moves only
        "run": {"games": 24_576, "num_games": 512, "save_interval": 2},
    },
)
