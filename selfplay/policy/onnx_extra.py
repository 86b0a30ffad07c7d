"""The packages that ONNX files need; none of them is loaded here, nor torch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from selfplay.distribution import install_command
from selfplay.errors import ConfigError

PACKAGES: Final = ("onnx", "onnxruntime", "onnxscript")


def check_onnx() -> None:
    """Refuse to make an ONNX file where packages of the extra are missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"an ONNX file needs {missing[0]}, which is not installed: {install_command('export')}; "
            "--format torch needs nothing more"
        )
