"""Makes the embedded model: a small transformer, taught with games of one scripted player, the best moment kept.

It begins with exercises of one reply, then reads whole games, and among them fewer and fewer exercises in which the
reply comes after some talk. The model of that moment is kept that does best, playing both seats, on states of its own;
in a game without a shared reward the last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.dialogue.contract import AGREED
from selfplay.checkpoint.models import ModelMeta, is_model, read_model, save_model
from selfplay.errors import CheckpointError
from selfplay.league.records import settings_hash
from selfplay.learner.supervised import SupervisedLearner, SupervisedSettings
from selfplay.policy.language.lessons import lesson
from selfplay.policy.language.loading import load_model
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.tiny import TinySpec, make_tiny
from selfplay.policy.language.writer import LocalWriter
from selfplay.report.plain import duration
from selfplay.runner.dialogue import Fixture, Played, Player, play_games
from selfplay.seeding import derive

if TYPE_CHECKING:
    import torch

    from envs.dialogue.contract import DialogueEntry, Rules
    from selfplay.config.dialogue import StartConfig
    from selfplay.policy.language.chat import Chat
    from selfplay.policy.language.model import LanguageModel
    from selfplay.rollout.dialogue import Instance

VERSION: Final = 1  # of how it is made
BUFFER: Final = 16  # batches that are mixed with each other
SHORT: Final = 32
"""Tokens of a row up to which padding costs little. Such rows stay mixed: in a batch of one length a token weighs the
more the shorter its row is, so that what ends a game soon would be taught more often than the teacher does it."""
LOOKS: Final = 6  # moments that are compared, in the last part of the teaching
LOOKED_AT: Final = 512  # states that they are compared on
STEPS: Final = 20  # of the progress that is told
FROM: Final = 0.5  # share of the teaching after which they are


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that the embedded model follows from."""

    game: str
    rules: Rules
    start: StartConfig
    seed: int
    spec: TinySpec = field(default_factory=TinySpec)
    max_new_tokens: int = 24

    @property
    def document(self) -> dict[str, Any]:
        """As JSON."""
        start = self.start.model_dump(mode="json", exclude={"fresh"})
        return {
            "version": VERSION, "game": self.game, "rules": asdict(self.rules), "start": start, "seed": self.seed,
            "spec": asdict(self.spec), "max_new_tokens": self.max_new_tokens,
        }  # fmt: skip

    def folder(self, root: Path) -> Path:
        """Where it is kept."""
        size = getattr(self.rules, "size", None)
        name = "-".join(str(part) for part in (self.game, size, settings_hash(self.document)) if part is not None)
        return root / "tiny" / name


class _Progress:
    """Says how far the teaching is, now and then."""

    def __init__(self, recipe: Recipe, tell: Callable[[str], object]) -> None:
        self._recipe, self._tell = recipe, tell
        self._began = time.monotonic()
        self._told = 0

    def at(self, read: int, losses: Sequence[float]) -> None:
        """So many tokens are read."""
        tokens = self._recipe.start.tokens
        if read * STEPS // tokens > self._told:
            self._told = read * STEPS // tokens
            left = (time.monotonic() - self._began) * max(0.0, tokens / read - 1)
            self._tell(
                f"Teaching {self._recipe.game}: {read:,} of {tokens:,} tokens, loss {_mean(losses):.3f}, "
                f"{duration(left)} left"
            )


@dataclass(frozen=True, slots=True)
class Look:
    """How the model did at some moment."""

    tokens: int
    loss: float  # nats a token, lately
    reward: float  # mean, of seat 0
    agreed: float  # share


def embedded_model(
    entry: DialogueEntry, recipe: Recipe, root: Path, threads: int, tell: Callable[[str], object]
) -> tuple[LanguageModel, Path]:
    """The embedded model of a recipe: read where it has been made before, else made. Blocks for minutes then."""
    folder = recipe.folder(root)
    if is_model(folder) and not recipe.start.fresh:
        try:
            read_model(folder)
            return load_model(str(folder)), folder
        except CheckpointError as error:
            tell(f"{error}; it is made anew")
    began = time.monotonic()
    model, looks = teach(entry, recipe, threads, tell)
    seconds = round(time.monotonic() - began, 1)
    meta = ModelMeta(
        id="start", game=recipe.game, rules=asdict(recipe.rules), base="tiny", created=datetime.now(UTC),
        config={"recipe": recipe.document, "looks": [asdict(look) for look in looks], "seconds": seconds},
    )  # fmt: skip
    save_model(folder, meta, model.save, replace=True)
    return model, folder


def teach(
    entry: DialogueEntry, recipe: Recipe, threads: int, tell: Callable[[str], object]
) -> tuple[LanguageModel, list[Look]]:
    """Make the model; it as it was at its best moment, and all moments that were looked at."""
    start = recipe.start
    model = make_tiny(recipe.spec, entry.vocabulary(recipe.rules), derive(recipe.seed, "weights"))
    learner = SupervisedLearner(model, SupervisedSettings(learning_rate=start.learning_rate), threads)
    looks: list[Look] = []
    best: dict[str, torch.Tensor] = {}
    read, losses = 0, []
    lessons, progress = _Lessons(entry, recipe, model.chat), _Progress(recipe, tell)
    try:
        while len(looks) < LOOKS:
            batch = lessons.batch(read / start.tokens)
            losses.append(learner.step(batch, min(1.0, read / start.tokens)))
            read += sum(len(row.ids) for row in batch)
            progress.at(read, losses)
            due = FROM + (1 - FROM) * (len(looks) + 1) / LOOKS
            if read >= due * start.tokens:
                looks.append(_look(entry, recipe, model, read, _mean(losses)))
                if not entry.shared_reward or looks[-1] == max(looks, key=lambda look: look.reward):
                    best = {name: value.clone() for name, value in model.module.state_dict().items()}
                look = looks[-1]
                tell(f"  with itself it plays {look.reward:.3f} now, {look.agreed:.0%} agreed")
    finally:
        learner.close()
    model.module.load_state_dict(best)
    return model, looks


class _Lessons:
    """Rows for ever, in batches of about the same length each where lengths differ much."""

    def __init__(self, entry: DialogueEntry, recipe: Recipe, chat: Chat) -> None:
        self._entry = entry
        self._recipe = recipe
        self._chat = chat
        self._rng = np.random.default_rng(derive(recipe.seed, "rows"))
        self._made = 0
        self._batches: list[list[Instance]] = []

    def batch(self, done: float) -> list[Instance]:
        """The next one; ``done`` is the share of the teaching that lies behind."""
        if not self._batches:
            start = self._recipe.start
            after = max(0.0, (done - start.drills) / (1 - start.drills)) if start.drills < 1 else 0.0
            share = 1.0 if done < start.drills else start.mixed[0] + (start.mixed[1] - start.mixed[0]) * min(1.0, after)
            rows = self._rows(start.batch_rows * BUFFER, share, talk=done >= start.drills)
            batches = [rows[i : i + start.batch_rows] for i in range(0, len(rows), start.batch_rows)]
            self._batches = [batches[i] for i in self._rng.permutation(len(batches))]
        return self._batches.pop()

    def _rows(self, wanted: int, share: float, talk: bool) -> list[Instance]:
        """By length unless all are short; so many, or one more, of which a share are drills where the game has any."""
        entry, recipe, chat = self._entry, self._recipe, self._chat
        drills = entry.drills(recipe.rules, _seeds(recipe.seed, "drill", self._made, round(wanted * share)), talk)
        rows = [lesson(chat, "", drill.read, drill.wrote, taught=1) for drill in drills]
        games = _seeds(recipe.seed, "game", self._made, -(-(wanted - len(rows)) // 2))
        rows += taught_games(entry, recipe, chat, games)
        self._made += wanted
        mixed = [rows[i] for i in self._rng.permutation(len(rows))]
        if max(len(row.ids) for row in mixed) <= SHORT:
            return mixed
        return sorted(mixed, key=lambda row: len(row.ids))


def taught_games(entry: DialogueEntry, recipe: Recipe, chat: Chat, seeds: Sequence[int]) -> list[Instance]:
    """Both sides of the teacher's games with itself."""
    player = partial(entry.players[entry.teacher], recipe.rules)
    rows = []
    for game in _with_itself(entry, recipe, player, seeds):
        for seat, (system, *told) in enumerate(game.read):
            wrote = [turn.text for turn in game.turns if turn.seat == seat]
            if wrote:
                rows.append(lesson(chat, system, told, wrote))
    return rows


def _look(entry: DialogueEntry, recipe: Recipe, model: LanguageModel, read: int, loss: float) -> Look:
    writer = LocalWriter(model, Sampling(max_new_tokens=recipe.max_new_tokens))
    games = _with_itself(entry, recipe, writer, _seeds(recipe.seed, "look", 0, LOOKED_AT))
    rewards = [game.verdict.rewards[0] for game in games]
    agreed = [game.verdict.reason == AGREED for game in games]
    return Look(read, loss, float(np.mean(rewards)), float(np.mean(agreed)))


def _with_itself(entry: DialogueEntry, recipe: Recipe, player: Player, seeds: Sequence[int]) -> list[Played]:
    """A player's games with itself, one on the state of each seed; without those that raised."""
    fixtures = [
        Fixture(i, str(i), entry.start(recipe.rules, state), seed, (player, player))
        for i, (state, seed) in enumerate(zip(entry.states(recipe.rules, seeds), seeds, strict=True))
    ]
    return [game for game in play_games(fixtures) if isinstance(game, Played)]


def _mean(losses: Sequence[float]) -> float:
    """Of late."""
    return float(np.mean(losses[-100:]))


def _seeds(seed: int, what: str, first: int, count: int) -> list[int]:
    return [derive(seed, "start", what, first + i) for i in range(count)]
