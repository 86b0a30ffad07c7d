"""Exact figures of policies and runs, for the commands that show them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.checkpoint import RunDir, list_generations, resolve_policy
from selfplay.config.resume import game_of_run
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.evaluation.exact import (
    AT_ONCE,
    MOST_CELLS,
    ExactFigures,
    RunFigures,
    exact_figures,
    run_figures,
    spread,
)
from selfplay.games.errors import GameError
from selfplay.games.kind import GameKind
from selfplay.games.registry import find_kind
from selfplay.games.solved.enumeration import find_tree
from selfplay.policy.played_game import game_of
from selfplay.policy.policy import Policy, load_policy
from selfplay.report.leaderboard_page.exact import exact_section, without

if TYPE_CHECKING:
    from selfplay.games.solved.enumeration import Limits


def figures_of_policy(folder: Path) -> ExactFigures:
    """Figures of the policy in a folder.

    Raises:
        EnumerationError: its game cannot be written down whole at once.
        ConfigError: the policy remembers.
    """
    policy = load_policy(resolve_policy(folder))
    game = game_of(policy.meta)
    find_tree(game, AT_ONCE)
    check_memoryless({policy.meta.id: policy})
    return exact_figures(game, policy)


def figures_of_run(run: RunDir, limits: Limits = AT_ONCE) -> RunFigures:
    """Figures of the saved generations of a run; errors as of ``figures_of_policy``."""
    generations = list_generations(run)
    if not generations:
        raise ConfigError(f"{run.path} has no generation to judge")
    game = game_of_run(run)
    tree = find_tree(game, limits)
    most = max(2, MOST_CELLS // (2 * len(tree.parent)))
    policies = {each.id: load_policy(each.path) for each in spread(generations, most)}
    check_memoryless(policies)
    return run_figures(game, policies, limits)


def is_single(game: str) -> bool:
    """Whether single games can be made, as is needed to write a game down whole; not of games that need permission."""
    try:
        kind = find_kind(game)
    except GameError:  # what plays the games again says why
        return False
    return isinstance(kind, GameKind) and kind.single is not None


def exact_part(run: RunDir, game: str) -> str:
    """Section of the page of a run, as HTML; empty where games of this kind are never written down whole.

    It takes as long as ``AT_ONCE`` allows.
    """
    if not is_single(game):
        return ""
    try:
        found = figures_of_run(run)
    except (GameError, SelfPlayError) as error:
        return without(str(error))
    return exact_section(found.unit, found.nodes, found.nash_convs, found.players, found.payoffs)


def check_memoryless(policies: Mapping[str, Policy]) -> None:
    """Refuse policies that remember (ConfigError)."""
    for name, policy in policies.items():
        if policy.network.memory_width:
            raise ConfigError(
                f"{name} remembers ({policy.meta.network.kind}): exact figures are of policies without memory (mlp)"
            )
