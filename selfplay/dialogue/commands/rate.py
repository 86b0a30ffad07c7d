"""Plays rating games of a dialogue run outside of training, and calibrates its scripted players."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from selfplay.checkpoint import list_generations
from selfplay.commands.rate import BATCH, round_robin, spend
from selfplay.config.resume import started_with
from selfplay.dialogue.opponents import find_servers, roster_of
from selfplay.dialogue.rating import FrozenPlayers, play_dialogues
from selfplay.dialogue.settings import DialogueConfig
from selfplay.machine import pick_device

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.league.anchors import AnchorTable


def rate_dialogue(
    run: RunDir, budget: int, seed: int, notice: Callable[[str], object], servers: Sequence[str] = ()
) -> int:
    """Play up to ``budget`` of the most informative comparisons and add them to the ledger; returns their number.

    ``servers`` are URLs of servers to rate too; those that the folder of the run names are not asked.
    """
    config = started_with(run, DialogueConfig)
    roster = roster_of(run, find_servers(config, servers))
    frozen = FrozenPlayers(config, run, pick_device(config.run.device), roster)
    generations = list_generations(run)
    players = [*(generation.id for generation in generations), *frozen.rating.anchors]
    iteration = max((generation.iteration for generation in generations), default=0)
    play = partial(play_dialogues, frozen=frozen, iteration=iteration)
    return spend(run, frozen.rating, players, budget, seed, play, BATCH, notice)


def calibrate_dialogue(run: RunDir, games: int, seed: int, notice: Callable[[str], object]) -> AnchorTable:
    """Rate the scripted players of a run's game, by ``games`` comparisons of each pair. Blocks."""
    frozen = FrozenPlayers(started_with(run, DialogueConfig), run, "cpu")
    play = partial(play_dialogues, frozen=frozen, iteration=0)
    return round_robin(frozen.rating, games, seed, play, BATCH, lambda done: notice(f"{done} comparisons"))
