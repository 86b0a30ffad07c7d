"""Is a game right, and how fast is it? Checks the contract, and measures where the time of a step goes."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.check import check_game, random_step
from envs.errors import ActionError, ContractError, GameError
from envs.registry import find_game, make_game
from envs.vector import SyncVectorGame
from selfplay.config.fighting import Config
from selfplay.league.rewards import BY_WINS, PaidByScore

if TYPE_CHECKING:
    from envs.api import ScriptedGame, StepBatch
    from selfplay.report.metrics import IterationReport

GAMES: Final = 64
LONGEST: Final = 3000  # steps in which an episode must end, to be checked
STEPS: Final = 200  # at least, of random play
TRAINED: Final = 12  # iterations, of which the first third is not counted
ROLLOUT: Final = 64  # at most; less where a game is slow
SLOW: Final = 0.02  # seconds of a step of all games; slower ones are measured with ``FEW`` games and shorter rollouts
FEW: Final = 8
TRAINING: Final = 20.0  # seconds of play that a slow game is trained with
METHODS: Final = {"step": "step", "observe_all": "observe", "legal_all": "legal", "to_act": "to_act"}
"""What is timed of a ``Game``, and its name in the report."""


@dataclass(slots=True)
class GameReport:
    """Result of the checks. Speeds are in steps of a game per second, on this machine and in one thread."""

    game: str
    broken: list[str] = field(default_factory=list)  # promises, with the place
    notes: list[str] = field(default_factory=list)  # hints for the author
    episode_length: float | None = None  # mean of random play
    steps_per_s: float = 0.0  # of the block alone
    shares: dict[str, float] = field(default_factory=dict)  # of its time, by what takes it
    trained_steps_per_s: float | None = None
    trained_shares: dict[str, float] = field(default_factory=dict)


def examine(name: str, notify: Callable[[str], object] = lambda _: None) -> GameReport:
    """Check a game and measure it, in about ten seconds where it is fast. Blocks.

    Raises:
        GameError: there is no such game, or it fails.
    """
    entry, found = find_game(name), GameReport(name)
    games = _as_many_as_are_quick(name)
    notify("Playing at random, and measuring")
    steps = _play(games, found)
    if entry.single is None and not entry.repeats:
        found.notes.append(
            "its games cannot be copied, so the contract was not checked; a resumed run begins them anew"
        )
    elif not entry.repeats:
        found.broken.append(
            "the same seed and the same actions do not give the same game: reset(seed) must fix all randomness "
            "(a resumed run begins its games anew, the rest works)"
        )
    elif found.episode_length is None:
        found.notes.append(f"no episode ended within {LONGEST:,} steps, so the contract was not checked")
    else:
        notify("Checking the contract")
        try:
            check_game(lambda n: make_game(name, num_games=n), steps=steps, chance=False, zero_sum=False)
        except ContractError as error:
            found.broken.append(str(error))
        except ActionError as error:  # of random actions that were legal when the same games were played before
            found.broken.append(f"games of the same seeds go different ways: {error}")
    notify("Playing against scripted players")
    _check_players(games, found, min(steps, STEPS))
    games.close()
    if not found.broken:
        notify("Training")
        _train(name, found)
    return found


def _as_many_as_are_quick(name: str) -> ScriptedGame:
    games, rng = make_game(name, num_games=GAMES), np.random.default_rng(0)
    _begin(games)
    if min(_timed_step(games, rng)[1] for _ in range(3)) < SLOW:
        return games
    games.close()
    return make_game(name, num_games=FEW)


def _begin(games: ScriptedGame, bot: int = -1) -> None:
    """Begin all games. A scripted player has one seat, which alternates; -1: none has."""
    games.bots[:] = -1
    games.bots[::2, 0] = games.bots[1::2, 1] = bot
    games.reset(np.arange(games.num_games, dtype=np.uint64))


def _play(games: ScriptedGame, found: GameReport) -> int:
    """Play at random and measure; the number of steps that the check of the contract needs for an episode to end."""
    count = games.num_games
    _begin(games)
    rng, lengths, common, seconds, steps = np.random.default_rng(0), list[int](), 0.0, 0.0, 0
    payoffs = PaidByScore()
    while steps < LONGEST and (steps < STEPS or len(lengths) < 2 * count):
        batch, taken = _timed_step(games, rng)
        seconds += taken
        steps += 1
        common = max(common, float(np.abs(batch.reward.sum(1)).max()))
        lengths += batch.stats["frames"][batch.ended, 0].tolist()
        if "reward_payoff" in (batch.stats.dtype.names or ()):
            ended = batch.score[batch.ended].ravel(), batch.stats["reward_payoff"][batch.ended].ravel()
            for score, payoff in zip(*(each.tolist() for each in ended), strict=True):
                payoffs.add(score, payoff)
    if lengths:
        found.episode_length = float(np.mean(lengths))
    if common:
        found.notes.append(f"rewards of the seats do not always sum to zero (up to {common:g} in a step)")
    if payoffs.differ:
        found.notes.append(f"ratings, evaluate and exploit: {BY_WINS}")
    found.steps_per_s = steps * count / seconds
    if isinstance(games, SyncVectorGame):
        found.shares = _shares(games, rng)
    return min(LONGEST, 2 * max(lengths, default=0) + 20)


def _check_players(games: ScriptedGame, found: GameReport, steps: int) -> None:
    """Let each scripted player play against random actions, in both seats."""
    rng = np.random.default_rng(0)
    for bot, name in enumerate(games.bot_names):
        try:
            _begin(games, bot)
            for _ in range(steps):
                games.step(random_step(games, rng))
        except GameError as error:
            found.broken.append(f"scripted player {name}: {error}")


def _timed_step(games: ScriptedGame, rng: np.random.Generator) -> tuple[StepBatch, float]:
    """A step with random actions, and its seconds."""
    actions = random_step(games, rng)
    start = time.perf_counter()
    return games.step(actions), time.perf_counter() - start


def _shares(games: SyncVectorGame, rng: np.random.Generator) -> dict[str, float]:
    """Shares of the methods of a ``Game`` in the time of a step; after the speed, since to time them takes time."""
    spent, seconds = dict.fromkeys(METHODS.values(), 0.0), 0.0
    for game, (method, name) in product(games.games, METHODS.items()):
        setattr(game, method, _timed(getattr(game, method), name, spent))
    for _ in range(STEPS):
        seconds += _timed_step(games, rng)[1]
    shares = {name: total / seconds for name, total in spent.items()}
    return shares | {"block": 1 - sum(shares.values())}


def _timed(call: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*args: object) -> Any:  # noqa: ANN401
        start = time.perf_counter()
        result = call(*args)
        spent[name] += time.perf_counter() - start
        return result

    return timed


def _train(name: str, found: GameReport) -> None:
    """Train a little, and see where the time goes."""
    from selfplay.train.app import train
    from selfplay.train.fighting.session import Hooks

    reports: list[IterationReport] = []
    rollout = max(4, min(ROLLOUT, int(TRAINING * found.steps_per_s / (TRAINED * GAMES))))
    with TemporaryDirectory(prefix="check-game-") as folder:
        place = str(Path(folder) / "run")
        config = Config.model_validate(
            {
                "game": {"type": name},
                "ppo": {"rollout_length": rollout},
                "run": {
                    "timesteps": TRAINED * GAMES * rollout, "num_games": GAMES, "runners": 1, "threads": 1,
                    "checkpoint": place, "save_interval": TRAINED,
                },
            }
        )  # fmt: skip
        hooks = Hooks(callbacks=[reports.append])
        if train(config, explicit={"run.checkpoint": place}, stream=io.StringIO(), hooks=hooks):
            raise GameError(f"{name}: training ended early")
    counted = reports[TRAINED // 3 :]
    seconds = {phase: sum(report.phase_s[phase] for report in counted) for phase in ("collect", "update")}
    total, steps = sum(seconds.values()), len(counted) * GAMES * rollout
    found.trained_steps_per_s = steps / total
    games = steps / found.steps_per_s
    found.trained_shares = {
        "the game": min(games, seconds["collect"]) / total,
        "the policy": max(0.0, seconds["collect"] - games) / total,
        "learning": seconds["update"] / total,
    }
