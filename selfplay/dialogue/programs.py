"""The programs that serve a model folder, and their command lines."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from selfplay.dialogue.language.wire import ApiFormat, Completions, SGLang
from selfplay.errors import ConfigError

HOST: Final = "127.0.0.1"
NAME: Final = "selfplay"
"""Name of the model in requests, whatever its folder."""
RESERVED: Final = ("--host", "--port", "--trust-remote-code")
"""Flags that users may not set: who can reach the server, and whether it runs code of a model folder."""


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A program that serves a model folder."""

    name: str
    command: tuple[str, ...]  # with {folder}, {host}, {port} and {name}
    wire: ApiFormat

    def line(self, folder: Path, port: int, arguments: Sequence[str]) -> list[str]:
        words = {"folder": str(folder), "host": HOST, "port": str(port), "name": NAME}
        return [*(part.format_map(words) for part in self.command), *arguments]


def refuse_reserved(arguments: Sequence[str]) -> None:
    """Refuse reserved flags and their abbreviations; the ConfigError names the first."""
    for word in arguments:
        flag = word.partition("=")[0].replace("_", "-")
        if any(own.startswith(flag) for own in RESERVED if len(flag) > len("--p")):
            raise ConfigError(
                f"--server-args {word}: valid are all flags but {', '.join(RESERVED)}: the server listens on a free "
                "port of loopback only, and runs no code of a model folder"
            )


def find_program(name: str) -> ServerProgram:
    """The program of ``--server``; ConfigError with the command that installs it if it is not installed."""
    place = ("--host", "{host}", "--port", "{port}", "--served-model-name", "{name}")
    if name == "sglang":
        if find_spec("sglang") is None:
            raise ConfigError("--server sglang: SGLang is not installed: pip install 'sglang[all]'")
        start = (sys.executable, "-m", "sglang.launch_server", "--model-path", "{folder}", *place)
        return ServerProgram(name, start, SGLang())
    found = shutil.which("vllm", path=str(Path(sys.executable).parent)) or shutil.which("vllm")
    if found is None:
        raise ConfigError("--server vllm: vLLM is not installed: pip install vllm")
    # Log-probabilities of the sampling distribution, without sampling defaults of the model.
    sampling = ("--logprobs-mode", "processed_logprobs", "--generation-config", "vllm")
    return ServerProgram(name, (found, "serve", "{folder}", *place, *sampling), Completions(NAME, ids=True))
