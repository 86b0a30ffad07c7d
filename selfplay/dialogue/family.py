"""The training of text games, as the verbs find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from selfplay.games.kind import later
from selfplay.run.trainings import TrainingVerbs

if TYPE_CHECKING:
    from selfplay.config.options import Option


def _train(arguments: Sequence[str]) -> int:
    from selfplay.dialogue.cli.flags import parse
    from selfplay.dialogue.train import train

    return train(parse(arguments))


def _options() -> Sequence[Option]:
    from selfplay.dialogue.settings import OPTIONS

    return OPTIONS


DIALOGUE: Final = TrainingVerbs(
    _train,
    later("selfplay.dialogue.cli.rate", "rate"),
    "the dialogue games",
    _options,
    later("selfplay.dialogue.report.page", "view"),
    later("selfplay.dialogue.train", "call"),
    later("selfplay.dialogue.cli.check_game", "check"),
    later("selfplay.dialogue.cli.play", "play"),
    later("selfplay.dialogue.cli.exploit", "exploit"),
)
