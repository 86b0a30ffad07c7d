"""Starts a verb, or says in one line what this Python lacks for it. Python 3.6 must be able to read this file."""

import os
import shlex
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

OLDEST = (3, 11)
"""The oldest Python that can run this project, which ``requires-python`` in pyproject.toml names, too."""
PACKAGES = {
    "gymnasium": "gymnasium",
    "llvmlite": "llvmlite",
    "numba": "numba",
    "numpy": "numpy",
    "pillow": "PIL",
    "pydantic": "pydantic",
    "rich": "rich",
    "safetensors": "safetensors",
    "tensorboard": "tensorboard",
    "torch": "torch",
}
"""The dependencies of pyproject.toml, and the names under which they are imported."""
ROOT = Path(__file__).resolve().parents[1]


def run(verb: str) -> int:
    """Call the program of a verb; its exit code.

    SystemExit with one line that says what to type, if Python is too old, on Windows, or if packages are missing.
    """
    require_python()
    _require_posix()
    if verb != "doctor":  # it lists what is missing
        _require_packages()
    from selfplay.verbs import find_verb

    code: int = import_module(find_verb(verb).module).main()
    return code


def require_python() -> None:
    """Check the version of Python; must be called before anything else of this project is imported.

    SystemExit with code 2, and one line that says what to type, if it is too old.
    """
    if sys.version_info[:2] < OLDEST:
        least, found = (".".join(map(str, version[:3])) for version in (OLDEST, sys.version_info))
        _refuse(f"Python {least} or newer is needed, this is {found}", _activate(" PYTHON=python3.12"))


def _require_posix() -> None:
    if sys.platform == "win32":
        _refuse("Linux or macOS is needed, or the Windows Subsystem for Linux", "wsl --install, then install it there")


def _require_packages() -> None:
    missing = [name for name, module in PACKAGES.items() if find_spec(module) is None]
    if not missing:
        return
    from selfplay.distribution import CHECKOUT, install_command

    is_active = Path(sys.prefix).resolve() == (ROOT / ".venv").resolve()
    remedy = install_command() if is_active or not CHECKOUT.is_file() else _activate()
    _refuse(f"not installed in {sys.executable}: {', '.join(missing)}", remedy)


def _activate(options: str = "") -> str:
    """The command that activates the virtual environment of the checkout, and makes it first if there is none."""
    activate = ROOT / ".venv" / "bin" / "activate"
    source = f"source {_from_here(activate)}"
    if activate.is_file():
        return source
    make = "make" if Path.cwd() == ROOT else f"make -C {_from_here(ROOT)}"
    return f"{make} .venv{options} && {source}"


def _from_here(path: Path) -> str:
    """A path for the shell, relative or absolute, whichever is shorter."""
    return shlex.quote(min(os.path.relpath(path), str(path), key=len))


def _refuse(why: str, remedy: str) -> None:
    program = Path(sys.argv[0]).name.replace("__main__.py", "python -m selfplay")
    sys.stderr.write(f"{program}: {why}; type: {remedy}\n")
    raise SystemExit(2)
