"""What the tests of this folder save, and a disk that fails on demand."""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from selfplay.checkpoint import ActionHeads, LearnerMeta, NetworkSpec, PolicyMeta, RunDir, save_policy
from selfplay.checkpoint.store import MANIFEST, open_folder, write_folder
from tests.support.fight_policies import meta_fields

CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NETWORK = NetworkSpec(obs_width=4, hidden=(3, 2))


def params(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "body.0.weight": rng.normal(size=(3, 4)).astype(np.float32),
        "body.0.bias": rng.normal(size=3).astype(np.float32),
        "steps": np.array(seed, np.int64),
    }


def save_generation(run: RunDir, meta: PolicyMeta, params: Mapping[str, np.ndarray]) -> Path:
    return save_policy(run.generations / meta.id, meta, params)


def policy_meta(iteration: int = 0, **changes: Any) -> PolicyMeta:
    fields = {
        "id": f"gen_{iteration}",
        "parent": None if iteration == 0 else "gen_0",
        "iteration": iteration,
        "total_steps": iteration * 1024,
        "network": NETWORK,
        "actions": ActionHeads(binary=8, sizes=(17, 17, 17, 17, 5)),
        "encoder_version": 1,
        "frame_skip": 2,
        "created": CREATED,
        "config": {"ppo": {"gamma": 0.99}},
    }
    return PolicyMeta(**meta_fields(**(fields | changes)))


def learner_meta(iteration: int = 0, **changes: Any) -> LearnerMeta:
    fields = {
        "iteration": iteration,
        "total_steps": iteration * 1024,
        "elapsed_s": 1.5,
        "created": CREATED,
        "rng": {"numpy": np.random.default_rng(iteration).bit_generator.state},
    }
    return LearnerMeta(**(fields | changes))


def learner_arrays(seed: int = 0) -> dict[str, np.ndarray]:
    player = np.dtype([("x", "f8"), ("stocks", "i4")], align=True)
    players = np.zeros((3, 2), player)
    players["x"], players["stocks"] = seed, 4
    return {
        **{f"params/{name}": array for name, array in params(seed).items()},
        "optimizer/body.0.weight/exp_avg": np.full((3, 4), seed, np.float32),
        "games/runner-000/players": players,
        "games/runner-000/over": np.array([True, False, True]),
    }


def same(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    """Equal names, types, shapes and bits."""
    return a.keys() == b.keys() and all(
        a[name].dtype == b[name].dtype and a[name].shape == b[name].shape and a[name].tobytes() == b[name].tobytes()
        for name in a
    )


def forge(path: Path, **changed: bytes) -> None:
    """Replace files (dots of their names as __) of a stored folder, with a manifest that agrees."""
    folder = open_folder(path)
    files = {name: folder.read(name) for name in folder.manifest.files}
    write_folder(path, files | {name.replace("__", "."): data for name, data in changed.items()}, replace=True)


def files_of(path: Path) -> list[Path]:
    """The files of a stored folder, its manifest included."""
    return sorted(path / name for name in (*open_folder(path).manifest.files, MANIFEST))


class Crash(BaseException):
    """The process is dead; nothing it would still do happens."""


OPERATIONS = ("open", "write", "fsync", "rename", "replace", "mkdir", "unlink", "rmdir", "ftruncate")


@contextmanager
def crash_at(step: int) -> Iterator[list[str]]:
    """Let the process die at its ``step``-th operation on the disk (from 0); yields the operations that were begun.

    A write that the crash hits gets half of its bytes to the disk.
    """
    begun: list[str] = []

    def dying(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            begun.append(name)
            if len(begun) > step:
                if name == "write" and len(begun) == step + 1:
                    real(args[0], args[1][: len(args[1]) // 2])
                raise Crash(name)
            return real(*args, **kwargs)

        return operation

    with pytest.MonkeyPatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(os, name, dying(name, getattr(os, name)))
        yield begun


@contextmanager
def full_disk(name: str, step: int) -> Iterator[None]:
    """``os.<name>`` fails with ENOSPC from its ``step``-th call on; everything else works."""
    real, calls = getattr(os, name), iter(range(10**9))

    def failing(*args: Any, **kwargs: Any) -> Any:
        if next(calls) >= step:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, failing)
        yield
