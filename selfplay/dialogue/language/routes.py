"""How inference servers take new weights by their own interfaces, without a restart.

SGLang: docs.sglang.io/docs/advanced_features/lora (adapters) and sglang_for_rl (``/update_weights_from_disk``). vLLM:
docs.vllm.ai/en/latest/features/lora (adapters at runtime) and features/sleep_mode (``reload_weights``, which reads the
folder that the server was started with). Read in SGLang 0.5.23 and vLLM 0.33.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfplay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights for a server."""

    folder: Path
    name: str | None = None
    """Of the adapter in the folder; None: it has a whole model. Each version of an adapter has another name and folder:
    otherwise a server may answer from what it computed with an earlier one."""


@dataclass(frozen=True, slots=True)
class WeightRoutes:
    """How a kind of server takes weights."""

    name: str
    load: str  # paths for adapters
    unload: str
    adapter_flags: tuple[str, ...]  # of a server that takes adapters; with {rank}
    whole: str  # path for a whole model
    adapter_variable: str | None = None  # environment variable of a server that takes adapters, to be 1
    whole_variable: str | None = None  # the same for whole models
    ranks: tuple[int, ...] = ()  # that a server makes room for; empty: any
    fixed: bool = False  # a whole model is only read from the folder that the server was started with
    reset: str | None = None  # path that drops what was computed with an earlier model

    def variables(self, *, adapter: bool) -> dict[str, str]:
        name = self.adapter_variable if adapter else self.whole_variable
        return {} if name is None else {name: "1"}

    def flags(self, rank: int) -> list[str]:
        """Flags of a server that takes adapters of a rank; ConfigError for too high a rank."""
        if self.ranks and rank > self.ranks[-1]:
            raise ConfigError(f"--lora-rank {rank}: {self.name} serves adapters up to rank {self.ranks[-1]}")
        room = next((room for room in self.ranks if room >= rank), rank)
        return [flag.format(rank=room) for flag in self.adapter_flags]


SGLANG: Final = WeightRoutes(
    name="SGLang",
    load="/load_lora_adapter",
    unload="/unload_lora_adapter",
    adapter_flags=("--enable-lora", "--max-lora-rank", "{rank}", "--lora-target-modules", "all"),
    whole="/update_weights_from_disk",
)
VLLM: Final = WeightRoutes(
    name="vLLM",
    load="/v1/load_lora_adapter",
    unload="/v1/unload_lora_adapter",
    adapter_flags=("--enable-lora", "--max-lora-rank", "{rank}"),
    whole="/collective_rpc",
    adapter_variable="VLLM_ALLOW_RUNTIME_LORA_UPDATING",
    whole_variable="VLLM_SERVER_DEV_MODE",
    ranks=(8, 16, 32, 64, 128, 256, 320, 512),
    fixed=True,
    reset="/reset_prefix_cache",
)
