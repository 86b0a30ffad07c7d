"""Programs that measure this project; run one with ``python -m scripts.studies.NAME`` in the root of the checkout."""

import os
import sys
from pathlib import Path

# Waiting threads of OpenMP and OpenBLAS spin, which slows down a busy machine; must be set before torch and numpy load.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout."""
TRAINER = (sys.executable, str(ROOT / "scripts" / "train_self_play.py"))
"""The command of a training as a process of its own; its arguments follow."""
