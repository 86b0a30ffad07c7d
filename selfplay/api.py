"""Training and evaluation from Python, as ``selfplay.train`` and ``selfplay.evaluate``: docs/trainer/api.md.

Settings have the names of the configuration file, also in messages.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import resolve_run
from selfplay.config.ppo import Config, options_of
from selfplay.config.program import NO_PRESET, flatten
from selfplay.config.programs import check_game, invoke_ppo, ppo_program
from selfplay.config.resume import game_of_run
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.evaluation import evaluate as evaluation
from selfplay.evaluation.named_players import game_for, home_game
from selfplay.evaluation.players import contender, home_rules
from selfplay.games.errors import GameError
from selfplay.games.kind import TextKind
from selfplay.games.plugins import is_known, refuse_in_import
from selfplay.games.registry import DEFAULT, find_kind, games_of
from selfplay.policy.played_game import check_plays
from selfplay.policy.policy import Policy, load_policy
from selfplay.ppo.session import Hooks
from selfplay.ppo.train import train as train_ppo
from selfplay.run.trainings import find_training
from selfplay.runner.match import Contender
from selfplay.threads import ThreadPool

if TYPE_CHECKING:
    from torch import nn

    from selfplay.checkpoint import RunDir
    from selfplay.config.program import Invocation
    from selfplay.evaluation.evaluate import Evaluation
    from selfplay.league.matchmaker import Choose
    from selfplay.ppo.session import Callback


FLAG: Final = re.compile(r"--set (?=[a-z]+\.)|--[a-z][a-z-]*")
SETTINGS: Final = {"--set ": "", "--preset": "preset", "--resume": "resume=True"}
ARGUMENTS: Final = {"--game-type": "game", "--games": "games", "--seed": "seed"}


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended.

    Attributes:
        path: Its folder.
        newest: Folder of its newest policy.
        finished: Whether it came to its planned end; a callback may end it before.
    """

    path: Path
    newest: Path
    finished: bool

    def policy(self) -> Policy:
        """The newest policy."""
        return load_policy(self.newest)


def _settings(game: str) -> dict[str, str]:
    """The settings of all games by flag: a message about one of another game names it, too."""
    every = {option.flag: option.path for name in (*games_of("ppo"), game) for option in options_of(name)}
    return every | SETTINGS


@contextmanager
def _naming(found: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Let errors name settings and arguments where they name flags of the command line; these are found late."""
    try:
        yield
    except (SelfPlayError, GameError) as error:
        names = found()
        error.args = tuple(FLAG.sub(lambda flag: names.get(flag[0], flag[0]), str(arg)) for arg in error.args)
        raise


def train(
    config: Config | Mapping[str, Mapping[str, object]] | None = None,
    *,
    game: str | Callable[..., object] | None = None,
    network: str | Callable[[int], nn.Module] | None = None,
    opponents: Choose | None = None,
    callbacks: Sequence[Callback] = (),
    preset: str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    quiet: bool = True,
) -> Run:
    """Train a run to its end. Blocks; also where an event loop runs, as in notebooks.

    Args:
        config: Settings by group, such as ``{"run": {"timesteps": 100_000}}``; others have their defaults. A ``Config``
            has a value for all of them.
        game: ``game.type``, or the class or function itself; it must lie at the top level of a module.
        network: Makes what stands before the layer of logits and value, see ``policy.network.make_body``; or its name
            ``module:attribute``. Like ``game`` it must lie in a module.
        opponents: Chooses the opponents of new games, see ``selfplay.league.matchmaker.Choose``; asked before each
            iteration. To be given again with ``resume``.
        callbacks: Called after each iteration with its ``IterationReport``; one that returns False ends the run.
        preset: Name of a set of values, which ``config`` overrides; "none" has the plain defaults. By default, as with
            the command, that of the game (such as ``board``) if ``config`` gives none of its settings but
            ``run.pretrained``.
        checkpoint: ``run.checkpoint``, the folder of the run.
        resume: Continue the run of ``checkpoint``, or the newest; settings that are given must be those of the run, or
            may change within one. A game or network of one's own is given again.
        quiet: Whether to print nothing; ``log.txt`` of the run has the same lines.

    Raises:
        ConfigError: settings that cannot be; names one.
        GameError: a game that cannot be used, or failed.
        SelfPlayError: the run failed; names the first cause.
        KeyboardInterrupt: after Ctrl-C, with the run saved.
        Exception: what ``opponents`` or a callback raised, with the run saved.
    """
    refuse_in_import("selfplay.train")
    if not isinstance(config, (Config, Mapping, type(None))):
        raise ConfigError(
            f"config: settings by group are needed, such as {{'run': {{'timesteps': 100_000}}}}, not {config!r}; "
            "the game is named by game=, a preset by preset="
        )
    named = {
        "game.type": None if game is None else _name_of(game, "game"),
        "net.backbone": None if network is None else _name_of(network, "network"),
        "run.checkpoint": None if checkpoint is None else str(checkpoint),
    }
    given = config.model_dump(exclude_unset=True) if isinstance(config, Config) else config or {}
    if isinstance(config, Config):  # complete as it is: its defaults are those of the class
        preset = preset or NO_PRESET
    own = _game_of(named["game.type"], given, named["run.checkpoint"], resume)
    if isinstance(find_kind(own), TextKind):
        if network is not None or opponents is not None or callbacks:
            raise ConfigError(f"{own} is a text game: it has no network=, opponents= and callbacks=")
        return _text_game_trained(given, {path: value for path, value in named.items() if value}, preset, resume, quiet)
    with _naming(partial(_settings, own)):
        explicit = flatten(ppo_program(own), given, "config")
        explicit |= {path: value for path, value in named.items() if value is not None}
        return _trained(invoke_ppo(explicit, preset, resume, own), opponents, callbacks, quiet)


def _game_of(named: str | None, given: Mapping[str, Any], checkpoint: str | None, resume: bool) -> str:
    """The game of a call: that is named, that of its settings, that of the run to resume, or the default."""
    match given:
        case {"game": {"type": str(name)}} if named is None:
            named = name
    match given:
        case {"run": {"checkpoint": str(folder)}} if checkpoint is None:
            checkpoint = folder
    with _naming(partial(_settings, DEFAULT)):
        if named is not None:
            check_game(named)
            return named
        found = game_of_run(resolve_run(None if checkpoint is None else Path(checkpoint))) if resume else DEFAULT
    return found if is_known(found) else DEFAULT


def _text_game_trained(
    given: Mapping[str, Any], named: Mapping[str, Any], preset: str | None, resume: bool, quiet: bool
) -> Run:
    """Train a text game to the end; arguments and errors as of ``train``."""
    runs: list[RunDir] = []
    call = find_training(TextKind.training).call
    if call is None:
        raise ConfigError("text games are not trained from Python here")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        work = partial(call, given, named, preset, resume, nowhere if quiet else sys.stdout, runs.append)
        return _run_of(_beside_a_loop(work, threading.Event()) if _in_a_loop() else work(), runs)


def _trained(call: Invocation[Config], opponents: Choose | None, callbacks: Sequence[Callback], quiet: bool) -> Run:
    """Train to the end; arguments and errors as of ``train``."""
    runs: list[RunDir] = []
    stopped = threading.Event()
    hooks = Hooks(opponents, (*callbacks, lambda _: not stopped.is_set()), runs.append)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        stream = nowhere if quiet else sys.stdout
        work = partial(train_ppo, call, stream, hooks)
        return _run_of(_beside_a_loop(work, stopped) if _in_a_loop() else work(), runs)


def _run_of(code: int, runs: Sequence[RunDir]) -> Run:
    """The run that has ended with an exit code."""
    if code == 128 + signal.SIGINT:
        raise KeyboardInterrupt
    if code:
        raise SystemExit(code)
    summary: dict[str, Any] = runs[0].read_summary()
    return Run(runs[0].path, runs[0].generations / summary["newest"], summary["finished"])


@_naming(lambda: ARGUMENTS)
def evaluate(
    a: str | Path | Policy | Run,
    b: str | Path | Policy | Run,
    *,
    games: int = 200,
    game: str | Callable[..., object] | None = None,
    seed: int = 0,
    greedy: bool = False,
) -> Evaluation:
    """Play two players against each other, half of the games with swapped seats, and rate the first. Blocks.

    Args:
        a: A policy, its folder, a run or its folder, a shipped policy, or the name of a scripted player of the game.
            Of a ``Run`` its newest policy plays; of a folder see ``load_policy``.
        b: Its opponent.
        games: How many to play.
        game: As of ``train``; by default that of the policies, or ``mock``.
        seed: Of the games.
        greedy: Whether policies choose the most likely action.

    Raises:
        ConfigError: a player that does not exist or plays another game, or fewer than two games.
        CheckpointError: a damaged policy.
        GameError: a game that cannot be used.
    """
    refuse_in_import("selfplay.evaluate")
    pair = [player.policy() if isinstance(player, Run) else player for player in (a, b)]
    kind = next((home_game(player.meta) for player in pair if isinstance(player, Policy)), None)
    if game is not None:
        kind = _name_of(game, "game")
        check_game(kind)
    kind = game_for([str(player) for player in pair if not isinstance(player, Policy)], kind)
    players = []
    for number, player in enumerate(pair):
        if not isinstance(player, Policy):
            players.append(contender(str(player), game=kind))
        else:
            check_plays(player.meta, kind, player.meta.id)
            players.append(Contender(f"policy-{number}", player))
    return evaluation.evaluate(players[0], players[1], games, home_rules(players, kind, greedy=greedy), seed)


def _name_of(thing: object, what: str) -> str:
    """``module:attribute`` of a class or function, ConfigError if others could not import it; a name as it is."""
    if isinstance(thing, str):
        return thing
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if module in (None, "__main__") or not isinstance(name, str) or not name.isidentifier():
        raise ConfigError(
            f"{what}: {name or thing!r} is not at the top level of a module, so that a run could not find it again: "
            f"put it in a file such as my_{what}.py and import it from there"
        )
    return f"{module}:{name}"


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _beside_a_loop(work: Callable[[], int], stopped: threading.Event) -> int:
    """Do the work in a thread of its own. Ctrl-C sets ``stopped`` and waits for its end."""
    with ThreadPool(1, "selfplay.train") as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            stopped.set()
            future.result()
            raise
