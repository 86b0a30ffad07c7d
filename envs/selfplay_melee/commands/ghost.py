"""A policy from the games of one person: imitated, then trained from there, and how near it is to the person's play."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

from selfplay.checkpoint.policies import BEST, resolve_policy
from selfplay.cli.imitation import parse
from selfplay.errors import ConfigError
from selfplay.evaluation.players import home_rules
from selfplay.imitation.app import open_library
from selfplay.imitation.data import Games
from selfplay.imitation.export import exported
from selfplay.imitation.train import train
from selfplay.learner.imitation import look
from selfplay.policy.heads import sample
from selfplay.policy.policy import load_policy
from selfplay.report.tree import counted
from selfplay.run.trainings import find_training
from selfplay.verbs import quoted, respelled
from selfplay_melee.commands import behaviour as behaving
from selfplay_melee.commands.record import policy

if TYPE_CHECKING:
    from selfplay.imitation.settings import ImitationConfig
    from selfplay.learner.imitation import Lesson
    from selfplay.policy.network import ActorCritic

LEAST: Final = 10  # games of the person
HELD_OUT: Final = 0.2  # share of the games that neither step learns from


@dataclass(frozen=True, slots=True)
class Ghost:
    """What is made of a person's games, and where."""

    name: str  # of the person, as in the games
    games: Path
    run: Path  # folder of the training
    epochs: int
    minutes: float  # of the training
    matches: int  # games of the ghost that its figures of style are from
    seed: int

    @property
    def imitation(self) -> Path:
        """Folder of the imitation, beside the run."""
        return self.run.with_name(f"{self.run.name}-imitation")


def make(ghost: Ghost, notice: Callable[[str], object]) -> int:
    """Do both steps and report to ``notice`` how near the result is to the person; the exit code. Blocks.

    Raises:
        ConfigError: too few games of the person, or the run is there already.
        SelfPlayError, GameError: as of the two trainings.
    """
    if ghost.run.exists():
        raise ConfigError(f"{ghost.run} exists; another folder is named by --checkpoint")
    imitation = parse(imitation_flags(ghost))
    games = person_games(ghost, imitation.config)
    if code := train(imitation):
        return code
    best = exported(ghost.imitation, BEST)
    if code := find_training("ppo").train(training_flags(ghost, best, games.home.played)):
        return code
    for line in report(ghost, games, best):
        notice(line)
    return 0


def person_games(ghost: Ghost, config: ImitationConfig) -> Games:
    """The person's games, split as the imitation splits them; ConfigError for too few."""
    library = open_library(config, ghost.imitation, sys.stdout)
    count = sum(game.rows > 0 for game in library.games)
    if count < LEAST:
        raise ConfigError(
            f"--games {ghost.games}: {counted(count, 'game')} of {ghost.name} can be used, and {LEAST} are needed: "
            f"play {LEAST - count} more"
        )
    return Games.of(library, config)


def imitation_flags(ghost: Ghost) -> list[str]:
    """The command line of ``selfplay imitate``."""
    flags = ["--replays", ghost.games, "--player", ghost.name, "--val-split", HELD_OUT, "--epochs", ghost.epochs]
    return [str(flag) for flag in (*flags, "--checkpoint", ghost.imitation, "--seed", ghost.seed)]


def training_flags(ghost: Ghost, pretrained: Path, played: str) -> list[str]:
    """The command line of ``selfplay train``; ``played`` are its flags of character and stage."""
    flags = ["--preset", "laptop", "--track-elo", "--pretrained", pretrained, *shlex.split(played)]
    flags += ["--max-minutes", ghost.minutes]
    return [str(flag) for flag in (*flags, "--checkpoint", ghost.run, "--seed", ghost.seed)]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Decisions of the person, and the shares in which what is predicted is what the person did."""

    decisions: int
    policy: float  # its likeliest action
    repeating: float  # the action before


def agreement(network: ActorCritic, lessons: Iterable[Lesson]) -> Agreement:
    """How often a network and a repetition of the last action are right about the next one."""
    decisions = right = repeated = 0
    with torch.inference_mode():
        for decided in look(network, lessons):
            action = decided.action.cpu()
            likeliest, *_ = sample(network.heads, decided.logits.cpu().float(), None, greedy=True)
            decisions += len(action)
            right += int((likeliest == action).all(1).sum())
            repeated += int((decided.last.cpu() == action).all(1).sum())
    return Agreement(decisions, right / max(decisions, 1), repeated / max(decisions, 1))


def report(ghost: Ghost, games: Games, imitation: Path) -> list[str]:
    """Lines on how near the trained policy is to the person, and what it cannot say."""
    made = resolve_policy(ghost.run)
    before, after = (agreement(load_policy(path).network, games.judging()) for path in (imitation, made))
    player = policy(str(made))
    played = list(behaving.mock_games(player, player, ghost.matches, home_rules([player]), ghost.seed))
    person = behaving.folder_games(ghost.games, player=ghost.name).games
    columns = [
        behaving.column(ghost.name, person, ghost.seed),
        behaving.column(f"{player.id} against itself", played, ghost.seed),
    ]
    held_out = counted(len(games.validation), "game")
    return [
        "",
        f"Next action of {ghost.name} in {held_out} held out, which only chose the imitation's epoch; "
        f"{after.decisions:,} decisions:",
        f"  the imitation           {before.policy:.1%}",
        f"  the ghost, trained      {after.policy:.1%}",
        f"  repeating the last one  {after.repeating:.1%}",
        "",
        *behaving.table(columns),
        "",
        f"These games do not say whether the ghost is as strong as {ghost.name}: neither has met the other.",
        "What next:",
        *(respelled(f"  selfplay {verb} {quoted(ghost.run)}") for verb in ("play", "leaderboard")),
    ]
