"""Write a policy as ONNX or as a graph of torch.export, and compare its outputs with the policy's."""

from __future__ import annotations

import argparse
from pathlib import Path

from selfplay.cli.parser import Parser, add_own_code
from selfplay.commands.cli import command


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("policy", metavar="POLICY", help="policy or run folder, or a shipped policy such as strong")
    made.add_argument(
        "--format",
        required=True,
        choices=("onnx", "torch"),
        help="onnx (needs the extra 'export') or torch",
    )
    made.add_argument("--out", required=True, type=Path, metavar="FILE", help="file to write; FILE.json describes it")
    made.add_argument(
        "--check",
        type=int,
        default=1000,
        metavar="N",
        help="number of observations for the comparison (default: %(default)s)",
    )
    add_own_code(made)
    return made


@command(parser, one_thread=True)
def main(options: argparse.Namespace) -> None:
    from selfplay.evaluation.named_players import check_export

    check_export(options.policy, options.format, options.out, options.check, options.game_type)
    from selfplay.commands.export import TOLERANCE, export

    done = export(options.policy, options.format, options.out, options.check)
    print(f"wrote {done.path} ({done.size / 1024:,.0f} KB) and {done.about}")
    print(
        f"largest difference from the policy: {done.difference:.2g} on {done.observations:,} observations "
        f"(allowed: {TOLERANCE:g})"
    )
