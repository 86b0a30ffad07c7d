"""Makes the embedded model: a small transformer, trained on games of a scripted player; the best snapshot is kept.

It begins with exercises of one reply. Then it reads whole games, mixed with fewer and fewer exercises that follow some
messages. The snapshot with the highest reward in self-play on separate states is kept; without a shared reward, the
last one. A training that a signal interrupts is kept, and the next one goes on from it.
"""

from __future__ import annotations

import copy
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.dialogue.contract import AGREED
from selfplay.dialogue.language.conversation import demonstration
from selfplay.dialogue.language.loading import load_model
from selfplay.dialogue.language.tiny import make_tiny
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.models import ModelMeta, is_model, read_model, save_model
from selfplay.dialogue.partial import Partial, Snapshot, load_partial, remove_partial, save_partial
from selfplay.dialogue.runner import GameSpec, Lost, Played, Player, play_games
from selfplay.dialogue.supervised import SupervisedLearner
from selfplay.errors import CheckpointError, ConfigError
from selfplay.games.errors import GameError
from selfplay.learner.sampling import Sampling
from selfplay.report import header
from selfplay.report.plain import duration
from selfplay.run.lifecycle import stop_signal
from selfplay.seeding import derive

if TYPE_CHECKING:
    import torch
    from pydantic import JsonValue

    from selfplay.dialogue.contract import DialogueEntry
    from selfplay.dialogue.instances import Instance
    from selfplay.dialogue.language.chat import Chat
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.recipe import Recipe

BUFFER: Final = 16  # batches that are shuffled together
SHORT: Final = 32
"""Length in tokens below which rows are not sorted by length. In a batch of one length a token weighs the more the
shorter its row is, so short games would be overrepresented."""
SNAPSHOTS: Final = 6  # in the last part of the training
SNAPSHOT_STATES: Final = 512  # on which they are compared
FIRST_SNAPSHOT: Final = 0.5  # share of the training before them
NOTICE_S: Final = 15.0  # between two notices of the progress; the first follows the first step
LOSSES: Final = 100  # of the last steps, in a mean


def embedded_model(
    entry: DialogueEntry,
    recipe: Recipe,
    root: Path,
    threads: int,
    notice: Callable[[str], object],
    show_header: Callable[[Sequence[str]], object] = lambda _: None,
) -> tuple[LanguageModel, Path]:
    """The embedded model of a recipe, with its folder; training it the first time takes minutes. Blocks.

    Raises:
        KeyboardInterrupt, SystemExit: a signal ended the training, which is kept for the next call.
    """
    folder = recipe.folder(root)
    if is_model(folder) and not recipe.start.fresh:
        try:
            read_model(folder)
            return load_model(str(folder)), folder
        except CheckpointError as error:
            notice(f"{error}; it is made again")
    snapshots: list[Snapshot] = []
    if not recipe.start.tokens:
        model, seconds = random_model(entry, recipe), 0.0
    elif not entry.teacher:
        raise ConfigError(f"--start-tokens {recipe.start.tokens}: {recipe.game} has no legal() and no players to read")
    else:
        show_header(header.lines("Teaching the Embedded Model", _header(recipe, threads, folder)))
        with stop_signal() as stopped:
            model, snapshots, seconds = pretrain(entry, recipe, threads, notice, folder, lambda: bool(stopped))
        if stopped and len(snapshots) < SNAPSHOTS:
            notice("Stopped, and saved what was taught: the same command goes on from it")
            raise KeyboardInterrupt if stopped[0] == signal.SIGINT else SystemExit(128 + stopped[0])
    looks: list[JsonValue] = [one.model_dump() for one in snapshots]
    meta = ModelMeta(
        id="start", game=recipe.game, rules=asdict(recipe.rules), base="tiny", created=datetime.now(UTC),
        config={"recipe": recipe.document, "looks": looks, "seconds": round(seconds, 1)},
    )  # fmt: skip
    save_model(folder, meta, model.save, replace=True)
    remove_partial(folder)
    return model, folder


def random_model(entry: DialogueEntry, recipe: Recipe) -> LanguageModel:
    """The model before any training."""
    return make_tiny(recipe.spec, entry.vocabulary(recipe.rules), derive(recipe.seed, "weights"))


def _header(recipe: Recipe, threads: int, folder: Path) -> list[tuple[str, object]]:
    start = recipe.start
    return [
        ("Game type", recipe.game),
        ("Rules", ", ".join(f"{name} {value}" for name, value in asdict(recipe.rules).items())),
        ("Tokens", start.tokens),
        ("Batch rows", start.batch_rows),
        ("Learning rate", start.learning_rate),
        ("Seed", str(recipe.seed)),
        ("Threads", threads),
        ("Model folder", folder),
    ]


def pretrain(
    entry: DialogueEntry,
    recipe: Recipe,
    threads: int,
    notice: Callable[[str], object],
    folder: Path,
    stopped: Callable[[], bool],
) -> tuple[LanguageModel, list[Snapshot], float]:
    """Train a model, from where an interrupted training of ``folder`` stands.

    Returns:
        The best snapshot, the evaluations of all, and the seconds that it took. If ``stopped`` says so the training is
        kept beside ``folder``, and there are fewer evaluations.
    """
    start = recipe.start
    model = random_model(entry, recipe)
    learner = SupervisedLearner(model, start.learning_rate, threads)
    data = _Batches(entry, recipe, model.chat)
    try:
        before, best = _resume(folder, learner, data, start.tokens, notice)
        read, snapshots, losses = before.read, [*before.snapshots], deque(before.losses, maxlen=LOSSES)
        began, next_notice_s = time.monotonic(), 0.0
        while len(snapshots) < SNAPSHOTS and not stopped():
            batch = data.next(read / start.tokens)
            losses.append(learner.step(batch, min(1.0, read / start.tokens)))
            read += sum(len(row.ids) for row in batch)
            seconds = time.monotonic() - began
            if seconds >= next_notice_s:
                next_notice_s = seconds + NOTICE_S
                left = duration(seconds * max(0, start.tokens - read) / (read - before.read))
                done = f"{read:,} of {start.tokens:,} tokens ({read / start.tokens:.0%}), loss {np.mean(losses):.3f}"
                notice(f"Teaching {recipe.game}: {done}, about {left} left")
            due = FIRST_SNAPSHOT + (1 - FIRST_SNAPSHOT) * (len(snapshots) + 1) / SNAPSHOTS
            if read >= due * start.tokens:
                snapshots.append(_evaluate(entry, recipe, model, read, float(np.mean(losses))))
                if not entry.shared_reward or snapshots[-1] == max(snapshots, key=lambda one: one.reward):
                    best = {name: value.clone() for name, value in model.module.state_dict().items()}
                last = snapshots[-1]
                agreed = f", {last.agreed:.0%} agreed" if entry.shared_reward else ""
                notice(f"  reward in self-play {last.reward:.3f}{agreed}")
        total_s = before.seconds + time.monotonic() - began
        if len(snapshots) < SNAPSHOTS:
            partial = Partial(
                read=read, seconds=total_s, losses=tuple(losses), snapshots=tuple(snapshots),
                made=data.made_before, done=data.done_before, taken=data.taken,
            )  # fmt: skip
            save_partial(folder, partial, learner, best, data.rng_before)
            return model, snapshots, total_s
    finally:
        learner.close()
    model.module.load_state_dict(best)
    # The logits are linear in the weights of the last norm, so what follows samples at temperature 1.
    model.module.model.norm.weight.data /= start.temperature
    return model, snapshots, total_s


def _resume(
    folder: Path, learner: SupervisedLearner, data: _Batches, tokens: int, notice: Callable[[str], object]
) -> tuple[Partial, dict[str, torch.Tensor]]:
    """Restore an interrupted training; its progress and the weights of its best snapshot, or those of a new one."""
    try:
        found = load_partial(folder, learner, data.rng)
    except CheckpointError as error:
        notice(f"{error}; it is taught from the beginning")
        found = None
    if found is None:
        return Partial(), {}
    partial, best = found
    data.skip(partial.made, partial.done, partial.taken)
    notice(f"Going on with an interrupted training, at {partial.read:,} of {tokens:,} tokens")
    return partial, best


class _Batches:
    """An endless source of batches; rows of a batch have similar lengths if they are long.

    They are made in buffers. A place in a buffer is known by what was there before it, and how many batches were taken.
    """

    def __init__(self, entry: DialogueEntry, recipe: Recipe, chat: Chat) -> None:
        self._entry = entry
        self._recipe = recipe
        self._chat = chat
        self.rng = np.random.default_rng(derive(recipe.seed, "rows"))
        self.rng_before = copy.deepcopy(self.rng)
        self.made_before, self.done_before, self.taken = 0, 0.0, 0
        self._made = 0
        self._batches: list[list[Instance]] = []

    def skip(self, made: int, done: float, taken: int) -> None:
        """Go to a place; ``rng`` is as it was before its buffer."""
        self._made = made
        for _ in range(taken):
            self.next(done)

    def next(self, done: float) -> list[Instance]:
        """The next batch; ``done`` is the progress of the training in [0, 1]."""
        if not self._batches:
            self.rng_before = copy.deepcopy(self.rng)
            self.made_before, self.done_before, self.taken = self._made, done, 0
            start = self._recipe.start
            after = max(0.0, (done - start.drills) / (1 - start.drills)) if start.drills < 1 else 0.0
            share = 1.0 if done < start.drills else start.mixed[0] + (start.mixed[1] - start.mixed[0]) * min(1.0, after)
            rows = self._rows(start.batch_rows * BUFFER, share, talk=done >= start.drills)
            batches = [rows[i : i + start.batch_rows] for i in range(0, len(rows), start.batch_rows)]
            self._batches = [batches[i] for i in self.rng.permutation(len(batches))]
        self.taken += 1
        return self._batches.pop()

    def _rows(self, wanted: int, share: float, talk: bool) -> list[Instance]:
        """About ``wanted`` rows with a share of drills, if the game has any; sorted by length unless all are short."""
        entry, recipe, chat = self._entry, self._recipe, self._chat
        drills = entry.drills(recipe.rules, _seeds(recipe.seed, "drill", self._made, round(wanted * share)), talk)
        rows = [demonstration(chat, "", drill.read, drill.wrote, targets=1) for drill in drills]
        games = _seeds(recipe.seed, "game", self._made, -(-(wanted - len(rows)) // 2))
        rows += taught_games(entry, recipe, chat, games)
        self._made += wanted
        mixed = [rows[i] for i in self.rng.permutation(len(rows))]
        if max(len(row.ids) for row in mixed) <= SHORT:
            return mixed
        return sorted(mixed, key=lambda row: len(row.ids))


def taught_games(entry: DialogueEntry, recipe: Recipe, chat: Chat, seeds: Sequence[int]) -> list[Instance]:
    """Rows of both seats of the teacher's games with itself."""
    player = partial(entry.start_player or entry.players[entry.teacher or next(iter(entry.players))], recipe.rules)
    rows = []
    for game in _with_itself(entry, recipe, player, seeds):
        for seat, (system, *observations) in enumerate(game.read):
            replies = [turn.text for turn in game.turns if turn.seat == seat]
            if replies:
                rows.append(demonstration(chat, system, observations, replies))
    return rows


def _evaluate(entry: DialogueEntry, recipe: Recipe, model: LanguageModel, read: int, loss: float) -> Snapshot:
    writer = LocalWriter(model, Sampling(recipe.start.temperature, max_new_tokens=recipe.max_new_tokens))
    games = _with_itself(entry, recipe, writer, _seeds(recipe.seed, "look", 0, SNAPSHOT_STATES))
    rewards = [game.outcome.rewards[0] for game in games]
    agreed = [game.outcome.reason == AGREED for game in games]
    return Snapshot(tokens=read, loss=loss, reward=float(np.mean(rewards)), agreed=float(np.mean(agreed)))


def _with_itself(entry: DialogueEntry, recipe: Recipe, player: Player, seeds: Sequence[int]) -> list[Played]:
    """A player's games with itself, one per state seed; failed games are left out. GameError if all failed."""
    specs = [
        GameSpec(i, str(i), entry.start(recipe.rules, state), seed, (player, player))
        for i, (state, seed) in enumerate(zip(entry.states(recipe.rules, seeds), seeds, strict=True))
    ]
    games = play_games(specs)
    played = [game for game in games if isinstance(game, Played)]
    if games and not played:
        raise GameError(next(game.why for game in games if isinstance(game, Lost)))
    return played


def _seeds(seed: int, what: str, first: int, count: int) -> list[int]:
    return [derive(seed, "start", what, first + i) for i in range(count)]
