"""Train the model that played the games of a folder on its train.parquet; leaves checkpoint/ there.

One process, or those of torchrun, each with its own GPU out of CUDA_VISIBLE_DEVICES and a part of the model (FSDP2).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command

FLAGS = {
    "batch_rows": ("--batch-rows", "rows (one seat of a game each) of an optimiser step (64)"),
    "micro_rows": ("--micro-rows", "rows of a forward pass on each GPU (8)"),
    "epochs": ("--epochs", "passes over the games (2)"),
    "learning_rate": ("--learning-rate", "of AdamW (1e-4 for tiny, else 1e-6)"),
    "kl": ("--kl", "weight of KL to the model before (0 for tiny, else 0.001)"),
    "lora_rank": ("--lora-rank", "rank of an adapter that is trained instead of the model (none)"),
    "lora_alpha": ("--lora-alpha", "weight of the adapter times its rank (32)"),
    "advantage": ("--advantage", "dr_grpo, grpo or rloo (dr_grpo)"),
}


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("--folder", type=Path, required=True, metavar="DIR", help="folder of the tables")
    for name, (flag, text) in FLAGS.items():
        made.add_argument(flag, dest=name, default=argparse.SUPPRESS, metavar="N", help=text)
    made.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda:N or auto (%(default)s)")
    made.add_argument("--resume", action="store_true", help="reuse a checkpoint with the same settings")
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.dialogue.files.training import train, training_settings

    values = dict(vars(options))
    folder, device, resume = (values.pop(name) for name in ("folder", "device", "resume"))
    train(folder, training_settings(values), device, resume, lambda line: print(line, flush=True))
