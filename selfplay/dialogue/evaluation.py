"""Results of players on held-out states: means, and paired differences on the same states.

With a shared reward, a player plays itself. Otherwise it plays every scripted player, once in each seat. Sampling is at
temperature 1 without a nucleus. The seed of a game depends only on its state, so it is the same for all players.
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

from selfplay.dialogue.contract import AGREED, CONTEXT, CUT_OFF, FAILED, REFUSED
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.runner import DialogueOrder, Played, Player, game_specs, play_games
from selfplay.learner.sampling import Sampling
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.dialogue.contract import DialogueEntry, Rules
    from selfplay.dialogue.language.model import LanguageModel

Floats = NDArray[np.float64]
Z95: Final = 1.96
HELD_OUT: Final = "held out"  # name of the seeds of held-out states, which are the same for all runs


@dataclass(frozen=True, slots=True)
class PlayerResults:
    """Results of a player by state."""

    rewards: Floats  # [N] shared, or the mean of both seats against the strongest scripted player
    agreed: NDArray[np.bool_]  # [N] in all games on the state
    failed: Floats  # [N] share of the games that ended by an invalid or cut-off reply
    endings: Mapping[str, int]
    turns: float  # per game
    against: Mapping[str, tuple[float, float]]  # scripted player -> mean in seat 0 and in seat 1; empty: self-play

    @property
    def document(self) -> dict[str, JsonValue]:
        """As JSON: means, and the half width of the 95% interval of the reward."""
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
            **({"against": {name: _means(*seats) for name, seats in self.against.items()}} if self.against else {}),
        }


def _means(first: float, second: float) -> dict[str, JsonValue]:
    return {"reward": round((first + second) / 2, 4), "seat_0": round(first, 4), "seat_1": round(second, 4)}


def held_out(count: int) -> list[int]:
    return [derive(0, HELD_OUT, i) for i in range(count)]


def evaluate(entry: DialogueEntry, rules: Rules, player: Player, seeds: Sequence[int]) -> PlayerResults:
    """Play one game per state with itself, or two with every scripted player. Blocks."""
    order = DialogueOrder(tuple(range(len(seeds))), tuple(seeds), 1)
    players = {} if entry.shared_reward else entry.players
    opponents: dict[str, Player] = {name: partial(make, rules) for name, make in players.items()}
    pairs = [pair for other in opponents.values() for pair in ((player, other), (other, player))]
    games = [play_games(game_specs(entry, rules, order, pair, HELD_OUT)) for pair in pairs or [(player, player)]]
    # Lost games count as failed.
    played = [[game if isinstance(game, Played) else None for game in row] for row in games]
    reasons = [[FAILED if game is None else game.outcome.reason for game in row] for row in played]
    rewards = np.array([[0.0 if g is None else g.outcome.rewards[i % 2] for g in row] for i, row in enumerate(played)])
    means = rewards.mean(1).tolist()
    return PlayerResults(
        rewards=rewards[-2:].mean(0),
        agreed=np.asarray([[reason == AGREED for reason in row] for row in reasons]).min(0),
        failed=np.array([[reason in (REFUSED, CUT_OFF, CONTEXT, FAILED) for reason in row] for row in reasons]).mean(0),
        endings=Counter(chain.from_iterable(reasons)),
        turns=float(np.mean([0 if game is None else len(game.turns) for row in played for game in row])),
        against={name: (means[2 * i], means[2 * i + 1]) for i, name in enumerate(opponents)},
    )


def evaluate_model(
    entry: DialogueEntry, rules: Rules, model: LanguageModel, sampling: Sampling, seeds: Sequence[int]
) -> PlayerResults:
    whole = Sampling(1.0, 1.0, sampling.max_new_tokens)
    return evaluate(entry, rules, LocalWriter(model, whole), seeds)


def gain(after: Floats, before: Floats) -> dict[str, JsonValue]:
    """Mean paired difference, and the half width of its 95% interval."""
    difference = after - before
    if len(difference) < 2:
        return {"gain": None, "interval": None, "states": len(difference)}
    return {
        "gain": round(float(difference.mean()), 4),
        "interval": round(Z95 * float(difference.std(ddof=1)) / len(difference) ** 0.5, 4),
        "states": len(difference),
    }


def compare(after: PlayerResults, before: PlayerResults) -> dict[str, Any]:
    """As JSON: a player after and before training, and the paired differences."""
    both = after.agreed & before.agreed
    return {
        "evaluation": after.document,
        "start": before.document,
        "paired_gain": gain(after.rewards, before.rewards),
        "paired_gain_agreed": gain(after.rewards[both], before.rewards[both]),
    }


def anchors(entry: DialogueEntry, rules: Rules, seeds: Sequence[int]) -> dict[str, JsonValue]:
    """Scripted players and reference rewards on the same states."""
    found: dict[str, JsonValue] = {
        name: evaluate(entry, rules, partial(make, rules), seeds).document for name, make in entry.players.items()
    }
    known = [entry.references(rules, state) for state in entry.states(rules, seeds)]
    found |= {f"known_{name}": round(float(np.mean([each[name] for each in known])), 4) for name in known[0]}
    return found
