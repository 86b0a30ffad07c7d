"""Finds and reads the policy folder for a path or a name given by the user."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.generations import POLICY_FILE, list_generations, load_generation
from selfplay.checkpoint.hub import local
from selfplay.checkpoint.run_dir import CHECKPOINTS, RunDir, modified_ns, walk
from selfplay.checkpoint.store import MANIFEST
from selfplay.distribution import policy_folders
from selfplay.errors import ConfigError, NotARunError, boundary

if TYPE_CHECKING:
    from selfplay.checkpoint.documents import JsonObject, NetworkSpec, PolicyMeta
    from selfplay.checkpoint.tensors import Array

BEST: Final = "best"
OWN_NAME: Final = "{}_policy"  # exported by imitation, in its own folder
SHARED_NAME: Final = "imitation_{}_policy"  # copy in the folder above
SHOWN: Final = 12  # generations that a message lists
_SEARCH_DEPTH: Final = 5  # root/group/run/generations/gen_N and one level more


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Parameters by name, network structure, position in training, and configuration of a policy."""

    params: dict[str, Array]
    model: NetworkSpec
    iteration: int
    total_steps: int
    config: JsonObject
    meta: PolicyMeta
    path: Path


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read and verify a policy folder, or the newest generation of a run. No code is executed.

    NotARunError or ConfigError if there is none, CorruptError or IncompatibleError if it cannot be read.
    """
    folder = resolve_policy(Path(path))
    meta, params = load_generation(folder)
    return Checkpoint(params, meta.network, meta.iteration, meta.total_steps, meta.config, meta, folder)


@cache
def shipped_policies() -> dict[str, Path]:
    """Folders of the policies that come with games, by name: opponents, and fixed points of the ratings."""
    found = (path for folder in policy_folders() for path in sorted(folder.iterdir()))
    return {path.name: path for path in found if (path / MANIFEST).is_file()}


def resolve_policy(path: Path, root: Path = CHECKPOINTS) -> Path:
    """The policy folder at ``path``; for a run its promoted generation, or without a gate the newest.

    A name of the Hub, ``hf://OWNER/NAME``, is downloaded first, see ``hub``.
    For a folder of imitation it is the best policy: ``best_policy`` or ``imitation_best_policy``. The name of a shipped
    policy is that policy, also where a folder has the same name.
    NotARunError or, for a file of the predecessor, ConfigError; both name the closest policy folder below ``root``.
    """
    if (shipped := shipped_policies().get(str(path))) is not None:
        return shipped
    path = local(path)
    if path.suffix.lower() in (".bin", ".axon"):
        raise ConfigError(f"{path} is a file of the predecessor, which cannot be read here; {_nearest(path, root)}")
    if is_policy(path):
        return path
    run = RunDir(path.parent if path.name == "generations" else path)
    if (best := run.read_best()) is not None:
        if not is_policy(run.generations / best):
            raise NotARunError(f"{run.best_json} names {best}, which is not in {run.generations}")
        return run.generations / best
    generations = list_generations(run)
    if generations:
        return generations[-1].path
    for name in (OWN_NAME, SHARED_NAME):
        if is_policy(imitated := path / name.format(BEST)):
            return imitated
    if path.parent.name == "generations":
        raise NotARunError(f"{path} holds no policy; {generations_of(RunDir(path.parent.parent))}")
    raise NotARunError(f"{path} holds no policy; {_nearest(path, root)}")


def find_policies(root: Path = CHECKPOINTS) -> list[Path]:
    """All policy folders below ``root``, newest first."""
    found = [path for path in walk(root, _SEARCH_DEPTH) if is_policy(path)]
    return sorted(found, key=lambda path: (modified_ns(path / MANIFEST), str(path)), reverse=True)


def is_policy(path: Path) -> bool:
    with boundary(NotARunError, f"{str(path)[:200]}"):  # an invalid file name
        return (path / POLICY_FILE).is_file() and (path / MANIFEST).is_file()


def generations_of(run: RunDir) -> str:
    """End of an error message on a missing generation: the generations that the run has."""
    names = [generation.id for generation in list_generations(run)]
    if not names:
        return f"{run.path} has no generations"
    shown = names if len(names) <= SHOWN else [*names[: SHOWN // 2], "...", *names[-SHOWN // 2 :]]
    return f"its generations: {', '.join(shown)}"


def _nearest(path: Path, root: Path) -> str:
    """A hint: the policy whose name, or whose run's name, is close to the path, else the newest."""
    candidates: dict[str, Path] = {}
    for policy in find_policies(root):  # newest first: the newest generation represents its run
        owner = policy.parent.parent if policy.parent.name == "generations" else policy
        candidates.setdefault(str(owner), policy)
    if not candidates:
        return f"there is no policy folder below {root} yet, selfplay train makes them"
    wanted = str(path.with_suffix(""))
    near = difflib.get_close_matches(wanted, candidates, n=1)
    if not near:
        return f"the newest policy folder is {next(iter(candidates.values()))}"
    return f"the nearest policy folder is {candidates[near[0]]}"
