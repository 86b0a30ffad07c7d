"""Print a plan of the memory of two runs on one card, computed from the sizes of the models, as a table in Markdown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from transformers import Qwen2Config

from scripts.studies.command_line import Command
from selfplay.dialogue.language.footprint import Footprint
from selfplay.dialogue.language.loading import Lora
from selfplay.dialogue.memory import Talk, fit
from selfplay.dialogue.settings import DialogueConfig

CARD: Final = 80 * 10**9
TALK: Final = Talk(tokens=1500, shared=0, share=0.3, longest=1500, reply=512, game=0)
Qwen2: Any = Qwen2Config
SMALL: Final = Qwen2(
    vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
    num_key_value_heads=2, tie_word_embeddings=True,
)  # fmt: skip
LARGE: Final = Qwen2(
    vocab_size=152064, hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28,
    num_key_value_heads=4, tie_word_embeddings=False,
)  # fmt: skip
RUNS: Final = (("Qwen2.5-0.5B, whole", SMALL, 0), ("Qwen2.5-7B, `--lora-rank 16`", LARGE, 16))
PARTS: Final = ("weights", "reference", "optimizer", "cache", "update")


if TYPE_CHECKING:
    import argparse


def main() -> int:
    """Run the command; the exit code."""
    return Command("memory_plan", __doc__).execute(_plan)


def _plan(options: argparse.Namespace) -> int:
    del options
    print(f"| run | {' | '.join(PARTS)} | in all | tokens per pass | checkpointing |")
    print("|---" * (len(PARTS) + 4) + "|")
    for name, architecture, rank in RUNS:
        given = {"model": {"name": "Qwen/Qwen2.5", "bf16": True, "lora_rank": rank}}
        config = DialogueConfig.model_validate(given)
        print_ = Footprint(architecture, Lora(rank, 32) if rank else None, light=True, bf16=True)
        fitted, need = fit(config, print_, TALK, "cuda:0", CARD, "the card", resumed=False)
        parts = " | ".join(f"{getattr(need, part) / 2**30:.1f}" for part in PARTS)
        chosen = fitted.grpo
        print(f"| {name} | {parts} | {need.total / 2**30:.1f} | {chosen.micro_tokens} | {chosen.checkpointing} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
