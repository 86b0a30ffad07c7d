"""The conditions of fights, and what they say of the fights that were played under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from selfplay_melee import bot_names
from selfplay_melee.limits import FINISHED, LEDGE_GRAB_LIMIT

if TYPE_CHECKING:
    from selfplay.games.rated import Conditions, Matches

ResultRule = Literal["stocks_percent", "stocks"]


@dataclass(frozen=True, slots=True)
class FightConditions:
    """Characters of the first and the other player, stage and rules of fights."""

    characters: tuple[str, str] = ("mewtwo", "mewtwo")
    stage: str = "final_destination"
    max_episode_frames: int = 3600
    ledge_grab_limit: int = LEDGE_GRAB_LIMIT  # 0: none
    result_rule: ResultRule = "stocks_percent"  # of evaluations; ratings have no other

    @property
    def roles(self) -> Sequence[tuple[str, ...]]:
        """Characters of the two players: where they differ, each player has each once."""
        mine, other = self.characters
        return ((mine, other),) if mine == other else ((mine, other), (other, mine))

    def described(self) -> dict[str, Any]:
        return {
            "characters": sorted(self.characters),
            "stage": self.stage,
            "max_episode_frames": self.max_episode_frames,
            "ledge_grab_limit": self.ledge_grab_limit,
        }

    def options(self, matches: Matches) -> dict[str, Any]:
        return {
            "characters": [list(roles) for roles in matches.roles],
            "stage": self.stage,
            "frame_skip": matches.frame_skip or bot_names.FRAME_SKIP,
            "bot_skip": bot_names.FRAME_SKIP,
            "delay": matches.delays,
            "max_episode_frames": self.max_episode_frames,
            "ledge_grab_limit": self.ledge_grab_limit,
        }

    def scores(self, stats: NDArray[np.void], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """By the result rule alone, without the limit of ledge grabs."""
        return fight_scores(stats, self.result_rule)

    def facts(self, roles: tuple[str, ...], stats: NDArray[np.void]) -> dict[str, Any]:
        """See ``FightFacts``."""
        return {
            "stage": self.stage,
            "characters": [*roles],
            "stocks": stats["stocks"].tolist(),
            "percents": stats["percent"].tolist(),
            "damage": stats["damage"].tolist(),
            "self_destructs": stats["self_destructs"].tolist(),
            "finished": bool(stats["ended"][0] == FINISHED),
        }

    def figures(self, stats: NDArray[np.void]) -> dict[str, Any]:
        """Share of finished fights, their mean length, and means of both players a game or a minute."""
        seconds = float(stats["frames"][:, 0].mean()) / 60.0
        return {
            "finished": float((stats["ended"][:, 0] == FINISHED).mean()),
            "seconds": seconds,
            "damage": tuple(stats["damage"].mean(0).tolist()),  # dealt, in percent
            "self_destructs": tuple(stats["self_destructs"].mean(0).tolist()),
            # taken, self-destructs of the other player included
            "stocks_per_minute": tuple((stats["stocks_taken"].mean(0) * 60.0 / seconds).tolist()),
            "damage_per_minute": tuple((stats["damage"].mean(0) * 60.0 / seconds).tolist()),
        }

    def words(self, figures: Mapping[str, Any]) -> Sequence[str]:
        damage, seconds = figures["damage"], figures["seconds"]
        stocks, dealt = figures["stocks_per_minute"], figures["damage_per_minute"]
        return (
            f"{figures['finished']:.0%} of the games finished",
            f"damage {damage[0]:.0f}% to {damage[1]:.0f}%, {seconds:.0f} s of game time each",
            f"a minute: {stocks[0]:.2f} to {stocks[1]:.2f} stocks, {dealt[0]:.0f}% to {dealt[1]:.0f}% damage",
        )

    def __str__(self) -> str:
        return f"{' and '.join(self.characters)} on {self.stage}"


def fight_scores(stats: NDArray[np.void], rule: ResultRule = "stocks_percent") -> NDArray[np.float64]:
    """Score of seat 0 in fights, from their counters [..., 2]: 1 a win, 0.5 a draw, 0 a loss.

    More stocks win. On equal stocks the lower percent wins under ``stocks_percent``; under ``stocks`` it is a draw.
    """
    stocks, percents = stats["stocks"].astype(np.int64), stats["percent"].astype(np.float64)
    lead: NDArray[np.float64] = np.sign(stocks[..., 0] - stocks[..., 1]).astype(np.float64)
    if rule == "stocks_percent":
        lead = np.where(lead == 0, np.sign(percents[..., 1] - percents[..., 0]), lead)
    return np.asarray((lead + 1.0) / 2.0)


def as_fight(conditions: Conditions) -> FightConditions:
    """Conditions that are those of a fight; TypeError if they are another game's."""
    if not isinstance(conditions, FightConditions):
        raise TypeError(f"{type(conditions).__name__} are no conditions of a fight")
    return conditions
