"""Make the policy that a run of the laptop preset starts from, and install it in the package.

It is needed after a change of the rules, the tables, the scripted players or the recipe: tests/imitation says so.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any, cast

from scripts.studies.command_line import Command, notify
from selfplay.cli.ppo import parse
from selfplay.config.resolve import resolve_ppo
from selfplay_melee.imitation import scripted


def main() -> int:
    """Make and install it; the exit code."""
    Command("scripted_start", __doc__).parse_args()
    call = parse(["--preset", "laptop"])
    recipe = scripted.recipe_of(cast("Any", resolve_ppo(call.config, call.explicit)))
    rmtree(scripted.SHIPPED, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        scripted.imitate_scripted(recipe, Path(folder), notify)
        (made,) = Path(folder).iterdir()
        copytree(made, scripted.SHIPPED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
