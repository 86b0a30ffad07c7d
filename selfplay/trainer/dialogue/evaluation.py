"""How well players do on states that nobody was trained on: means, and differences on the same states.

Every player is judged in both seats with itself, at temperature 1 from the whole distribution; games on one state share
their luck's seed, whoever plays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.dialogue.contract import AGREED, CONTEXT, CUT_OFF, FAILED, REFUSED
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.writer import LocalWriter
from selfplay.runner.collector import Order, fixtures
from selfplay.runner.dialogue import Played, Player, play_games
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pydantic import JsonValue

    from envs.dialogue.contract import DialogueEntry, Rules
    from selfplay.policy.language.model import LanguageModel

Floats = NDArray[np.float64]
Z95: Final = 1.96
HELD_OUT: Final = "held out"
"""Name of the stream of seeds that judged states come from, whatever a run's seed: all runs are judged on the same."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a player did on each state, in the order of the states."""

    rewards: Floats  # [N] of seat 0 where the reward is shared, else half the difference of the seats'
    agreed: NDArray[np.bool_]  # [N]
    failed: NDArray[np.bool_]  # [N] ended by a refused reply or one that was cut off
    endings: Mapping[str, int]
    turns: float  # a game

    @property
    def document(self) -> dict[str, JsonValue]:
        """As JSON: means, and the half width of their 95% interval."""
        rewards, agreed = self.rewards, self.agreed
        return {
            "reward": round(float(rewards.mean()), 4),
            "interval": round(Z95 * float(rewards.std(ddof=1)) / len(rewards) ** 0.5, 4),
            "agreement": round(float(agreed.mean()), 4),
            "agreed_only": round(float(rewards[agreed].mean()), 4) if agreed.any() else None,
            "format_errors": round(float(self.failed.mean()), 4),
            "turns": round(self.turns, 2),
            "endings": dict(self.endings),
            "states": len(rewards),
        }


def held_out(count: int) -> list[int]:
    """Seeds of the judged states."""
    return [derive(0, HELD_OUT, i) for i in range(count)]


def judge(entry: DialogueEntry, rules: Rules, player: Player, seeds: Sequence[int]) -> Judged:
    """A player with itself, one game on each state. Blocks."""
    order = Order(tuple(range(len(seeds))), tuple(seeds), 1)
    games = play_games(fixtures(entry, rules, order, (player, player), HELD_OUT))
    # A game that raised counts as one that failed: it must not make a player look better.
    played = [game if isinstance(game, Played) else None for game in games]
    reasons = [FAILED if game is None else game.verdict.reason for game in played]
    return Judged(
        rewards=np.array([0.0 if game is None else game.verdict.rewards[0] for game in played]),
        agreed=np.array([reason == AGREED for reason in reasons], np.bool_),
        failed=np.array([reason in (REFUSED, CUT_OFF, CONTEXT, FAILED) for reason in reasons], np.bool_),
        endings=Counter(reasons),
        turns=float(np.mean([0 if game is None else len(game.turns) for game in played])),
    )


def judge_model(
    entry: DialogueEntry, rules: Rules, model: LanguageModel, sampling: Sampling, seeds: Sequence[int]
) -> Judged:
    """A model with itself, as it is."""
    whole = Sampling(1.0, 1.0, sampling.max_new_tokens)
    return judge(entry, rules, LocalWriter(model, whole), seeds)


def gain(after: Floats, before: Floats) -> dict[str, JsonValue]:
    """Mean difference on the same states, and the half width of its 95% interval."""
    difference = after - before
    if len(difference) < 2:
        return {"gain": None, "interval": None, "states": len(difference)}
    return {
        "gain": round(float(difference.mean()), 4),
        "interval": round(Z95 * float(difference.std(ddof=1)) / len(difference) ** 0.5, 4),
        "states": len(difference),
    }


def compare(after: Judged, before: Judged) -> dict[str, Any]:
    """What came of a training, as JSON: a player as it is now, as it began, and the differences on the same states."""
    both = after.agreed & before.agreed
    return {
        "evaluation": after.document,
        "start": before.document,
        "paired_gain": gain(after.rewards, before.rewards),
        "paired_gain_agreed": gain(after.rewards[both], before.rewards[both]),
    }


def anchors(entry: DialogueEntry, rules: Rules, seeds: Sequence[int]) -> dict[str, JsonValue]:
    """Scripted players with themselves, and what is known of the states without playing, on the same states."""
    found: dict[str, JsonValue] = {
        name: judge(entry, rules, partial(make, rules), seeds).document for name, make in entry.players.items()
    }
    known = [entry.references(rules, state) for state in entry.states(rules, seeds)]
    found |= {f"known_{name}": round(float(np.mean([each[name] for each in known])), 4) for name in known[0]}
    return found
