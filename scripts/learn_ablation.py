"""Measure what the laptop preset's choices are worth: short runs with one choice changed each, over some seeds.

A finished cell (variant, seed) is kept in docs/data/ablation/ and not trained again.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

STEPS: Final = 2_000_000
GAMES: Final = 60
VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "preset": (),
    "uniform_start": ("--set", "net.rest=0"),
    "small_rewards": ("--set", "reward.stock=1", "--set", "reward.damage=0.01", "--set", "ppo.value_clip=0.2"),
    "frame_skip_2": ("--frame-skip", "2"),
    "frame_skip_8": ("--frame-skip", "8"),
    "delay_4": ("--delay", "4"),
    "gamma_0.98": ("--gamma", "0.98"),
    "entropy_0.0001": ("--entropy", "1e-4"),
    "rollout_128": ("--rollout-length", "128"),
}


def main() -> int:
    """Train what is missing, write the table, exit code."""
    parser = argparse.ArgumentParser(prog="learn_ablation.py", description=__doc__)
    parser.add_argument("--seeds", default="0,1,2", metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--variants", default=",".join(VARIANTS), metavar="NAME,NAME", help="(default: all)")
    parser.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "ablation", help="where the runs go")
    options = parser.parse_args()
    from selfplay.trainer.study import run_cell, write_ablation

    out = ROOT / "docs" / "data" / "ablation"
    for seed in (int(word) for word in options.seeds.split(",")):
        for name in options.variants.split(","):
            cell = out / name / f"seed_{seed}.json"
            if not cell.exists():
                arguments = (*VARIANTS[name], "--timesteps", str(STEPS), "--no-track-elo")
                run_cell(seed, options.runs / name / f"seed_{seed}", cell, arguments, GAMES)
    write_ablation(ROOT / "docs" / "learning.md", out, VARIANTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
