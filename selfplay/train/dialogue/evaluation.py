"""How well players do on states that nobody was trained on: means, and differences on the same states.

Where both seats are given the same, a player is judged with itself in both. Elsewhere what seat 0 wins of itself says
nothing about it: there it plays every scripted player, once in each seat. All play at temperature 1 from the whole
distribution; games on one state share their random seed, for all players.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.dialogue.contract import AGREED, CONTEXT, CUT_OFF, FAILED, REFUSED
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.writer import LocalWriter
from selfplay.runner.dialogue import Played, Player, play_games
from selfplay.runner.dialogue_collector import Order, game_specs
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

    rewards: Floats  # [N] shared ones, or the mean of both seats against the strongest scripted player
    agreed: NDArray[np.bool_]  # [N] in all games on the state
    failed: Floats  # [N] share of those games that ended by a refused reply or one that was cut off
    endings: Mapping[str, int]
    turns: float  # a game
    against: Mapping[str, tuple[float, float]]  # mean in seat 0 and seat 1 by scripted player; empty: it met itself

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
            **({"against": {name: self._met(*seats) for name, seats in self.against.items()}} if self.against else {}),
        }

    @staticmethod
    def _met(first: float, second: float) -> dict[str, JsonValue]:
        return {"reward": round((first + second) / 2, 4), "seat_0": round(first, 4), "seat_1": round(second, 4)}


def held_out(count: int) -> list[int]:
    """Seeds of the judged states."""
    return [derive(0, HELD_OUT, i) for i in range(count)]


def judge(entry: DialogueEntry, rules: Rules, player: Player, seeds: Sequence[int]) -> Judged:
    """A player on each state: one game with itself, or one in each seat with every scripted player. Blocks."""
    order = Order(tuple(range(len(seeds))), tuple(seeds), 1)
    players = {} if entry.shared_reward else entry.players
    opponents: dict[str, Player] = {name: partial(make, rules) for name, make in players.items()}
    pairs = [pair for other in opponents.values() for pair in ((player, other), (other, player))]
    games = [play_games(game_specs(entry, rules, order, pair, HELD_OUT)) for pair in pairs or [(player, player)]]
    # A game that raised counts as one that failed: it must not make a player look better.
    played = [[game if isinstance(game, Played) else None for game in row] for row in games]
    reasons = [[FAILED if game is None else game.verdict.reason for game in row] for row in played]
    rewards = np.array([[0.0 if g is None else g.verdict.rewards[i % 2] for g in row] for i, row in enumerate(played)])
    means = rewards.mean(1).tolist()
    return Judged(
        rewards=rewards[-2:].mean(0),
        agreed=np.asarray([[reason == AGREED for reason in row] for row in reasons]).min(0),
        failed=np.array([[reason in (REFUSED, CUT_OFF, CONTEXT, FAILED) for reason in row] for row in reasons]).mean(0),
        endings=Counter(chain.from_iterable(reasons)),
        turns=float(np.mean([0 if game is None else len(game.turns) for row in played for game in row])),
        against={name: (means[2 * i], means[2 * i + 1]) for i, name in enumerate(opponents)},
    )


def judge_model(
    entry: DialogueEntry, rules: Rules, model: LanguageModel, sampling: Sampling, seeds: Sequence[int]
) -> Judged:
    """A model as it is."""
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
    """Scripted players, and what is known of the states without playing, on the same states."""
    found: dict[str, JsonValue] = {
        name: judge(entry, rules, partial(make, rules), seeds).document for name, make in entry.players.items()
    }
    known = [entry.references(rules, state) for state in entry.states(rules, seeds)]
    found |= {f"known_{name}": round(float(np.mean([each[name] for each in known])), 4) for name in known[0]}
    return found
