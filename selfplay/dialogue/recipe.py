"""What determines an embedded model, and the folder where it is kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.language.tiny import TinySpec
from selfplay.league.records import settings_hash

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.dialogue.contract import DialogueEntry, Rules
    from selfplay.dialogue.settings import StartConfig

VERSION: Final = 1  # of the recipe


def spec_of(entry: DialogueEntry) -> TinySpec:
    """The embedded model of a game."""
    return TinySpec(context=entry.context()) if entry.context else TinySpec()


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that determines the embedded model."""

    game: str
    rules: Rules
    start: StartConfig
    seed: int
    spec: TinySpec = field(default_factory=TinySpec)
    max_new_tokens: int = 24

    @property
    def document(self) -> dict[str, Any]:
        entry = find_dialogue(self.game)
        start = self.start.model_dump(mode="json", exclude={"fresh"})
        return {
            "version": VERSION, "game": self.game, "rules": asdict(self.rules), "start": start, "seed": self.seed,
            "spec": asdict(self.spec), "max_new_tokens": self.max_new_tokens,
            **entry.versions, **({"texts": entry.fingerprint()} if entry.fingerprint else {}),
        }  # fmt: skip

    def folder(self, root: Path) -> Path:
        size = getattr(self.rules, "size", None)
        parts = (self.game.replace(":", "."), size, settings_hash(self.document))
        name = "-".join(str(part) for part in parts if part is not None)
        return root / "tiny" / name
