"""Folders of trainings: ``RunDir`` whose settings are in ``imitation.json``.

They are not in ``run.json``, so that self-play, which resumes the newest run, ignores the folder. Imports no torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from selfplay.checkpoint import RunDir, has_state
from selfplay.checkpoint.documents import MAX_JSON_BYTES, decode_json, encode_json
from selfplay.checkpoint.run_dir import modified_ns
from selfplay.checkpoint.store import make_folder, write_file
from selfplay.config.resume import type_in
from selfplay.errors import NotARunError
from selfplay.files import read_file
from selfplay.games.registry import DEFAULT

NAME: Final = "imitation"  # of the folder of a training: imitation, imitation-2, ...
SETTINGS: Final = "imitation.json"


def find_imitation(path: Path) -> RunDir:
    """The training in a folder, or the newest below it that has a state; NotARunError names those without one."""
    if (path / SETTINGS).is_file():
        return RunDir(path)
    runs = [RunDir(entry) for entry in sorted(path.glob(f"{NAME}*")) if (entry / SETTINGS).is_file()]
    begun = [run for run in runs if has_state(run)]
    if not begun:
        failed = ", ".join(run.path.name for run in runs)
        more = f"; {failed} ended before the first state" if failed else ""
        raise NotARunError(f"{path} holds no training of selfplay imitate to resume{more}")
    return max(begun, key=lambda run: (modified_ns(run.learner), run.path.name))


def write_settings(run: RunDir, document: dict[str, Any]) -> None:
    """Write ``imitation.json`` atomically."""
    make_folder(run.path)
    write_file(run.path / SETTINGS, encode_json(document, SETTINGS))


def game_of_training(run: RunDir) -> str:
    """Name of the game of a training; errors as of ``decode_json``."""
    return type_in(decode_json(read_file(run.path / SETTINGS, MAX_JSON_BYTES), SETTINGS).get("config")) or DEFAULT
