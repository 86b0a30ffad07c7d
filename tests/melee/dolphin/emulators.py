"""Games on the project's stand-in for Dolphin, for tests: made, compared with the mock's own, and seen off."""

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

if os.name != "posix":
    pytest.skip("needs named pipes", allow_module_level=True)
pytest.importorskip("melee", reason="needs libmelee (the extra dolphin)")
psutil = pytest.importorskip("psutil", reason="needs psutil (the extra dolphin)")

from selfplay_melee.controller import ACTION_SPEC  # noqa: E402
from selfplay_melee.dolphin.game import DolphinMelee  # noqa: E402
from selfplay_melee.dolphin.install import is_free  # noqa: E402
from selfplay_melee.dolphin.leftovers import marked  # noqa: E402
from tests.support.fake_dolphin.disc import Disc, Fault  # noqa: E402
from tests.support.fake_dolphin.write import write_stand_in  # noqa: E402
from tests.support.processes import LIMIT_S  # noqa: E402

SEED = 11
PORT = 20_000 + os.getpid() % 1_000 * 10  # the first of ten of this test session's own
SEEDS = np.array([SEED], np.uint64)


def disc_with(*faults, **settings):
    """A disc of ``SEED`` on which something goes wrong: kinds, or (kind, at)."""
    made = [Fault(kind=fault) if isinstance(fault, str) else Fault(kind=fault[0], at=fault[1]) for fault in faults]
    return Disc(seed=SEED, faults=tuple(made), **settings)


def game_on(folder, disc=None, port=PORT, compiled=False, **options):
    """A game on a stand-in of its own."""
    program, image = write_stand_in(folder, Disc(seed=SEED) if disc is None else disc, compiled=compiled)
    options = {"start_timeout_s": LIMIT_S, "frame_timeout_s": LIMIT_S, **options}
    return DolphinMelee(dolphin=str(program), iso=str(image), slippi_port=port, **options)


def random_actions(rng):
    highest = [1] * ACTION_SPEC.binary + [size - 1 for size in ACTION_SPEC.sizes]
    return rng.integers(0, np.array(highest) + 1, (1, 2, ACTION_SPEC.width), dtype=np.int8)


def emulator_of(game):
    return game._dolphin.emulator


def process_of(game):
    return emulator_of(game).console._process


class Watch:
    """What a game uses outside of this process, and whether it is gone."""

    def __init__(self, scratch):
        self._scratch = Path(scratch)
        self._before = {child.pid for child in psutil.Process().children(recursive=True)}

    def folders(self):
        return sorted(path.name for path in self._scratch.iterdir())

    def assert_nothing_left(self, ports=(PORT,)):
        left = [child for child in psutil.Process().children(recursive=True) if child.pid not in self._before]
        left = [child for child in left if "resource_tracker" not in " ".join(child.cmdline())]
        assert left == []
        assert self.folders() == []
        assert not [port for port in ports if not is_free(port)]
        for folder in self._scratch.glob("dolphin-*"):
            assert not list(marked(str(folder)))


@contextmanager
def games_in(scratch):
    """A list for games whose temporary files are in a folder; afterwards they are closed, and nothing may be left."""
    watch, games = Watch(scratch), []
    yield games
    for game in games:
        game.close()
    watch.assert_nothing_left()
