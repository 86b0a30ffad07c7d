"""Matching and Kuhn poker in text, as the trainer finds them; their modules need the extra `dialogue`."""

from typing import Final

from selfplay.dialogue.contract import DialogueEntry, TextKind


def _matching() -> DialogueEntry:
    from selfplay_dialogue import registry

    return registry.MATCHING


def _kuhn_text() -> DialogueEntry:
    from selfplay_dialogue import registry

    return registry.KUHN_TEXT


MATCHING: Final = TextKind(_matching)
KUHN_TEXT: Final = TextKind(_kuhn_text)
