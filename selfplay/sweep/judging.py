"""How strong the last policy of each cell is: exactly, against common opponents, or by games between the cells.

More strength is better. It is never a reward of training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from selfplay.checkpoint.generations import list_generations
from selfplay.errors import ConfigError
from selfplay.evaluation.evaluate import evaluate
from selfplay.evaluation.exact import AT_ONCE, exact_figures
from selfplay.evaluation.named_players import policy_folder
from selfplay.evaluation.players import contender
from selfplay.games.errors import EnumerationError
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game
from selfplay.games.solved.enumeration import LIMITS, find_tree
from selfplay.league.games import GameTable
from selfplay.league.ratings import rate
from selfplay.league.records import ANCHOR, OUTSIDE
from selfplay.league.schedule import Matchup
from selfplay.policy.policy import load_policy
from selfplay.ppo.rating import RatingSettings, play_matchups
from selfplay.runner.match import Contender, Rules
from selfplay.seeding import derive
from selfplay.sweep.cells import Measured

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.games.solved.enumeration import Limits
    from selfplay.league.records import GameRecord
    from selfplay.ppo.rating import PlayMatches
    from selfplay.sweep.plan import Plan
    from selfplay.sweep.settings import By


@dataclass(frozen=True, slots=True)
class Measure:
    """What strength is measured in."""

    by: By
    name: str
    unit: str = ""
    sign: float = 1.0  # of the figure that is shown; -1 where less is better
    form: str = ".3f"
    opponents: tuple[str, ...] = ()
    each: int = 0  # games of a cell with each opponent

    def figure(self, strength: float) -> str:
        """As people read it."""
        return f"{self.sign * strength:{self.form}} {self.unit}".strip()

    def __str__(self) -> str:
        return f"{self.name}, less is better" if self.sign < 0 else self.name


def measure_of(plan: Plan, begun: By | None = None) -> Measure:
    """How the cells of a sweep are judged; ``begun`` is how those of before were.

    ConfigError if the game cannot be judged as the file says, or an opponent is unknown.
    """
    judge, kind = plan.asked.judge, find_game(plan.game)
    by = judge.by or begun or ("exact" if _no_exact(plan, AT_ONCE) is None else "opponents")
    if judge.opponents and by != "opponents":
        raise ConfigError(f"judge.opponents: they play with judge.by opponents, not with {by}")
    objective = kind.objective
    if by == "exact":
        if why := _no_exact(plan, LIMITS):
            raise ConfigError(f"judge.by exact: {why} (valid here: opponents, games)")
        return Measure(by, "NashConv", objective.unit, sign=-1.0, form=".4f")
    if by == "games":
        if ANCHOR not in kind.rated.players:
            raise ConfigError(f"judge.by games: {plan.game} has no player {ANCHOR}, which fixes the scale")
        unit, form = (f"{objective.unit} a game", "+.3f") if objective.by_payoff else ("Elo", ".0f")
        return Measure(by, "rating", unit, form=form)
    names = judge.opponents or tuple(name for name in kind.ladder if name not in OUTSIDE)
    for name in names:
        policy_folder(name, game=plan.game)
    each = max(2, round(judge.games / len(names)))
    what = f"against {', '.join(names)}"
    if objective.by_payoff:
        return Measure(by, f"payoff {what}", f"{objective.unit} a game", form="+.3f", opponents=names, each=each)
    return Measure(by, f"score {what}", form=".1%", opponents=names, each=each)


def _no_exact(plan: Plan, limits: Limits) -> str | None:
    """Why the policies cannot be judged exactly; None if they can."""
    if plan.remembers:
        return "policies with a memory, or with a network of your own, are not judged exactly"
    if find_game(plan.game).single is None:
        return f"{plan.game} cannot be written down whole"
    try:
        find_tree(plan.game, limits)
    except EnumerationError as error:
        return str(error)
    return None


def measured(run: RunDir, plan: Plan, measure: Measure, share: float) -> Measured:
    """The result of a run that was trained for a share of the full length. Blocks; in any process."""
    for name in plan.own_code:
        allow(name)  # the file of the sweep names it
    newest = list_generations(run)[-1]
    return Measured(
        share=share,
        strength=strength_of(newest.path, plan, measure),
        seconds=float(str(run.read_summary()["elapsed_s"])),
        policy=newest.id,
    )


def strength_of(policy: Path, plan: Plan, measure: Measure) -> float | None:
    """The strength of a policy on its own; None if it is judged in games with the others. Blocks."""
    if measure.by == "games":
        return None
    loaded = load_policy(policy)
    if measure.by == "exact":
        return -exact_figures(plan.game, loaded, LIMITS).nash_conv
    me, seed = Contender("cell", loaded), plan.asked.judge.seed
    rules = Rules(plan.game, plan.conditions)
    found = []
    for name in measure.opponents:
        result = evaluate(me, contender(name, game=plan.game), measure.each, rules, seed)
        found.append(result.score if result.paid is None else result.paid.lead)
    return float(np.mean(found))


def ratings_of(
    policies: Mapping[str, Path],
    groups: Mapping[str, int],
    plan: Plan,
    play: PlayMatches,
    at_once: int,
) -> dict[str, float]:
    """Ratings of the policies on one scale, from games between those of different ``groups`` and with ``random``.

    ``play`` gets about ``at_once`` games at a time. Payoffs count where players of the game are judged by them. Blocks.
    """
    players = {name: Contender(name, load_policy(folder)) for name, folder in policies.items()}
    players[ANCHOR] = Contender(ANCHOR)
    settings = RatingSettings(Rules(plan.game, plan.conditions), seed=plan.asked.judge.seed)
    matchups = _round_robin([*policies], groups, plan.asked.judge.games, settings)
    played: list[GameRecord] = []
    size = max(1, at_once // settings.games_each)
    for start in range(0, len(matchups), size):
        some = matchups[start : start + size]
        played += play_matchups(some, players, settings, 0, play=play)
    found = rate(GameTable.of(played), players=policies)
    return {name: float(found.rating[found.index(name)]) for name in policies}


def _round_robin(
    names: Sequence[str], groups: Mapping[str, int], games: int, settings: RatingSettings
) -> list[Matchup]:
    """About ``games`` games of each player, alike with ``random`` and with each player of another group."""
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if groups[a] != groups[b]]
    pairs += [(name, ANCHOR) for name in names]
    opponents = 2 * len(pairs) / (len(names) + 1)
    each = max(1, round(games / opponents / settings.games_each))
    return [Matchup(pair, seed=derive(settings.seed, "sweep", *pair, i) % 2**53) for pair in pairs for i in range(each)]
