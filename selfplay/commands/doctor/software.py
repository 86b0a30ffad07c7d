"""Checks of Python and its packages."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from typing import Final

from selfplay.commands.doctor.finding import Check
from selfplay.distribution import install_command, requirements

UNKNOWN: Final = "this copy is not installed, and which versions it needs is not known"
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w-]+)(?P<range>(?:,?(?:>=|<)[\d.]+)*)")


def system() -> Check:
    """Linux or macOS: blocks of games in processes need what POSIX gives."""
    name = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if platform.system() in ("Linux", "Darwin"):
        return Check("ok", "system", name)
    return Check("FAIL", "system", name, "Linux or macOS is needed; on Windows work inside WSL2")


def python() -> Check:
    return Check("ok", "Python", platform.python_version())  # no command starts with one that is too old


def packages() -> Check:
    wanted = requirements()
    if wanted is None:
        return Check("warn", "packages", UNKNOWN, install_command())
    if wrong := unmet(wanted):
        return Check("FAIL", "packages", ", ".join(wrong), install_command())
    return Check("ok", "packages", f"all {len(wanted)} that are needed")


def torch() -> Check:
    try:
        import torch as library
    except (ImportError, OSError) as error:  # the latter where a library of CUDA cannot be loaded
        return Check("FAIL", "torch", f"cannot be loaded ({' '.join(str(error).split())})", install_command())
    gpu = library.cuda.get_device_name(0) if library.cuda.is_available() else "no CUDA device, the processor learns"
    return Check("ok", "torch", f"{library.__version__}, {gpu}")


def rules() -> Check:
    try:
        from selfplay.games.registry import DEFAULT, find_game
    except ImportError as error:
        return Check("FAIL", "game rules", f"cannot be loaded ({error})", install_command())
    if find_game(DEFAULT).starts_at_once():
        return Check("ok", "game rules", "compiled")
    from selfplay.compilation.progress import RANGE

    return Check("ok", "game rules", f"not compiled yet, the first start does it: {RANGE}")


def compile_cache() -> Check:
    """Check the cache folder of the compiled rules; without a cache each start compiles for minutes."""
    try:
        from selfplay.compilation.code_cache import code_name, find_cache
    except ImportError as error:
        return Check("FAIL", "compile cache", f"cannot be loaded ({error})", install_command())
    cache = find_cache(code_name("selfplay"))
    if cache.trouble:
        return Check("warn", "compile cache", cache.trouble)
    return Check("ok", "compile cache", str(cache.folder))


def unmet(requirements: list[str]) -> list[str]:
    """One message for each requirement that is not met."""
    return [trouble for one in requirements if (trouble := _trouble(one))]


def _trouble(requirement: str) -> str:
    """Why a requirement, such as ``numpy>=2.0,<3``, is not met; empty where it is."""
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise ValueError(f"{requirement!r} is of a form that the doctor does not know")
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
