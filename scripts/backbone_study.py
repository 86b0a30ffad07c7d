"""Compare the backbones of imitation on folders of replays: five folds by game, differences paired by fold.

What is there already is not made again: trainings in --runs, figures in docs/data/backbones/. Writes docs/imitation.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, whole_numbers  # noqa: E402

if TYPE_CHECKING:
    import argparse

BACKBONES: Final = "mlp,gru,lstm,mamba,attention"
PARTS: Final = ("train", "page")


def main() -> int:
    """Make what is missing, write the page, exit code."""
    parser = Parser(prog="backbone_study.py", description=__doc__)
    parser.add_argument("--replays", type=Path, nargs="+", required=True, metavar="DIR", help="folders of .slp files")
    parser.add_argument("--backbones", default=BACKBONES, metavar="NAME,NAME", help="(default: %(default)s)")
    parser.add_argument(
        "--folds", type=whole_numbers, default="0,1,2,3,4", metavar="N,N", help="(default: %(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=8, metavar="N", help="of a training (default: %(default)s)")
    parser.add_argument("--window-size", type=int, default=60, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--delay", type=int, default=0, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="NAME,NAME", help="what to do (default: all)")
    parser.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "backbones", help="where trainings go")
    parser.add_argument(
        "--name", default="backbones", help="of the figures' folder and the markers of the page (default: %(default)s)"
    )
    options = parser.parse_args()
    return exit_code("backbone_study.py", lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Do the parts that are asked for."""
    from selfplay.trainer.imitation.backbone_study import FOLDS, BackboneStudy
    from selfplay.trainer.imitation.config import ImitationConfig

    parts, backbones = options.parts.split(","), options.backbones.split(",")
    for what, valid, given in (
        ("--parts", PARTS, parts),
        ("--backbones", tuple(BACKBONES.split(",")), backbones),
        ("--folds", range(FOLDS), options.folds),
    ):
        if wrong := [name for name in given if name not in valid]:
            raise ConfigError(f"{what} {wrong[0]}: unknown (valid: {', '.join(map(str, valid))})")
    config = ImitationConfig.model_validate(
        {
            "data": {"delay": options.delay},
            "net": {"window": options.window_size},
            "learn": {"epochs": options.epochs},
        }
    )
    out = ROOT / "docs" / "data" / options.name
    study = BackboneStudy(options.replays, config, options.runs, out, lambda text: print(text, flush=True))
    if "train" in parts:
        for fold in options.folds:
            for backbone in backbones:
                study.run(backbone, fold)
    if "page" in parts:
        study.write(ROOT / "docs" / "imitation.md", options.name, backbones)


if __name__ == "__main__":
    sys.exit(main())
