"""The training loop: epochs of minibatches, with validation and export after each. Resumes bit for bit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import closing
from itertools import islice, takewhile
from typing import TYPE_CHECKING

import torch

from selfplay.checkpoint.policies import BEST
from selfplay.games.registry import find_game
from selfplay.imitation.export import LATEST, export, network_of
from selfplay.imitation.hook import imitation_of
from selfplay.imitation.report import EpochReport, Reports
from selfplay.imitation.training_state import Sums, TrainingProgress, restore, save
from selfplay.learner.imitation import Emphasis, Imitator, Lesson, begin_with, look
from selfplay.learner.imitation_metrics import ActionCounts, Baselines, ImitationMetrics, imitation_metrics
from selfplay.policy.network import build_network
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.imitation.data import Games
    from selfplay.policy.network import ActorCritic


class Training:
    """The training in this process. ``stop`` is called after every minibatch; True ends the training."""

    def __init__(
        self, run: RunDir, games: Games, action_counts: ActionCounts, reports: Reports, device: str, threads: int,
        stop: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.progress = TrainingProgress()
        self.last: ImitationMetrics | None = None  # of the last epoch in this process
        self.best: ImitationMetrics | None = None  # of the best epoch, if that was in this process
        self._run, self._games, self._action_counts = run, games, action_counts
        self._reports, self._stop = reports, stop
        self._config, learn = games.config, games.config.learn
        self._replays, self._rows = str(games.description()["hash"]), games.rows
        self._game = find_game(self._config.data.game)
        self._hook = imitation_of(self._game)
        self._generator = torch.Generator().manual_seed(derive(self._config.run.seed, "imitation", "samples"))
        self._baselines = Baselines(action_counts)
        network = self._fresh_network().to(device)
        emphasis = Emphasis.of(action_counts, network.heads, *self._hook.emphasis(self._config), learn.change_weight)
        self._imitator = Imitator(network, emphasis, learn.learning_rate, learn.max_grad_norm, threads)
        self._began = self._saved = time.monotonic()
        self._before_s = 0.0  # of earlier processes

    def _fresh_network(self) -> ActorCritic:
        torch.set_num_threads(1)  # the imitator's threads share the work
        config = self._config
        spec, heads = network_of(config.net, config.data.game)
        network = build_network(spec, heads, torch.Generator().manual_seed(derive(config.run.seed, "network")))
        begin_with(network, self._action_counts)
        return network

    def resume(self, state: LearnerState, progress: TrainingProgress) -> None:
        """Continue from a state; the planned end may be later now."""
        restore(state, self._imitator, self._generator)
        ended = progress.ended if progress.epoch >= self._config.learn.epochs or self.is_stale(progress) else ""
        self.progress = progress.model_copy(update={"ended": ended})
        self._before_s = progress.elapsed_s

    def save(self) -> None:
        self.progress = self.progress.model_copy(update={"elapsed_s": self.elapsed_s})
        save(
            self._run, self._config, self.progress, self._replays, self._imitator, self._action_counts, self._generator
        )
        self._saved = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds of training in all processes."""
        return self._before_s + time.monotonic() - self._began

    @property
    def time_is_up(self) -> bool:
        limit = self._config.run.max_minutes
        return limit is not None and self.elapsed_s >= 60 * limit

    def run(self) -> None:
        """Learn until all epochs are done, the loss no longer falls, the time is up, or a signal comes."""
        if not self.progress.minibatches:
            self.save()
        while not self.progress.ended:
            whole = self._pass()
            judged = not self._stop() and self._judge(whole=whole)
            if not judged:
                self._export(LATEST, None)
            self.save()
            if not judged or not whole or self._stop() or self.time_is_up:
                break

    def close(self) -> None:
        """End the threads."""
        self._imitator.close()

    def _pass(self) -> bool:
        """Learn the rest of an epoch; whether it was completed."""
        lessons, began = self._games.lessons(self.progress.epoch), self.progress.sums.minibatches
        if not began:
            self._imitator.forget()
        label = f"Epoch {self.progress.epoch + 1}/{self._config.learn.epochs}"
        with closing(lessons), self._reports.ticker(label, self._rows) as ticker:
            for lesson in islice(lessons, began, None):
                if self._stop() or self.time_is_up:
                    break
                self._learn(lesson)
                ticker.at(self.progress.sums.seen)
                if time.monotonic() - self._saved > 60 * self._config.run.save_minutes:
                    self.save()
            else:
                return True
        return False

    def _learn(self, lesson: Lesson) -> None:
        progress, clock = self.progress, time.monotonic()
        self._imitator.parallel_step.optimizer.learning_rate = self._learning_rate()
        learned = self._imitator.learn(lesson)
        sums = progress.sums.add(learned, time.monotonic() - clock)
        self.progress = progress.model_copy(
            update={"sums": sums, "minibatches": progress.minibatches + 1, "rows": progress.rows + learned.rows}
        )

    def _learning_rate(self) -> float:
        """The learning rate: a cosine over all planned rows."""
        learn, progress = self._config.learn, self.progress
        done = min((progress.epoch + progress.sums.seen / self._rows) / learn.epochs, 1.0)
        return learn.learning_rate * (learn.final_rate + (1 - learn.final_rate) * (1 + math.cos(math.pi * done)) / 2)

    def _judge(self, *, whole: bool) -> bool:
        """Validate, report, export, and after a whole epoch move on to the next; whether that was completed."""
        lessons = self._games.judging()
        before = self._generator.get_state()
        with closing(lessons):
            decisions = look(self._imitator.network, takewhile(lambda _: not self._stop(), lessons))
            heads, pairs = self._imitator.network.heads, self._hook.pairs
            found = imitation_metrics(heads, decisions, self._baselines, pairs, self._generator)
        stopped = found is None or self._stop()  # called once, since it can change at any time
        if not whole or stopped:
            self._generator.set_state(before)  # the epoch continues when the training is resumed
        if found is None or stopped:
            return False
        self.last = found
        best = self._take(found, whole=whole)
        self._export(LATEST, found)
        if best:
            self.best = found
            self._export(BEST, found)
        if whole:
            self._report(found, best=best)
            self.progress = self.progress.model_copy(update={"sums": Sums()})
        return True

    def _take(self, found: ImitationMetrics, *, whole: bool) -> bool:
        """Record a loss; whether it is the best. Without validation games the latest is, if it has learned anything."""
        progress, learn, loss = self.progress, self._config.learn, found.model.all
        best = not self._games.validation or progress.best is None or loss < progress.best
        best = best and progress.rows > 0
        better = progress.bar is None or loss < progress.bar
        values = progress.model_dump(exclude={"sums"})
        if best:
            values |= {"best": loss, "best_epoch": progress.epoch + 1}
        if whole:
            values["epoch"] += 1
            values |= {"stale": 0, "bar": loss - learn.min_delta} if better else {"stale": progress.stale + 1}
        progress = TrainingProgress(**values, sums=progress.sums)
        if self.is_stale(progress):
            values["ended"] = f"no better validation loss for {progress.stale} epochs"
        elif progress.epoch >= learn.epochs:
            values["ended"] = f"all {learn.epochs} epochs are done"
        self.progress = TrainingProgress(**values, sums=progress.sums)
        return best

    def is_stale(self, progress: TrainingProgress) -> bool:
        """Whether the loss has not fallen for as long as the training waits for it."""
        patience = self._config.learn.patience
        return bool(self._games.validation and patience and progress.stale >= patience)

    def _report(self, found: ImitationMetrics, *, best: bool) -> None:
        progress = self.progress
        self._reports.epoch(
            EpochReport(
                iteration=progress.epoch,
                total_steps=progress.rows,
                epochs=self._config.learn.epochs,
                sums=progress.sums,
                metrics=found,
                validated=bool(self._games.validation),
                learning_rate=self._imitator.parallel_step.optimizer.learning_rate,
                best=best and bool(self._games.validation),
                part_names=self._game.part_names,
                rates=self._hook.rates(found),
            )
        )

    def _export(self, which: str, found: ImitationMetrics | None) -> None:
        export(self._run, which, self._games, self.progress, self._imitator.network, found)
