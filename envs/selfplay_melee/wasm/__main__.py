"""Build a module in this process.

python -m selfplay_melee.wasm selfplay_melee.browser.program:mock_program rules.wasm
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

from selfplay.games.errors import GameError
from selfplay_melee.wasm.build import load_program, signature
from selfplay_melee.wasm.emit import emit
from selfplay_melee.wasm.link import custom_section
from selfplay_melee.wasm.lowering import PREFIX, lower, only_lower
from selfplay_melee.wasm.memory import MIN_STACK, STACK_TOP, layout


def main() -> int:
    """Build; the exit code."""
    name, path = sys.argv[1:]
    only_lower()
    try:
        program = load_program(name)
        places = layout(program)
        text = lower(program, {path: value["at"] for path, value in places["values"].items()})
        code, constants_end = emit(text, [entry.name for entry in program.entries], PREFIX, STACK_TOP - MIN_STACK)
        described = json.dumps(places | {"constants": constants_end}).encode()
        module = code + custom_section("layout", described) + signature(name, program)
    except GameError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    Path(path).write_bytes(module)
    size, seconds = len(gzip.compress(module, 9)), sum(os.times()[:2])
    sys.stdout.write(f"{path}: {len(module):,} bytes, {size:,} compressed; {seconds:.1f} s of processor time\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
