"""Which policy folder a path of the user means."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.generations import POLICY_FILE, list_generations
from selfplay.checkpoint.run_dir import CHECKPOINTS, RunDir, modified_ns, walk
from selfplay.checkpoint.store import MANIFEST
from selfplay.errors import ConfigError, NotARunError, boundary

if TYPE_CHECKING:
    from pathlib import Path

BEST: Final = "best"
OWN_NAME: Final = "{}_policy"  # of what imitation exports, in the training's own folder
SHARED_NAME: Final = "imitation_{}_policy"  # and beside that folder, where users find it
PREDECESSOR_SUFFIXES: Final = (".bin", ".axon")
_SEARCH_DEPTH: Final = 5  # root/group/run/generations/gen_N and one more


def resolve_policy(path: Path, root: Path = CHECKPOINTS) -> Path:
    """The policy folder at ``path``; of a run the generation that passed its gate, or without a gate the newest.

    Of a folder without generations it is the best policy of imitation: ``best_policy`` in a training's own folder,
    ``imitation_best_policy`` in the one that its policies go to.

    Raises:
        ConfigError: a file of the predecessor; names the nearest policy folder below ``root``.
        NotARunError: no policy lies there; names the nearest one too.
    """
    if path.suffix.lower() in PREDECESSOR_SUFFIXES:
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
    raise NotARunError(f"{path} holds no policy; {_nearest(path, root)}")


def find_policies(root: Path = CHECKPOINTS) -> list[Path]:
    """Every policy folder below ``root``, the newest first."""
    found = [path for path in walk(root, _SEARCH_DEPTH) if is_policy(path)]
    return sorted(found, key=lambda path: (modified_ns(path / MANIFEST), str(path)), reverse=True)


def is_policy(path: Path) -> bool:
    """Whether a policy lies here; a run is none."""
    with boundary(NotARunError, f"{str(path)[:200]}"):  # a name that no folder can have
        return (path / POLICY_FILE).is_file() and (path / MANIFEST).is_file()


def _nearest(path: Path, root: Path) -> str:
    """What to type instead: the policy whose name, or whose run's name, is most like the path."""
    candidates: dict[str, Path] = {}
    for policy in find_policies(root):  # newest first, so a run is represented by its newest generation
        owner = policy.parent.parent if policy.parent.name == "generations" else policy
        candidates.setdefault(str(owner), policy)
    if not candidates:
        return f"there is no policy folder below {root} yet, train_self_play.py makes them"
    wanted = str(path.with_suffix(""))
    best = difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.0)[0]
    return f"the nearest policy folder is {candidates[best]}"
