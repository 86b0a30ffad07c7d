"""Is a game right, and how fast is it? Checks the contract, and measures where the time of a step goes."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.check import check_game
from envs.errors import ActionError, ContractError, GameError
from envs.registry import find_game, make_game
from envs.vector import SyncVectorGame
from selfplay.config.fighting import Config

if TYPE_CHECKING:
    from envs.api import ScriptedGame
    from envs.registry import GameEntry
    from selfplay.report.metrics import IterationReport

GAMES: Final = 64
LONGEST: Final = 3000  # steps in which an episode must end, to be checked
SAMPLE_S: Final = 1.0  # of each measurement
TRAINED: Final = 12  # iterations, of which the first third is not counted
ROLLOUT: Final = 64
METHODS: Final = ("step", "observe", "legal", "to_act")


@dataclass(slots=True)
class GameReport:
    """What was found. Speeds are steps of a game a second, on this machine and in one thread."""

    game: str
    broken: list[str] = field(default_factory=list)  # promises, with the place
    notes: list[str] = field(default_factory=list)  # what an author may want to know
    episode_length: float | None = None  # mean of random play
    steps_per_s: float | None = None  # of the block alone
    shares: dict[str, float] = field(default_factory=dict)  # of its time, by what takes it
    trained_steps_per_s: float | None = None
    trained_shares: dict[str, float] = field(default_factory=dict)


def examine(name: str, tell: Callable[[str], object] = lambda _: None) -> GameReport:
    """Check a game and measure it, in about ten seconds where it is fast. Blocks.

    Raises:
        GameError: there is no such game, or it fails.
    """
    entry, found = find_game(name), GameReport(name)
    games = make_game(name, num_games=GAMES)
    tell("Playing at random")
    steps = _play(games, found)
    if not entry.repeats:
        found.broken.append(
            "the same seed and the same actions do not give the same game: reset(seed) must fix all randomness "
            "(a resumed run begins its games anew, the rest works)"
        )
    elif found.episode_length is None:
        found.notes.append(f"no episode ended within {LONGEST:,} steps, so the contract was not checked")
    else:
        tell("Checking the contract")
        try:
            check_game(lambda n: make_game(name, num_games=n), steps=steps, chance=False, zero_sum=False)
        except ContractError as error:
            found.broken.append(str(error))
        except ActionError as error:  # of random actions that were legal when the same games were played before
            found.broken.append(f"games of the same seeds go different ways: {error}")
    tell("Measuring")
    _measure(entry, games, found)
    games.close()
    if not found.broken:
        tell("Training")
        _train(name, found)
    return found


def _play(games: ScriptedGame, found: GameReport) -> int:
    """Play random games; the number of steps that the check of the contract needs for an episode to end."""
    seeds = np.arange(GAMES, dtype=np.uint64)
    lengths: list[int] = []
    common, played = 0.0, 0
    games.bots[:] = games.bot_names.index("random")
    games.reset(seeds)
    nothing = np.zeros((GAMES, games.num_seats, games.actions.width), np.int8)
    while played < LONGEST and len(lengths) < 2 * GAMES:
        batch = games.step(nothing)
        played += 1
        common = max(common, float(np.abs(batch.reward.sum(1)).max()))
        lengths += batch.stats["frames"][batch.ended, 0].tolist()
    if lengths:
        found.episode_length = float(np.mean(lengths))
    if common:
        found.notes.append(f"rewards of the seats do not always sum to zero (up to {common:g} in a step)")
    return min(LONGEST, 2 * played + 20)


def _measure(entry: GameEntry, games: ScriptedGame, found: GameReport) -> None:
    """Steps a second of the block with random actions, and the shares of the methods of a ``Game``."""
    games.bots[:] = -1
    games.reset(np.arange(GAMES, dtype=np.uint64))
    spec, rng = games.actions, np.random.default_rng(0)
    spent, steps = 0.0, 0
    until = time.perf_counter() + SAMPLE_S
    while time.perf_counter() < until:
        actions = _random(games, spec, rng)
        start = time.perf_counter()
        games.step(actions)
        spent += time.perf_counter() - start
        steps += GAMES
    found.steps_per_s = steps / spent
    if not isinstance(games, SyncVectorGame):
        return
    alone = _seconds_of_methods(entry)
    each = spent / steps
    found.shares = {name: seconds / each for name, seconds in alone.items()}
    found.shares["block"] = max(0.0, 1 - sum(found.shares.values()))


def _random(games: ScriptedGame, spec: Any, rng: np.random.Generator) -> Any:  # noqa: ANN401
    from envs.check import random_actions, some_legal

    if games.legal is None:
        return random_actions(rng, spec, 1, GAMES, games.num_seats)[0]
    return some_legal(games.legal, spec, rng)


def _seconds_of_methods(entry: GameEntry) -> dict[str, float]:
    """Seconds that each method of a single game takes of one step of the game."""
    assert entry.single is not None
    game, rng = entry.single(False), np.random.default_rng(0)
    spent, steps, clock = dict.fromkeys(METHODS, 0.0), 0, time.perf_counter
    sizes = (game.num_actions,) if isinstance(game.num_actions, int) else tuple(game.num_actions)
    ends = np.cumsum(sizes)[:-1]
    game.reset(0)
    until = clock() + SAMPLE_S
    length = 0
    while clock() < until:
        chosen: list[Any] = [0 if len(sizes) == 1 else [0] * len(sizes)] * 2
        t0 = clock()
        seats = game.to_act()
        spent["to_act"] += clock() - t0
        for seat in seats:
            t0 = clock()
            game.observe(seat)
            t1 = clock()
            mask = game.legal(seat)
            spent["observe"] += t1 - t0
            spent["legal"] += clock() - t1
            legal = np.ones(sum(sizes), bool) if mask is None else np.asarray(mask, bool)
            action = [int(rng.choice(np.flatnonzero(part))) for part in np.split(legal, ends)]
            chosen[seat] = action[0] if isinstance(game.num_actions, int) else action
        t0 = clock()
        _, terminated, truncated = game.step(chosen)
        spent["step"] += clock() - t0
        steps, length = steps + 1, length + 1
        if terminated or truncated or length >= game.max_steps:
            game.reset(steps)
            length = 0
    game.close()
    return {name: seconds / steps for name, seconds in spent.items()}


def _train(name: str, found: GameReport) -> None:
    """Train a little, and see where the time goes."""
    from selfplay.train.app import train
    from selfplay.train.hooks import Hooks

    reports: list[IterationReport] = []
    with TemporaryDirectory(prefix="check-game-") as folder:
        place = str(Path(folder) / "run")
        config = Config.model_validate(
            {
                "game": {"type": name},
                "ppo": {"rollout_length": ROLLOUT},
                "run": {
                    "timesteps": TRAINED * GAMES * ROLLOUT, "num_games": GAMES, "runners": 1, "threads": 1,
                    "checkpoint": place, "save_interval": TRAINED,
                },
            }
        )  # fmt: skip
        hooks = Hooks(callbacks=[reports.append])
        if train(config, explicit={"run.checkpoint": place}, stream=io.StringIO(), hooks=hooks):
            raise GameError(f"{name}: training ended early")
    counted = reports[TRAINED // 3 :]
    seconds = {phase: sum(report.phase_s[phase] for report in counted) for phase in ("collect", "update")}
    total, steps = sum(seconds.values()), len(counted) * GAMES * ROLLOUT
    found.trained_steps_per_s = steps / total
    games = steps / (found.steps_per_s or 1.0)
    found.trained_shares = {
        "the game": min(games, seconds["collect"]) / total,
        "the policy": max(0.0, seconds["collect"] - games) / total,
        "learning": seconds["update"] / total,
    }
