"""Virtual environments of other trainers: one each, made on first use, with exact versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from selfplay.errors import ConfigError, SelfPlayError

ROOT: Final = Path(__file__).resolve().parents[2]
_STAMP: Final = "installed.json"
_SYSTEM: Final = "/usr/bin:/bin"


class PeerError(SelfPlayError):
    """A trainer of others cannot be installed, or failed; one line of its own words."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A trainer of others: its program here, and what it needs.

    ``first`` is what must be there before ``packages`` are built; then they are built with it, outside of pip's own
    environment, in which each would get a torch of its own.
    """

    name: str
    module: str  # in ``selfplay.peers.programs``
    packages: tuple[str, ...]
    first: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)  # while they are built
    build_names: tuple[str, ...] = ()  # names that a setup.py needs and does not define, as empty lists
    variants: tuple[str, ...] = ("",)  # ways of its program, the fastest of which is kept


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
            environment={"NO_OCEAN": "1"},  # its own games, which it would fetch libraries for
            build_names=("c_extension_paths",),  # what its setup.py forgets without them
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


def default_folder() -> Path:
    """Where the environments are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "selfplay" / "peers"


def chosen(names: str) -> list[Peer]:
    """The peers of a list with commas.

    Raises:
        ConfigError: one that is not known.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in PEERS:
            raise ConfigError(f"--peers {name}: unknown (valid: {', '.join(PEERS)})")
    return [PEERS[name] for name in wanted]


def environment(threads: int | None, folder: Path | None = None) -> dict[str, str]:
    """Environment of a program: threads of libraries, which wait without spinning, and an environment's commands.

    What else lies on a person's PATH would count as well: a CUDA compiler makes some build and choose other code. Our
    packages are found wherever a program runs.
    """
    libraries = () if threads is None else ("OMP", "MKL", "OPENBLAS")
    count = {f"{library}_NUM_THREADS": str(threads) for library in libraries}
    path = {} if folder is None else {"PATH": f"{folder / 'bin'}:{_SYSTEM}"}
    return {**os.environ, **path, "PYTHONPATH": str(ROOT), "OMP_WAIT_POLICY": "PASSIVE", **count}


def prepared(peer: Peer, venvs: Path) -> Path:
    """The interpreter of a peer's environment, which is made where it is missing or of other versions. Blocks.

    Raises:
        PeerError: it cannot be made; the last thing that was said of the failure.
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
    names = site / "names_for_building.pth"  # read by every interpreter of this environment, also that of the build
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
    """What a failed command said last that names an error; else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "error" in line.lower() and not line.startswith("note:")]
    telling = [line for line in named if not line.endswith(("error: subprocess-exited-with-error", "-failed"))]
    return (telling or named or lines or ["no word of why"])[-1]
