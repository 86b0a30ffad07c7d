"""Imitation of recorded games, of games that are no fights: in memory, without memory in the policy, in minutes."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import numpy as np
import torch

from envs.errors import GameError
from envs.files import printable
from envs.registry import find_game
from selfplay.checkpoint import ActionHeads, PolicyMeta, RunDir, save_policy
from selfplay.checkpoint.policies import BEST, SHOWN
from selfplay.config.defaults import update_threads, with_defaults
from selfplay.config.fighting import Config, GameConfig
from selfplay.config.network import network_spec
from selfplay.config.resolve import resolve_imitation
from selfplay.errors import ConfigError, LearnerError
from selfplay.learner.imitation import Imitator, Lesson, plain_emphasis
from selfplay.policy.heads import logprob_entropy, masked, sample
from selfplay.policy.network import build_network
from selfplay.policy.policy import parameters_of
from selfplay.replays.recorded_games import Decisions, decisions_of, read_games
from selfplay.seeding import derive
from selfplay.train.imitation.export import exported, owner_of_best
from selfplay.verbs import quoted, respelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from selfplay.checkpoint import NetworkSpec
    from selfplay.checkpoint.documents import JsonObject
    from selfplay.config.imitation import DataConfig, ImitationConfig
    from selfplay.policy.network import ActorCritic

NAME: Final = "recorded_games"  # of the training, in the policy's id
MOST_BYTES: Final = 2**31  # of all observations


@dataclass(slots=True)
class Examples:
    """Decisions to learn from and to judge by, by game, and what was left out."""

    train: list[Decisions] = field(default_factory=list)
    validation: list[Decisions] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # place and reason of games that went another way


def load_examples(data: DataConfig, folds: int) -> Examples:
    """Play the games of a file again. One in ``folds`` is kept apart, by a hash of its seed.

    Raises:
        ConfigError: a game of another name or version; no game is left, or no player that is asked for; or too many
            decisions.
        CorruptError: the file is damaged.
    """
    entry, path = find_game(data.game), Path(data.replays or "")
    if entry.single is None:
        raise ConfigError(f"--game-type {data.game}: its games cannot be recorded")
    game, found, names, size = entry.single(False), Examples(), set[str](), 0
    for place, record in read_games(path):
        if (record.game, record.version) != (data.game, entry.encoder_version):
            raise ConfigError(
                f"{place}: a game of {record.game}, version {record.version}; "
                f"wanted is {data.game}, version {entry.encoder_version}"
            )
        names.update(record.players)
        wanted = [data.player in (None, player) for player in record.players]
        if not any(wanted):
            continue
        try:
            seats = decisions_of(game, record)
        except GameError as error:
            found.left_out.append(f"{place}: {error}")
            continue
        decisions = Decisions.joined([seat for seat, want in zip(seats, wanted, strict=True) if want])
        size += decisions.obs.nbytes
        if size > MOST_BYTES:
            raise ConfigError(f"{place}: the decisions up to here take more than {MOST_BYTES} bytes; use fewer games")
        side = found.train if derive(record.seed, "imitation", "split") % folds else found.validation
        side.append(decisions)
        if len(found.train) + len(found.validation) == data.max_files:
            break
    game.close()
    if not found.train:
        found.train, found.validation = found.validation, []
    if not sum(map(len, found.train)):
        if found.left_out:
            count = len(found.left_out)
            raise ConfigError(f"no game is left to learn from, {count} go another way: {found.left_out[0]}")
        if not found.train:
            raise ConfigError(f"--player {data.player}: not in {path} (players: {', '.join(sorted(names)[:SHOWN])})")
        raise ConfigError(f"{path}: nobody has a choice in these games")
    return found


def train_on_games(config: ImitationConfig, explicit: Mapping[str, Any], stream: TextIO) -> int:
    """Learn from a file of recorded games and export the best policy; the exit code. Blocks.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """

    def tell(text: str) -> None:
        print(printable(text), file=stream, flush=True)

    began, resolved = time.monotonic(), resolve_imitation(config, explicit)
    config, learn = resolved.config, resolved.config.learn
    found = load_examples(config.data, config.folds)
    train, rng = Decisions.joined(found.train), np.random.default_rng(derive(config.run.seed, "imitation", "order"))
    judged = Decisions.joined(found.validation) if sum(map(len, found.validation)) else train
    tell(
        f"{config.data.game}: {len(found.train)} games with {len(train):,} decisions to learn from, "
        f"{len(found.validation)} to judge by"
    )
    if found.left_out:
        tell(f"Left out {len(found.left_out)} games that go another way; the first is {found.left_out[0]}")
    if judged is train:
        tell("No game is left to judge by: loss and accuracy are those on the games learned from")
    parent = Path(config.run.checkpoint)
    if (other := owner_of_best(RunDir(parent / NAME))) is not None:
        tell(other)
    torch.set_num_threads(1)  # the imitator's threads share the work
    first = torch.Generator().manual_seed(derive(config.run.seed, "network"))
    network = build_network(*_network_of(config), first).to(resolved.device)
    threads = update_threads(config.run.threads)
    best: dict[str, Any] = {"loss": math.inf}
    bar, stale, params = math.inf, 0, parameters_of(network)
    with closing(
        Imitator(network, plain_emphasis(network.heads), learn.learning_rate, learn.max_grad_norm, threads)
    ) as imitator:
        for epoch in range(learn.epochs):
            order = rng.permutation(len(train))
            for start in range(0, len(train), learn.batch_size):
                done = (epoch + start / len(train)) / learn.epochs
                imitator.parallel_step.optimizer.learning_rate = learn.rate_at(done)
                imitator.learn(_lesson(train, order[start : start + learn.batch_size]))
            loss, accuracy = judge(network, judged)
            tell(f"Epoch {epoch + 1}/{learn.epochs}: loss {loss:.4f} nats a decision, accuracy {accuracy:.1%}")
            if loss < best["loss"]:
                best, params = {"loss": loss, "accuracy": accuracy, "epoch": epoch + 1}, parameters_of(network)
            bar, stale = (loss - learn.min_delta, 0) if loss < bar else (bar, stale + 1)
            minutes = (time.monotonic() - began) / 60
            if 0 < learn.patience <= stale or minutes >= (config.run.max_minutes or math.inf):
                break
    if "epoch" not in best:
        raise LearnerError("the loss was not finite in any epoch; a lower --learning-rate may help")
    place = save_policy(exported(parent, BEST), _meta(config, found, best, len(train)), params, replace=True)
    tell(f"The best policy, of epoch {best['epoch']}, is in {place}: accuracy {best['accuracy']:.1%}")
    game = f" --game-type {config.data.game}"
    tell(respelled(f"next: python scripts/train_self_play.py --pretrained {quoted(place)}{game}"))
    tell(respelled(f"      python scripts/evaluate.py {quoted(place)} random{game}"))
    return 0


def judge(network: ActorCritic, decisions: Decisions, most: int = 4096) -> tuple[float, float]:
    """Mean negative log-likelihood of the actions in nats, and how often the likeliest action is the player's."""
    device, loss, right = network.out.weight.device, 0.0, 0
    for start in range(0, len(decisions), most):
        lesson = _lesson(decisions, slice(start, start + most)).to(device)
        with torch.inference_mode():
            logits = masked(network(lesson.obs)[0], lesson.legal)
            loss -= float(logprob_entropy(network.heads, logits, lesson.action)[0].sum())
            likeliest, _ = sample(network.heads, logits, None, greedy=True)
            right += int((likeliest == lesson.action).all(1).sum())
    return loss / len(decisions), right / len(decisions)


def _lesson(decisions: Decisions, rows: slice | NDArray[np.int64]) -> Lesson:
    action = torch.from_numpy(decisions.action[rows])
    obs, legal = torch.from_numpy(decisions.obs[rows]), torch.from_numpy(decisions.legal[rows])
    return Lesson(obs, action, last=action, legal=legal)


def _network_of(config: ImitationConfig) -> tuple[NetworkSpec, ActionHeads]:
    entry = find_game(config.data.game)
    heads = ActionHeads(binary=entry.actions.binary, sizes=entry.actions.sizes)
    return network_spec(config.net, entry.obs_width), heads


def _meta(config: ImitationConfig, found: Examples, best: dict[str, Any], rows: int) -> PolicyMeta:
    spec, heads = _network_of(config)
    home = with_defaults(Config(game=GameConfig(type=config.data.game))).game
    sides = {"train": found.train, "validation": found.validation}
    replays: JsonObject = {
        "games": {name: len(side) for name, side in sides.items()},
        "rows": {name: sum(map(len, side)) for name, side in sides.items()},
    }
    return PolicyMeta(
        id=f"{NAME}_{BEST}",
        iteration=best["epoch"],
        total_steps=best["epoch"] * rows,
        network=spec,
        actions=heads,
        encoder_version=find_game(config.data.game).encoder_version,
        frame_skip=home.frame_skip,
        delay=home.delay,
        characters=(home.character,),
        stage=home.stage,
        created=datetime.now(UTC),
        config={
            "game": {"type": config.data.game},
            "imitation": {**config.model_dump(mode="json"), "replays": replays, "losses": best},
        },
    )
