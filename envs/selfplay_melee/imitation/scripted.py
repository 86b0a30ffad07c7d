"""Makes the policy that a run starts from: games of scripted players are recorded, and a fresh network imitates them.

The policy is kept in a hidden folder beside the runs, ``.scripted_start/KEY``, where KEY covers all that it depends on.
It is the same, bit for bit, on any number of cores. That of the laptop preset's own recipe comes with the project;
``python -m scripts.studies.scripted_start`` makes it.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.checkpoint import RunDir, save_policy
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.checkpoint.policies import BEST
from selfplay.checkpoint.store import make_folder
from selfplay.compilation.progress import EVERY_S, compile_rules
from selfplay.errors import CheckpointError, RunnerError, SelfPlayError
from selfplay.games.registry import find_game
from selfplay.imitation import recordings
from selfplay.imitation.data import Games
from selfplay.imitation.export import LATEST, exported, network_of
from selfplay.imitation.folders import NAME
from selfplay.imitation.report import Reports
from selfplay.imitation.settings import ImitationRunConfig, NetworkConfig
from selfplay.imitation.training import Training
from selfplay.league.schedule import pairings_of
from selfplay.policy.heads import Heads
from selfplay.policy.policy import Policy, load_policy, parameters_of
from selfplay.ppo.pretrained import Start
from selfplay.runner.match import Contender, Rules
from selfplay_melee.conditions import FightConditions
from selfplay_melee.examples import examples
from selfplay_melee.imitation.recording import blocks, recorded
from selfplay_melee.imitation.settings import FightDataConfig, FightImitationConfig, FightLearnConfig
from selfplay_melee.kinds import MOCK
from selfplay_melee.replays.cache import format_key
from selfplay_melee.replays.games import Game, note_of
from selfplay_melee.state import NUM_SEATS
from selfplay_melee.tables import load_tables

if TYPE_CHECKING:
    from selfplay.config.base import StructureConfig
    from selfplay.imitation.batches import Examples
    from selfplay_melee.settings import FightRun

GAME: Final = "mock"  # of the games that are recorded, whatever the run plays
PLAYERS: Final = ("edge_guarder", "counter_hitter", "rusher")  # never all_rounder: it stays unknown to training
CACHE: Final = ".scripted_start"  # hidden from the search for runs
SHIPPED: Final = Path(__file__).with_name("start")
VERSION: Final = 1  # raise it when the same recipe gives another policy, for causes that are not in the key
THREADS: Final = 2  # the last bits depend on it
EPOCHS, EPOCHS_OF_WINDOWS = 6, 3  # a pass over windows, which a network with memory learns from, takes longer
TAKES: Final = "5 to 60 s"  # with the defaults, on two cores; docs/data/first_hour.json has what was measured
MOST_WORK, MOST_WORK_OF_WINDOWS = 7_500_000, 200_000  # weights times epochs: one or two minutes on two cores


@dataclass(frozen=True, slots=True)
class Recipe:
    """Players to imitate, the network, and the settings of the games and the training."""

    players: tuple[str, ...]  # they play each other in both seats
    characters: tuple[str, str]
    stage: str
    frame_skip: int
    delay: int
    network: NetworkConfig
    seed: int
    games: int = 150
    frames: int = 3600  # of a game at most
    epochs: int = EPOCHS
    batch_size: int = 1024
    learning_rate: float = 4e-3

    def document(self) -> dict[str, Any]:
        """All that the policy depends on, JSON-able."""
        return {
            **asdict(self),
            "network": self.network.model_dump(mode="json"),
            "version": VERSION,
            "torch": torch.__version__,
            "rules": dict(find_game(GAME).rated.described),
            "examples": format_key(self.frame_skip, self.delay, load_tables()),
        }


class _Recording(recordings.Recordings):
    """Games in memory, played by ``scan``. RunnerError if ``stop`` says so, given the number of games so far."""

    what = "games of scripted players"

    def __init__(self, recipe: Recipe, stop: Callable[[int], bool]) -> None:
        super().__init__(Path(), player=None)
        self._recipe, self._stop = recipe, stop
        self._examples: dict[str, list[Examples]] = {}

    def scan(self, progress: recordings.Progress = lambda done, total: None) -> list[Game]:
        recipe, tables = self._recipe, load_tables()
        rules = Rules(GAME, FightConditions(recipe.characters, recipe.stage, recipe.frames))
        players = {name: Contender(name) for name in recipe.players}
        matchups = pairings_of(recipe.players, (), recipe.games, recipe.characters, recipe.seed)
        games: list[Game] = []
        for block in blocks(matchups, rules):
            for replay in recorded(block, players, rules, lambda: self._stop(len(games))):
                made = [examples(replay, seat, recipe.frame_skip, recipe.delay, tables) for seat in range(NUM_SEATS)]
                note = note_of(replay, tuple(len(seat) for seat in made))
                digest = hashlib.sha256(b"".join(part.tobytes() for seat in made for part in (seat.obs, seat.action)))
                game = Game(Path(), digest.hexdigest(), note.seats, note.stage)
                games.append(game)
                self._examples[game.hash] = made
        self.games = games
        return games

    def load(self, game: recordings.Game) -> list[Examples]:
        return self._examples[game.hash]


def _lack(config: FightRun) -> str | None:
    strangers = [name for name in config.game.characters if name not in MOCK.characters]
    return f"the mock, where games of scripted players are recorded, has no {strangers[0]}" if strangers else None


def _make(config: FightRun, parent: Path, notice: Callable[[str], object], stop: Callable[[], bool]) -> Policy | None:
    return imitate_scripted(recipe_of(config), parent / CACHE, notice, stop)


def start() -> Start:
    """The start of runs of fights."""
    return Start(_lack, lambda notice: compile_rules(find_game(GAME), notice), _make)


class _Progress:
    """Tells every ``EVERY_S`` seconds what is done."""

    def __init__(self, notice: Callable[[str], object]) -> None:
        self._notice = notice
        self._began = self._told = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def at(self, what: str) -> None:
        if time.monotonic() - self._told >= EVERY_S:
            self._told = time.monotonic()
            self._notice(f"Imitating scripted players: {self.seconds:.0f} s so far, {what}")


def recipe_of(config: FightRun) -> Recipe:
    """What a run imitates that starts as scripted players play."""
    game, network = config.game, NetworkConfig(**config.net.model_dump(exclude={"rest"}))
    return Recipe(
        PLAYERS, game.characters, game.stage, game.frame_skip, game.delay,
        network, config.run.seed, epochs=epochs_for(network),
    )  # fmt: skip


def epochs_for(network: StructureConfig) -> int:
    """Passes over the games; fewer for a network that takes long, at least one."""
    most, work = (EPOCHS_OF_WINDOWS, MOST_WORK_OF_WINDOWS) if network.remembers else (EPOCHS, MOST_WORK)
    weights = sum(a * b for a, b in pairwise((find_game(GAME).obs_width, *network.hidden)))
    return max(1, min(most, work // max(weights, 1)))


def imitate_scripted(
    recipe: Recipe, cache: Path, notice: Callable[[str], object], stop: Callable[[], bool] = lambda: False
) -> Policy | None:
    """The policy of a recipe, from the cache or made now, which takes ``TAKES`` with the defaults. Blocks.

    The folder ``cache``, of the policies made before, is created when needed. ``stop`` is called often; where it ends
    the imitation, None is returned, and nothing left behind.
    """
    document = json.loads(json.dumps(recipe.document()))
    if (policy := _shipped(document)) is not None:
        notice(f"Starting as scripted players play, from a policy that comes with the project: {policy.meta.id}")
        return policy
    key = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
    place = cache / key
    try:
        if (policy := _kept(place, document)) is not None:
            notice(f"The imitation of scripted players is in {place}")
            return policy
    except CheckpointError as error:
        notice(f"Imitating scripted players again: {error}")
    takes = "one to three minutes" if recipe.network.remembers else TAKES
    notice(
        f"Imitating scripted players first: {recipe.games} games, {recipe.epochs} epochs, {takes}; "
        "--pretrained none starts from scratch"
    )
    progress = _Progress(notice)
    with tempfile.TemporaryDirectory(prefix="selfplay-imitation-") as folder:
        made = _imitated(recipe, Path(folder), progress, stop)
    if made is None:
        return None
    policy, loss = made
    config: dict[str, Any] = {**policy.meta.config}
    config["imitation"] = {**config["imitation"], "scripted": document}
    mine, other = recipe.characters
    body = policy.meta.body | {"character": mine, "opponent_character": None if other == mine else other}
    meta = policy.meta.model_copy(update={"id": f"scripted_{key}", "body": body, "config": config})
    notice(f"Imitated scripted players in {progress.seconds:.0f} s: validation loss {loss:.3f}")
    try:
        save_policy(place, meta, parameters_of(policy.network), replace=True)
    except CheckpointError as error:
        notice(f"The imitation is not kept for other runs: {error}")
    return Policy(meta, policy.network)


def _shipped(document: dict[str, Any]) -> Policy | None:
    """The policy that comes with the project if it is of the recipe, made with any version of PyTorch; else None."""
    if not SHIPPED.is_dir():
        return None
    found: Any = read_policy_meta(SHIPPED).config.get("imitation")
    return load_policy(SHIPPED) if found["scripted"] | {"torch": ""} == document | {"torch": ""} else None


def _kept(place: Path, document: dict[str, Any]) -> Policy | None:
    """The policy in a folder of the cache; None where there is none.

    Raises:
        CheckpointError: what is there is no policy of the recipe with this document, and was removed.
    """
    if not place.exists() and not place.is_symlink():
        return None
    try:
        policy = load_policy(place)
        match policy.meta.config.get("imitation"):
            case {"scripted": found} if found == document and not place.is_symlink():
                return policy
        raise CheckpointError(f"{place} is not the policy that it should be")
    except SelfPlayError as error:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)
        raise CheckpointError(str(error)) from error


def _imitated(
    recipe: Recipe, folder: Path, progress: _Progress, stop: Callable[[], bool]
) -> tuple[Policy, float] | None:
    """The policy and its loss on the validation games; ``folder`` is for what the training writes meanwhile."""

    def stop_at(what: str) -> bool:
        progress.at(what)
        return stop()

    recording = _Recording(recipe, lambda played: stop_at(f"{played} of {recipe.games} games played"))
    try:
        recording.scan()
    except RunnerError:
        if stop():
            return None
        raise
    config = FightImitationConfig(
        data=FightDataConfig(frame_skip=recipe.frame_skip, delay=recipe.delay),
        net=recipe.network,
        learn=FightLearnConfig(
            epochs=recipe.epochs, batch_size=recipe.batch_size, learning_rate=recipe.learning_rate, patience=0
        ),
        run=ImitationRunConfig(seed=recipe.seed),
    )
    games = Games.of(recording, config)
    run = RunDir(folder / NAME)
    make_folder(run.path)
    actions = network_of(recipe.network, GAME)[1]
    counts = games.action_counts(Heads(actions.binary, actions.sizes), lambda done: None)
    with closing(Reports(run.path, io.StringIO())) as reports:
        training = Training(
            run, games, counts, reports, "cpu", THREADS,
            lambda: stop_at(f"epoch {training.progress.epoch + 1} of {recipe.epochs}"),
        )  # fmt: skip
        with closing(training):
            training.run()
    if not training.progress.ended:
        return None
    best = training.progress.best
    policy = load_policy(exported(folder, LATEST if best is None else BEST))
    return policy, float("nan") if best is None else best
