"""Settings of the opponents and ratings of a dialogue run."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from selfplay.config.base import Fraction, Positive
from selfplay.config.league import OpponentConfig

EMBEDDED_FROZEN: Final = 8  # default of ``max_frozen`` with the embedded model


class DialogueLeagueConfig(OpponentConfig):
    """Opponents and ratings."""

    mode: Literal["latest", "simple_mix", "delta_uniform", "quality", "pfsp", "pfsp_variance", "opponents"] = Field(
        "latest",
        description="Choice of opponents; `latest` (the model itself), `simple_mix`, `delta_uniform`, `quality`, "
        "`pfsp`, `pfsp_variance`, `opponents` (only those of --opponent)",
    )
    opponents: tuple[str, ...] = Field(
        (), description="Policies to play against: models, generations or runs by folder; servers by http://HOST:PORT"
    )
    max_frozen: Positive | None = Field(
        None,
        description="Frozen policies that an iteration meets, each a model in memory; default 8 with the embedded "
        "model, else 1",
    )
    track_elo: bool = Field(False, description="Rate generations while training")
    rating_share: Fraction = Field(0.1, description="Share of the time for rating games")

    @property
    def mirrors_only(self) -> bool:
        """True if the model plays itself in all games."""
        return self.mode == "latest" and not self.opponents

    @property
    def meets_generations(self) -> bool:
        return self.mode not in ("latest", "opponents")

    @property
    def meets_models(self) -> bool:
        """True if frozen models may be opponents: generations, or those of ``--opponent``."""
        return self.meets_generations or not all(map(is_server, self.opponents))


def is_server(opponent: str) -> bool:
    """Return True if a value of ``--opponent`` is the URL of a server."""
    return opponent.startswith(("http://", "https://"))
