"""The frozen policies of a run: which are in the opponent pool, where their files are, and which are pruned.

Policies with equal weights are stored once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import named_by_states, save_policy, weights_hash
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.checkpoint.store import open_folder, remove_folder
from selfplay.errors import CorruptError, IncompatibleError, NotARunError
from selfplay.league.pruning import prune
from selfplay.league.records import generation_number

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta, RunDir
    from selfplay.checkpoint.learner_state import Named
    from selfplay.checkpoint.tensors import Arrays

EXTERNAL_PREFIX: Final = "external."  # prefix of the ids of policies from other runs
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")


class Archive:
    """The pool on disk, of at most ``limit`` generations and as many exploiters. Methods that touch files block."""

    def __init__(self, run: RunDir, limit: int) -> None:
        self._run = run
        self._limit = limit
        self._by_hash: dict[str, str] = {}
        self.generations: list[str] = []  # from old to new
        self.exploiters: list[str] = []
        self.external_opponents: list[str] = []
        self._named: Named = {}  # policies that each saved state refers to; a cache: run.keep_every keeps many
        self._leaving: list[str] = []  # pruned, but an older saved state may still refer to them

    def load_external(self) -> list[str]:
        """Add the policies of other runs that were copied into the run; returns their ids."""
        folder = self._run.external_opponents
        self.external_opponents = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        return self.external_opponents

    def path(self, name: str) -> Path:
        """The folder of a policy.

        Raises:
            CorruptError: the name is invalid. Names come from saved states, which may be from others, and their folders
                are deleted by pruning.
        """
        if not _NAME.fullmatch(name):
            raise CorruptError(f"{self._run.path}: {name!r} is no name of a policy of a run")
        if name.startswith(EXTERNAL_PREFIX):
            return self._run.external_opponents / name
        folder = self._run.exploiters if generation_number(name) is None else self._run.generations
        return folder / name

    def has(self, names: Collection[str]) -> bool:
        return all(self._fault(name) is None for name in names)

    def save(self, meta: PolicyMeta, params: Arrays) -> str:
        """Save a policy and add it to the pool; returns its id, or the id of the policy with equal weights."""
        digest = weights_hash(params)
        known = self._by_hash.get(digest)
        if known is not None:
            return known
        save_policy(self.path(meta.id), meta, params)
        self._admit(meta.id, digest)
        return meta.id

    @property
    def is_full(self) -> bool:
        return max(len(self.generations), len(self.exploiters)) > self._limit

    def prune(self, strengths: Mapping[str, float], keep: Collection[str]) -> list[str]:
        """Remove policies from the pool until the limit holds; returns their ids. ``sweep`` deletes their files."""
        gone = []
        for names in (self.generations, self.exploiters):
            for name in prune(names, strengths, self._limit, keep):
                names.remove(name)
                gone.append(name)
        self._by_hash = {digest: name for digest, name in self._by_hash.items() if name not in gone}
        self._leaving += gone
        return gone

    def sweep(self) -> None:
        """Delete the files of pruned policies that no saved state refers to."""
        pinned = named_by_states(self._run, self._named) if self._leaving else set()
        for name in [name for name in self._leaving if name not in pinned]:
            if self.path(name).exists():
                remove_folder(self.path(name))
            self._leaving.remove(name)

    def state(self) -> dict[str, Any]:
        """For the checkpoint; generations are a field of their own there."""
        return {"exploiters": list(self.exploiters), "leaving": list(self._leaving)}

    def restore(self, generations: Collection[str], state: Mapping[str, Any]) -> list[str]:
        """Restore the pool from a checkpoint, without policies whose files are missing or damaged.

        Returns:
            What is damaged, and how.

        Raises:
            CorruptError: a name is invalid, or no generation can be read.
        """
        self.generations, self.exploiters, self._by_hash = [], [], {}
        pool, leaving = [*generations, *map(str, state.get("exploiters", ()))], [*map(str, state.get("leaving", ()))]
        for name in (*pool, *leaving):
            self.path(name)
        self._leaving = leaving
        damaged = []
        for name in pool:
            if not self.path(name).exists():
                continue
            fault = self._fault(name)
            if fault is None:
                self._admit(name, str(read_policy_meta(self.path(name)).weights_hash))
            else:
                damaged.append(fault)
        if not self.generations:
            why = "; ".join(damaged) or "they are gone"
            raise CorruptError(f"{self._run.generations}: no generation of the state can be used: {why}")
        return damaged

    def _fault(self, name: str) -> str | None:
        """Error message for the files of a policy; None if they are intact."""
        try:
            open_folder(self.path(name)).verify()
            read_policy_meta(self.path(name))
        except (CorruptError, IncompatibleError, NotARunError) as error:
            return str(error)
        return None

    def _admit(self, name: str, digest: str) -> None:
        self._by_hash[digest] = name
        (self.exploiters if generation_number(name) is None else self.generations).append(name)
