"""The settings of imitation in any game, and their presets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from selfplay.config.program import Program
from selfplay.config.programs import check_own_code
from selfplay.imitation.settings import OPTIONS, ImitationConfig

if TYPE_CHECKING:
    from selfplay.config.presets import Presets

PRESETS: Final[Presets] = {
    "quick": {
        "data": {"max_files": 5},
        "net": {"hidden": (32, 32)},
        "learn": {"epochs": 2, "batch_size": 256},
    },
    "full_cpu": {"net": {"hidden": (256, 256)}, "learn": {"epochs": 15, "batch_size": 1024}},
    "gpu_standard": {
        "net": {"backbone": "gru", "hidden": (256, 256, 256)},
        "learn": {"epochs": 20, "batch_size": 8192, "temporal": True},
        "run": {"device": "cuda"},
    },
    "production": {
        "net": {"backbone": "mamba", "hidden": (512, 512, 512, 512)},
        "learn": {"epochs": 50, "batch_size": 16384, "learning_rate": 5e-4, "temporal": True, "patience": 8},
        "run": {"device": "auto"},
    },
}
EXAMPLE: Final = ("learn.epochs", "20")

IMITATION: Final = Program(
    settings=ImitationConfig,
    options=OPTIONS,
    presets=PRESETS,
    example=EXAMPLE,
    imply=partial(check_own_code, game="data.game"),
    check=lambda _: None,
)
