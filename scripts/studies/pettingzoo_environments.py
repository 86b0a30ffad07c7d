"""How environments of PettingZoo are understood: what ends their games, and where rewards and masks are found.

Plays random games in all environments of the installed PettingZoo and of ``mpe2``, or in those that are named. What is
refused has its reason in the table.
"""

from __future__ import annotations

import contextlib
import io
import pkgutil
import re
import sys
import time
import warnings
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

import numpy as np

from scripts.studies import ROOT
from scripts.studies.command_line import Command
from scripts.studies.pages import machine_here, table, this_command, write_json
from selfplay.games.errors import GameError
from selfplay.games.pettingzoo_games import AecGame
from selfplay.games.plugins import PETTINGZOO, allow, find_single
from selfplay.games.spaces import MASK
from selfplay.games.vector import RANDOM, SyncVectorGame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selfplay.games.game import Game

FAMILIES: Final = ("pettingzoo.classic", "pettingzoo.butterfly", "pettingzoo.sisl", "pettingzoo.atari", "mpe2")
HEADER: Final = ("environment", "kind", "games", "over", "truncated", "with rewards", "rewards from", "mask from")
DOCUMENT: Final = ROOT / "docs" / "data" / "pettingzoo_environments.json"
Row = tuple[object, ...]


def known() -> Iterator[str]:
    """Names of games: the environments of PettingZoo and of packages that took over some of them."""
    for family in FAMILIES:
        with contextlib.suppress(ModuleNotFoundError):
            for module in pkgutil.iter_modules(import_module(family).__path__):
                if re.search(r"_v\d+$", module.name):
                    name = f"{family}.{module.name}"
                    yield f"{PETTINGZOO}{name}" if family.startswith("pettingzoo.") else f"{name}:parallel_env"


def row(name: str, seconds: float) -> Row:
    """The row of one environment, after random games."""
    allow(name)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return (
                name.removeprefix(PETTINGZOO),
                *played(SyncVectorGame(partial(find_single(name), False), 2), seconds),
            )
    except GameError as error:
        return name.removeprefix(PETTINGZOO), f"refused: {error}", *[""] * (len(HEADER) - 2)


def played(block: SyncVectorGame, seconds: float) -> Row:
    """Kind, games, how many were over and truncated and gave rewards, and where rewards and masks are."""
    block.bots[:] = block.bot_names.index(RANDOM)
    block.reset(np.arange(2, dtype=np.uint64))
    nothing = np.zeros((2, 2, block.actions.width), block.actions.dtype)
    over = truncated = rewarded = 0
    masks, until = set[str](), time.monotonic() + seconds
    while time.monotonic() < until and over + truncated < 20:
        masks.add(mask_place(block.games[0]))
        batch = block.step(nothing)
        over += int(batch.terminated.sum())
        truncated += int(batch.truncated.sum())
        rewarded += int((batch.stats["reward_payoff"][batch.ended] != 0).any(-1).sum())
    game = block.games[0]
    source = "step"
    if isinstance(game, AecGame):
        told = game.rewards.told
        source = (
            "rewards" if told == [True, False] else "last()" if told == [False, True] else "both" if any(told) else "-"
        )
    block.close()
    kind = "AEC" if isinstance(game, AecGame) else "parallel"
    return kind, over + truncated, over, truncated, rewarded, source, "/".join(sorted(masks - {""})) or "-"


def mask_place(game: Game) -> str:
    """Where the mask of a seat that is to act is found: in its observation or its info, or nowhere."""
    seat = game.to_act()[0]
    seen = game.seen(seat)  # type: ignore[attr-defined]
    if isinstance(seen, dict) and MASK in seen:
        return "observation"
    return "info" if game.mask(seat) is not None else ""  # type: ignore[attr-defined]


def main() -> int:
    """Print the table and counts."""
    parser = Command("pettingzoo_environments", __doc__)
    parser.add_argument("names", nargs="*", metavar="MODULE:NAME", help="in place of those of PettingZoo and mpe2")
    parser.add_argument("--seconds", type=float, default=5.0, help="of play each (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="put names, kinds and counts into docs/data")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in options.names or known():
        rows.append(row(name, options.seconds))
        print(*rows[-1][:2], file=sys.stderr)
    print(table(HEADER, rows))
    refused = sum(str(each[1]).startswith("refused") for each in rows)
    print(f"\n{len(rows)} environments: {len(rows) - refused} played, {refused} refused.")
    if options.write:
        lacking = sum(" is missing, " in str(kind) for _, kind, *_ in rows)
        counts = {"environments": len(rows), "played": len(rows) - refused, "refused": refused - lacking}
        counts["not_installed"] = lacking  # packages that the environment needs
        kinds = {str(name): str(kind) for name, kind, *_ in rows}
        command = this_command("pettingzoo_environments", ["--write"])
        write_json(DOCUMENT, {"command": command, **machine_here(), **counts, "kinds": kinds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
