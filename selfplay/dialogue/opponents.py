"""The players that the model meets in training and in rating games, other than itself.

Generations, models of ``--opponent``, scripted players, and servers. A model of ``--opponent`` is copied into the run.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay.checkpoint import RunDir, list_generations
from selfplay.checkpoint.hub import local
from selfplay.checkpoint.store import MANIFEST, fill_folder
from selfplay.config.words import check_name
from selfplay.dialogue.language.endpoint import Endpoint, find_opponent
from selfplay.dialogue.language.loading import find
from selfplay.dialogue.language.remote import RemoteWriter
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.models import is_model, read_model_meta, weights_of
from selfplay.dialogue.opponent_settings import EMBEDDED_FROZEN, is_server
from selfplay.dialogue.players import REPLY, check_opening, limits_of, reopen
from selfplay.dialogue.rules import is_embedded
from selfplay.errors import ConfigError
from selfplay.league.matchmaker import Matchmaker
from selfplay.league.modes import CURRENT
from selfplay.league.records import Seat
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry, Rules
    from selfplay.dialogue.language.chat import Chat
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.runner import Played, Player
    from selfplay.dialogue.settings import DialogueConfig
    from selfplay.learner.sampling import Sampling

MODEL: Final = "external-"  # prefix of the names of models of ``--opponent``
SERVER: Final = "server-"  # prefix of the names of servers
SMALL: Final = 64  # maximum number of embedded models in memory
LARGE: Final = 3  # maximum number of other models in rating games: two players and their partner
ANY_CONTEXT: Final = 2**31  # a server knows how long its conversations may be
_FILES: Final = (".json", ".safetensors", ".jinja", ".model", ".txt")


@dataclass(frozen=True, slots=True)
class Roster:
    """The players of ``--opponent`` by name."""

    models: tuple[str, ...] = ()  # folders in ``RunDir.external_opponents``
    servers: Mapping[str, Endpoint] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.models, *self.servers)


EMPTY: Final = Roster()


def find_models(config: DialogueConfig, device: str) -> dict[str, Path]:
    """The folders of the models of ``--opponent`` by name. Blocks: each is loaded once.

    Raises:
        ConfigError: one does not exist, is not supported, or does not fit the game.
        CheckpointError: a folder is damaged.
    """
    found: dict[str, Path] = {}
    for given in config.league.opponents:
        if is_server(given):
            continue
        folder = _folder(given)
        if is_model(folder) and (game := read_model_meta(folder).game) != config.game.type:
            raise ConfigError(f"--opponent {given} plays {game}, not {config.game.type}")
        model = reopen(config, str(folder), device, plays=True)
        check_opening(config, model, model.context)
        if folder.resolve() not in {known.resolve() for known in found.values()}:
            found[_free_name(folder.resolve(), found)] = folder
    return found


def _folder(given: str) -> Path:
    """The folder of a model; of a run, that of its newest generation."""
    path = local(given)
    if not is_model(path) and (generations := list_generations(RunDir(path))):
        return generations[-1].path
    return find(str(path))


def _free_name(folder: Path, taken: Collection[str]) -> str:
    words = [folder.parent.parent.name, folder.name] if folder.parent.name == "generations" else [folder.name]
    name = MODEL + re.sub(r"[^a-z0-9_-]", "_", "-".join(words).lower())[:48]
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def install_models(run: RunDir, models: Mapping[str, Path]) -> None:
    """Copy models into the folder of a new run."""
    for name, source in models.items():
        fill_folder(run.external_opponents / name, partial(_copy, source))


def _copy(source: Path, folder: Path) -> None:
    for file in sorted(source.iterdir()):
        if file.is_file() and file.suffix in _FILES and file.name != MANIFEST:
            shutil.copyfile(file, folder / file.name)


def find_servers(config: DialogueConfig, urls: Sequence[str] | None = None) -> dict[str, Endpoint]:
    """The servers of ``--opponent``, or those at URLs, by name. Blocks, and must not be called in an event loop.

    Raises:
        ConfigError: one does not answer or is not OpenAI-compatible, or is named twice.
    """
    found: dict[str, Endpoint] = {}
    for url in filter(is_server, config.league.opponents) if urls is None else urls:
        name = SERVER + re.sub(r"[^a-z0-9]+", "-", url.partition("://")[2].lower()).strip("-")[:50]
        if name in found:
            raise ConfigError(f"--opponent {url}: this server is named twice")
        found[name] = find_opponent(url, config.server.timeout)
    return found


def roster_of(run: RunDir, servers: Mapping[str, Endpoint]) -> Roster:
    """The models that were copied into a run, and servers."""
    folder = run.external_opponents
    models = sorted(path.name for path in folder.iterdir() if is_folder(path)) if folder.is_dir() else []
    return Roster(tuple(models), servers)


def is_folder(path: Path) -> bool:
    return path.name.startswith(MODEL) and (path / MANIFEST).is_file()


def scripted_opponents(config: DialogueConfig, entry: DialogueEntry) -> tuple[str, ...]:
    """Scripted players that training meets; ConfigError for an unknown name in ``--held-out``."""
    held_out = config.league.held_out or ()
    for name in held_out:
        check_name("--held-out", name, tuple(entry.players))
    return tuple(name for name in entry.players if name not in held_out)


def max_frozen(config: DialogueConfig) -> int:
    """Frozen policies that an iteration meets, each a model in memory besides the one that is trained."""
    return config.league.max_frozen or (EMBEDDED_FROZEN if is_embedded(config) else 1)


def make_matchmaker(config: DialogueConfig, entry: DialogueEntry, roster: Roster) -> Matchmaker:
    league, rng = config.league, np.random.default_rng(derive(config.run.seed, "matchmaker"))
    shares = league.shares(external=bool(roster.names))
    return Matchmaker(league.mode, rng, scripted_opponents(config, entry), shares, max_frozen(config))


@dataclass(eq=False)
class Opponents:
    """Opens players of a run by name, with models that are loaded on demand. Methods block.

    ``chat`` writes the messages for servers; ``ending`` is of ``RemoteWriter``.
    """

    config: DialogueConfig
    run: RunDir
    device: str
    entry: DialogueEntry
    rules: Rules
    roster: Roster
    sampling: Sampling
    chat: Callable[[], Chat]
    ending: Callable[[], bool] = lambda: False
    _models: dict[str, LanguageModel] = field(default_factory=dict)

    @property
    def scripted(self) -> Mapping[str, Any]:
        return self.entry.players

    def is_loaded(self, name: str) -> bool:
        """True if a player is a model in this process."""
        return name not in self.scripted and name not in self.roster.servers

    def load(self, names: Collection[str], most: int = 0) -> None:
        """Load the models of these players. Others are dropped if there are more than ``most`` in all."""
        wanted = {name for name in names if self.is_loaded(name)}
        for name in [*self._models] if len(wanted | self._models.keys()) > most else ():
            if name not in wanted:
                del self._models[name]
        for name in sorted(wanted - self._models.keys()):
            self._models[name] = reopen(self.config, str(self._folder(name)), self.device, plays=True)

    def forget(self) -> None:
        """Drop all models: a restarted learner makes other generations of the same names."""
        self._models.clear()

    def player(self, name: str) -> Player:
        """A player for games; a model must have been loaded."""
        if name in self.scripted:
            return partial(self.scripted[name], self.rules)
        if name in self.roster.servers:
            sampling = replace(self.sampling, max_new_tokens=max(self.sampling.max_new_tokens, REPLY))
            server, limits = self.roster.servers[name], limits_of(self.config)
            return RemoteWriter(self.chat(), ANY_CONTEXT, sampling, server, limits, self.ending)
        return LocalWriter(self._models[name], self.sampling)

    def side(self, name: str) -> Seat:
        """A player as a row of the ledger names it."""
        if name in self.scripted:
            return Seat(player=name, version=f"scripted-{self.entry.players_version}")
        if name in self.roster.servers:
            return Seat(player=name, version=self.roster.servers[name].model or "unknown")
        return Seat(player=name, version=weights_of(self._folder(name)))

    def _folder(self, name: str) -> Path:
        folder = self.run.external_opponents if name in self.roster.models else self.run.generations
        return folder / name


def leads_against(games: Sequence[Played]) -> dict[str, list[float]]:
    """By how much the learner's reward is above its opponent's, by opponent; games with itself have none."""
    found: dict[str, list[float]] = {}
    for game in games:
        if game.opponent != CURRENT:
            (seat,) = game.learner
            found.setdefault(game.opponent, []).append(game.outcome.rewards[seat] - game.outcome.rewards[1 - seat])
    return found
