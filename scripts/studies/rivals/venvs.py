"""Virtual environments of other trainers, made on first use with exact versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scripts.studies import ROOT
from scripts.studies.command_line import chosen as check
from selfplay.errors import SelfPlayError

_STAMP: Final = "installed.json"
_SYSTEM: Final = "/usr/bin:/bin"


class PeerError(SelfPlayError):
    """Another trainer cannot be installed, or failed; with its last error message."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another trainer: its program and its packages.

    ``first`` is installed before ``packages``, which are then built with it instead of in pip's isolated environment,
    where each build would download torch.
    """

    name: str
    module: str  # in ``scripts.studies.rivals.programs``
    packages: tuple[str, ...]
    first: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)  # while they are built
    build_names: tuple[str, ...] = ()  # names that its setup.py does not define, as empty lists
    variants: tuple[str, ...] = ("",)  # of its program; the fastest is measured


_TORCH: Final = "torch==2.13.0"
_RULES: Final = "numba==0.68.1"
PEERS: Final[dict[str, Peer]] = {
    peer.name: peer
    for peer in (
        Peer(
            "stable-baselines3",
            "sb3",
            (_TORCH, _RULES, "numpy==2.4.6", "gymnasium==1.4.0", "stable-baselines3==2.9.2"),
        ),
        Peer("cleanrl", "single_file", (_TORCH, _RULES, "numpy==2.4.6", "gymnasium==1.4.0")),
        Peer(
            "pufferlib",
            "puffer",
            (_TORCH, _RULES, "numpy==1.26.4", "setuptools==80.9.0", "pufferlib==3.0.0"),
            first=(_TORCH, "numpy==1.26.4", "setuptools==80.9.0", "wheel==0.45.1", "Cython==3.1.2"),
            environment={"NO_OCEAN": "1"},  # without its own games, which need more libraries
            build_names=("c_extension_paths",),  # undefined in its setup.py without them
            variants=("plain", "compiled"),
        ),
        Peer(
            "sample-factory",
            "factory",
            (_TORCH, _RULES, "numpy==1.26.4", "gymnasium==0.29.1", "sample-factory==2.1.1"),
            variants=("serial", "workers"),
        ),
        Peer("rllib", "rllib", (_TORCH, _RULES, "numpy==2.4.6", "gymnasium==1.2.2", "ray[rllib]==2.60.0")),
    )
}

MASKABLE: Final = Peer(
    "sb3-contrib",
    "maskable",
    (*PEERS["stable-baselines3"].packages, "sb3-contrib==2.9.0", "pettingzoo==1.26.1", "pygame==2.6.1"),
)
"""Plays a game of PettingZoo, see ``scripts.studies.python_games``."""


def default_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "selfplay" / "peers"


def chosen(names: str) -> list[Peer]:
    """The peers of a list with commas.

    Raises:
        ConfigError: one that is not known.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    return [PEERS[name] for name in check("--peers", wanted, PEERS)]


def environment(threads: int | None, folder: Path | None = None) -> dict[str, str]:
    """Environment variables of a program: threads of its libraries, PATH and PYTHONPATH.

    PATH has only the virtual environment and the system: with a CUDA compiler in it, some trainers would choose other
    code.
    """
    libraries = () if threads is None else ("OMP", "MKL", "OPENBLAS")
    count = {f"{library}_NUM_THREADS": str(threads) for library in libraries}
    path = {} if folder is None else {"PATH": f"{folder / 'bin'}:{_SYSTEM}"}
    sources = os.pathsep.join((str(ROOT), str(ROOT / "envs")))
    return {**os.environ, **path, "PYTHONPATH": sources, "OMP_WAIT_POLICY": "PASSIVE", **count}


def prepared(peer: Peer, venvs: Path) -> Path:
    """The interpreter of a peer's environment, which is made if it is missing or has other versions. Blocks.

    Raises:
        PeerError: it cannot be made; with the last error message.
    """
    folder = venvs / peer.name
    recipe = json.dumps([sys.version, *peer.first, *peer.packages])
    python, stamp = folder / "bin" / "python", folder / _STAMP
    if stamp.exists() and stamp.read_text(encoding="utf-8") == recipe:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)], {})
    if peer.first:
        _pip(python, peer.first, peer)
    _pip(python, peer.packages, peer)
    stamp.write_text(recipe, encoding="utf-8")
    return python


def _pip(python: Path, packages: tuple[str, ...], peer: Peer) -> None:
    folder = python.parents[1]
    words = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--no-input", *packages]
    if peer.first and packages is not peer.first:
        words.insert(5, "--no-build-isolation")
    (site,) = folder.glob("lib/python*/site-packages")
    names = site / "names_for_building.pth"  # read by every interpreter of this environment
    if peer.build_names:
        lines = "; ".join(f"builtins.{name} = []" for name in peer.build_names)
        names.write_text(f"import builtins; {lines}\n", encoding="utf-8")
    try:
        _run(words, {**environment(1, folder), **peer.environment})
    finally:
        names.unlink(missing_ok=True)


def _run(words: list[str], variables: dict[str, str]) -> None:
    done = subprocess.run(
        words, env=variables or None, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise PeerError(last_error(done.stdout + "\n" + done.stderr))


def last_error(text: str) -> str:
    """The last line of output that names an error, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "error" in line.lower() and not line.startswith("note:")]
    telling = [line for line in named if not line.endswith(("error: subprocess-exited-with-error", "-failed"))]
    return (telling or named or lines or ["no output"])[-1]
