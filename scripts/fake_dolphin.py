"""Write a stand-in for Dolphin into a folder: a program that libmelee starts as the real one, and its disc."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.fake_dolphin.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
