"""Is a game right, and how fast is it? Checks the contract, and measures where the time of a step goes."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay.commands.time_limit import SECONDS, TimeIsUp, TimeLimit
from selfplay.config.ppo import Config
from selfplay.config.program import Invocation
from selfplay.games.check import check_game, random_step
from selfplay.games.errors import ActionError, ContractError, EnumerationError, GameError
from selfplay.games.objective import EQUAL, PaidByScore
from selfplay.games.registry import find_game, make_game
from selfplay.games.solved.enumeration import EPISODES, Limits, find_tree
from selfplay.games.vector import SyncVectorGame
from selfplay.league.rewards import BY_WINS

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame, StepBatch
    from selfplay.games.game import Game
    from selfplay.games.objective import Objective
    from selfplay.games.plugins import MakeSingle
    from selfplay.report.metrics import IterationReport

GAMES: Final = 64
LONGEST: Final = 3000  # steps in which an episode must end, to be checked
STEPS: Final = 200  # at least, of random play
TRAINED: Final = 12  # iterations, of which the first third is not counted
ROLLOUT: Final = 64  # at most; less where a game is slow
SHORTEST: Final = 4  # steps of a rollout
SLOW: Final = 0.02  # seconds of a step of all games; slower ones are measured with fewer games and shorter rollouts
FEW: Final = (8, 2)
QUICK: Final = 400.0  # steps per second from which the play that shows the objective takes about a second
TRAINING: Final = 20.0  # seconds of play that a slow game is trained with
COUNTING: Final = 5.0  # seconds at most in which states are counted
PASSES: Final = 12  # how often the check of the contract plays its steps
CHECKED: Final = 3  # games in it
METHODS: Final = {"step": "step", "observe_all": "observe", "legal_all": "legal", "to_act": "to_act"}
"""What is timed of a ``Game``, and its name in the report."""


@dataclass(slots=True)
class GameReport:
    """Result of the checks. Speeds are in steps of a game per second, on this machine and in one thread."""

    game: str
    broken: list[str] = field(default_factory=list)  # promises, with the place
    kept: bool = False  # the whole contract was checked and is kept
    notes: list[str] = field(default_factory=list)  # hints for the author
    exact: str | None = None  # whether it is small enough for exact figures, in words; None: it was not tried
    episode_length: float | None = None  # mean of random play
    steps_per_s: float = 0.0  # of the block alone
    shares: dict[str, float] = field(default_factory=dict)  # of its time, by what takes it
    trained_steps_per_s: float | None = None
    trained_shares: dict[str, float] = field(default_factory=dict)


def examine(name: str, limit: TimeLimit | None = None) -> GameReport:
    """Check a game and measure it, in about ten seconds where it is fast. Blocks.

    What does not fit into the limit is left out, with a note; only a single step is not interrupted.
    GameError if there is no such game, or it fails.
    """
    kind, found = find_game(name), GameReport(name)
    limit = limit or TimeLimit(SECONDS, lambda _: None)
    games = _as_many_as_are_quick(name)
    with limit.part("Playing at random, and measuring", 0.25):
        steps = _play(games, found, limit)
    if kind.single is None and not kind.repeats:
        found.notes.append(
            "its games cannot be copied, so the contract was not checked; a resumed run begins them anew"
        )
    elif not kind.repeats:
        found.broken.append(
            "the same seed and the same actions do not give the same game: reset(seed) must fix all randomness "
            "(a resumed run begins its games anew, the rest works)"
        )
    else:
        with limit.part("Checking the contract", 0.4):
            _check_contract(name, found, steps, limit)
    with limit.part("Playing against scripted players", 0.2):
        _check_players(games, found, min(steps, STEPS), limit)
    games.close()
    found.kept &= not found.broken
    if kind.single is not None and kind.repeats and not found.broken:
        with limit.part("Counting its states", 0.2):
            found.exact = _exact(found, min(COUNTING, limit.left()))
    if not found.broken:
        with limit.part("Training", 1.0):
            _train(name, found, limit)
    return found


def _check_contract(name: str, found: GameReport, steps: int, limit: TimeLimit) -> None:
    """Check the contract in the time that is left; games that are too long for it are cut."""
    single = find_game(name).single
    fit = int(limit.left() * found.steps_per_s / (PASSES * CHECKED))
    make: Callable[..., ScriptedGame] = partial(make_game, name)
    if single is not None and (fit < steps or found.episode_length is None):
        longest = max(2, min(fit, LONGEST) // 2)
        steps, make = 2 * longest, partial(SyncVectorGame, partial(_cut, single, longest))
        found.notes.append(
            f"the contract was checked with games that were cut after {longest:,} steps, to take less time"
        )
    elif found.episode_length is None:
        found.notes.append("no episode ended, so the contract was not checked")
        return
    try:
        check_game(
            lambda n: limit.watched(make(num_games=n), PASSES * steps),
            num_games=CHECKED, steps=steps, chance=False, zero_sum=False,
        )  # fmt: skip
        found.kept = True
    except TimeIsUp:
        found.notes.append("the game is too slow for the time, so only a part of the contract was checked")
    except ContractError as error:
        found.broken.append(str(error))
    except ActionError as error:  # of random actions that were legal when the same games were played before
        found.broken.append(f"games of the same seeds go different ways: {error}")


def _exact(found: GameReport, seconds: float) -> str | None:
    """Whether a game has exact figures, as far as these seconds show, in words; None of one that is too slow."""
    name = found.game
    if found.episode_length is None or EPISODES * found.episode_length > seconds * found.steps_per_s:
        return None
    try:
        nodes = find_tree(name, Limits(seconds=seconds)).nodes
        return f"yes, {nodes:,} state{'' if nodes == 1 else 's'}"
    except EnumerationError as error:
        return f"no, {str(error).removeprefix(f'{name}: ')}"


def _cut(single: MakeSingle, longest: int) -> Game:
    game = single(render=False)
    game.max_steps = longest
    return game


def _as_many_as_are_quick(name: str) -> ScriptedGame:
    fewer, fewest = FEW
    games = make_game(name, num_games=fewer)
    if _seconds(games) >= SLOW:
        games.close()
        return make_game(name, num_games=fewest)
    many = make_game(name, num_games=GAMES)
    quick = _seconds(many) < SLOW
    (games if quick else many).close()
    return many if quick else games


def _seconds(games: ScriptedGame) -> float:
    """Seconds of a step, without what only the first one does."""
    rng, taken = np.random.default_rng(0), list[float]()
    _begin(games)
    while len(taken) < 3 and sum(taken) < 1.0:
        taken.append(_timed_step(games, rng)[1])
    return min(taken)


def _begin(games: ScriptedGame, bot: int = -1) -> None:
    """Begin all games. A scripted player has one seat, which alternates; -1: none has."""
    games.bots[:] = -1
    games.bots[::2, 0] = games.bots[1::2, 1] = bot
    games.reset(np.arange(games.num_games, dtype=np.uint64))


def _play(games: ScriptedGame, found: GameReport, limit: TimeLimit) -> int:
    """Play at random and measure; the number of steps that the check of the contract needs for an episode to end."""
    count = games.num_games
    _begin(games)
    rng, lengths, common, seconds, steps = np.random.default_rng(0), list[int](), 0.0, 0.0, 0
    paid = over = False
    payoffs = PaidByScore()
    while steps < LONGEST and (steps < STEPS or len(lengths) < 2 * count):
        batch, taken = _timed_step(games, rng)
        seconds += taken
        steps += 1
        paid, over = paid or bool(batch.reward.any()), over or bool(batch.terminated.any())
        common = max(common, float(np.abs(batch.reward.sum(1)).max()))
        lengths += batch.stats["frames"][batch.ended, 0].tolist()
        if "reward_payoff" in (batch.stats.dtype.names or ()):
            ended = batch.score[batch.ended, 0], batch.stats["reward_payoff"][batch.ended]
            for score, both in zip(*(each.tolist() for each in ended), strict=True):
                payoffs.add_game(score, both)
        if not limit.step():
            break
    if lengths:
        found.episode_length = float(np.mean(lengths))
        if not paid:
            found.notes.append(f"none of {len(lengths)} random episodes gave a reward")
        if not over:
            found.notes.append(f"all of {len(lengths)} random episodes were truncated, none was over")
    else:
        found.notes.append(f"no episode ended within {steps:,} steps of random play")
    found.steps_per_s = steps * count / seconds
    kind = find_game(found.game)
    objective = kind.declared or (kind.objective if found.steps_per_s >= QUICK else payoffs.objective())
    if common and objective.kind != "shared":
        found.notes.append(f"rewards of the seats do not always sum to zero (up to {common:g} in a step)")
    _check_objective(objective, payoffs, found)
    if isinstance(games, SyncVectorGame):
        found.shares = _shares(games, rng, limit)
    return min(LONGEST, 2 * max(lengths, default=0) + 20)


def _check_objective(objective: Objective, payoffs: PaidByScore, found: GameReport) -> None:
    """Compare what the game says of its payoffs with those of random play."""
    low, high = payoffs.range
    least, most = (None, None) if objective.measured else (objective.low, objective.high)
    if least is not None and most is not None and not least - EQUAL <= low <= high <= most + EQUAL:
        found.broken.append(f"payoff_range is ({least:g}, {most:g}), but random play was paid {low:g} to {high:g}")
    if objective.kind == "shared" and not payoffs.shared:
        found.broken.append("objective is 'shared', but the payoffs of the seats differ")
    elif objective.kind == "shared" and not objective.measured:
        found.notes.append("cooperative: both seats get equal rewards, and no player is the stronger one")
    if advice := objective.advice():
        found.notes.append(f"{advice[0].lower()}{advice[1:]}")
    elif objective.kind == "reward":
        found.notes.append(str(objective))
    elif objective.measured and payoffs.differ:  # the short play that other commands go by did not show it
        found.notes.append(f"ratings, evaluate and exploit: {BY_WINS}")


def _check_players(games: ScriptedGame, found: GameReport, steps: int, limit: TimeLimit) -> None:
    """Let each scripted player play against random actions, in both seats."""
    rng = np.random.default_rng(0)
    for bot, name in enumerate(games.bot_names):
        try:
            _begin(games, bot)
            for _ in range(steps):
                games.step(random_step(games, rng))
                if not limit.step(steps * len(games.bot_names)):
                    found.notes.append(
                        f"the time was over when {name} played, so not all scripted players were checked"
                    )
                    return
        except GameError as error:
            found.broken.append(f"scripted player {name}: {error}")


def _timed_step(games: ScriptedGame, rng: np.random.Generator) -> tuple[StepBatch, float]:
    """A step with random actions, and its seconds."""
    actions = random_step(games, rng)
    start = time.perf_counter()
    return games.step(actions), time.perf_counter() - start


def _shares(games: SyncVectorGame, rng: np.random.Generator, limit: TimeLimit) -> dict[str, float]:
    """Shares of the methods of a ``Game`` in the time of a step; after the speed, since to time them takes time."""
    spent, seconds = dict.fromkeys(METHODS.values(), 0.0), 0.0
    for game, (method, name) in product(games.games, METHODS.items()):
        setattr(game, method, _timed(getattr(game, method), name, spent))
    for _ in range(STEPS):
        seconds += _timed_step(games, rng)[1]
        if not limit.step():
            break
    shares = {name: total / seconds for name, total in spent.items()}
    return shares | {"block": 1 - sum(shares.values())}


def _timed(call: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*args: object) -> Any:  # noqa: ANN401
        start = time.perf_counter()
        result = call(*args)
        spent[name] += time.perf_counter() - start
        return result

    return timed


def _train(name: str, found: GameReport, limit: TimeLimit) -> None:
    """Train a little, and see where the time goes."""
    games, rollout = GAMES, max(SHORTEST, min(ROLLOUT, int(TRAINING * found.steps_per_s / (TRAINED * GAMES))))
    fit = limit.left() / 2 * found.steps_per_s / TRAINED  # steps of an iteration
    if fit < games * rollout:
        games, rollout = FEW[0], SHORTEST
        if fit < games * rollout:
            found.notes.append(f"training was not measured: {TRAINED} iterations would take too long")
            return
    from selfplay.ppo.session import Hooks
    from selfplay.ppo.train import train

    reports: list[IterationReport] = []
    with TemporaryDirectory(prefix="check-game-") as folder:
        place = str(Path(folder) / "run")
        config = Config.model_validate(
            {
                "game": {"type": name},
                "ppo": {"rollout_length": rollout},
                "run": {
                    "timesteps": TRAINED * games * rollout, "num_games": games, "runners": 1, "threads": 1,
                    "checkpoint": place, "save_interval": TRAINED,
                },
            }
        )  # fmt: skip
        hooks = Hooks(callbacks=[reports.append, lambda _: limit.step(TRAINED)])
        if train(Invocation(config, explicit={"run.checkpoint": place}), io.StringIO(), hooks):
            raise GameError(f"{name}: training ended early")
    counted = reports[TRAINED // 3 :]
    seconds = {phase: sum(report.phase_s[phase] for report in counted) for phase in ("collect", "update")}
    total, steps = sum(seconds.values()), len(counted) * games * rollout
    found.trained_steps_per_s = steps / total
    playing = steps / found.steps_per_s
    found.trained_shares = {
        "the game": min(playing, seconds["collect"]) / total,
        "the policy": max(0.0, seconds["collect"] - playing) / total,
        "learning": seconds["update"] / total,
    }
