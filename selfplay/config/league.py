"""Settings of the choice of opponents in training, which all trainers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from selfplay.config.base import Fraction, Group
from selfplay.errors import ConfigError
from selfplay.league.modes import MODES, with_external_opponents

if TYPE_CHECKING:
    from typing import Self


class OpponentConfig(Group):
    """Opponents in training."""

    mode: str = Field(
        "latest",  # works in every game, also without scripted players
        description="Choice of opponents; `simple_mix`, `latest`, `delta_uniform`, `quality`, `pfsp`, `pfsp_variance`, "
        "`league` (with two exploiters), `opponents` (only those of --opponent)",
    )
    current: Annotated[float, Field(ge=0)] = Field(0.4, description="Share of mirror games in simple_mix")
    recent: Annotated[float, Field(ge=0)] = Field(0.3, description="Share of the newer half of the generations")
    scripted: Annotated[float, Field(ge=0)] = Field(0.2, description="Share of scripted players")
    any_past: Annotated[float, Field(ge=0)] = Field(0.1, description="Share of any generation")
    held_out: tuple[str, ...] | None = Field(
        None,
        description="Scripted players never met in training; unseen opponents for the ratings; by default "
        "those that the game names",
    )
    opponents: tuple[str, ...] = Field(
        (), description="Policies to play against, by folder or name; of other runs, or shipped ones such as strong"
    )
    opponent_share: Fraction = Field(
        0.2, description="Share of --opponent in training; the others of the mode share the rest"
    )

    @model_validator(mode="after")
    def _can_play(self) -> Self:
        if self.mode == "simple_mix" and not self.current + self.recent + self.scripted + self.any_past:
            raise ValueError("simple_mix needs a share above 0: league.current, recent, scripted or any_past")
        if self.mode == "opponents" and not self.opponents:
            raise ValueError("--mode opponents plays against the policies of --opponent: name at least one")
        return self

    def shares(self, *, external: bool = False) -> dict[str, float]:
        """Weights of the categories of the mode; ``external``: there are policies of ``--opponent``."""
        shares: Mapping[str, float] = MODES[self.mode]
        if self.mode == "simple_mix":
            shares = {name: float(getattr(self, name)) for name in shares}
        return with_external_opponents(shares, self.opponent_share if external else 0.0)

    def check_share(self, explicit: Mapping[str, Any]) -> None:
        """Refuse an ``opponent_share`` among the user's values that has no effect (ConfigError)."""
        if "league.opponent_share" not in explicit:
            return
        if not self.opponents:
            raise ConfigError(
                "--set league.opponent_share is the share of the policies of --opponent: name at least one"
            )
        if self.mode == "opponents":
            raise ConfigError(
                "--set league.opponent_share has no effect with --mode opponents, which plays against nobody else"
            )
