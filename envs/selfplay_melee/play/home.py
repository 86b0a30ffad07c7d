"""What a play page is about, and what a person chose for it, checked before torch is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfplay.checkpoint import RunDir, is_policy, list_generations, read_policy_meta, shipped_policies
from selfplay.checkpoint.generations import POLICY_FILE
from selfplay.checkpoint.run_dir import RUN_FILE, named_run, runs_under
from selfplay.errors import ConfigError, NotARunError
from selfplay.evaluation.named_players import policy_folder
from selfplay_melee import kinds
from selfplay_melee.kinds import NO_RUN_YET, find_character
from selfplay_melee.state import FPS

GENERATIONS: Final = 2
LONGEST: Final = 8 * 60 * FPS  # frames that a page can film


@dataclass(frozen=True, slots=True)
class Home:
    """Subject of a page: a run with its generations, or one policy."""

    title: str
    run: RunDir | None
    policies: Mapping[str, Path]  # by name, the oldest first
    hint: str = ""  # a line for the user

    @property
    def newest(self) -> str:
        return list(self.policies)[-1]


def find_folder(what: str | None) -> Path | None:
    """The folder of a run or policy, by default of the newest run; None for a shipped policy.

    ``what`` is a folder, its name in ``checkpoints``, or a shipped policy; NotARunError if there is none.
    """
    if what in shipped_policies() or (what is None and not runs_under()):
        return None
    return named_run(what, (RUN_FILE, POLICY_FILE))


def home_of(folder: Path | None, shipped: str | None = None, generations: str | None = None) -> Home:
    """The subject of a page about a run or a policy.

    Args:
        folder: As of ``find_folder``.
        shipped: Without a folder, the name of the shipped policy, by default the mock's.
        generations: Of a run, how many, spread evenly from the first to the newest; or the names of players.

    Raises:
        NotARunError: the run has no generation yet.
        ConfigError: a player is unknown, or ``generations`` is neither a number nor names.
        CheckpointError: a policy is damaged.
    """
    if folder is None:
        name, hint = (shipped, "") if shipped else (kinds.MOCK.default_policy, NO_RUN_YET)
        there = _shipped_beside(name)
        return Home(name, None, _named(generations or str(len(there)), there, None), hint)
    if is_policy(folder):
        return Home(folder.name, None, _named(generations, {folder.name: folder}, None))
    run = RunDir(folder)
    there = {generation.id: generation.path for generation in list_generations(run)}
    if not there:
        raise NotARunError(f"{folder} has no generation yet")
    return Home(folder.name, run, _named(generations, there, run))


def _shipped_beside(name: str) -> dict[str, Path]:
    """Shipped policies with the character and the reaction of one of them, which is the last."""
    found = {each: read_policy_meta(path) for each, path in shipped_policies().items()}
    wanted = found.pop(name)
    beside = [each for each, meta in found.items() if (meta.game, meta.body) == (wanted.game, wanted.body)]
    return {each: shipped_policies()[each] for each in [*beside, name]}


def _named(generations: str | None, there: Mapping[str, Path], run: RunDir | None) -> dict[str, Path]:
    names = list(there)
    if generations is None or generations.isdecimal():
        count = min(int(generations or GENERATIONS), len(names))
        if count < 1:
            raise ConfigError(f"--generations {generations}: at least 1 is needed")
        chosen = [names[-1 - (len(names) - 1) * i // max(count - 1, 1)] for i in reversed(range(count))]
        return {name: there[name] for name in chosen}
    found = {name: there.get(name) or policy_folder(name, run) for name in generations.split(",")}
    policies = {name: path for name, path in found.items() if path is not None}  # scripted players are there anyway
    return {**policies, names[-1]: there[names[-1]]}


def check_choices(characters: Sequence[str], max_episode_frames: int | None) -> None:
    """Refuse a longest game that a page cannot have, and unknown characters (GameError)."""
    if max_episode_frames is not None and not 1 <= max_episode_frames <= LONGEST:
        raise ConfigError(f"--max-episode-frames {max_episode_frames}: 1 to {LONGEST} are possible")
    for name in characters:
        find_character(name)
