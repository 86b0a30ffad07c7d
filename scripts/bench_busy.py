"""Measure what the training loop keeps of its speed while another process spins on a core."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def main() -> int:
    """Measure in turn, print, exit code."""
    parser = argparse.ArgumentParser(prog="bench_busy.py", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="samples of each (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/")
    options = parser.parse_args()
    from selfplay.trainer.bench import ROWS
    from selfplay.trainer.bench_loop import with_tree
    from selfplay.trainer.machine import processor, usable_cores
    from selfplay.trainer.pages import write_page

    with_tree()  # compile, allocate, warm up
    free, busy = [], []
    for _ in range(options.rounds):
        free.append(ROWS / median(with_tree().total))
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
            try:
                busy.append(ROWS / median(with_tree().total))
            finally:
                spinner.kill()
    figures: dict[str, float | int | str] = {
        "processor": processor(),
        "cores": usable_cores(),
        "free_agent_steps_per_s": median(free),
        "busy_agent_steps_per_s": median(busy),
        "share_kept": median(b / f for b, f in zip(busy, free, strict=True)),
    }
    print(json.dumps(figures))
    if options.write:
        write_page(ROOT / "docs", "bench_busy.json", "busy", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
