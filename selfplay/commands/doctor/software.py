"""Checks of Python and its packages."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from pathlib import Path
from typing import Any, Final

from selfplay.commands.doctor.finding import Check, Level, PlannedRun

PROJECT: Final = Path(__file__).resolve().parents[3] / "pyproject.toml"
LEAST_PYTHON: Final = (3, 11)
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w-]+)(?P<range>(?:,?(?:>=|<)[\d.]+)*)")


def system() -> Check:
    """Linux or macOS: blocks of games in processes need what POSIX gives."""
    name = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if platform.system() in ("Linux", "Darwin"):
        return Check("ok", "system", name)
    return Check("FAIL", "system", name, "Linux or macOS is needed; on Windows work inside WSL2")


def python() -> Check:
    if sys.version_info[:2] >= LEAST_PYTHON:
        return Check("ok", "Python", platform.python_version())
    least = ".".join(map(str, LEAST_PYTHON))
    return Check("FAIL", "Python", platform.python_version(), f"{least} or newer is needed: make PYTHON=python3.12")


def packages() -> Check:
    wanted = _project()["dependencies"]
    if wrong := _unmet(wanted):
        return Check("FAIL", "packages", ", ".join(wrong), "pip install -c constraints.txt -e .")
    return Check("ok", "packages", f"all {len(wanted)} that pyproject.toml names")


def libmelee(plan: PlannedRun) -> Check:
    wanted = _project()["optional-dependencies"]["dolphin"]
    if not (wrong := _unmet(wanted)):
        return Check("ok", "libmelee", importlib.metadata.version("melee"))
    level: Level = "FAIL" if plan.real_games else "warn"
    return Check(level, "libmelee", ", ".join(wrong), "real games need it: pip install -e '.[dolphin]'")


def torch() -> Check:
    try:
        import torch as library
    except (ImportError, OSError) as error:  # the latter where a library of CUDA cannot be loaded
        return Check("FAIL", "torch", f"cannot be loaded ({' '.join(str(error).split())})", "make .venv")
    gpu = library.cuda.get_device_name(0) if library.cuda.is_available() else "no CUDA device, the processor learns"
    return Check("ok", "torch", f"{library.__version__}, {gpu}")


def rules() -> Check:
    try:
        from envs.registry import find_game
    except ImportError as error:
        return Check("FAIL", "game rules", f"cannot be loaded ({error})", "make .venv")
    if find_game("mock").starts_at_once():
        return Check("ok", "game rules", "compiled")
    return Check("ok", "game rules", "not compiled yet, the first start does it in a minute or two")


def compile_cache() -> Check:
    """Where the compiled rules are kept; without a cache each start compiles for minutes."""
    try:
        from envs.compile import find_cache
    except ImportError as error:
        return Check("FAIL", "compile cache", f"cannot be loaded ({error})", "make .venv")
    cache = find_cache()
    if cache.trouble:
        return Check("warn", "compile cache", cache.trouble)
    return Check("ok", "compile cache", str(cache.folder))


def _project() -> Any:  # noqa: ANN401
    import tomllib  # here, since an older Python has none, which is to be reported

    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]


def _unmet(requirements: list[str]) -> list[str]:
    """What is to be said of each requirement that is not met."""
    return [trouble for one in requirements if (trouble := _trouble(one))]


def _trouble(requirement: str) -> str:
    """Why a requirement, such as ``melee>=0.47.6,<0.48``, is not met; empty where it is."""
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise ValueError(f"{PROJECT}: {requirement!r} is of a form that the doctor does not know")
    name, bounds = match["name"], match["range"]
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} is not installed"
    release = _release(version)
    for bound in bounds.split(",") if bounds else []:
        limit = _release(bound.lstrip("<>="))
        if release < limit if bound.startswith(">=") else release >= limit:
            return f"{name} {version} is not {bounds}"
    return ""


def _release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, without zeros at the end: 2.10 and 2.10.0 are one, 2.10.0+cpu too."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
